//! Device authorizations, state by state as RFC 8628 has them.

use rookery_domain::{
    Timestamp,
    id::{AgentId, DeviceId, HumanId},
};
use rookery_storage::{
    Db, agents,
    devices::{self, DevicePoll, DeviceState, NewDevice},
};

use crate::support::{NOW, agents_of, at_once, contract, hash, human, new_key};

const END: Timestamp = NOW.plus_seconds(600);

fn new_device() -> NewDevice {
    NewDevice {
        id: DeviceId::new(),
        device_hash: hash(),
        user_hash: hash(),
        name: "laptop".into(),
        interval_s: 5,
        expires_at: END,
    }
}

async fn poll(db: &Db, device: &NewDevice, at: Timestamp) -> DevicePoll {
    devices::poll(db, device.device_hash, AgentId::new(), new_key(), at).await.unwrap()
}

async fn approve(db: &Db, device: &NewDevice, human: HumanId) -> bool {
    devices::decide(db, device.user_hash, human, true, NOW).await.unwrap()
}

contract! {
    async fn a_poll_that_comes_too_early_makes_the_interval_longer(test: &TestDb) {
        let db = &test.db;
        let device = new_device();
        assert!(devices::create(db, device.clone(), NOW).await.unwrap());
        let at = |seconds| NOW.plus_seconds(seconds);
        assert_eq!(poll(db, &device, at(0)).await, DevicePoll::Pending { interval_s: 5 });
        assert_eq!(poll(db, &device, at(5)).await, DevicePoll::Pending { interval_s: 5 });
        assert_eq!(poll(db, &device, at(9)).await, DevicePoll::TooFast { interval_s: 10 });
        assert_eq!(poll(db, &device, at(18)).await, DevicePoll::TooFast { interval_s: 15 });
        assert_eq!(poll(db, &device, at(33)).await, DevicePoll::Pending { interval_s: 15 });
    }

    async fn of_32_polls_after_approval_one_gets_the_agent(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let device = new_device();
        devices::create(db, device.clone(), NOW).await.unwrap();
        assert!(approve(db, &device, owner).await);
        let polls = at_once(32, |_| {
            let (db, device) = (db.clone(), device.clone());
            async move { poll(&db, &device, NOW).await }
        })
        .await;
        let gone = polls.iter().filter(|poll| **poll == DevicePoll::Gone).count();
        assert_eq!(gone, 31);
        let agents = agents_of(db, owner).await;
        assert_eq!(agents.len(), 1);
        let redeemed = polls.iter().find(|poll| **poll != DevicePoll::Gone).unwrap();
        let DevicePoll::Redeemed { agent, key } = redeemed else { panic!("{redeemed:?}") };
        assert_eq!(*agent, agents[0]);
        assert_eq!((agent.name.as_str(), agent.owner), ("laptop", Some(owner)));
        assert_eq!(agents::keys::list(db, agent.id).await.unwrap(), std::slice::from_ref(key));
    }

    async fn a_denied_device_stays_denied(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let device = new_device();
        devices::create(db, device.clone(), NOW).await.unwrap();
        assert!(devices::decide(db, device.user_hash, owner, false, NOW).await.unwrap());
        assert!(!approve(db, &device, owner).await, "decided once");
        assert_eq!(poll(db, &device, NOW).await, DevicePoll::Denied);
        assert_eq!(poll(db, &device, NOW).await, DevicePoll::Denied);
        assert!(agents_of(db, owner).await.is_empty());
    }

    async fn an_expired_device_is_gone_for_everybody(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let device = new_device();
        devices::create(db, device.clone(), NOW).await.unwrap();
        assert_eq!(devices::by_user_code(db, device.user_hash, END).await.unwrap(), None);
        assert!(!devices::decide(db, device.user_hash, owner, true, END).await.unwrap());
        assert!(approve(db, &device, owner).await);
        assert_eq!(poll(db, &device, END).await, DevicePoll::Gone);
        assert_eq!(poll(db, &new_device(), NOW).await, DevicePoll::Gone);
    }

    async fn the_human_sees_the_device_by_its_user_code(test: &TestDb) {
        let db = &test.db;
        let device = new_device();
        devices::create(db, device.clone(), NOW).await.unwrap();
        let seen = devices::by_user_code(db, device.user_hash, NOW).await.unwrap().unwrap();
        assert_eq!((seen.id, seen.name.as_str()), (device.id, "laptop"));
        assert_eq!((seen.state, seen.expires_at), (DeviceState::Pending, END));
        approve(db, &device, human(db, "ada@example.com").await.id).await;
        let seen = devices::by_user_code(db, device.user_hash, NOW).await.unwrap().unwrap();
        assert_eq!(seen.state, DeviceState::Approved);
        assert_eq!(devices::by_user_code(db, hash(), NOW).await.unwrap(), None);
    }

    async fn a_code_that_exists_starts_no_second_device(test: &TestDb) {
        let db = &test.db;
        let device = new_device();
        assert!(devices::create(db, device.clone(), NOW).await.unwrap());
        let same_user_code = NewDevice { user_hash: device.user_hash, ..new_device() };
        assert!(!devices::create(db, same_user_code, NOW).await.unwrap());
        let same_device_code = NewDevice { device_hash: device.device_hash, ..new_device() };
        assert!(!devices::create(db, same_device_code, NOW).await.unwrap());
    }
}
