//! Agents and their keys.

use rookery_domain::{
    Timestamp,
    id::{AgentId, HumanId, KeyId},
};
use rookery_storage::{
    Db, REVOKED_KEPT_MAX,
    agents::{
        self, Agent,
        keys::{self, KeyState, KeysOutcome},
    },
    idempotency::KeepResponse,
};

use crate::support::{
    NOW, TestDb, at_once, contract, hash, human, known_agent, new_key, new_session,
};

/// An agent that nobody has claimed, with one key.
async fn registered(db: &Db, at: Timestamp) -> (agents::Agent, keys::Key) {
    agents::register(db, AgentId::new(), "robin".into(), new_key(), at).await.unwrap()
}

/// An agent that `human` has claimed, with one key.
pub(super) async fn claimed(db: &TestDb, owner: HumanId) -> (agents::Agent, keys::Key) {
    let db = &db.db;
    let (agent, key) = registered(db, NOW).await;
    let code = hash();
    rookery_storage::claims::mint(
        db,
        code,
        owner,
        NOW.plus_seconds(600),
        NOW,
        KeepResponse::nothing(),
    )
    .await
    .unwrap();
    rookery_storage::claims::redeem(db, code, agent.id, 10, NOW).await.unwrap();
    (known_agent(db, agent.id).await.unwrap(), key)
}

fn states(outcome: KeysOutcome) -> Vec<KeyState> {
    match outcome {
        KeysOutcome::Done(keys) => keys.iter().map(|key| key.state).collect(),
        other => panic!("{other:?}"),
    }
}

