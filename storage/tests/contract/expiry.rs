//! What has expired is forgotten; what has not stays. And answers that are replayed for a day.

use rookery_domain::{
    id::{AppId, DeviceId, HumanId},
    idempotency::{FirstResponse, IdempotentRequest, KEPT_FOR_S, StoredResponse},
};
use rookery_storage::{
    Db, StorageError, claims, devices, expiry,
    idempotency::{
        self, KeepResponse,
        global::{self, NewResponse},
    },
    links,
    participants::{self, CameBy, GRACE_S, Participant},
    session_grants::{self, SessionGrant},
    sessions,
};

use rookery_testkit::until_async;
use sqlx::{AssertSqlSafe, Executor as _, query_scalar};

use crate::{
    support::{
        NOW, TestDb, at_once, contract, hash, human, new_session, number, on_postgres,
        session_grant, visitor,
    },
    writer::kit::deploy,
};

fn answer(scope: [u8; 32], body: &str, now: rookery_domain::Timestamp) -> NewResponse {
    let location = Some("/v1/keys".into());
    let answer = StoredResponse { status: 201, location, body: body.into() };
    NewResponse { request: IdempotentRequest { scope, body_hash: [2; 32] }, response: answer, now }
}

/// Makes a claim code, with this answer.
async fn keep(db: &Db, human: HumanId, new: NewResponse) -> Result<bool, StorageError> {
    let keep = KeepResponse::new(new.request, new.now, move |()| new.response.clone());
    claims::mint(db, hash(), human, NOW, NOW, keep).await
}

fn first(new: NewResponse) -> FirstResponse {
    FirstResponse { body_hash: new.request.body_hash, response: new.response }
}

contract! {
    async fn a_sweep_forgets_everything_that_ended_and_nothing_else(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        for end in [NOW.plus_seconds(1), NOW.plus_seconds(100)] {
            claims::mint(db, hash(), ada, end, NOW, KeepResponse::nothing()).await.unwrap();
            let device = devices::NewDevice {
                id: DeviceId::new(),
                device_hash: hash(),
                user_hash: hash(),
                name: "laptop".into(),
                interval_s: 5,
                expires_at: end,
            };
            devices::create(db, device, NOW).await.unwrap();
            let link = links::NewLink {
                hash: hash(),
                email: "ada@example.com".into(),
                redirect_to: None,
                expires_at: end,
            };
            links::create(db, link, NOW).await.unwrap();
            let session = sessions::NewSession { expires_at: end, ..new_session() };
            sessions::create(db, ada, session, NOW).await.unwrap();
            let waits = SessionGrant { expires_at: end, ..session_grant(AppId::new(), ada) };
            session_grants::create(db, &waits, NOW, KeepResponse::nothing()).await.unwrap();
            let comes = visitor(CameBy::Anonymous);
            participants::create(db, &Participant { expires_at: end, ..comes }).await.unwrap();
        }
        for (ended_before, left) in [(NOW, 2), (NOW.plus_seconds(50), 1)] {
            assert!(!expiry::sweep(db, ended_before).await.unwrap());
            for table in [
                "select count(*) from claims",
                "select count(*) from devices",
                "select count(*) from session_grants",
            ] {
                assert_eq!(number(db, table).await, left, "{table}");
            }
            // Whoever opens one late, or again, is led where it was to lead.
            assert_eq!(number(db, "select count(*) from links").await, 2);
            // Who was let in just before its end may be about to write, and a session that was used just
            // before its own has another by now.
            assert_eq!(number(db, "select count(*) from participants").await, 2);
            assert_eq!(number(db, "select count(*) from sessions").await, 2);
        }
        for (ended_before, left) in [(NOW, 2), (NOW.plus_seconds(50), 1)] {
            expiry::sweep(db, ended_before.plus_seconds(GRACE_S)).await.unwrap();
            assert_eq!(number(db, "select count(*) from participants").await, left);
            assert_eq!(number(db, "select count(*) from sessions").await, left);
        }
        for (ended_before, left) in [(NOW, 2), (NOW.plus_seconds(50), 1)] {
            expiry::sweep(db, ended_before.plus_seconds(expiry::LINK_GRACE_S)).await.unwrap();
            assert_eq!(number(db, "select count(*) from links").await, left);
        }
    }

    async fn a_sweep_takes_a_chunk_and_says_that_more_is_left(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let codes = u64::from(expiry::CHUNK) + 1;
        at_once(codes, |_| {
            let db = db.clone();
            async move { claims::mint(&db, hash(), ada, NOW, NOW, KeepResponse::nothing()).await.unwrap() }
        })
        .await;
        let later = NOW.plus_seconds(1);
        assert!(expiry::sweep(db, later).await.unwrap());
        assert_eq!(number(db, "select count(*) from claims").await, 1);
        assert!(!expiry::sweep(db, later).await.unwrap());
        assert_eq!(number(db, "select count(*) from claims").await, 0);
    }

    async fn the_first_of_many_answers_is_kept_for_its_time(test: &TestDb) {
        let db = &test.db;
        let scope = hash().0;
        let ada = human(db, "ada@example.com").await.id;
        let stored = at_once(16, |i| {
            let db = db.clone();
            async move {
                keep(&db, ada, answer(scope, &format!("body {i}"), NOW)).await
            }
        })
        .await;
        let made = stored.iter().position(Result::is_ok).unwrap();
        let expected = first(answer(scope, &format!("body {made}"), NOW));
        let refused = stored.iter().filter(|end| **end == Err(StorageError::Answered));
        assert_eq!(refused.count(), 15);
        assert_eq!(number(db, "select count(*) from claims").await, 1, "nothing is made twice");
        let day = NOW.plus_seconds(KEPT_FOR_S);
        let just_before = day.plus_seconds(-1);
        assert_eq!(global::find(db, scope, just_before).await.unwrap(), Some(expected));
        assert_eq!(global::find(db, hash().0, NOW).await.unwrap(), None);

        // A day later it is forgotten: not shown, replaced by the next, and swept.
        assert_eq!(global::find(db, scope, day).await.unwrap(), None);
        let next = answer(scope, "tomorrow", day);
        assert_eq!(keep(db, ada, next.clone()).await, Ok(true));
        assert_eq!(global::find(db, scope, day).await.unwrap(), Some(first(next)));
        let just_before = day.plus_seconds(KEPT_FOR_S - 1);
        assert!(!expiry::sweep_responses(db, just_before).await.unwrap());
        assert!(global::find(db, scope, just_before).await.unwrap().is_some());
        expiry::sweep_responses(db, day.plus_seconds(KEPT_FOR_S)).await.unwrap();
        assert_eq!(number(db, "select count(*) from idempotency_global").await, 0);
    }
}

