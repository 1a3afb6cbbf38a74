//! What was begun is done to its end when whoever asked leaves, at whatever point, and what cannot
//! be done leaves nothing half.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::poll;
use rookery_actors::{
    AppHandle, Directory, DirectoryOptions,
    app::{
        access_ops::{AccessOp, NamedRole, NewGrant},
        message::{AppOp, Op},
    },
    directory::{Arrival, ParticipantKind, Visit},
};
use rookery_domain::{
    ErrorCode, Result,
    domains::DomainName,
    id::{GrantId, HumanId, ParticipantId},
    idempotency::StoredResponse,
    principal::Caller,
    secret::{Secret, SecretKind},
};
use rookery_storage::{
    faults::{self, Faults},
    feed,
    idempotency::KeepResponse,
    participants::{self, Participant},
};
use rookery_testkit::{until, until_async};

use crate::support::real::House;

/// Looks at a request after which its caller leaves: each number up to this.
const LOOKS_MAX: usize = 12;

/// A collection, and a role that links may give.
const MANIFEST: &str = r#"{"roles": {"editor": {"title": "Editor"}}, "collections": {
    "entries": {"permissions": {"read": ["editor"], "write": ["editor"], "delete": ["owner"],
                        "countRead": ["owner"]}}}}"#;

/// Looks at `work` so many times, with a turn for the others between, then drops it.
async fn leave_after<T>(looks: usize, work: impl Future<Output = T>) {
    let mut work = pin!(work);
    for _ in 0..looks {
        if poll!(&mut work).is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_name_leads_to_its_app_as_storage_says_when_the_owner_leaves() {
    let house = House::open(Faults::default()).await;
    let handle = house.app("notes").await;
    let (app, owner) = (handle.id(), handle.record().owner);
    let domains = house.runtime.domains();
    let name = "www.example.com";
    for looks in 1..=LOOKS_MAX {
        let bound = domains
            .bind(&handle, Some(owner), DomainName::stored(name), 10, KeepResponse::nothing())
            .await
            .unwrap();
        leave_after(looks, domains.prove(&bound)).await;
        until("the name leads to the app", || domains.at(name).is_some()).await;
        leave_after(looks, domains.remove(&bound, owner)).await;
        until("the name leads nowhere", || domains.at(name).is_none()).await;
        assert_eq!(domains.list(app).await.unwrap(), []);
    }
    house.close().await;
}

#[tokio::test]
async fn a_name_that_could_not_be_removed_leads_to_its_app_until_it_is() {
    let house = House::open(Faults::default()).await;
    let handle = house.app("notes").await;
    let owner = handle.record().owner;
    let domains = house.runtime.domains();
    let name = "www.example.com";
    let bound = domains
        .bind(&handle, Some(owner), DomainName::stored(name), 10, KeepResponse::nothing())
        .await
        .unwrap();
    assert!(domains.prove(&bound).await.unwrap());
    faults::fill_at(&house.db, 1);
    let refused = domains.remove(&bound, owner).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(domains.at(name).is_some());
    let refused = domains.remove(&bound, HumanId::new()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AppNotFound, "the app is somebody else's");
    assert!(domains.at(name).is_some());
    domains.remove(&bound, owner).await.unwrap();
    assert_eq!(domains.at(name), None);
    house.close().await;
}

#[tokio::test]
async fn a_visitor_that_leaves_twice_over_is_unknown_all_the_same() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await.id();
    let directory = house.directory().await;
    for looks in 1..=LOOKS_MAX {
        let visit = directory.create_participant(app, Arrival::Anonymous).await.unwrap();
        leave_after(looks, directory.revoke_participant(&visit.participant)).await;
        until_async("the visit ended", async || {
            directory.participant(app, visit.token.expose()).await.unwrap().is_none()
        })
        .await;
    }
    house.close().await;
}

#[tokio::test]
async fn a_visitor_that_leaves_while_it_comes_in_makes_room_like_any_other() {
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await.id();
    let one = DirectoryOptions { fresh_visitors_max: 1, ..DirectoryOptions::default() };
    let directory = house.directory_with(one).await;
    let kept = async || {
        let all = participants::fresh_beyond(&house.db, app, ParticipantKind::Anonymous, 0).await;
        all.unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    for looks in 1..=LOOKS_MAX {
        let before = kept().await;
        leave_after(looks, directory.create_participant(app, Arrival::Anonymous)).await;
        until_async("it came in", async || kept().await.first() != before.first()).await;
        until_async("the one before has made room", async || kept().await.len() == 1).await;
    }
    house.close().await;
}

#[tokio::test]
async fn a_crowd_that_knocks_keeps_nobody_from_writing_and_holds_no_more_than_its_bound() {
    const HELD_MAX: usize = 20_000;
    let house = House::open(Faults::default()).await;
    let app = house.app("notes").await.id();
    let one = DirectoryOptions { fresh_visitors_max: 1, ..DirectoryOptions::default() };
    let directory = house.directory_with(one).await;
    let come =
        async || directory.create_participant(app, Arrival::Anonymous).await.unwrap().participant;
    let is_known = async |visitor: &Participant| {
        participants::by_hash(&house.db, visitor.hash, visitor.created_at).await.unwrap().is_some()
    };
    let (first, second) = (come().await, come().await);
    assert!(!is_known(&first).await, "the newest is kept");
    assert!(directory.hold_visitor(&second).await.unwrap());
    let third = come().await;
    assert!(is_known(&second).await, "who is held makes no room");
    for n in 0..HELD_MAX as u64 {
        let mut stranger = Participant::clone(&third);
        stranger.hash.0[..8].copy_from_slice(&n.to_be_bytes());
        directory.hold_visitor(&stranger).await.unwrap();
    }
    assert!(directory.hold_visitor(&third).await.unwrap());
    let fourth = come().await;
    let known = [is_known(&second).await, is_known(&third).await, is_known(&fourth).await];
    assert_eq!(known, [false, true, true], "who was held first is let go for the crowd");
    house.close().await;
}

#[tokio::test]
async fn the_feed_tells_of_a_wake_though_whoever_asked_has_left() {
    let house = House::open(Faults::default()).await;
    for looks in 1..=LOOKS_MAX {
        let app = house.app(&format!("notes-{looks}")).await;
        leave_after(looks, app.wake_for(house.caller.clone())).await;
        until_async("the feed tells of it", async || {
            let events = feed::events_after(&house.db, app.id(), 0, u64::MAX >> 1, 10).await;
            events.unwrap().iter().any(|event| event.kind.name() == "app.woken")
        })
        .await;
    }
    house.close().await;
}

#[tokio::test]
async fn what_is_made_without_a_key_to_repeat_it_is_made_to_its_end_too() {
    let house = House::open(Faults::default()).await;
    let directory = house.directory().await;
    for looks in 1..=LOOKS_MAX {
        let told = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&told);
        let made = |_| async move {
            for _ in 0..LOOKS_MAX {
                tokio::task::yield_now().await;
            }
            tell.store(true, Ordering::Relaxed);
            Ok(())
        };
        let kept = |(): &()| StoredResponse { status: 201, location: None, body: String::new() };
        leave_after(looks, directory.idempotent(None, kept, made)).await;
        until("it was told", || told.load(Ordering::Relaxed)).await;
    }
    house.close().await;
}

/// Somebody with a link that lets one visitor in.
struct Guest<'a> {
    house: &'a House,
    directory: &'a Directory,
    app: AppHandle,
    link: Secret,
}