contract! {
    async fn a_registered_agent_has_its_first_key(test: &TestDb) {
        let db = &test.db;
        let new = new_key();
        let (agent, key) =
            agents::register(db, AgentId::new(), "robin".into(), new.clone(), NOW).await.unwrap();
        assert_eq!(agent.owner, None);
        assert_eq!(key.state, KeyState::Active);
        assert_eq!(key.hash, new.hash);
        assert_eq!(keys::list(db, agent.id).await.unwrap(), [key]);
        assert_eq!(known_agent(db, agent.id).await, Some(agent));
        assert_eq!(known_agent(db, AgentId::new()).await, None);
    }

    async fn a_sibling_key_is_minted_by_an_active_key_only(test: &TestDb) {
        let db = &test.db;
        let (agent, first) = registered(db, NOW).await;
        let second = new_key();
        let minted = keys::mint(db, agent.id, first.id, second.clone(), NOW, KeepResponse::nothing()).await.unwrap();
        assert_eq!(minted, Some(keys::list(db, agent.id).await.unwrap()));
        assert!(keys::revoke(db, agent.id, first.id).await.unwrap());
        assert_eq!(keys::mint(db, agent.id, first.id, new_key(), NOW, KeepResponse::nothing()).await.unwrap(), None);
        let listed = keys::list(db, agent.id).await.unwrap();
        let expected = [(first.id, KeyState::Revoked), (second.id, KeyState::Active)];
        assert_eq!(listed.iter().map(|k| (k.id, k.state)).collect::<Vec<_>>(), expected);
    }

    async fn agents_that_nobody_claims_or_uses_are_forgotten(test: &TestDb) {
        let db = &test.db;
        let day = |days: i64| NOW.plus_seconds(days * 86_400);
        let (idle, _) = registered(db, day(0)).await;
        let (older, _) = registered(db, day(-1)).await;
        let (used, used_key) = registered(db, day(0)).await;
        let (renewed, renewed_key) = registered(db, day(0)).await;
        registered(db, day(5)).await;
        claimed(test, human(db, "ada@example.com").await.id).await;
        keys::touch(db, vec![(used_key.id, day(6))], day(6)).await.unwrap();
        keys::mint(db, renewed.id, renewed_key.id, new_key(), day(5), KeepResponse::nothing()).await.unwrap().unwrap();

        assert_eq!(agents::unclaimed(db, day(-1)).await.unwrap(), []);
        let found = agents::unclaimed(db, day(5)).await.unwrap();
        assert_eq!(found, [older.id, idle.id]);
        // Of what was found one may be claimed meanwhile, and one be gone.
        let owner = human(db, "bob@example.com").await.id;
        let (taken, _) = claimed(test, owner).await;
        let asked = vec![idle.id, taken.id, AgentId::new()];
        assert_eq!(agents::forget_unclaimed(db, asked).await.unwrap(), [idle.id]);
        assert_eq!(known_agent(db, idle.id).await, None);
        assert_eq!(keys::list(db, idle.id).await.unwrap(), []);
        assert_eq!(known_agent(db, taken.id).await, Some(taken));
        assert_eq!(agents::unclaimed(db, day(5)).await.unwrap(), [older.id]);
        let rest = agents::unclaimed(db, day(7)).await.unwrap();
        assert!(rest.contains(&used.id) && rest.contains(&renewed.id), "{rest:?}");
    }

    async fn of_the_revoked_keys_the_newest_are_kept(test: &TestDb) {
        let db = &test.db;
        let (agent, first) = registered(db, NOW).await;
        let (_, other) = registered(db, NOW).await;
        keys::revoke(db, other.agent, other.id).await.unwrap();
        let mut revoked = Vec::new();
        for second in 1..=i64::from(REVOKED_KEPT_MAX) + 3 {
            let (key, at) = (new_key(), NOW.plus_seconds(second));
            keys::mint(db, agent.id, first.id, key.clone(), at, KeepResponse::nothing()).await.unwrap().unwrap();
            keys::revoke(db, agent.id, key.id).await.unwrap();
            revoked.push(key.id);
        }
        let newest = new_key();
        let at = NOW.plus_seconds(3_600);
        let kept = keys::mint(db, agent.id, first.id, newest.clone(), at, KeepResponse::nothing()).await.unwrap().unwrap();
        let expected = [&[first.id], &revoked[3..], &[newest.id]].concat();
        assert_eq!(kept.iter().map(|key| key.id).collect::<Vec<_>>(), expected);
        assert_eq!(keys::list(db, other.agent).await.unwrap().len(), 1, "another agent's stay");
    }

    async fn revoking_a_key_of_another_agent_changes_nothing(test: &TestDb) {
        let db = &test.db;
        let (agent, key) = registered(db, NOW).await;
        let (other, _) = registered(db, NOW).await;
        assert!(!keys::revoke(db, other.id, key.id).await.unwrap());
        assert!(!keys::revoke(db, agent.id, KeyId::new()).await.unwrap());
        assert_eq!(keys::list(db, agent.id).await.unwrap()[0].state, KeyState::Active);
        assert!(keys::revoke(db, agent.id, key.id).await.unwrap());
        assert!(keys::revoke(db, agent.id, key.id).await.unwrap(), "a second time is the same");
    }

    async fn pause_resume_and_revoke_cover_all_keys_of_an_agent(test: &TestDb) {
        use KeyState::{Active, Paused, Revoked};
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let (agent, first) = claimed(test, owner).await;
        keys::mint(db, agent.id, first.id, new_key(), NOW, KeepResponse::nothing()).await.unwrap().unwrap();
        let gone = new_key();
        keys::mint(db, agent.id, first.id, gone.clone(), NOW, KeepResponse::nothing()).await.unwrap().unwrap();
        keys::revoke(db, agent.id, gone.id).await.unwrap();

        let paused = states(keys::pause_all(db, agent.id, owner).await.unwrap());
        assert_eq!(paused.iter().filter(|s| **s == Paused).count(), 2);
        let resumed = states(keys::resume_all(db, agent.id, owner).await.unwrap());
        assert_eq!(resumed.iter().filter(|s| **s == Active).count(), 2);
        assert_eq!(resumed.iter().filter(|s| **s == Revoked).count(), 1, "never un-revoked");
        let revoked = states(keys::revoke_all(db, agent.id, owner).await.unwrap());
        assert_eq!(revoked, [Revoked, Revoked, Revoked]);
        let again = states(keys::revoke_all(db, agent.id, owner).await.unwrap());
        assert_eq!(again, [Revoked, Revoked, Revoked]);
        for refused in [
            keys::resume_all(db, agent.id, owner).await.unwrap(),
            keys::pause_all(db, agent.id, owner).await.unwrap(),
            keys::rotate_all(db, agent.id, owner, new_key(), NOW, KeepResponse::nothing()).await.unwrap(),
        ] {
            assert_eq!(refused, KeysOutcome::Revoked);
        }
    }

    async fn rotation_replaces_all_keys_and_wakes_no_paused_agent(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let (agent, first) = claimed(test, owner).await;
        let new = new_key();
        keys::rotate_all(db, agent.id, owner, new.clone(), NOW, KeepResponse::nothing()).await.unwrap();
        let state = async |of: KeyId| {
            let keys = keys::list(db, agent.id).await.unwrap();
            keys.into_iter().find(|key| key.id == of).map(|key| key.state)
        };
        assert_eq!(state(first.id).await, Some(KeyState::Revoked));
        assert_eq!(state(new.id).await, Some(KeyState::Active));

        keys::pause_all(db, agent.id, owner).await.unwrap();
        let newest = new_key();
        keys::rotate_all(db, agent.id, owner, newest.clone(), NOW, KeepResponse::nothing()).await.unwrap();
        assert_eq!(state(newest.id).await, Some(KeyState::Paused));
    }

    async fn orders_over_somebody_elses_agent_are_refused(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let stranger = human(db, "eve@example.com").await.id;
        let (agent, _) = claimed(test, owner).await;
        for refused in [
            keys::pause_all(db, agent.id, stranger).await.unwrap(),
            keys::resume_all(db, agent.id, stranger).await.unwrap(),
            keys::revoke_all(db, agent.id, stranger).await.unwrap(),
            keys::rotate_all(db, agent.id, stranger, new_key(), NOW, KeepResponse::nothing()).await.unwrap(),
            keys::revoke_all(db, AgentId::new(), owner).await.unwrap(),
        ] {
            assert_eq!(refused, KeysOutcome::NoSuchAgent);
        }
        assert_eq!(agents::rename(db, agent.id, stranger, "mine").await.unwrap(), None);
        assert_eq!(keys::list(db, agent.id).await.unwrap()[0].state, KeyState::Active);
    }

    async fn no_key_minted_meanwhile_survives_a_revocation(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        for _ in 0..5 {
            let (agent, first) = claimed(test, owner).await;
            at_once(16, |i| {
                let db = db.clone();
                async move {
                    if i == 8 {
                        keys::revoke_all(&db, agent.id, owner).await.unwrap();
                    } else {
                        keys::mint(&db, agent.id, first.id, new_key(), NOW, KeepResponse::nothing()).await.unwrap();
                    }
                }
            })
            .await;
            let keys = keys::list(db, agent.id).await.unwrap();
            assert!(keys.iter().all(|key| key.state == KeyState::Revoked), "{keys:?}");
        }
    }

    async fn an_agent_is_renamed_by_its_own_human_only(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let (robin, _) = claimed(test, ada).await;
        assert_eq!(agents::rename(db, robin.id, eve, "wren").await.unwrap(), None);
        let renamed = agents::rename(db, robin.id, ada, "wren").await.unwrap().unwrap();
        assert_eq!(renamed, Agent { name: "wren".into(), ..robin });
        assert_eq!(known_agent(db, renamed.id).await, Some(renamed));
    }

    async fn an_older_use_of_a_key_never_replaces_a_newer_one(test: &TestDb) {
        let db = &test.db;
        let (agent, key) = registered(db, NOW).await;
        let later = NOW.plus_seconds(10);
        keys::touch(db, vec![(key.id, later), (KeyId::new(), NOW)], NOW).await.unwrap();
        keys::touch(db, vec![(key.id, NOW)], NOW).await.unwrap();
        assert_eq!(keys::list(db, agent.id).await.unwrap()[0].last_used_at, Some(later));
        keys::touch(db, Vec::new(), NOW).await.unwrap();
    }

    async fn a_use_in_the_future_never_hides_a_later_one(test: &TestDb) {
        let db = &test.db;
        let (agent, key) = registered(db, NOW).await;
        let ahead = NOW.plus_seconds(86_400);
        keys::touch(db, vec![(key.id, ahead)], ahead).await.unwrap();
        keys::touch(db, vec![(key.id, NOW)], NOW).await.unwrap();
        assert_eq!(keys::list(db, agent.id).await.unwrap()[0].last_used_at, Some(NOW));
    }

    async fn a_key_hash_belongs_to_one_key(test: &TestDb) {
        let db = &test.db;
        let key = new_key();
        agents::register(db, AgentId::new(), "a".into(), key.clone(), NOW).await.unwrap();
        let twin = rookery_storage::agents::keys::NewKey { id: KeyId::new(), ..key };
        let id = AgentId::new();
        let refused = agents::register(db, id, "b".into(), twin, NOW).await;
        assert!(refused.is_err());
        assert_eq!(known_agent(db, id).await, None, "nothing of it is left");
        // The connection that saw the refusal works on.
        rookery_storage::sessions::create(
            db, human(db, "ada@example.com").await.id, new_session(), NOW,
        ).await.unwrap();
    }
}