#[test]
fn what_is_renewed_while_a_sweep_waits_for_it_stays() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        sessions::create(db, ada, new_session(), NOW).await.unwrap();
        participants::create(db, &visitor(CameBy::Anonymous)).await.unwrap();
        keep(db, ada, answer(hash().0, "first", NOW)).await.unwrap();
        deploy(test, "notes").await;
        let fill = "insert into idempotency (scope, body_hash, status, body, created_at, app_id,
                                             collection)
                        select scope, body_hash, kept.status, body, kept.created_at, apps.id, 'entries'
                        from idempotency_global kept, apps;
                    insert into budgets (app_id, collection, network, day, count)
                        select id, 'entries', 1, 1, 1 from apps;
                    insert into spent_challenges (app_id, id, expires_at)
                        select id, id, 1 from apps";
        postgres.pool().execute(fill).await.unwrap();
        let now = NOW.plus_seconds(3 * KEPT_FOR_S);
        // In the order in which they are swept, each by somebody of its own.
        let mut renewals = Vec::new();
        for (table, column, renewed) in [
            ("sessions", "expires_at", now.0),
            ("participants", "expires_at", now.0),
            ("idempotency_global", "created_at", now.0),
            ("idempotency", "created_at", now.0),
            ("spent_challenges", "expires_at", now.0 + 1),
            ("budgets", "day", 9),
        ] {
            let mut own = postgres.connect().await.unwrap();
            let renew = format!("begin; update {table} set {column} = {renewed}");
            own.execute(AssertSqlSafe(renew)).await.unwrap();
            renewals.push((table, own));
        }
        let sweeping = tokio::spawn({
            let db = db.clone();
            async move {
                expiry::sweep(&db, now).await.unwrap();
                expiry::sweep_responses(&db, now).await.unwrap();
                idempotency::forget_expired(&db, now).await.unwrap();
                expiry::forget_spent(&db, now, 9..=9).await.unwrap();
            }
        });
        for (table, own) in &mut renewals {
            let waited_for = async || {
                let waiting = "select count(*) from pg_locks
                               where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
                query_scalar::<_, i64>(waiting).fetch_one(&mut *own).await.unwrap() > 0
            };
            until_async(&format!("the sweep waits for {table}"), waited_for).await;
            own.execute("commit").await.unwrap();
        }
        sweeping.await.unwrap();
        for (table, own) in &mut renewals {
            let left = AssertSqlSafe(format!("select count(*) from {table}"));
            let left: i64 = query_scalar(left).fetch_one(&mut *own).await.unwrap();
            assert_eq!(left, 1, "{table}");
        }
    });
}
