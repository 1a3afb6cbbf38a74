//! The directory: what holds after a crash, after a caller left, and for visitors of apps.

use std::{net::Ipv4Addr, pin::pin, sync::Arc, time::Duration};

use futures::{future::join_all, poll};
use rookery_actors::{
    Directory, DirectoryOptions, Runtime, RuntimeOptions,
    directory::{
        AgentRecord, Arrival, AskedBy, DevicePolled, MintedKey, OrgRecord, SessionHolder, SignedIn,
    },
    store::SqlStore,
};
use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    agent_name::AgentName,
    email::Email,
    human_name::HumanName,
    id::{AppId, HumanId},
    idempotency::{Idempotent, IdempotentRequest, StoredResponse},
    limits::Limits,
    orgs::{OrgName, OrgRole},
    sealed::ServerKey,
    secret::SecretHash,
    time::Clock,
};
use rookery_storage::{
    Db, StorageOptions, Writer, WriterOptions, faults, idempotency::KeepResponse, placeholders,
};
use rookery_testkit::until;
use tempfile::TempDir;
use tokio::time::timeout;

const START: Timestamp = Timestamp(1_769_860_800_000_000);

struct House {
    directory: Directory,
    db: Db,
    clock: Clock,
    runtime: Runtime,
    _data: TempDir,
}

async fn house() -> House {
    house_with(DirectoryOptions::default()).await
}

async fn house_with(directory: DirectoryOptions) -> House {
    let data = tempfile::tempdir().unwrap();
    let db = Db::connect(&StorageOptions::sqlite(data.path())).await.unwrap();
    let epoch = db.next_epoch().await.unwrap();
    let writer = Writer::start(&db, epoch, WriterOptions::default()).unwrap();
    let clock = Clock::manual(START);
    let key = ServerKey::new(&[7; 32]);
    let store = Arc::new(SqlStore::new(db.clone(), writer, clock.clone()));
    let options = RuntimeOptions::default();
    let limits = Limits::default();
    let runtime =
        Runtime::start(db.clone(), store, limits, options, clock.clone(), key.clone()).await;
    let runtime = runtime.unwrap();
    let directory = Directory::start(db.clone(), clock.clone(), key, &runtime, directory).await;
    House { directory: directory.unwrap(), db, clock, runtime, _data: data }
}

impl House {
    async fn sign_in(&self, email: &str) -> SignedIn {
        let email = Email::parse(email).unwrap();
        let link = self.directory.request_link(&email, None).await.unwrap();
        self.directory.verify_link(link.expose(), None).await.unwrap()
    }

    /// Whose session it is.
    fn holder(&self, signed_in: &SignedIn) -> SessionHolder {
        self.directory.session(signed_in.secret.expose()).unwrap().expect("a session")
    }

    async fn agent(&self) -> (AgentRecord, MintedKey) {
        self.directory.register(AgentName::default()).await.unwrap()
    }
}

#[tokio::test]
async fn a_crash_is_followed_by_a_reload_and_nothing_is_read_in_between() {
    let house = house().await;
    let (agent, minted) = house.agent().await;
    for _ in 0..3 {
        let error = house.directory.crash().await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Internal);
        // Whoever heard of the crash is not told from a memory that may be wrong.
        let key = house.directory.key(minted.secret.expose());
        assert_eq!(key.unwrap_err().code, ErrorCode::Unavailable);
        until("the reload", || house.directory.key(minted.secret.expose()).is_ok()).await;
        let holder = house.directory.key(minted.secret.expose()).unwrap().unwrap();
        assert_eq!(holder.agent, agent.agent.id);
        house.agent().await;
    }
    let told = house.runtime.apps().crashes(None, 10);
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|crash| crash.subject == "directory"), "{told:?}");
}

#[tokio::test]
async fn what_belongs_to_an_account_that_cannot_be_read_is_left_out() {
    let house = house().await;
    let directory = &house.directory;
    let (ada, bob) =
        (house.sign_in("ada@example.org").await, house.sign_in("bob@example.org").await);
    let (agent, minted) = house.agent().await;
    let code = directory.mint_claim_code(house.holder(&ada), KeepResponse::nothing()).await;
    let code = code.unwrap().code;
    directory.claim(agent.agent.id, &code.expose(), Ipv4Addr::LOCALHOST.into()).await.unwrap();
    assert!(faults::damage::human(&house.db, ada.human.id).await.unwrap());
    directory.crash().await.unwrap_err();
    until("the reload", || directory.session(bob.secret.expose()).is_ok()).await;
    assert!(directory.session(bob.secret.expose()).unwrap().is_some());
    assert!(directory.session(ada.secret.expose()).unwrap().is_none());
    assert!(directory.key(minted.secret.expose()).unwrap().is_none());
}

