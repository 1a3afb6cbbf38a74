//! What an app that never rests must not carry for ever: the keys of what was purged, and its
//! counters of write budgets as they come back from storage.

use rookery_actors::{
    AppHandle,
    app::message::{Op, RowReply, RowTarget},
};
use rookery_domain::{
    ErrorCode,
    app::AppRecord,
    budget::{BudgetRecord, BudgetScope},
    id::ParticipantId,
    manifest::Visibility,
    principal::Caller,
    time::DAY_S,
};
use rookery_storage::faults::Faults;

use crate::support::{Bench, Fate, NOW, asleep, create, paused, real::House, record, row};

/// Keys of purged rows that an app remembers.
const PURGED_MAX: usize = 10_000;

fn purge(key: &str) -> Op {
    let target = RowTarget { key: key.into(), if_match: None };
    Op::Purge { collection: "entries".into(), target }
}

async fn write(app: &AppHandle, bench: &Bench, op: Op) -> RowReply {
    row(app.apply(bench.caller.clone(), op).await).unwrap()
}

async fn resident(app: &AppHandle) -> u64 {
    app.root().await.unwrap().resident_bytes()
}

#[test]
fn purged_keys_are_folded_into_one_number_and_versions_go_on_behind_them() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.store.purged(app.id(), PURGED_MAX, 7, bench.caller.principal());
        let remembering = resident(&app).await;
        assert_eq!(bench.create(&app, "k0").await.unwrap().row.version, 8);
        for key in ["x", "y"] {
            bench.create(&app, key).await.unwrap();
            app.apply(bench.caller.clone(), purge(key)).await.unwrap();
        }
        assert!(resident(&app).await < remembering - 64 * PURGED_MAX as u64 / 2);
        // Of the folded ones nobody knows any more which version each had.
        assert_eq!(bench.create(&app, "k1").await.unwrap().row.version, 8);
        assert_eq!(bench.create(&app, "x").await.unwrap().row.version, 8);
        assert_eq!(write(&app, &bench, create("k2", "{}")).await.row.version, 8);
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[test]
fn a_key_that_an_uncommitted_step_speaks_of_is_not_folded() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        bench.store.purged(app.id(), PURGED_MAX, 7, bench.caller.principal());
        for key in ["x", "y", "z"] {
            bench.create(&app, key).await.unwrap();
        }
        bench.store.hold();
        let spawn = |op: Op| {
            let (app, caller) = (app.clone(), bench.caller.clone());
            tokio::spawn(async move { app.apply(caller, op).await })
        };
        let first = spawn(purge("x"));
        while bench.store.held() == 0 {
            tokio::task::yield_now().await;
        }
        // Decided behind the group that is with the writer, and refused by storage.
        let behind = [spawn(purge("y")), spawn(create("k0", "{}"))];
        while app.observe().queued < 3 {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        bench.store.end(Fate::Commit);
        first.await.unwrap().unwrap();
        while bench.store.held() == 0 {
            tokio::task::yield_now().await;
        }
        bench.store.end(Fate::Refuse);
        for refused in behind {
            refused.await.unwrap().expect_err("it was not applied");
        }
        bench.store.go_on();
        let rows = app.root().await.unwrap().live_rows("entries");
        assert_eq!(rows, Some(2), "`y` is there as before");
        assert_eq!(bench.create(&app, "k0").await.unwrap().row.version, 8);
        assert_eq!(bench.create(&app, "k1").await.unwrap().row.version, 8);
        assert_eq!(bench.store.violations(), Vec::<String>::new());
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn networks_that_share_a_counter_never_write_over_the_apps_own() {
    let manifest = r#"{"collections": {"entries": {
        "permissions": {"read": ["anyone"], "write": ["anyone"], "update": [], "delete": ["owner"],
                        "countRead": ["owner"]},
        "anonWriteBudget": {"perAppDay": 10002}}}}"#;
    let house = House::open(Faults::default()).await;
    let public = AppRecord { visibility: Visibility::Public, ..record(house.owner) };
    house.store(public.clone(), manifest, Vec::new()).await;
    let counter = |scope, count| {
        let day = NOW.utc_day();
        BudgetRecord { collection: "entries".into(), scope, day, count }
    };
    // As many networks as are counted one by one, and all of them together.
    let networks = (0..10_000).map(|n| counter(BudgetScope::Network((1 << 40) + n), 1));
    let all = networks.chain([counter(BudgetScope::App, 10_000)]).collect();
    house.commit(public.id, |group| group.writes.budgets = all).await;
    let app = house.runtime.apps().by_id(public.id).await.unwrap();
    let mut refused = Vec::new();
    for key in ["a", "b", "c"] {
        let visitor =
            Caller::Anonymous { participant: ParticipantId::new(), network: 1 << 50, share: None };
        refused.extend(app.apply(visitor, create(key, "{}")).await.err());
        asleep(&app).await;
    }
    let codes: Vec<_> = refused.iter().map(|error| error.code).collect();
    assert_eq!(codes, [ErrorCode::CollectionWriteBudgetExceeded], "only the third is too many");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_was_spent_a_day_early_is_free_again_after_the_next_midnight() {
    let manifest = r#"{"collections": {"entries": {
        "permissions": {"read": ["anyone"], "write": ["anyone"], "update": [], "delete": ["owner"],
                        "countRead": ["owner"]},
        "anonWriteBudget": {"perAppDay": 1}}}}"#;
    let house = House::open(Faults::default()).await;
    let public =
        AppRecord { visibility: Visibility::Public, timezone: "UTC".into(), ..record(house.owner) };
    house.store(public.clone(), manifest, Vec::new()).await;
    let tomorrow = NOW.utc_day() + 1;
    let spent = BudgetRecord {
        collection: "entries".into(),
        scope: BudgetScope::App,
        day: tomorrow,
        count: 1,
    };
    house.commit(public.id, |group| group.writes.budgets = vec![spent]).await;
    let app = house.runtime.apps().by_id(public.id).await.unwrap();
    let mut refused = Vec::new();
    for (key, days) in [("a", 0), ("b", 1), ("c", 1)] {
        house.clock.set(NOW.plus_seconds(days * DAY_S));
        let visitor =
            Caller::Anonymous { participant: ParticipantId::new(), network: 1 << 50, share: None };
        let answer = app.apply(visitor, create(key, "{}")).await;
        refused.push(answer.err().map(|error| error.code));
        asleep(&app).await;
    }
    let spent = Some(ErrorCode::CollectionWriteBudgetExceeded);
    assert_eq!(refused, [spent, None, spent]);
    house.close().await;
}
