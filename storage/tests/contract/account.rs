//! What a human keeps of its own: name and consent, favorites and views, the list of its sessions;
//! and identities of a provider. How an account ends is in `closing`.

use rookery_domain::id::{AppId, HumanId};
use rookery_storage::{
    Db,
    humans::{self, Human},
    idempotency::KeepResponse,
    identities::{self, Identity, NewFlow},
    self_apps::{self, VIEWS_MAX},
    sessions::{self, OpenCodes},
};

use crate::support::{NOW, at_once, contract, hash, human, new_session};

fn identity(subject: &str, email: Option<&str>, verified: bool) -> Identity {
    Identity {
        issuer: "https://accounts.example.com".into(),
        subject: subject.into(),
        email: email.map(Into::into),
        verified,
    }
}

async fn sign_in(db: &Db, identity: Identity) -> Human {
    identities::sign_in(db, identity, HumanId::new(), new_session(), NOW).await.unwrap().0
}

contract! {
    async fn a_name_and_a_consent_change_until_the_account_is_closed(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await;
        let later = NOW.plus_seconds(1);
        let named = humans::set_name(db, ada.id, Some("Ada"), later).await.unwrap().unwrap();
        assert_eq!((named.name.as_deref(), named.updated_at), (Some("Ada"), later));
        let cleared = humans::set_name(db, ada.id, None, later).await.unwrap().unwrap();
        assert_eq!(cleared.name, None);
        let given = humans::set_marketing_consent(db, ada.id, true, later).await.unwrap().unwrap();
        assert!(given.marketing_consent);
        assert_eq!(humans::by_id(db, ada.id).await.unwrap(), Some(given));
        let nobody = HumanId::new();
        assert_eq!(humans::set_name(db, nobody, None, later).await.unwrap(), None);
        assert_eq!(humans::set_marketing_consent(db, nobody, true, later).await.unwrap(), None);
    }

    async fn of_32_answers_to_the_signup_question_the_first_stays(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        assert_eq!(humans::signup_source(db, ada).await.unwrap(), None);
        let answers = at_once(32, |_| {
            let db = db.clone();
            async move { humans::record_signup_source(&db, ada, "a friend", NOW, KeepResponse::nothing()).await.unwrap() }
        })
        .await;
        assert_eq!(answers.into_iter().filter(|first| *first).count(), 1);
        let said = humans::signup_source(db, ada).await.unwrap();
        assert_eq!(said.as_deref(), Some("a friend"));
    }

    async fn a_favorite_is_marked_and_unmarked_any_number_of_times(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let (one, two) = (AppId::new(), AppId::new());
        for app in [one, two, one] {
            self_apps::add_favorite(db, ada, app, NOW).await.unwrap();
        }
        assert_eq!(self_apps::favorites(db, ada).await.unwrap(), [one, two].into());
        assert!(self_apps::favorites(db, eve).await.unwrap().is_empty());
        self_apps::remove_favorite(db, eve, one).await.unwrap();
        for _ in 0..2 {
            self_apps::remove_favorite(db, ada, two).await.unwrap();
        }
        assert_eq!(self_apps::favorites(db, ada).await.unwrap(), [one].into());
    }

    async fn the_last_views_are_remembered_newest_first_and_no_more_than_so_many(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let apps: Vec<_> = (0..i64::from(VIEWS_MAX) + 2).map(|_| AppId::new()).collect();
        for (app, second) in apps.iter().zip(0..) {
            self_apps::view(db, ada, *app, NOW.plus_seconds(second)).await.unwrap();
        }
        let views = self_apps::views(db, ada).await.unwrap();
        let expected: Vec<_> = apps[2..].iter().rev().copied().collect();
        assert_eq!(views.iter().map(|view| view.0).collect::<Vec<_>>(), expected);
        // An older look, told late, does not make it older.
        let last = apps[apps.len() - 1];
        let late = NOW.plus_seconds(i64::from(VIEWS_MAX) - 10);
        self_apps::view(db, ada, last, late).await.unwrap();
        assert_eq!(self_apps::views(db, ada).await.unwrap(), views);
        self_apps::view(db, ada, apps[2], NOW.plus_seconds(1_000)).await.unwrap();
        assert_eq!(self_apps::views(db, ada).await.unwrap()[0], (apps[2], NOW.plus_seconds(1_000)));
        // But one that was in the future, when the clock was ahead, is none.
        self_apps::view(db, ada, apps[2], NOW.plus_seconds(500)).await.unwrap();
        assert_eq!(self_apps::views(db, ada).await.unwrap()[0], (apps[2], NOW.plus_seconds(500)));
    }

    async fn sessions_are_listed_newest_first_and_ended_by_their_own_human(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let mut made = Vec::new();
        for second in 0..3 {
            let at = NOW.plus_seconds(second);
            made.push(sessions::create(db, ada, new_session(), at).await.unwrap());
        }
        made.reverse();
        assert_eq!(sessions::of_human(db, ada, None, NOW, 10).await.unwrap(), made);
        let after = Some((made[0].created_at, made[0].id));
        assert_eq!(sessions::of_human(db, ada, after, NOW, 1).await.unwrap(), made[1..2]);
        let ended = NOW.plus_seconds(7_200);
        assert_eq!(sessions::of_human(db, ada, None, ended, 10).await.unwrap(), []);
        assert_eq!(sessions::end(db, eve, made[0].id, OpenCodes::Stay).await.unwrap(), None);
        assert!(sessions::is_open(db, made[0].id, ada, NOW).await.unwrap());
        assert!(!sessions::is_open(db, made[0].id, eve, NOW).await.unwrap());
        let revoked = sessions::end(db, ada, made[0].id, OpenCodes::Stay).await.unwrap();
        assert_eq!(revoked, Some(made[0].hash));
        assert_eq!(sessions::end(db, ada, made[0].id, OpenCodes::Stay).await.unwrap(), None);
        assert_eq!(sessions::of_human(db, ada, None, NOW, 10).await.unwrap(), made[1..]);
    }

    async fn of_32_callbacks_of_one_flow_one_gets_it(test: &TestDb) {
        let db = &test.db;
        let flow = |expires_in| NewFlow {
            hash: hash(),
            sealed: "sealed".into(),
            redirect_to: Some("/device".into()),
            expires_at: NOW.plus_seconds(expires_in),
        };
        let good = flow(600);
        identities::begin(db, good.clone(), NOW).await.unwrap();
        let spent = at_once(32, |_| {
            let (db, hash) = (db.clone(), good.hash);
            async move { identities::spend(&db, hash, NOW).await.unwrap() }
        })
        .await;
        let spent: Vec<_> = spent.into_iter().flatten().collect();
        assert_eq!(spent, [("sealed".to_owned(), Some("/device".to_owned()))]);
        let late = flow(10);
        identities::begin(db, late.clone(), NOW).await.unwrap();
        let at_end = identities::spend(db, late.hash, late.expires_at).await.unwrap();
        assert_eq!(at_end, None);
        assert_eq!(identities::spend(db, hash(), NOW).await.unwrap(), None);
    }

    async fn an_identity_joins_the_account_of_a_verified_address_and_no_other(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await;
        let joined = sign_in(db, identity("ada", Some("ada@example.com"), true)).await;
        assert_eq!(joined.id, ada.id);
        // What the provider says later of its address changes nothing: the subject is who it is.
        let moved = sign_in(db, identity("ada", Some("eve@example.com"), true)).await;
        assert_eq!((moved.id, moved.email), (ada.id, ada.email.clone()));
        let mallory = sign_in(db, identity("mallory", Some("ada@example.com"), false)).await;
        assert_ne!(mallory.id, ada.id);
        assert_eq!(mallory.email_verified_at, None);
        let again = sign_in(db, identity("mallory", Some("ada@example.com"), false)).await;
        assert_eq!(again.id, mallory.id);
        // Nor later, when the provider has come to believe it: the address is somebody's.
        let claimed = sign_in(db, identity("mallory", Some("ada@example.com"), true)).await;
        assert_eq!((claimed.id, claimed.email_verified_at), (mallory.id, None));
        let found = humans::by_verified_email(db, "ada@example.com").await.unwrap();
        assert_eq!(found.map(|found| found.id), Some(ada.id));
        let nameless = sign_in(db, identity("nameless", None, false)).await;
        assert_eq!((nameless.email, nameless.email_verified_at), (None, None));
        // An address that nobody has proven becomes its own.
        let new = sign_in(db, identity("new", Some("new@example.com"), false)).await;
        let proven = sign_in(db, identity("new", Some("new@example.com"), true)).await;
        assert_eq!((proven.id, proven.email_verified_at), (new.id, Some(NOW)));
        assert_eq!(human(db, "new@example.com").await.id, new.id);
    }

    async fn of_32_first_sign_ins_of_one_identity_one_account_is_made(test: &TestDb) {
        let db = &test.db;
        let signed_in = at_once(32, |_| {
            let db = db.clone();
            async move {
                let identity = identity("ada", None, false);
                identities::sign_in(&db, identity, HumanId::new(), new_session(), NOW).await
            }
        })
        .await;
        // Two at once may collide; whoever did is told, and nobody becomes two.
        let mut ids: Vec<_> = signed_in.into_iter().flatten().map(|(human, _)| human.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
    }
}
