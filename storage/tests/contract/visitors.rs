//! Visitors of apps.

use rookery_domain::id::{AppId, ParticipantId};
use rookery_storage::{
    participants::{self, Participant, ParticipantKind},
    session_grants,
};

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

    async fn who_is_sent_away_from_an_app_has_no_visit_and_no_sign_in_there(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visit = || Participant { human: Some(ada), ..visitor(ParticipantKind::Human) };
        let (here, elsewhere) = (visit(), visit());
        let [waits_here, waits_elsewhere] = [hash(), hash()];
        for (visit, waits) in [(&here, waits_here), (&elsewhere, waits_elsewhere)] {
            participants::create(db, visit).await.unwrap();
            let end = NOW.plus_seconds(60);
            session_grants::create(db, waits, visit.app, ada, end, NOW).await.unwrap();
        }
        participants::revoke_in_app(db, here.app, ada).await.unwrap();
        assert_eq!(participants::by_hash(db, here.hash, NOW).await.unwrap(), None);
        let spent = session_grants::consume(db, waits_here, here.app, NOW).await.unwrap();
        assert_eq!(spent, None);
        assert!(participants::by_hash(db, elsewhere.hash, NOW).await.unwrap().is_some());
        let spent = session_grants::consume(db, waits_elsewhere, elsewhere.app, NOW).await.unwrap();
        assert_eq!(spent, Some(ada));
    }
}
