//! What records show of themselves: no hash of a secret, no address, no content.

use rookery_domain::{
    Timestamp,
    id::{AgentId, AppId, DeviceId, OrgId, TransferId},
    idempotency::{IdempotentRequest, StoredResponse},
    orgs::OrgRole,
};
use rookery_storage::{
    agents::keys::{Key, KeyState},
    commit::IdempotencyWrite,
    devices::NewDevice,
    identities::NewFlow,
    links::{Link, NewLink},
    orgs::NewMember,
    participants::{CameBy, Participant},
    session_grants::SessionGrant,
    sessions,
    transfers::Transfer,
};

use crate::support::{
    NOW, TestDb, hash, human, new_key, new_session, on_sqlite, record, session_grant, visitor,
};

#[test]
fn no_record_shows_what_must_not_be_in_a_log() {
    on_sqlite(async |test: &TestDb| {
        let ada = human(&test.db, "ada@example.com").await;
        let (id, app, expires_at) = (ada.id, AppId::new(), NOW);
        let email = || "ada@example.com".to_owned();
        let key = new_key();
        let session = sessions::create(&test.db, id, new_session(), NOW).await.unwrap();
        let grant = SessionGrant { minted_by: Some(hash()), ..session_grant(app, id) };
        let visitor = Participant { minted_by: Some(hash()), ..visitor(CameBy::Anonymous) };
        let device = NewDevice {
            id: DeviceId::new(),
            device_hash: hash(),
            user_hash: hash(),
            name: "laptop".into(),
            interval_s: 5,
            expires_at,
        };
        let link = NewLink { hash: hash(), email: email(), redirect_to: None, expires_at };
        let found = Link { email: email(), redirect_to: None, is_good: true };
        let flow = NewFlow { hash: hash(), sealed: "sealed".into(), redirect_to: None, expires_at };
        let transfer = Transfer {
            id: TransferId::new(),
            app,
            email: email(),
            offered_by: id,
            created_at: NOW,
        };
        let role = OrgRole::Member;
        let member = NewMember { org: OrgId::new(), by: id, email: email(), role, members_max: 9 };
        let response = IdempotencyWrite {
            request: IdempotentRequest { scope: hash().0, body_hash: hash().0 },
            response: StoredResponse { status: 201, location: None, body: email() },
            by_key: true,
            created_at: NOW,
            seq: 1,
            collection: None,
            row_keys: [].into(),
        };
        let stored = Key {
            id: key.id,
            agent: AgentId::new(),
            hash: key.hash,
            prefix: key.prefix.clone(),
            state: KeyState::Active,
            created_at: Timestamp(0),
            last_used_at: None,
        };
        for shown in [
            format!("{:?}", record(id, "notes")),
            format!("{ada:?} {key:?} {stored:?} {:?} {session:?}", new_session()),
            format!("{grant:?} {visitor:?} {device:?} {link:?} {found:?} {flow:?}"),
            format!("{transfer:?} {member:?} {response:?}"),
        ] {
            let hides = ["171", "@", "sealed\""].iter().all(|word| !shown.contains(word));
            assert!(hides, "{shown}");
        }
    });
}