#[tokio::test]
async fn visitors_who_wait_look_again_after_a_reload() {
    let house = house().await;
    let directory = &house.directory;
    let visit = directory.create_participant(AppId::new(), Arrival::Anonymous).await.unwrap();
    let watch = directory.watch_visitor(&visit.participant).unwrap();
    let mut ended = pin!(watch.ended());
    assert!(poll!(&mut ended).is_pending());
    directory.crash().await.unwrap_err();
    timeout(Duration::from_secs(30), ended).await.expect("it is told");
    assert!(directory.is_here(&visit.participant).await.unwrap());
}

#[tokio::test]
async fn what_waits_behind_a_crash_is_refused_as_not_applied() {
    let house = house().await;
    let directory = &house.directory;
    let behind = join_all((0..8).map(|_| directory.register(AgentName::default())));
    let (crashed, behind) = tokio::join!(directory.crash(), behind);
    assert_eq!(crashed.unwrap_err().code, ErrorCode::Internal);
    for refused in behind {
        assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
    }
}

#[tokio::test]
async fn a_change_runs_to_its_end_when_its_caller_leaves() {
    let house = house().await;
    let (agent, minted) = house.agent().await;
    {
        let mut revoke = pin!(house.directory.revoke_key(agent.agent.id, minted.key.id));
        assert!(poll!(&mut revoke).is_pending());
    }
    until("the key is gone", || house.directory.key(minted.secret.expose()).unwrap().is_none())
        .await;
}

