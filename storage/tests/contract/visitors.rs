//! Visitors of apps.

use rookery_domain::id::{AppId, ParticipantId};
use rookery_storage::participants::{self, Participant, ParticipantKind};

use crate::support::{NOW, contract, hash, human};

fn visitor(kind: ParticipantKind) -> Participant {
    Participant {
        id: ParticipantId::new(),
        hash: hash(),
        app: AppId::new(),
        kind,
        human: None,
        via: None,
        created_at: NOW,
        expires_at: NOW.plus_seconds(60),
    }
}

contract! {
    async fn a_visitor_of_each_kind_comes_back_as_stored(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visitors = [
            visitor(ParticipantKind::Anonymous),
            Participant { human: Some(ada), ..visitor(ParticipantKind::Human) },
            Participant { via: Some([7; 16]), ..visitor(ParticipantKind::Grant) },
            Participant { via: Some([8; 16]), ..visitor(ParticipantKind::Preview) },
            Participant { via: Some([9; 16]), ..visitor(ParticipantKind::Share) },
        ];
        for visitor in visitors {
            participants::create(db, &visitor).await.unwrap();
            let found = participants::by_hash(db, visitor.hash, NOW).await.unwrap();
            assert_eq!(found, Some(visitor));
        }
        assert_eq!(participants::by_hash(db, hash(), NOW).await.unwrap(), None);
    }

    async fn a_visitors_token_ends_unless_it_is_extended(test: &TestDb) {
        let db = &test.db;
        let visitor = visitor(ParticipantKind::Anonymous);
        participants::create(db, &visitor).await.unwrap();
        let (end, later) = (visitor.expires_at, NOW.plus_seconds(120));
        assert_eq!(participants::by_hash(db, visitor.hash, end).await.unwrap(), None);
        participants::extend(db, visitor.id, later).await.unwrap();
        participants::extend(db, visitor.id, end).await.unwrap();
        let found = participants::by_hash(db, visitor.hash, end).await.unwrap();
        assert_eq!(found.map(|found| found.expires_at), Some(later));
        assert!(participants::revoke(db, visitor.id).await.unwrap());
        assert!(!participants::revoke(db, visitor.id).await.unwrap());
        assert_eq!(participants::by_hash(db, visitor.hash, NOW).await.unwrap(), None);
    }

    async fn signing_out_ends_a_humans_visits_in_all_apps(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        for _ in 0..3 {
            let visit = Participant { human: Some(ada), ..visitor(ParticipantKind::Human) };
            participants::create(db, &visit).await.unwrap();
        }
        let other = visitor(ParticipantKind::Anonymous);
        participants::create(db, &other).await.unwrap();
        assert_eq!(participants::revoke_of_human(db, ada).await.unwrap(), 3);
        assert!(participants::by_hash(db, other.hash, NOW).await.unwrap().is_some());
    }
}
