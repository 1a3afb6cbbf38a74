//! Apps whose manifest an earlier release admitted, and this one would refuse: they live on, and
//! their owner can deploy them anew or remove them.

use rookery_actors::{
    SlotState,
    app::message::{AppOp, NewRow, Op},
    control::{AppList, Bundle, Redeploy},
};
use rookery_domain::{ErrorCode, app::AppRecord};
use rookery_storage::{commit::RowState, faults::Faults};

use crate::support::{MANIFEST, object, real::House, record};

/// A schedule by a date that is a number, a reference that names its schema letter by letter, a
/// schema that does not compile, and a pattern that may take long.
const OLD: &str = r##"{
    "collections": {
        "entries": {
            "schema": {"$ref": "#/$defs/En%74ry"},
            "permissions": {"read": ["anyone"], "write": ["owner"], "delete": ["owner"]}
        },
        "other": {
            "schema": {"$ref": "#/$defs/Broken"},
            "permissions": {"read": ["anyone"], "write": ["owner"], "delete": ["owner"]}
        }
    },
    "$defs": {
        "En%74ry": {"properties": {"when": {"type": "number"}, "tag": {"pattern": "^(a+)+$"}}},
        "Broken": {"type": "no type"}
    },
    "schedules": [{"collection": "entries", "dateField": "when", "offsetDays": 1, "to": ["owner"],
                   "subject": "s", "body": "b"}]
}"##;

fn redeploy(house: &House, manifest: Option<&str>) -> Redeploy {
    Redeploy {
        caller: house.caller.clone(),
        bundle: Bundle {
            html: "<!doctype html>".into(),
            manifest: manifest.map(str::to_owned),
            ..Bundle::default()
        },
        expected: None,
        force: false,
        dry_run: false,
        idempotency: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_todays_rules_would_refuse_lives_on_and_can_be_mended() {
    let house = House::open(Faults::default()).await;
    let old: AppRecord = record(house.owner);
    let rows = house.rows(3, RowState::Live);
    house.store(old.clone(), OLD, rows).await;
    let control = house.runtime.control();
    let (listed, _) = control.list(house.owner, AppList::default(), 10).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(control.advisories(house.owner).await.unwrap().len(), 1);
    let app = house.runtime.apps().by_id(old.id).await.unwrap();
    let root = app.root().await.unwrap();
    assert_eq!((app.state(), root.live_rows("entries")), (SlotState::Live, Some(3)));
    house.create(&app, "a").await.unwrap();
    let item = NewRow { key: Some("b".into()), data: object("{}") };
    let broken = Op::Create { collection: "other".into(), item, challenge: None };
    let refused = app
        .apply(house.caller.clone(), broken)
        .await
        .expect_err("nothing fits a schema that does not compile");
    assert_eq!(refused.code, ErrorCode::RowSchemaViolation);
    // A manifest is judged when it is sent, and not when it is carried over.
    let sent = control.deploy(&app, redeploy(&house, Some(OLD))).await.unwrap_err();
    assert_eq!(sent.code, ErrorCode::CollectionSchemaInvalid);
    let mended = Redeploy { force: true, ..redeploy(&house, Some(MANIFEST)) };
    control.deploy(&app, mended).await.expect("it is mended");
    assert_eq!(app.root().await.unwrap().live_rows("entries"), Some(4));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_deployed_over_a_manifest_that_would_be_refused() {
    let house = House::open(Faults::default()).await;
    let old: AppRecord = record(house.owner);
    house.store(old.clone(), OLD, house.rows(1, RowState::Live)).await;
    let app = house.runtime.apps().by_id(old.id).await.unwrap();
    let control = house.runtime.control();
    control.deploy(&app, redeploy(&house, None)).await.expect("the manifest is carried over");
    assert_eq!(app.root().await.unwrap().live_rows("entries"), Some(1));
    let delete = Op::App(AppOp::Delete);
    app.apply(house.caller.clone(), delete).await.expect("it can be removed");
    house.close().await;
}