#[tokio::test]
async fn a_visitor_is_known_in_its_app_only_and_never_again_once_revoked() {
    let house = house().await;
    let directory = &house.directory;
    let app = AppId::new();
    for _ in 0..50 {
        let visit = directory.create_participant(app, Arrival::Anonymous).await.unwrap();
        let token = visit.token.expose();
        assert!(directory.participant(AppId::new(), token).await.unwrap().is_none());
        let look = || directory.participant(app, token);
        assert_eq!(look().await.unwrap().as_deref(), Some(&*visit.participant));
        // Look-ups that are under way must not bring it back.
        let (_, revoked) = tokio::join!(
            join_all((0..8).map(|_| look())),
            directory.revoke_participant(&visit.participant),
        );
        revoked.unwrap();
        assert!(look().await.unwrap().is_none());
    }
    let visit = directory.create_participant(app, Arrival::Anonymous).await.unwrap();
    house.clock.set(START.plus_seconds(365 * 86_400));
    assert!(directory.participant(app, visit.token.expose()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_visitor_that_leaves_with_its_former_token_is_unknown_by_the_later_one() {
    let house = house().await;
    let directory = &house.directory;
    let signed_in = house.sign_in("ada@example.org").await;
    let (app, human) = (AppId::new(), signed_in.human.id);
    let session = directory.session(signed_in.secret.expose()).unwrap().unwrap().session;
    let grant = directory.create_session_grant(app, human, session).await.unwrap();
    let visit = directory.redeem_session_grant(app, grant.expose(), None).await.unwrap();
    let link = SecretHash([3; 32]);
    let renewed = directory.came_by_share(&visit.participant, link).await.unwrap().unwrap();
    let token = renewed.token.expose();
    let watch = directory.watch_visitor(&renewed.participant).unwrap();
    assert!(directory.participant(app, token).await.unwrap().is_some());
    directory.revoke_participant(&visit.participant).await.unwrap();
    assert!(directory.participant(app, token).await.unwrap().is_none());
    assert!(poll!(pin!(watch.ended())).is_ready(), "whoever waits with it is told");
}

#[tokio::test]
async fn a_change_after_the_end_is_refused_at_once() {
    let call_timeout = Duration::from_secs(3_600);
    let house = house_with(DirectoryOptions { call_timeout, ..Default::default() }).await;
    house.directory.stop().await;
    let late = house.directory.register(AgentName::default());
    let late = timeout(Duration::from_secs(30), late).await.expect("nobody waits for it");
    assert_eq!(late.unwrap_err().code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn a_session_grant_is_good_once_for_its_app_and_for_a_minute() {
    let house = house().await;
    let directory = &house.directory;
    let signed_in = house.sign_in("ada@example.org").await;
    let (app, human) = (AppId::new(), signed_in.human.id);
    let held = directory.session(signed_in.secret.expose()).unwrap().unwrap();
    let session = held.session;

    let grant = directory.create_session_grant(app, human, session).await.unwrap();
    let grant = grant.expose();
    let redeemed =
        join_all((0..32).map(|_| directory.redeem_session_grant(app, grant, None))).await;
    let (won, lost): (Vec<_>, Vec<_>) = redeemed.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().all(|lost| lost.unwrap_err().code == ErrorCode::GrantInvalid));
    let visit = won.into_iter().next().unwrap().unwrap();
    assert_eq!(visit.participant.came_by.human(), Some(human));

    let elsewhere = directory.create_session_grant(app, human, session).await.unwrap();
    let refused = directory.redeem_session_grant(AppId::new(), elsewhere.expose(), None).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::GrantInvalid);
    // It was not spent there.
    directory.redeem_session_grant(app, elsewhere.expose(), None).await.unwrap();
    let late = directory.create_session_grant(app, human, session).await.unwrap();
    house.clock.set(START.plus_seconds(60));
    let refused = directory.redeem_session_grant(app, late.expose(), None).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::GrantInvalid);

    // Signing out of the site signs out of its apps.
    let token = visit.token.expose();
    assert!(directory.participant(app, token).await.unwrap().is_some());
    directory.sign_out(signed_in.secret.expose()).await.unwrap();
    assert!(directory.participant(app, token).await.unwrap().is_none());
    assert!(directory.session(signed_in.secret.expose()).unwrap().is_none());
}

#[tokio::test]
async fn whoever_tries_again_to_sign_out_is_signed_out_of_the_apps_too() {
    let house = house().await;
    let directory = &house.directory;
    for (full_at, way) in (1..=3).flat_map(|at| (0..3).map(move |way| (at, way))) {
        let signed_in = house.sign_in("ada@example.org").await;
        let (app, human) = (AppId::new(), signed_in.human.id);
        let cookie = signed_in.secret.expose();
        let session = directory.session(cookie).unwrap().unwrap().session;
        let grant = async || directory.create_session_grant(app, human, session).await.unwrap();
        let spent = grant().await;
        let visit = directory.redeem_session_grant(app, spent.expose(), None).await.unwrap();
        let waits = grant().await;
        let leave = async || match way {
            0 => directory.sign_out(cookie).await,
            1 => directory.end_session(human, session).await,
            _ => directory.sign_out_everywhere(human).await,
        };

        faults::fill_at(&house.db, full_at);
        if let Err(error) = leave().await {
            assert_eq!(error.code, ErrorCode::Unavailable);
            assert!(directory.session(cookie).unwrap().is_some(), "nothing was applied");
            leave().await.unwrap();
        }
        faults::fill_at(&house.db, 0);
        assert!(directory.session(cookie).unwrap().is_none());
        let here = directory.participant(app, visit.token.expose()).await.unwrap();
        assert_eq!(here, None, "way {way}, no space at {full_at}");
        let refused = directory.redeem_session_grant(app, waits.expose(), None).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::GrantInvalid);
    }
}

#[tokio::test]
async fn nothing_begins_for_an_account_that_was_closed_meanwhile() {
    let house = house().await;
    let directory = &house.directory;
    let signed_in = house.sign_in("ada@example.com").await;
    let (ada, by) = (&signed_in.human, house.holder(&signed_in));
    let name = AgentName::default();
    let device = directory.start_device(name).await.unwrap();
    let device_code = device.device_code.expose().to_owned();
    let user_code = device.user_code.expose();
    directory.close_account(ada.id, ada.email.clone()).await.unwrap();

    // Each of these had an open session when its request came in.
    let here = "192.0.2.1".parse().unwrap();
    let source = HumanName::parse("source", "a friend").unwrap().unwrap();
    let org = OrgName::parse("Rooks").unwrap();
    let refusals = [
        directory.decide_device(&user_code, by, true, here).await.map(drop),
        directory.mint_claim_code(by, KeepResponse::nothing()).await.map(drop),
        directory.record_signup_source(ada.id, source, KeepResponse::nothing()).await,
        directory.create_org(ada.id, org, KeepResponse::nothing()).await.map(drop),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap_err().code, ErrorCode::Unauthorized);
    }
    let polled = directory.poll_device(&device_code).await.unwrap();
    assert!(matches!(polled, DevicePolled::Pending { .. }), "{polled:?}");
}

