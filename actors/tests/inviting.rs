//! Inviting members: nobody comes to be by an invitation that the app refuses.

use rookery_actors::app::{
    access_ops::{AccessOp, NamedRole},
    message::{AppOp, Op},
};
use rookery_domain::{ErrorCode, email::Email, id::HumanId, members::MEMBERS_PER_APP_MAX};
use rookery_storage::placeholders;

use crate::support::{NOW, half::HalfHouse};

fn add(human: HumanId) -> Op {
    Op::App(AppOp::Access(AccessOp::AddMember { human, custom_role: None }))
}

#[tokio::test]
async fn a_full_app_invites_nobody() {
    let house = HalfHouse::open().await;
    let (app, directory) = (house.app().await, house.directory().await);
    let (control, email) = (house.runtime.control(), Email::parse("ada@example.com").unwrap());
    for _ in 0..MEMBERS_PER_APP_MAX {
        app.apply(house.caller.clone(), add(HumanId::new())).await.expect("there is room");
    }
    let pilot = NamedRole { name: "pilot".into(), field: "role" };
    for (role, code) in [(None, ErrorCode::Conflict), (Some(pilot), ErrorCode::InvalidRequest)] {
        let refused = control.invitation(&directory, &app, &email, role).await.unwrap_err();
        assert_eq!(refused.code, code);
    }
    let candidate = HumanId::new();
    let first = placeholders::invite(&house.db, email.as_str().to_owned(), candidate, NOW).await;
    assert_eq!(first.unwrap().0.id, candidate, "nobody has that address yet");
    house.close().await;
}
