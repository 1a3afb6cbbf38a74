//! A clock that was ahead and is set right: what was ended stays ended, and what was only forgotten
//! meanwhile is as it was.

use rookery_actors::{
    AppHandle,
    app::{
        access_ops::{AccessOp, NewPreview},
        message::{AppOp, Op},
    },
};
use rookery_domain::{expiry::Expiry, id::PreviewId, secret::SecretHash, time::DAY_S};
use rookery_storage::faults::Faults;

use crate::support::{NOW, asleep, real::House};

const HOUR_S: u32 = 3_600;

async fn change(house: &House, app: &AppHandle, op: AccessOp) {
    let op = Op::App(AppOp::Access(op));
    app.apply(house.caller.clone(), op).await.expect("the owner may");
}

fn preview(hash: u8, seconds: u32) -> NewPreview {
    let expiry = Some(Expiry::In(seconds));
    NewPreview { id: PreviewId::new(), hash: SecretHash([hash; 32]), expiry }
}

async fn opens(app: &AppHandle, hash: u8) -> bool {
    app.preview(SecretHash([hash; 32])).await.expect("the app answers").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_that_is_revoked_opens_nothing_again() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await;
    let (revoked, kept) = (preview(1, HOUR_S), preview(2, HOUR_S));
    let id = revoked.id;
    for new in [revoked, kept] {
        change(&house, &app, AccessOp::MintPreview(new)).await;
    }

    // Both have ended, as far as an app knows that wakes now and makes another one.
    house.clock.set(NOW.plus_seconds(DAY_S));
    asleep(&app).await;
    change(&house, &app, AccessOp::MintPreview(preview(3, HOUR_S))).await;
    assert!(!opens(&app, 1).await && !opens(&app, 2).await);

    house.clock.set(NOW);
    change(&house, &app, AccessOp::RevokePreview { id }).await;
    for _ in 0..2 {
        assert!(!opens(&app, 1).await, "it was revoked");
        assert!(opens(&app, 2).await, "it was not, and is listed as good");
        asleep(&app).await;
    }
    house.close().await;
}
