//! Deploys that bring detached rows back: few of them hold such rows at a time.

use rookery_actors::{
    AppHandle,
    control::{Bundle, Deployed, Redeploy},
};
use rookery_domain::Result;
use rookery_testkit::until;
use tokio::task::JoinHandle;

use crate::support::{MANIFEST, create, half::HalfHouse, row};

/// Deploys that may hold detached rows at a time.
const PERMITS: u64 = 2;
const APPS: usize = 5;

/// Starts to deploy this manifest.
fn deploy(
    house: &HalfHouse,
    app: &AppHandle,
    manifest: &str,
    dry_run: bool,
) -> JoinHandle<Result<Deployed>> {
    let (control, app, caller) =
        (house.runtime.control().clone(), app.clone(), house.caller.clone());
    let bundle = Bundle {
        html: "<!doctype html>".into(),
        manifest: Some(manifest.to_owned()),
        assets: Some(Vec::new()),
        ..Bundle::default()
    };
    let request =
        Redeploy { caller, bundle, expected: None, force: true, dry_run, idempotency: None };
    tokio::spawn(async move { Ok(control.deploy(&app, request).await?.fresh().unwrap()) })
}

#[tokio::test]
async fn no_more_than_two_deploys_hold_detached_rows_at_a_time() {
    let house = HalfHouse::open().await;
    let (mut apps, none_detached) = (Vec::new(), house.app().await);
    for _ in 0..APPS {
        let app = house.app().await;
        row(app.apply(house.caller.clone(), create("k", "{}")).await).unwrap();
        let without = deploy(&house, &app, r#"{"collections": {}}"#, false).await.unwrap();
        assert_eq!(without.unwrap().report.detached, 1);
        apps.push(app);
    }
    let gate = house.store.gate_detached();
    let mut rehearsals = Vec::new();
    for app in &apps {
        rehearsals.push(deploy(&house, app, MANIFEST, true));
    }
    until("as many as may read", || house.store.detached_reads() == PERMITS).await;
    let other = deploy(&house, &none_detached, MANIFEST, false).await.unwrap();
    other.expect("one without such rows waits for nobody");
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(house.store.detached_reads(), PERMITS, "the others wait");
    gate.add_permits(APPS);
    for rehearsal in rehearsals {
        assert_eq!(rehearsal.await.unwrap().unwrap().report.reattached, 1);
    }
    house.close().await;
}
