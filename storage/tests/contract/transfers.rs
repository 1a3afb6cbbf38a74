//! Offers of an app's ownership, before they are accepted.

use rookery_domain::id::AppId;
use rookery_storage::{
    apps::{create, purge},
    transfers::{self, OfferOutcome},
};

use crate::{
    support::{at_once, contract, human, new_app, offer},
    writer::kit::mark,
};

contract! {
    async fn an_app_has_one_pending_offer(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let app = new_app(ada, "notes", &[]);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        let answers = at_once(16, |n| {
            let (db, offered) = (db.clone(), offer(id, ada, n.cast_signed()));
            async move { transfers::offer(&db, offered, ada).await.unwrap() }
        })
        .await;
        let made = answers.iter().filter(|answer| **answer == OfferOutcome::Offered).count();
        assert_eq!(made, 1);
        assert!(answers.iter().all(|answer| *answer != OfferOutcome::Moved));
        let pending = transfers::of_app(db, id).await.unwrap().unwrap();
        assert_eq!(transfers::by_id(db, pending.id).await.unwrap(), Some(pending.clone()));
        let of = transfers::to_address(db, "bob@example.com", None, 10).await.unwrap();
        assert_eq!(of, std::slice::from_ref(&pending));
        assert_eq!(transfers::to_address(db, "eve@example.com", None, 10).await.unwrap(), []);
        assert!(transfers::withdraw(db, id).await.unwrap());
        assert!(!transfers::withdraw(db, id).await.unwrap());
        assert!(!transfers::decline(db, pending.id).await.unwrap());
        assert_eq!(transfers::of_app(db, id).await.unwrap(), None);
    }

    async fn nobody_offers_what_is_somebody_elses(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let app = new_app(ada, "notes", &[]);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        let moved = transfers::offer(db, offer(id, eve, 0), eve).await.unwrap();
        assert_eq!(moved, OfferOutcome::Moved);
        let unknown = transfers::offer(db, offer(AppId::new(), ada, 0), ada).await.unwrap();
        assert_eq!(unknown, OfferOutcome::Moved);
        assert_eq!(transfers::of_app(db, id).await.unwrap(), None);
    }

    async fn offers_are_listed_newest_first_and_go_with_their_app(test: &TestDb) {
        use rookery_domain::app::AppStatus;
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let mut made = Vec::new();
        for n in 0..5 {
            let mut app = new_app(ada, &format!("app-{n}"), &[]);
            app.record.status = AppStatus::Deleted;
            let offered = offer(app.record.id, ada, n);
            create::create(db, app).await.unwrap();
            transfers::offer(db, offered.clone(), ada).await.unwrap();
            made.insert(0, offered);
        }
        let first = transfers::to_address(db, "bob@example.com", None, 3).await.unwrap();
        assert_eq!(first, made[..3]);
        let after = Some((first[2].created_at, first[2].id));
        let rest = transfers::to_address(db, "bob@example.com", after, 3).await.unwrap();
        assert_eq!(rest, made[3..]);
        assert!(transfers::decline(db, made[0].id).await.unwrap());
        mark(db, made[1].app).await;
        while purge::step(db, made[1].app).await.unwrap() {}
        let left = transfers::to_address(db, "bob@example.com", None, 10).await.unwrap();
        assert_eq!(left, made[2..]);
    }
}