#[tokio::test]
async fn nothing_is_left_to_a_session_that_was_ended_meanwhile() {
    let house = house().await;
    let directory = &house.directory;
    let (app, here) = (AppId::new(), Ipv4Addr::LOCALHOST.into());
    for way in 0..3 {
        let signed_in = house.sign_in("ada@example.com").await;
        let cookie = signed_in.secret.expose();
        let (by, hash) = (house.holder(&signed_in), signed_in.secret.hash());
        let device = directory.start_device(AgentName::default()).await.unwrap();
        let user_code = device.user_code.expose();
        match way {
            0 => directory.sign_out(cookie).await.unwrap(),
            1 => directory.end_session(by.human, by.session).await.unwrap(),
            _ => directory.sign_out_everywhere(by.human).await.unwrap(),
        }

        // Each of these had its session when its request came in.
        let asked_by = AskedBy::Session(hash);
        let token =
            directory.create_test_session(app, by.human, asked_by, KeepResponse::nothing()).await;
        let refusals = [
            token.map(drop),
            directory.create_session_grant(app, by.human, by.session).await.map(drop),
            directory.mint_claim_code(by, KeepResponse::nothing()).await.map(drop),
            directory.decide_device(&user_code, by, true, here).await.map(drop),
        ];
        for refusal in refusals {
            assert_eq!(refusal.unwrap_err().code, ErrorCode::Unauthorized, "way {way}");
        }
        let polled = directory.poll_device(device.device_code.expose()).await.unwrap();
        assert!(matches!(polled, DevicePolled::Pending { .. }), "way {way}: {polled:?}");
    }
}

#[tokio::test]
async fn where_many_agents_wait_to_be_claimed_an_hour_is_enough() {
    let house = house_with(DirectoryOptions { unclaimed_max: 2, ..Default::default() }).await;
    let directory = &house.directory;
    let ada = house.holder(&house.sign_in("ada@example.org").await);
    let (claimed, _) = house.agent().await;
    let code = directory.mint_claim_code(ada, KeepResponse::nothing()).await.unwrap().code;
    directory.claim(claimed.agent.id, &code.expose(), Ipv4Addr::LOCALHOST.into()).await.unwrap();
    let (idle, _) = house.agent().await;
    let (used, key) = house.agent().await;
    let known = |agent: &AgentRecord| directory.agent(agent.agent.id).is_ok();
    let an_hour_later = house.clock.now().plus_seconds(60 * 60 + 1);
    house.clock.set(an_hour_later);
    directory.key(key.secret.expose()).unwrap().unwrap();
    directory.flush().await;
    assert!(known(&idle), "two may wait");

    let (late, _) = house.agent().await;
    directory.flush().await;
    assert_eq!([&claimed, &idle, &used, &late].map(known), [true, false, true, true]);
}

#[tokio::test]
async fn where_many_are_invited_an_hour_is_enough_as_well() {
    for (most, kept) in [(1, true), (0, false)] {
        let options = DirectoryOptions { unclaimed_max: most, ..Default::default() };
        let house = house_with(options).await;
        let invite = async |human| {
            let email = "ada@example.com".to_owned();
            placeholders::invite(&house.db, email, human, house.clock.now()).await.unwrap().0.id
        };
        let (first, second) = (HumanId::new(), HumanId::new());
        assert_eq!(invite(first).await, first);
        house.clock.set(house.clock.now().plus_seconds(60 * 60 + 1));
        house.directory.flush().await;
        assert_eq!(invite(second).await, if kept { first } else { second });
    }
}

