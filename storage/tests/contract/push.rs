//! Push subscriptions: one per browser, bounded per account, alive while their session is.

use rookery_domain::{id::HumanId, secret::SecretHash};
use rookery_storage::{
    idempotency::KeepResponse,
    push::{self, NewSubscription, PER_ACCOUNT_MAX},
    sessions::{self, OpenCodes, Session},
};

use crate::support::{NOW, TestDb, at_once, contract, hash, human, new_session, number};

fn subscription(session: &Session, hash: SecretHash, sealed: &str) -> NewSubscription {
    NewSubscription {
        hash,
        human: session.human,
        session: session.id,
        sealed: sealed.into(),
        expires_at: None,
    }
}

async fn session(test: &TestDb, human: HumanId) -> Session {
    sessions::create(&test.db, human, new_session(), NOW).await.unwrap()
}

async fn sealed(test: &TestDb, human: HumanId, later_s: i64) -> Vec<String> {
    let found = push::of_human(&test.db, human, NOW.plus_seconds(later_s)).await.unwrap();
    found.into_iter().map(|it| it.sealed).collect()
}

contract! {
    async fn a_subscription_is_kept_refreshed_and_deleted(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        let browser = hash();
        let first = push::keep(&test.db, subscription(&open, browser, "one"), NOW, KeepResponse::nothing()).await.unwrap();
        assert!(first.is_some_and(|kept| kept.is_new && kept.created_at == NOW));
        let later = NOW.plus_seconds(5);
        let again = subscription(&open, browser, "two");
        let again = push::keep(&test.db, again, later, KeepResponse::nothing()).await.unwrap().unwrap();
        assert!(!again.is_new && again.created_at == NOW);
        assert_eq!(sealed(test, ada, 6).await, ["two"]);
        // Of nobody else, and any number of times.
        let eve = human(&test.db, "eve@example.com").await.id;
        push::delete(&test.db, eve, browser).await.unwrap();
        assert_eq!(sealed(test, ada, 6).await, ["two"]);
        push::delete(&test.db, ada, browser).await.unwrap();
        push::delete(&test.db, ada, browser).await.unwrap();
        assert!(sealed(test, ada, 6).await.is_empty());
    }

    async fn a_browser_belongs_to_whoever_subscribed_last(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let bob = human(&test.db, "bob@example.com").await.id;
        let (of_ada, of_bob) = (session(test, ada).await, session(test, bob).await);
        let browser = hash();
        push::keep(&test.db, subscription(&of_ada, browser, "a"), NOW, KeepResponse::nothing()).await.unwrap();
        let later = NOW.plus_seconds(9);
        let kept = push::keep(&test.db, subscription(&of_bob, browser, "b"), later, KeepResponse::nothing()).await.unwrap();
        assert!(kept.is_some_and(|kept| kept.is_new && kept.created_at == later));
        assert!(sealed(test, ada, 10).await.is_empty());
        assert_eq!(sealed(test, bob, 10).await, ["b"]);
    }

    async fn a_subscription_ends_with_its_session(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        push::keep(&test.db, subscription(&open, hash(), "one"), NOW, KeepResponse::nothing()).await.unwrap();
        // The session lasts an hour.
        assert_eq!(sealed(test, ada, 3_599).await.len(), 1);
        assert!(sealed(test, ada, 3_600).await.is_empty());
        assert!(sessions::end(&test.db, ada, open.id, OpenCodes::Stay).await.unwrap().is_some());
        assert_eq!(number(&test.db, "select count(*) from push_subscriptions").await, 0);
        let late = push::keep(&test.db, subscription(&open, hash(), "late"), NOW, KeepResponse::nothing()).await.unwrap();
        assert_eq!(late, None);
        assert_eq!(number(&test.db, "select count(*) from push_subscriptions").await, 0);
    }

    async fn an_account_keeps_its_newest_subscriptions(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        for n in 0..PER_ACCOUNT_MAX + 3 {
            let new = subscription(&open, hash(), &n.to_string());
            push::keep(&test.db, new, NOW.plus_seconds(n.into()), KeepResponse::nothing()).await.unwrap();
        }
        let kept = sealed(test, ada, 100).await;
        let newest: Vec<_> = (3..PER_ACCOUNT_MAX + 3).rev().map(|n| n.to_string()).collect();
        assert_eq!(kept, newest);
    }

    async fn of_many_at_once_an_account_keeps_no_more_than_it_may(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        at_once(u64::from(PER_ACCOUNT_MAX) * 2, |n| {
            let (db, new) = (test.db.clone(), subscription(&open, hash(), &n.to_string()));
            async move { push::keep(&db, new, NOW, KeepResponse::nothing()).await.unwrap().unwrap() }
        })
        .await;
        let kept = number(&test.db, "select count(*) from push_subscriptions").await;
        assert_eq!(kept, i64::from(PER_ACCOUNT_MAX));
    }

    async fn a_dead_subscription_goes_unless_it_was_refreshed(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        let browser = hash();
        push::keep(&test.db, subscription(&open, browser, "old"), NOW, KeepResponse::nothing()).await.unwrap();
        let dead = push::of_human(&test.db, ada, NOW).await.unwrap().remove(0);
        push::keep(&test.db, subscription(&open, browser, "new"), NOW, KeepResponse::nothing()).await.unwrap();
        push::drop_dead(&test.db, &dead).await.unwrap();
        assert_eq!(sealed(test, ada, 0).await, ["new"]);
        let dead = push::of_human(&test.db, ada, NOW).await.unwrap().remove(0);
        push::drop_dead(&test.db, &dead).await.unwrap();
        assert!(sealed(test, ada, 0).await.is_empty());
    }

    async fn what_the_browser_lets_expire_is_not_used_and_swept(test: &TestDb) {
        let ada = human(&test.db, "ada@example.com").await.id;
        let open = session(test, ada).await;
        let expires_at = Some(NOW.plus_seconds(60));
        let new = NewSubscription { expires_at, ..subscription(&open, hash(), "brief") };
        push::keep(&test.db, new, NOW, KeepResponse::nothing()).await.unwrap();
        assert_eq!(sealed(test, ada, 59).await.len(), 1);
        assert!(sealed(test, ada, 60).await.is_empty());
        rookery_storage::expiry::sweep(&test.db, NOW.plus_seconds(61)).await.unwrap();
        assert_eq!(number(&test.db, "select count(*) from push_subscriptions").await, 0);
    }
}
