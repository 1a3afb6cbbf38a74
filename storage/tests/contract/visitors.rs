//! Visitors of apps.

use rookery_storage::{
    idempotency::Keep,
    participants::{self, Participant, ParticipantKind},
    session_grants,
};

use crate::support::{NOW, contract, hash, human, session_grant, visitor};

contract! {
    async fn a_visitor_of_each_kind_comes_back_as_stored(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visitors = [
            visitor(ParticipantKind::Anonymous),
            Participant { human: Some(ada), ..visitor(ParticipantKind::Human) },
            Participant { minted_by: Some([6; 32]), ..visitor(ParticipantKind::Human) },
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

    async fn a_visitors_token_ends_by_itself_is_renewed_and_is_revoked(test: &TestDb) {
        let db = &test.db;
        let visitor = visitor(ParticipantKind::Anonymous);
        participants::create(db, &visitor).await.unwrap();
        let end = visitor.expires_at;
        assert_eq!(participants::by_hash(db, visitor.hash, end).await.unwrap(), None);
        let renewed = Participant {
            hash: hash(),
            via: Some([7; 16]),
            expires_at: end.plus_seconds(1),
            ..visitor.clone()
        };
        assert!(participants::renew(db, &renewed).await.unwrap());
        assert_eq!(participants::by_hash(db, visitor.hash, NOW).await.unwrap(), None);
        let found = participants::by_hash(db, renewed.hash, end).await.unwrap();
        assert_eq!(found.as_ref(), Some(&renewed));
        assert!(participants::revoke(db, visitor.id).await.unwrap());
        assert!(!participants::revoke(db, visitor.id).await.unwrap());
        assert!(!participants::renew(db, &visitor).await.unwrap());
        assert_eq!(participants::by_hash(db, renewed.hash, NOW).await.unwrap(), None);
    }

    async fn who_is_sent_away_from_an_app_has_no_visit_and_no_sign_in_there(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visit = || Participant { human: Some(ada), ..visitor(ParticipantKind::Human) };
        let (here, elsewhere) = (visit(), visit());
        let (waits_here, waits_elsewhere) =
            (session_grant(here.app, ada), session_grant(elsewhere.app, ada));
        for (visit, waits) in [(&here, &waits_here), (&elsewhere, &waits_elsewhere)] {
            participants::create(db, visit).await.unwrap();
            session_grants::create(db, waits, NOW, Keep::nothing()).await.unwrap();
        }
        participants::revoke_in_app(db, here.app, ada).await.unwrap();
        assert_eq!(participants::by_hash(db, here.hash, NOW).await.unwrap(), None);
        let spent = session_grants::consume(db, waits_here.hash, here.app, NOW).await.unwrap();
        assert_eq!(spent, None);
        assert!(participants::by_hash(db, elsewhere.hash, NOW).await.unwrap().is_some());
        let (hash, app) = (waits_elsewhere.hash, elsewhere.app);
        let spent = session_grants::consume(db, hash, app, NOW).await.unwrap();
        assert_eq!(spent, Some(waits_elsewhere));
    }
}