#[tokio::test]
async fn what_is_made_and_its_answer_are_kept_together() {
    let house = house().await;
    let directory = &house.directory;
    let ada = house.sign_in("ada@example.org").await.human.id;
    let make = |key: u8| {
        let rooms = directory.clone();
        let kept = |made: &OrgRecord| {
            let body = made.org.id.to_string();
            StoredResponse { status: 201, location: None, body }
        };
        let name = OrgName::parse("Rooks").unwrap();
        let make = async move |keep| rooms.create_org(ada, name, keep).await;
        directory.idempotent(
            Some(IdempotentRequest { scope: [key; 32], body_hash: [1; 32] }),
            kept,
            make,
        )
    };
    let orgs = || directory.orgs_of(ada, None, 10).unwrap().len();

    faults::fill_at(&house.db, 1);
    assert_eq!(make(1).await.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(orgs(), 0);
    let Idempotent::Fresh(org) = make(1).await.unwrap() else { panic!("nothing was made before") };
    let Idempotent::Replayed(StoredResponse { body, .. }) = make(1).await.unwrap() else {
        panic!("it was made")
    };
    assert_eq!((body, orgs()), (org.org.id.to_string(), 1));

    // No second transaction follows that could find no space.
    faults::fill_at(&house.db, 2);
    assert!(matches!(make(2).await.unwrap(), Idempotent::Fresh(_)));
    assert!(matches!(make(2).await.unwrap(), Idempotent::Replayed(_)));
    assert_eq!(orgs(), 2);
}

#[tokio::test]
async fn what_this_very_request_made_is_told_as_such_though_nobody_heard_that_it_was() {
    let house = house().await;
    let directory = &house.directory;
    let (agent, key) = house.agent().await;
    let (agent, by) = (agent.agent.id, key.key.id);
    let make = |ends: Result<()>| {
        let rooms = directory.clone();
        let kept = |made: &MintedKey| {
            let body = made.key.id.to_string();
            StoredResponse { status: 201, location: None, body }
        };
        let make = async move |keep| {
            let made = rooms.mint_key(agent, by, keep).await?;
            ends.map(|()| made)
        };
        let request = IdempotentRequest { scope: [7; 32], body_hash: [1; 32] };
        directory.idempotent(Some(request), kept, make)
    };
    // The connection was lost around COMMIT.
    let Idempotent::Fresh(made) = make(Err(Error::unknown_outcome())).await.unwrap() else {
        panic!("nobody was shown the secret before")
    };
    let known = directory.key(made.secret.expose()).unwrap();
    assert_eq!(known.map(|known| known.agent), Some(agent));
    for again in [Ok(()), Err(Error::unknown_outcome())] {
        let Idempotent::Replayed(StoredResponse { body, .. }) = make(again).await.unwrap() else {
            panic!("it was made before")
        };
        assert_eq!(body, made.key.id.to_string());
    }
}

#[tokio::test]
async fn organizations_are_what_storage_says_after_a_crash_and_after_leaving() {
    let house = house().await;
    let directory = &house.directory;
    let ada = house.sign_in("ada@example.org").await.human.id;
    let bob = house.sign_in("bob@example.org").await.human.id;
    let org = directory
        .create_org(ada, OrgName::parse("Rooks").unwrap(), KeepResponse::nothing())
        .await
        .unwrap()
        .org
        .id;
    let bobs = Email::parse("bob@example.org").unwrap();
    directory
        .add_org_member(org, ada, bobs, OrgRole::Member, KeepResponse::nothing())
        .await
        .unwrap();

    let error = directory.crash().await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Internal);
    until("the reload", || house.directory.org(ada, org).is_ok()).await;
    assert_eq!(directory.org(ada, org).unwrap().role, OrgRole::Admin);
    assert_eq!(directory.org_members(org, None, 10).unwrap().len(), 2);

    let adas = || Some("ada@example.org".to_owned());
    let refused = directory.close_account(ada, adas()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert_eq!(refused.details.unwrap()["org_id"], org.to_string());
    assert_eq!(directory.org(ada, org).unwrap().role, OrgRole::Admin);
    directory.set_org_role(org, ada, bob, OrgRole::Admin).await.unwrap();
    directory.close_account(ada, adas()).await.unwrap();
    assert_eq!(directory.org(ada, org).unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(directory.org(bob, org).unwrap().org.billing, bob);
    assert!(directory.orgs_of(ada, None, 10).unwrap().is_empty());
}
