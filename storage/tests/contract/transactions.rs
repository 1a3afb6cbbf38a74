//! What holds for every mutation: it ends once started, and failing leaves no trace.

use std::{future::Future as _, pin::pin, task::Poll, time::Duration};

use rookery_domain::{ErrorCode, id::HumanId};
use rookery_storage::{StorageError, claims, idempotency::KeepResponse, meta, sessions};

use crate::support::{NOW, at_once, contract, hash, human, new_session};

contract! {
    async fn a_mutation_ends_though_its_caller_has_left(test: &TestDb) {
        let db = &test.db;
        for i in 0..20 {
            let key = format!("left-{i}");
            {
                // Polled once, as by a handler whose client leaves, then dropped.
                let mut call = pin!(meta::set(db, &key, "done"));
                std::future::poll_fn(|cx| {
                    let _ = call.as_mut().poll(cx);
                    Poll::Ready(())
                })
                .await;
            }
            let applied = async {
                while meta::get(db, &key).await.unwrap().is_none() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), applied).await.expect("it is applied");
        }
        // Nothing is left open that would keep others out.
        at_once(32, |i| {
            let db = db.clone();
            async move { meta::set(&db, &format!("after-{i}"), "x").await.unwrap() }
        })
        .await;
    }

    async fn a_refused_statement_is_certain_and_the_next_one_works(test: &TestDb) {
        let db = &test.db;
        // The foreign key refuses a session of nobody.
        let error = sessions::create(db, HumanId::new(), new_session(), NOW).await.unwrap_err();
        assert!(matches!(error, StorageError::Refused(_)), "{error:?}");
        assert!(error.is_certain());
        let ada = human(db, "ada@example.com").await.id;
        sessions::create(db, ada, new_session(), NOW).await.unwrap();
    }

    async fn readers_and_many_writers_work_at_once(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        at_once(64, |_| {
            let db = db.clone();
            async move {
                assert!(claims::mint(&db, hash(), ada, NOW, NOW, KeepResponse::nothing()).await.unwrap());
                assert!(rookery_storage::humans::by_id(&db, ada).await.unwrap().is_some());
            }
        })
        .await;
    }
}

#[test]
fn certain_failures_are_unavailable_and_uncertain_ones_internal() {
    let code = |error: StorageError| {
        let certain = error.is_certain();
        let error = rookery_domain::Error::from(error);
        (certain, error.code, error.details.is_some())
    };
    let text = String::new;
    assert_eq!(code(StorageError::Aborted(text())), (true, ErrorCode::Unavailable, false));
    assert_eq!(code(StorageError::Full), (true, ErrorCode::Unavailable, false));
    assert_eq!(code(StorageError::Refused(text())), (true, ErrorCode::Internal, false));
    assert_eq!(code(StorageError::MaybeCommitted(text())), (false, ErrorCode::Internal, true));
    assert_eq!(code(StorageError::Broken(text())), (false, ErrorCode::Internal, true));
}
