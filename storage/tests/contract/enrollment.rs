//! Accounts and claim codes.

use rookery_domain::id::{AgentId, HumanId};
use rookery_storage::{
    agents,
    claims::{self, ClaimOutcome},
    humans,
    idempotency::KeepResponse,
};

use crate::support::{NOW, agents_of, at_once, contract, hash, human, known_agent, new_key};

contract! {
    async fn one_of_32_agents_redeems_a_claim_code(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let code = hash();
        assert!(claims::mint(db, code, owner, NOW.plus_seconds(600), NOW, KeepResponse::nothing()).await.unwrap());
        let outcomes = at_once(32, |_| {
            let db = db.clone();
            async move {
                let (agent, _) =
                    agents::register(&db, AgentId::new(), "robin".into(), new_key(), NOW)
                        .await
                        .unwrap();
                claims::redeem(&db, code, agent.id, 10, NOW).await.unwrap()
            }
        })
        .await;
        let claimed: Vec<_> =
            outcomes.iter().filter(|o| matches!(o, ClaimOutcome::Claimed(_))).collect();
        let refused = outcomes.iter().filter(|o| **o == ClaimOutcome::NoSuchCode).count();
        assert_eq!((claimed.len(), refused), (1, 31));
        let ClaimOutcome::Claimed(agent) = claimed[0] else { unreachable!() };
        assert_eq!(agent.owner, Some(owner));
        assert_eq!(agent.claimed_at, Some(NOW));
        assert_eq!(known_agent(db, agent.id).await.as_ref(), Some(agent));
        assert_eq!(agents_of(db, owner).await.len(), 1);
    }

    async fn one_agent_redeems_one_of_16_codes(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let (agent, _) =
            agents::register(db, AgentId::new(), "robin".into(), new_key(), NOW).await.unwrap();
        let outcomes = at_once(16, |_| {
            let db = db.clone();
            async move {
                let code = hash();
                claims::mint(&db, code, owner, NOW.plus_seconds(600), NOW, KeepResponse::nothing()).await.unwrap();
                (code, claims::redeem(&db, code, agent.id, 10, NOW).await.unwrap())
            }
        })
        .await;
        let claimed =
            outcomes.iter().filter(|(_, o)| matches!(o, ClaimOutcome::Claimed(_))).count();
        assert_eq!(claimed, 1);
        // The codes that found the agent claimed are not spent.
        let (code, _) =
            outcomes.iter().find(|(_, o)| *o == ClaimOutcome::AlreadyClaimed).unwrap();
        let (other, _) =
            agents::register(db, AgentId::new(), "wren".into(), new_key(), NOW).await.unwrap();
        let outcome = claims::redeem(db, *code, other.id, 10, NOW).await.unwrap();
        assert!(matches!(outcome, ClaimOutcome::Claimed(_)), "{outcome:?}");
    }

    async fn unknown_spent_and_expired_codes_answer_alike(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let (first, _) =
            agents::register(db, AgentId::new(), "a".into(), new_key(), NOW).await.unwrap();
        let (second, _) =
            agents::register(db, AgentId::new(), "b".into(), new_key(), NOW).await.unwrap();
        let (spent, expired) = (hash(), hash());
        let end = NOW.plus_seconds(600);
        claims::mint(db, spent, owner, end, NOW, KeepResponse::nothing()).await.unwrap();
        claims::mint(db, expired, owner, end, NOW, KeepResponse::nothing()).await.unwrap();
        claims::redeem(db, spent, first.id, 10, NOW).await.unwrap();
        for (code, at) in [(hash(), NOW), (spent, NOW), (expired, end)] {
            let outcome = claims::redeem(db, code, second.id, 10, at).await.unwrap();
            assert_eq!(outcome, ClaimOutcome::NoSuchCode);
        }
        assert_eq!(
            claims::redeem(db, expired, AgentId::new(), 10, NOW).await.unwrap(),
            ClaimOutcome::NoSuchCode,
        );
    }

    async fn a_code_that_exists_is_not_minted_again(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let code = hash();
        assert!(claims::mint(db, code, owner, NOW.plus_seconds(600), NOW, KeepResponse::nothing()).await.unwrap());
        let stranger = human(db, "eve@example.com").await.id;
        assert!(!claims::mint(db, code, stranger, NOW.plus_seconds(600), NOW, KeepResponse::nothing()).await.unwrap());
    }

    async fn an_address_has_one_account_however_many_sign_in_at_once(test: &TestDb) {
        let db = &test.db;
        let found = at_once(32, |_| {
            let db = db.clone();
            async move { human(&db, "ada@example.com").await }
        })
        .await;
        assert!(found.iter().all(|human| *human == found[0]));
        assert_eq!(found[0].email.as_deref(), Some("ada@example.com"));
        assert_eq!(found[0].email_verified_at, Some(NOW));
        let by_email = humans::by_verified_email(db, "ada@example.com").await.unwrap();
        assert_eq!(by_email.as_ref(), Some(&found[0]));
        assert_eq!(humans::by_id(db, found[0].id).await.unwrap(), by_email);
        assert_eq!(humans::by_verified_email(db, "eve@example.com").await.unwrap(), None);
        assert_eq!(humans::by_id(db, HumanId::new()).await.unwrap(), None);
    }

    async fn name_and_consent_are_set_and_cleared(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await;
        let later = NOW.plus_seconds(1);
        let named = humans::set_name(db, ada.id, Some("Ada Ł"), later).await.unwrap().unwrap();
        assert_eq!((named.name.as_deref(), named.updated_at), (Some("Ada Ł"), later));
        let cleared = humans::set_name(db, ada.id, None, later).await.unwrap().unwrap();
        assert_eq!(cleared.name, None);
        let willing =
            humans::set_marketing_consent(db, ada.id, true, later).await.unwrap().unwrap();
        assert!(willing.marketing_consent);
        assert_eq!(humans::by_id(db, ada.id).await.unwrap(), Some(willing));
        assert_eq!(humans::set_name(db, HumanId::new(), None, later).await.unwrap(), None);
    }
}
