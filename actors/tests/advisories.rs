//! The exposure report: on every app of an account, and made once for each state of one.

use std::sync::Arc;

use rookery_actors::RuntimeOptions;
use rookery_domain::{app::AppRecord, id::AppId, limits::Limits};
use rookery_storage::{commit::RowState, faults::Faults};

use crate::support::{MANIFEST, asleep, real::House, record};

async fn stored(house: &House) -> AppId {
    let record: AppRecord = record(house.owner);
    let id = record.id;
    house.store(record, MANIFEST, Vec::new()).await;
    id
}

#[tokio::test]
async fn apps_beyond_a_limit_that_was_lowered_are_reported_too() {
    let limits = Limits { max_apps_per_account: 1, ..Limits::default() };
    let house = House::open_limited(Faults::default(), RuntimeOptions::default(), limits).await;
    let mut apps = vec![stored(&house).await, stored(&house).await, stored(&house).await];
    let reports = house.runtime.control().advisories(house.owner).await.unwrap();
    let mut reported: Vec<_> = reports.iter().map(|one| one.record.id).collect();
    apps.sort_unstable();
    reported.sort_unstable();
    assert_eq!(reported, apps);
    house.close().await;
}

#[tokio::test]
async fn a_report_is_made_once_until_the_app_changes() {
    let house = House::open(Faults::default()).await;
    let app = stored(&house).await;
    let report = async || {
        let reports = house.runtime.control().advisories(house.owner).await.unwrap();
        assert_eq!(reports.len(), 1);
        Arc::clone(&reports[0].report)
    };
    let first = report().await;
    // Behind everybody's back, and without a number: only what looks at rows anew sees them.
    let rows = house.rows(3, RowState::Live);
    house.commit(app, |group| (group.totals.live, group.writes.rows) = (3, rows)).await;
    assert!(Arc::ptr_eq(&first, &report().await), "nothing was looked at again");
    let app = house.runtime.apps().by_id(app).await.unwrap();
    house.create(&app, "k").await.unwrap();
    let awake = report().await;
    assert!(!Arc::ptr_eq(&first, &awake));
    assert!(Arc::ptr_eq(&awake, &report().await));
    asleep(&app).await;
    assert!(Arc::ptr_eq(&awake, &report().await), "it is the same in storage");
    house.close().await;
}