impl<'a> Guest<'a> {
    async fn new(house: &'a House, directory: &'a Directory, slug: &str) -> Self {
        let app = house.app_with(slug, MANIFEST).await;
        let link = Secret::generate(SecretKind::Grant, &mut rand::rng());
        let new = NewGrant {
            id: GrantId::new(),
            hash: link.hash(),
            role: NamedRole { name: "editor".into(), field: "role" },
            max_uses: Some(1),
            expiry: None,
        };
        let op = Op::App(AppOp::Access(AccessOp::MintGrant(new)));
        app.apply(house.caller.clone(), op).await.unwrap();
        Self { house, directory, app, link }
    }

    async fn enter(&self) -> Result<Visit> {
        let participant = ParticipantId::new();
        let by = Caller::Anonymous { participant, network: 0, share: None };
        self.directory.redeem_grant(&self.app, by, self.link.hash()).await
    }

    /// The visitors that the feed tells of.
    async fn told(&self) -> Vec<ParticipantId> {
        let events = feed::events_after(&self.house.db, self.app.id(), 0, u64::MAX >> 1, 10).await;
        let events = events.unwrap().into_iter();
        let redeemed = events.filter(|event| event.kind.name() == "grant.redeemed");
        redeemed.map(|event| event.by.id_text().parse().unwrap()).collect()
    }
}

#[tokio::test]
async fn a_link_is_used_up_by_a_visitor_and_not_by_a_failure() {
    let house = House::open(Faults::default()).await;
    let directory = house.directory().await;
    let guest = Guest::new(&house, &directory, "notes").await;
    faults::fill_at(&house.db, 1);
    assert_eq!(guest.enter().await.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(guest.told().await, []);
    let visit = guest.enter().await.unwrap();
    assert_eq!(guest.told().await, [visit.participant.id]);
    let here = directory.participant(guest.app.id(), visit.token.expose()).await.unwrap();
    assert_eq!(here.unwrap().id, visit.participant.id);
    assert_eq!(guest.enter().await.unwrap_err().code, ErrorCode::GrantInvalid);
    house.close().await;
}

#[tokio::test]
async fn the_visitor_that_the_feed_tells_of_is_there_though_its_browser_has_left() {
    let house = House::open(Faults::default()).await;
    let directory = house.directory().await;
    for looks in 1..=LOOKS_MAX {
        let guest = Guest::new(&house, &directory, &format!("notes-{looks}")).await;
        leave_after(looks, guest.enter()).await;
        until_async("the guest was told", async || !guest.told().await.is_empty()).await;
        let visitor = guest.told().await[0];
        let stored = participants::revoke(&house.db, visitor).await.unwrap();
        assert!(stored.is_some(), "it is stored");
    }
    house.close().await;
}
