//! Visitors of apps.

use std::{slice::from_ref, sync::Arc};

use futures::future::join_all;
use rookery_domain::{
    Principal,
    event::{Event, EventType},
    id::{AppId, GrantId, PreviewId},
    principal::PrincipalKind,
    secret::{HashHalf, SecretHash},
};
use rookery_storage::{
    commit::{Abort, Outcome},
    idempotency::KeepResponse,
    participants::{self, CameBy, LASTING_TTL_S, Participant, ParticipantKind},
    session_grants::{self, SessionGrant},
};

use crate::{
    support::{NOW, contract, hash, human, number, session_grant, visitor, writer},
    writer::kit::{Draft, deploy, start},
};

/// By some share link.
const SHARED: CameBy = CameBy::Share(HashHalf([9; 16]));

contract! {
    async fn a_visitor_of_each_kind_comes_back_as_stored(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visitors = [
            visitor(CameBy::Anonymous),
            visitor(CameBy::Human { human: ada, share: None }),
            visitor(CameBy::Human { human: ada, share: Some(HashHalf([5; 16])) }),
            Participant {
                minted_by: Some(SecretHash([6; 32])),
                ..visitor(CameBy::Human { human: ada, share: None })
            },
            visitor(CameBy::Grant(GrantId::new())),
            visitor(CameBy::Preview(PreviewId::new())),
            visitor(SHARED),
            Participant { lasting: true, ..visitor(CameBy::Anonymous) },
        ];
        for visitor in visitors {
            participants::create(db, &visitor).await.unwrap();
            let found = participants::by_hash(db, visitor.hash, NOW).await.unwrap();
            assert_eq!(found, Some(visitor));
        }
        assert_eq!(participants::by_hash(db, hash(), NOW).await.unwrap(), None);
    }

    async fn of_a_crowd_that_comes_at_once_each_is_stored_and_one_that_cannot_be_keeps_no_other_out(test: &TestDb) {
        let db = &test.db;
        let crowd: Vec<_> = (0..200).map(|_| visitor(CameBy::Anonymous)).collect();
        let twice = Participant { id: crowd[100].id, ..visitor(CameBy::Anonymous) };
        let before = [&crowd[..150], from_ref(&twice), &crowd[150..]].concat();
        let stored = join_all(before.iter().map(|one| participants::create(db, one))).await;
        assert_eq!(stored.iter().filter(|stored| stored.is_err()).count(), 1);
        let known = async |visitor: &Participant| {
            participants::by_hash(db, visitor.hash, NOW).await.unwrap().is_some()
        };
        let of_two = [known(&crowd[100]).await, known(&twice).await];
        assert!(of_two[0] != of_two[1], "one of the two with one id");
        for (at, visitor) in crowd.iter().enumerate().filter(|(at, _)| *at != 100) {
            assert!(known(visitor).await, "{at}");
        }
    }

    async fn a_visitors_token_ends_by_itself_is_renewed_and_is_revoked(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visitor = visitor(CameBy::Human { human: ada, share: None });
        participants::create(db, &visitor).await.unwrap();
        let end = visitor.expires_at;
        assert_eq!(participants::by_hash(db, visitor.hash, end).await.unwrap(), None);
        let renewed = Participant {
            hash: hash(),
            came_by: CameBy::Human { human: ada, share: Some(HashHalf([7; 16])) },
            expires_at: end.plus_seconds(1),
            ..visitor.clone()
        };
        assert!(participants::renew(db, visitor.hash, &renewed).await.unwrap());
        let second = Participant { hash: hash(), ..renewed.clone() };
        let is_late = !participants::renew(db, visitor.hash, &second).await.unwrap();
        assert!(is_late, "the token that it was given stays good");
        assert_eq!(participants::by_hash(db, visitor.hash, NOW).await.unwrap(), None);
        let found = participants::by_hash(db, renewed.hash, end).await.unwrap();
        assert_eq!(found.as_ref(), Some(&renewed));
        let later = end.plus_seconds(60);
        participants::prolong(db, vec![(visitor.id, later)]).await.unwrap();
        participants::prolong(db, vec![(visitor.id, end)]).await.unwrap();
        let found = participants::by_hash(db, renewed.hash, end.plus_seconds(59)).await.unwrap();
        assert_eq!(found.map(|found| found.expires_at), Some(later), "an end moves on, never back");
        assert_eq!(participants::revoke(db, visitor.id).await.unwrap(), Some(renewed.hash));
        participants::prolong(db, vec![(visitor.id, later)]).await.unwrap();
        assert_eq!(participants::revoke(db, visitor.id).await.unwrap(), None);
        assert!(!participants::renew(db, renewed.hash, &visitor).await.unwrap());
        assert_eq!(participants::by_hash(db, renewed.hash, NOW).await.unwrap(), None);
    }

    async fn of_who_left_nothing_the_newest_of_an_app_and_a_kind_are_kept(test: &TestDb) {
        let db = &test.db;
        let app = AppId::new();
        let comes = |came_by| Participant { app, ..visitor(came_by) };
        let mut came = Vec::new();
        for _ in 0..5 {
            came.push(comes(CameBy::Anonymous));
        }
        came[0].lasting = true;
        let others = [comes(SHARED), visitor(CameBy::Anonymous)];
        for one in came.iter().chain(&others) {
            participants::create(db, one).await.unwrap();
        }
        let anonymous = ParticipantKind::Anonymous;
        let beyond = participants::fresh_beyond(db, app, anonymous, 2).await.unwrap();
        assert_eq!(beyond, [(came[2].id, came[2].hash), (came[1].id, came[1].hash)]);
        // Whoever lasts is not forgotten, whatever a list said before.
        let ids = [&came[0], &came[1], &came[2]].map(|one| one.id);
        participants::forget_fresh(db, ids.into()).await.unwrap();
        let left = [&came[0], &came[3], &came[4], &others[0], &others[1]];
        assert_eq!(number(db, "select count(*) from participants").await, 5);
        for one in left {
            let found = participants::by_hash(db, one.hash, NOW).await.unwrap();
            assert_eq!(found.as_ref(), Some(one));
        }
        assert_eq!(participants::fresh_beyond(db, app, anonymous, 2).await.unwrap(), []);
    }

    async fn the_commit_of_what_a_visitor_leaves_keeps_it(test: &TestDb) {
        let db = &test.db;
        let app = deploy(test, "notes").await;
        let elsewhere = AppId::new();
        let visitors = [
            visitor(CameBy::Anonymous),
            visitor(CameBy::Grant(GrantId::new())),
            visitor(SHARED),
            // Left nothing, or not here.
            visitor(CameBy::Anonymous),
            Participant { app: elsewhere, ..visitor(CameBy::Anonymous) },
        ]
        .map(|one| if one.app == elsewhere { one } else { Participant { app, ..one } });
        for visitor in &visitors {
            participants::create(db, visitor).await.unwrap();
        }
        let db_writer = start(db).await;
        let kinds = [PrincipalKind::Anonymous, PrincipalKind::Grant, PrincipalKind::Anonymous];
        let by = |one: usize| Principal::new(kinds[one], visitors[one].id.uuid());
        let abroad = Principal::new(PrincipalKind::Anonymous, visitors[4].id.uuid());
        let draft = Draft::new(app, 1).with(|group| {
            for by in [by(0), by(1), by(2), by(0), abroad, writer()] {
                group.seq += 1;
                let kind = EventType::Custom("waved".into());
                let (seq, at) = (group.seq, NOW);
                let event = Event { seq, kind, at, by, change: None, data: None, silent: false };
                group.writes.events.push(Arc::new(event));
            }
        });
        // The writer's own head is behind: nothing of the group counts.
        let fenced = Draft::new(app, 7).with(|group| {
            group.seq += 1;
            let (seq, at, by) = (group.seq, NOW, by(0));
            let kind = EventType::Custom("waved".into());
            let event = Event { seq, kind, at, by, change: None, data: None, silent: false };
            group.writes.events.push(Arc::new(event));
        });
        assert_eq!(fenced.commit(&db_writer).await, Outcome::Aborted(Abort::Fenced));
        assert_eq!(number(db, "select count(*) from participants where lasting = 1").await, 0);
        assert_eq!(draft.commit(&db_writer).await, Outcome::Committed);
        db_writer.drain().await;
        let year = NOW.plus_seconds(LASTING_TTL_S);
        let ends = visitors[0].expires_at;
        for (visitor, (lasting, expires_at)) in visitors
            .iter()
            .zip([(true, year), (true, ends), (true, ends), (false, ends), (false, ends)])
        {
            let found = participants::by_hash(db, visitor.hash, NOW).await.unwrap();
            assert_eq!(found, Some(Participant { lasting, expires_at, ..visitor.clone() }));
        }
    }

    async fn who_is_sent_away_from_an_app_has_no_visit_and_no_sign_in_there(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let visit = || visitor(CameBy::Human { human: ada, share: None });
        let (here, elsewhere) = (visit(), visit());
        let (waits_here, waits_elsewhere) =
            (session_grant(here.app, ada), session_grant(elsewhere.app, ada));
        for (visit, waits) in [(&here, &waits_here), (&elsewhere, &waits_elsewhere)] {
            participants::create(db, visit).await.unwrap();
            session_grants::create(db, waits, NOW, KeepResponse::nothing()).await.unwrap();
        }
        participants::revoke_in_app(db, here.app, ada).await.unwrap();
        assert_eq!(participants::by_hash(db, here.hash, NOW).await.unwrap(), None);
        let redeemed = async |grant: SessionGrant| {
            let visitor = Participant { app: grant.app, ..visitor(CameBy::Anonymous) };
            session_grants::redeem(db, grant.hash, visitor, None, NOW).await.unwrap()
        };
        assert!(redeemed(waits_here).await.is_none());
        assert!(participants::by_hash(db, elsewhere.hash, NOW).await.unwrap().is_some());
        assert!(redeemed(waits_elsewhere).await.is_some());
    }
}
