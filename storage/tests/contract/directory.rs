//! What the directory in memory is filled with.

use std::collections::HashMap;

use rookery_domain::{id::AgentId, orgs::OrgRole};
use rookery_storage::{
    agents,
    directory::{self, Entry},
    faults::damage,
    sessions,
};

use super::{
    agents::claimed,
    orgs::{add, founded},
};
use crate::support::{NOW, contract, human, new_key, new_session};

contract! {
    async fn the_directory_holds_every_account_agent_and_key_and_the_open_sessions(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await;
        let (agent, key) = claimed(test, ada.id).await;
        let open = sessions::create(db, ada.id, new_session(), NOW).await.unwrap();
        let ended = sessions::NewSession { expires_at: NOW, ..new_session() };
        sessions::create(db, ada.id, ended, NOW).await.unwrap();
        let mut entries = Vec::new();
        directory::load(db, NOW, |entry| entries.push(entry)).await.unwrap();
        let expected =
            [Entry::Human(ada), Entry::Agent(agent), Entry::Key(key), Entry::Session(open)];
        assert_eq!(entries, expected);
    }

    async fn what_cannot_be_read_keeps_nobody_else_out(test: &TestDb) {
        let db = &test.db;
        let [ada, ben] = [human(db, "ada@example.com").await, human(db, "ben@example.com").await];
        let [(ill, cut), (well, key)] = [claimed(test, ada.id).await, claimed(test, ben.id).await];
        let (_, other) = claimed(test, ada.id).await;
        let org = founded(db, ada.id).await;
        add(db, org, ada.id, "ben@example.com", OrgRole::Member).await.unwrap();
        assert!(damage::key(db, cut.id).await.unwrap());
        assert!(damage::key_id(db, other.id).await.unwrap());
        assert!(damage::org_member(db, ada.id).await.unwrap());
        let mut entries = Vec::new();
        directory::load(db, NOW, |entry| entries.push(entry)).await.unwrap();
        assert!(entries.contains(&Entry::Agent(ill)) && entries.contains(&Entry::Agent(well)));
        let keys = |entry: &&Entry| matches!(entry, Entry::Key(_));
        assert_eq!(entries.iter().filter(keys).collect::<Vec<_>>(), [&Entry::Key(key)]);
        let members = entries.iter().filter_map(|entry| match entry {
            Entry::OrgMember(member) => Some(member.human),
            _ => None,
        });
        assert_eq!(members.collect::<Vec<_>>(), [ben.id]);
    }

    async fn a_directory_of_more_than_a_page_is_complete(test: &TestDb) {
        let db = &test.db;
        let count = directory::PAGE as usize + 1;
        let ids: Vec<AgentId> = (0..count).map(|_| AgentId::new()).collect();
        for id in &ids {
            agents::register(db, *id, "robin".into(), new_key(), NOW).await.unwrap();
        }
        let mut seen: HashMap<AgentId, u32> = HashMap::new();
        directory::load(db, NOW, |entry| match entry {
            Entry::Agent(agent) => *seen.entry(agent.id).or_default() += 1,
            Entry::Key(key) => *seen.entry(key.agent).or_default() += 1,
            other => panic!("{other:?}"),
        })
        .await
        .unwrap();
        assert_eq!(seen.len(), count);
        assert!(ids.iter().all(|id| seen[id] == 2));
    }
}
