//! Magic links, sessions, and the grants that carry a sign-in to an app.

use rookery_domain::{
    id::{AppId, HumanId},
    secret::SecretHash,
};
use rookery_storage::{
    idempotency::KeepResponse,
    links::{self, NewLink, SpentIn},
    participants::{self, CameBy, Participant},
    session_grants::{self, Redeemed, SessionGrant, VISITS_MAX},
    sessions::{self, OpenCodes, SessionUse},
};

use crate::support::{
    NOW, at_once, contract, hash, human, new_session, number, open_session, session_grant, visitor,
};

fn visit(human: HumanId) -> Participant {
    visitor(CameBy::Human { human, share: None })
}

/// A link of Ada's for the next 15 minutes.
fn link() -> NewLink {
    let expires_at = NOW.plus_seconds(900);
    NewLink { hash: hash(), email: "ada@example.com".into(), redirect_to: None, expires_at }
}

contract! {
    async fn of_32_sign_ins_by_one_link_one_succeeds(test: &TestDb) {
        let db = &test.db;
        let link = NewLink { redirect_to: Some("/device".into()), ..link() };
        links::create(db, link.clone(), NOW).await.unwrap();
        let outcomes = at_once(32, |_| {
            let (db, hash) = (db.clone(), link.hash);
            async move {
                links::sign_in(&db, hash, None, HumanId::new(), new_session(), NOW).await.unwrap()
            }
        })
        .await;
        let mut signed_in = outcomes.into_iter().flatten();
        let first = signed_in.next().unwrap();
        assert_eq!(signed_in.next(), None);
        assert_eq!(first.human, human(db, "ada@example.com").await);
        assert_eq!(first.redirect_to.as_deref(), Some("/device"));
        let session = open_session(db, first.session.hash, NOW).await;
        assert_eq!(session, Some(first.session));

        // It is known for a while yet, and never good again, whatever the clock says.
        for now in [NOW.plus_seconds(-900), NOW, NOW.plus_seconds(900)] {
            let known = links::find(db, link.hash, now).await.unwrap().unwrap();
            assert_eq!((&*known.email, known.is_good), ("ada@example.com", false));
            assert_eq!(known.redirect_to.as_deref(), Some("/device"));
            let again = links::sign_in(db, link.hash, None, HumanId::new(), new_session(), now).await;
            assert_eq!(again.unwrap(), None);
        }
    }

    async fn the_browser_that_spent_a_link_may_repeat_it_while_its_session_is_new(test: &TestDb) {
        let db = &test.db;
        let link = link();
        links::create(db, link.clone(), NOW).await.unwrap();
        let browser = hash();
        let sign_in = async |browser, seconds: i64| {
            let now = NOW.plus_seconds(seconds);
            let spent_in = Some(SpentIn { browser, again_after: now.plus_seconds(-60) });
            let new = links::sign_in(db, link.hash, spent_in, HumanId::new(), new_session(), now);
            new.await.unwrap()
        };
        let first = sign_in(browser, 0).await.unwrap();
        assert_eq!(first.replaced, None);
        assert_eq!(sign_in(hash(), 1).await, None, "another browser");
        let second = sign_in(browser, 59).await.unwrap();
        assert_eq!(second.human, first.human);
        assert_eq!(second.replaced.unwrap(), first.session.hash);
        assert_eq!(open_session(db, first.session.hash, NOW).await, None);
        // By the session that it got last: a minute each time.
        assert!(sign_in(browser, 118).await.is_some());
        assert_eq!(sign_in(browser, 178).await, None);
        let found = number(db, "select count(*) from sessions").await;
        assert_eq!(found, 1, "and the refused one left the session that there is");

        // A session that was ended is not opened anew.
        let last = sign_in(browser, 177).await.unwrap();
        sessions::end(db, last.human.id, last.session.id, OpenCodes::Stay).await.unwrap();
        assert_eq!(sign_in(browser, 177).await, None);
    }

    async fn unknown_and_expired_links_sign_nobody_in(test: &TestDb) {
        let db = &test.db;
        let link = link();
        links::create(db, link.clone(), NOW).await.unwrap();
        for (hash, at) in [(hash(), NOW), (link.hash, link.expires_at)] {
            let outcome = links::sign_in(db, hash, None, HumanId::new(), new_session(), at).await;
            assert_eq!(outcome.unwrap(), None);
        }
        let found = rookery_storage::humans::by_verified_email(db, "ada@example.com").await;
        assert_eq!(found.unwrap(), None, "an address is proven by a good link only");
    }

    async fn a_used_session_slides_and_an_ended_one_does_not_come_back(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let session = sessions::create(db, owner, new_session(), NOW).await.unwrap();
        let later = SessionUse {
            id: session.id,
            seen_at: NOW.plus_seconds(60),
            expires_at: NOW.plus_seconds(7_200),
        };
        sessions::touch(db, vec![later], NOW).await.unwrap();
        let earlier = SessionUse { seen_at: NOW, expires_at: NOW, ..later };
        sessions::touch(db, vec![earlier], NOW).await.unwrap();
        let found = open_session(db, session.hash, NOW.plus_seconds(7_199)).await;
        assert_eq!(found.map(|s| (s.seen_at, s.expires_at)), Some((later.seen_at, later.expires_at)));
        assert_eq!(open_session(db, session.hash, later.expires_at).await, None);

        // When it was used last the clock was ahead, or this one is slow: the nearer time counts.
        let nearer = SessionUse { seen_at: NOW.plus_seconds(-1), ..later };
        sessions::touch(db, vec![nearer], NOW.plus_seconds(-1)).await.unwrap();
        let found = open_session(db, session.hash, NOW).await;
        assert_eq!(found.map(|s| s.seen_at), Some(nearer.seen_at));

        assert!(sessions::end(db, owner, session.id, OpenCodes::End).await.unwrap().is_some());
        assert_eq!(sessions::end(db, owner, session.id, OpenCodes::End).await.unwrap(), None);
        let again = SessionUse { seen_at: NOW.plus_seconds(90), ..later };
        sessions::touch(db, vec![again], NOW).await.unwrap();
        assert_eq!(open_session(db, session.hash, NOW).await, None);
    }

    async fn of_a_humans_visits_the_newest_stay(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let comes = async |minted_by| {
            let grant = SessionGrant { minted_by, ..session_grant(AppId::new(), ada) };
            session_grants::create(db, &grant, NOW, KeepResponse::nothing()).await.unwrap();
            let visitor = Participant { app: grant.app, ..visitor(CameBy::Anonymous) };
            session_grants::redeem(db, grant.hash, visitor, None, NOW).await.unwrap().unwrap()
        };
        let oldest = visit(ada);
        participants::create(db, &oldest).await.unwrap();
        let minted = comes(Some(SecretHash([6; 32]))).await;
        for _ in 1..VISITS_MAX {
            participants::create(db, &visit(ada)).await.unwrap();
        }
        // What an agent asked for is counted apart.
        assert_eq!(comes(Some(SecretHash([6; 32]))).await.ended, []);
        let newest = comes(None).await;
        assert_eq!(newest.ended, [oldest.hash]);
        for (hash, stays) in
            [(oldest.hash, false), (minted.visitor.hash, true), (newest.visitor.hash, true)]
        {
            let found = participants::by_hash(db, hash, NOW).await.unwrap();
            assert_eq!(found.is_some(), stays);
        }
    }

    async fn sessions_end_with_the_visits_of_their_human_and_nobody_elses(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let counted = async || {
            [
                number(db, "select count(*) from sessions").await,
                number(db, "select count(*) from session_grants").await,
                number(db, "select count(*) from participants").await,
            ]
        };
        let enter = async |human| {
            let waits = session_grant(AppId::new(), human);
            session_grants::create(db, &waits, NOW, KeepResponse::nothing()).await.unwrap();
            participants::create(db, &visit(human)).await.unwrap();
        };
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(sessions::create(db, ada, new_session(), NOW).await.unwrap());
            enter(ada).await;
        }
        let other = sessions::create(db, eve, new_session(), NOW).await.unwrap();
        enter(eve).await;
        assert_eq!(sessions::end(db, ada, other.id, OpenCodes::End).await.unwrap(), None);
        assert_eq!(counted().await, [4, 4, 4], "a session of another is none");

        assert_eq!(sessions::end(db, ada, open[0].id, OpenCodes::Stay).await.unwrap(), Some(open[0].hash));
        assert_eq!(counted().await, [3, 1, 1]);
        enter(ada).await;
        sessions::end_all(db, ada).await.unwrap();
        assert_eq!(counted().await, [1, 1, 1]);
        assert_eq!(open_session(db, other.hash, NOW).await, Some(other));
    }

    async fn a_session_grant_works_once_in_its_app_and_in_time(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let (app, other) = (AppId::new(), AppId::new());
        let grant = async |minted_by| {
            let grant = SessionGrant { minted_by, ..session_grant(app, ada) };
            session_grants::create(db, &grant, NOW, KeepResponse::nothing()).await.unwrap();
            grant.hash
        };
        let comes = |app| Participant { app, ..visitor(CameBy::Anonymous) };
        let good = grant(Some(SecretHash([6; 32]))).await;
        let uses = at_once(32, |_| {
            let (db, visitor) = (db.clone(), comes(app));
            async move { session_grants::redeem(&db, good, visitor, None, NOW).await.unwrap() }
        })
        .await;
        let redeemed: Vec<_> = uses.into_iter().flatten().collect();
        let [Redeemed { visitor, .. }] = &redeemed[..] else { panic!("used once") };
        assert_eq!((visitor.came_by.human(), visitor.minted_by), (Some(ada), Some(SecretHash([6; 32]))));
        let stored = participants::by_hash(db, visitor.hash, NOW).await.unwrap();
        assert_eq!(stored.as_ref(), Some(visitor));
        assert_eq!(number(db, "select count(*) from participants").await, 1);

        let expired = grant(None).await;
        let end = session_grant(app, ada).expires_at;
        assert!(session_grants::redeem(db, expired, comes(app), None, end).await.unwrap().is_none());
        let astray = grant(None).await;
        assert!(session_grants::redeem(db, astray, comes(other), None, NOW).await.unwrap().is_none());
        let twice = Participant { id: visitor.id, ..comes(app) };
        session_grants::redeem(db, astray, twice, None, NOW).await.expect_err("no visitor comes of it");
        let at_home = session_grants::redeem(db, astray, comes(app), None, NOW).await.unwrap();
        assert_eq!(at_home.map(|redeemed| redeemed.visitor.came_by.human()), Some(Some(ada)), "so it is good still");
        assert!(session_grants::redeem(db, hash(), comes(app), None, NOW).await.unwrap().is_none());
    }
}
