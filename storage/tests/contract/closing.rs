//! The end of an account: what goes with it and what stays. Its organizations are in `orgs`, its
//! place in the apps of others is looked at through HTTP.

use rookery_domain::{
    app::AppStatus,
    id::{AppId, HumanId},
};
use rookery_storage::{
    Db,
    apps::create,
    closing::{self, Closing},
    humans,
    idempotency::KeepResponse,
    links::{self, NewLink},
    self_apps, sessions,
};

use crate::support::{NOW, at_once, contract, hash, human, new_app, new_session};

async fn app(db: &Db, owner: HumanId, slug: &str, status: AppStatus) -> AppId {
    let mut app = new_app(owner, slug, &[]);
    app.record.status = status;
    let id = app.record.id;
    create::create(db, app).await.unwrap();
    id
}

contract! {
    async fn what_was_known_of_a_person_goes_and_the_record_stays(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        humans::set_name(db, ada, Some("Ada"), NOW).await.unwrap();
        humans::record_signup_source(db, ada, "a friend", NOW, KeepResponse::nothing()).await.unwrap();
        let session = sessions::create(db, ada, new_session(), NOW).await.unwrap();
        assert!(self_apps::add_favorite(db, ada, AppId::new(), NOW).await.unwrap());
        assert!(self_apps::view(db, ada, AppId::new(), NOW).await.unwrap());
        let link = NewLink {
            hash: hash(),
            email: "ada@example.com".into(),
            redirect_to: None,
            expires_at: NOW.plus_seconds(900),
        };
        links::create(db, link.clone(), NOW).await.unwrap();
        let close = |email: Option<&str>| {
            closing::close(db, ada, email.map(str::to_owned), NOW.plus_seconds(1))
        };
        for wrong in [None, Some("eve@example.com")] {
            assert_eq!(close(wrong).await.unwrap(), Closing::NoSuchAccount);
        }
        assert!(sessions::is_open(db, session.id, ada, NOW).await.unwrap());
        let closed = close(Some("ada@example.com")).await.unwrap();
        let Closing::Closed { human: kept, left } = closed else { panic!("{closed:?}") };
        assert_eq!((kept.id, &kept.email, &kept.name), (ada, &None, &None));
        assert_eq!((kept.closed_at, left), (Some(NOW.plus_seconds(1)), Vec::new()));
        assert_eq!(humans::by_id(db, ada).await.unwrap(), Some(*kept));
        assert!(!sessions::is_open(db, session.id, ada, NOW).await.unwrap());
        // What was asked for before comes too late.
        assert!(!self_apps::add_favorite(db, ada, AppId::new(), NOW).await.unwrap());
        assert!(!self_apps::view(db, ada, AppId::new(), NOW).await.unwrap());
        assert!(self_apps::favorites(db, ada).await.unwrap().is_empty());
        assert!(self_apps::views(db, ada).await.unwrap().is_empty());
        let spent = links::sign_in(db, link.hash, None, HumanId::new(), new_session(), NOW).await;
        assert_eq!(spent.unwrap(), None);
        assert_ne!(human(db, "ada@example.com").await.id, ada);
        assert_eq!(close(Some("ada@example.com")).await.unwrap(), Closing::NoSuchAccount);
    }

    async fn of_32_that_close_one_account_at_once_one_does(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let closings = at_once(32, |_| {
            let db = db.clone();
            async move { closing::close(&db, ada, Some("ada@example.com".into()), NOW).await.unwrap() }
        })
        .await;
        let closed = closings.iter().filter(|it| matches!(it, Closing::Closed { .. })).count();
        let late = closings.iter().filter(|it| **it == Closing::NoSuchAccount).count();
        assert_eq!((closed, late), (1, 31));
    }

    async fn apps_of_closed_accounts_are_found_until_they_are_taken_down(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let live = app(db, ada, "live", AppStatus::Live).await;
        let taken_down = app(db, ada, "closed", AppStatus::Closed).await;
        app(db, ada, "trashed", AppStatus::Deleted).await;
        app(db, eve, "other", AppStatus::Live).await;
        assert_eq!(closing::orphans(db, None, 10).await.unwrap(), []);
        closing::close(db, ada, Some("ada@example.com".into()), NOW).await.unwrap();
        // One that an operator took down before has no day on which it is destroyed yet.
        let found = closing::orphans(db, None, 10).await.unwrap();
        assert_eq!(found.len(), 2);
        assert!(found.contains(&(live, ada)) && found.contains(&(taken_down, ada)));
        assert_eq!(closing::orphans(db, None, 1).await.unwrap(), found[..1]);
        assert_eq!(closing::orphans(db, Some(found[0].0), 10).await.unwrap(), found[1..]);
        assert_eq!(closing::memberships(db, None, 10).await.unwrap(), []);
        assert_eq!(closing::memberships(db, Some((live, ada)), 10).await.unwrap(), []);
    }
}
