//! What goes into one group, and what is left of one that is aborted.

use std::time::Duration;

use rookery_actors::{
    RuntimeOptions,
    app::message::{AppOp, Op},
};
use rookery_domain::{
    ErrorCode, app::AppRecord, field_patch::FieldPatch, id::ParticipantId, manifest::Visibility,
    principal::Caller,
};
use rookery_testkit::until;

use crate::support::{Bench, Fate, asleep, create, delete, object, paused, record, row};

const EVENTS: usize = 400;
const PAYLOAD_BYTES: usize = 15 << 10;
/// What a group holds at most, and the request that goes over it.
const GROUP_BYTES_MAX: usize = (4 << 20) + (16 << 10);

#[test]
fn payloads_fill_a_group_as_rows_do() {
    paused().block_on(async {
        let options = RuntimeOptions { mailbox_limit: EVENTS, ..RuntimeOptions::default() };
        let bench = Bench::start_with(options).await;
        let record = record(bench.owner);
        let id = record.id;
        bench.store.deploy(record, r#"{"events": {"said": {}}}"#);
        let app = bench.rig.apps.by_id(id).await.expect("it was deployed");
        app.root().await.expect("it wakes");
        bench.store.hold();
        let data = object(&format!(r#"{{"text":"{}"}}"#, "x".repeat(PAYLOAD_BYTES)));
        let mut sent = Vec::new();
        for _ in 0..EVENTS {
            let (app, caller) = (app.clone(), bench.caller.clone());
            let op = Op::Emit { kind: "said".into(), data: data.clone() };
            sent.push(tokio::spawn(async move { app.apply(caller, op).await }));
        }
        let mut written = 0;
        while sent.iter().any(|one| !one.is_finished()) {
            // Passes when everybody waits: whatever may join the group has joined it.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let bytes = bench.store.held_payloads();
            assert!(bytes <= GROUP_BYTES_MAX, "{bytes} bytes in one group");
            written += bytes;
            bench.store.end(Fate::Commit);
        }
        for one in sent {
            one.await.unwrap().expect("every event is taken");
        }
        assert!(written > GROUP_BYTES_MAX, "they were more than one group takes");
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[test]
fn a_first_write_that_comes_to_nothing_leaves_unique_values_where_they_were() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let apply = async |op| row(app.apply(bench.caller.clone(), op).await);
        let ada = r#"{"email":"ada@example.org"}"#;
        apply(create("first", ada)).await.expect("it is free");
        asleep(&app).await;

        // The first that asks for unique values since the wake is taken back.
        app.root().await.expect("it wakes");
        bench.store.hold();
        let (deleted, created, ()) =
            tokio::join!(apply(delete("first")), apply(create("second", ada)), async {
                let all_queued = || bench.store.held() > 0 && app.observe().queued == 2;
                until("both are decided", all_queued).await;
                while bench.store.end(Fate::Refuse) {
                    until("the next is with the writer", || {
                        bench.store.held() > 0 || app.observe().queued == 0
                    })
                    .await;
                }
            });
        deleted.expect_err("its commit was aborted");
        created.expect_err("it built on the one before");
        bench.store.go_on();
        let refused = apply(create("third", ada)).await.expect_err("the first row holds it");
        assert_eq!(refused.code, ErrorCode::UniqueConflict);
        apply(delete("first")).await.expect("it is there");
        apply(create("third", ada)).await.expect("now it is free");
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[test]
fn a_change_of_the_timezone_that_comes_to_nothing_refills_no_budget() {
    // To where the day before is not over yet, and to where the next one has begun.
    for [from, to] in
        [["Pacific/Kiritimati", "Pacific/Honolulu"], ["Pacific/Honolulu", "Pacific/Kiritimati"]]
    {
        budget_stays_spent(from, to);
    }
}

fn budget_stays_spent(from: &str, to: &str) {
    paused().block_on(async {
        let bench = Bench::start().await;
        let timezone = from.into();
        let record = AppRecord { visibility: Visibility::Public, timezone, ..record(bench.owner) };
        let id = record.id;
        let manifest = r#"{"collections": {"entries": {
            "permissions": {"read": ["anyone"], "write": ["anyone"], "update": [],
                            "delete": ["owner"], "countRead": ["owner"]},
            "anonWriteBudget": {"perAppDay": 1}}}}"#;
        bench.store.deploy(record, manifest);
        let app = bench.rig.apps.by_id(id).await.expect("it was deployed");
        let visit = async |key| {
            let participant = ParticipantId::new();
            let visitor = Caller::Anonymous { participant, network: 1, share: None };
            app.apply(visitor, create(key, "{}")).await
        };
        visit("first").await.expect("there is room");

        bench.store.hold();
        let timezone = Some(to.into());
        let op = AppOp::Settings { visibility: None, share: None, timezone, org: FieldPatch::Keep };
        let moving = app.apply(bench.caller.clone(), Op::App(op));
        let (moved, _, ()) = tokio::join!(moving, visit("second"), async {
            until("a group with the writer", || bench.store.held() == 1).await;
            bench.store.end(Fate::Refuse);
            bench.store.go_on();
            while bench.store.end(Fate::Refuse) {}
        });
        moved.expect_err("its commit was aborted");
        let refused = visit("third").await.expect_err("the day's budget is spent");
        assert_eq!(refused.code, ErrorCode::CollectionWriteBudgetExceeded);
    });
}
