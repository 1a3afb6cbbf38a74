//! Custom domains: bindings, who holds a name, quotas, and what a destroyed app leaves.

use rookery_domain::{
    app::AppStatus,
    domains::{DOMAINS_PER_APP_MAX, DomainName},
    id::{AppId, DomainId, HumanId},
};
use rookery_storage::{
    Db,
    apps::{self, create, purge},
    closing,
    domains::{self, BindOutcome, Domain},
    faults::damage,
    idempotency::KeepResponse,
};

use crate::{
    support::{NOW, at_once, contract, human, new_app, number},
    writer::kit::{close, mark},
};

const PLENTY: u64 = 1_000;

async fn app(db: &Db, owner: HumanId, slug: &str) -> AppId {
    let app = new_app(owner, slug, &[]);
    let id = app.record.id;
    create::create(db, app).await.unwrap();
    id
}

fn domain(app: AppId, name: &str, at: i64) -> Domain {
    Domain {
        id: DomainId::new(),
        app,
        name: DomainName::stored(name),
        token: "token".into(),
        edge_id: None,
        created_at: NOW.plus_seconds(at),
        proven_at: None,
        serves: false,
    }
}

/// Binds it in the name of the app's owner.
async fn bind(db: &Db, domain: &Domain) -> BindOutcome {
    let owner = apps::by_id(db, domain.app).await.unwrap().map_or(HumanId::new(), |app| app.owner);
    bind_as(db, owner, domain).await
}

async fn bind_as(db: &Db, owner: HumanId, domain: &Domain) -> BindOutcome {
    domains::bind(db, domain.clone(), owner, PLENTY, KeepResponse::nothing()).await.unwrap()
}

async fn prove(db: &Db, domain: &Domain) -> bool {
    let proven = domains::prove(db, domain.app, domain.id, domain.name.clone(), NOW).await.unwrap();
    for (app, left) in proven.iter().flatten() {
        assert_eq!(*left, domains::of_app(db, *app).await.unwrap());
    }
    proven.is_some()
}

contract! {
    async fn many_may_try_and_whoever_proves_first_has_the_name(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let mut tries = Vec::new();
        for n in 0..16 {
            let app = app(db, ada, &format!("app-{n}")).await;
            tries.push(domain(app, "www.example.com", n));
            assert_eq!(bind(db, &tries[n as usize]).await, BindOutcome::Bound);
        }
        assert_eq!(domains::proven(db).await.unwrap(), []);
        let proofs = at_once(16, |n| {
            let (db, one) = (db.clone(), tries[n as usize].clone());
            async move { prove(&db, &one).await }
        })
        .await;
        let winners: Vec<_> = (0..16).filter(|n| proofs[*n]).collect();
        assert_eq!(winners.len(), 1);
        let winner = Domain { proven_at: Some(NOW), ..tries[winners[0]].clone() };
        assert_eq!(domains::proven(db).await.unwrap(), std::slice::from_ref(&winner));
        assert_eq!(domains::of_app(db, winner.app).await.unwrap(), std::slice::from_ref(&winner));
        assert!(!prove(db, &winner).await, "it is proven already");
        let loser = &tries[(winners[0] + 1) % 16];
        assert_eq!(domains::of_app(db, loser.app).await.unwrap(), std::slice::from_ref(loser));
        let late = domain(app(db, ada, "late").await, "www.example.com", 99);
        assert_eq!(bind(db, &late).await, BindOutcome::Taken);
        assert_eq!(bind(db, &domain(winner.app, "www.example.com", 99)).await, BindOutcome::Exists);

        // It stays when somebody else asks, as one does who gave the app away just now.
        let eve = human(db, "eve@example.com").await.id;
        assert_eq!(domains::remove(db, winner.clone(), eve).await.unwrap(), None);
        assert_eq!(domains::proven(db).await.unwrap(), std::slice::from_ref(&winner));

        // One that cannot be read keeps no other app's from being known.
        let other = domain(late.app, "other.example.com", 5);
        assert_eq!(bind(db, &other).await, BindOutcome::Bound);
        assert!(prove(db, &other).await);
        assert!(damage::domain(db, "other.example.com").await.unwrap());
        assert_eq!(domains::proven(db).await.unwrap(), std::slice::from_ref(&winner));

        // When it goes, the name is free again.
        for _ in 0..2 {
            assert_eq!(domains::remove(db, winner.clone(), ada).await.unwrap(), Some(vec![]));
        }
        assert!(!prove(db, &winner).await, "its binding is gone");
        assert!(prove(db, loser).await);
    }

    async fn a_closed_app_has_its_name_until_somebody_else_proves_it(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let (closed, next) = (app(db, ada, "closed").await, app(db, eve, "next").await);
        let (one, other) = (domain(closed, "www.example.com", 1), domain(closed, "b.example.com", 2));
        for domain in [&one, &other] {
            assert_eq!(bind(db, domain).await, BindOutcome::Bound);
            assert!(prove(db, domain).await);
        }
        domains::set_edge(db, one.id, "edge-1".to_owned()).await.unwrap();
        let wants = domain(next, "www.example.com", 3);
        assert_eq!(bind_as(db, eve, &wants).await, BindOutcome::Taken);
        close(db, closed).await;
        assert_eq!(bind_as(db, eve, &wants).await, BindOutcome::Bound);
        let proven = async || domains::proven(db).await.unwrap();
        assert_eq!(proven().await.len(), 2, "it is not lost by being asked for");
        let left = domains::prove(db, next, wants.id, wants.name.clone(), NOW).await.unwrap();
        let apps: Vec<_> = left.unwrap().into_iter().map(|(app, left)| (app, left.len())).collect();
        assert_eq!(apps, [(closed, 1), (next, 1)]);
        let names: Vec<_> = proven().await.into_iter().map(|it| (it.app, it.name)).collect();
        assert_eq!(names, [(closed, other.name), (next, wants.name)]);
        let leftovers = domains::leftovers(db, "", 9).await.unwrap();
        assert_eq!(leftovers, ["edge-1"], "the edge provider has to forget the old binding");
    }

    async fn what_a_closed_account_left_in_the_trash_locks_no_name(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let mut left = new_app(ada, "left", &[]);
        left.record.status = AppStatus::Deleted;
        let (left, trashed) = (left.record.id, left);
        create::create(db, trashed).await.unwrap();
        let next = app(db, eve, "next").await;
        let one = domain(left, "www.example.com", 1);
        assert_eq!(bind(db, &one).await, BindOutcome::Bound);
        assert!(prove(db, &one).await);
        let wants = domain(next, "www.example.com", 2);
        assert_eq!(bind_as(db, eve, &wants).await, BindOutcome::Taken, "its owner may come back");
        closing::close(db, ada, Some("ada@example.com".into()), NOW).await.unwrap();
        assert_eq!(bind_as(db, eve, &wants).await, BindOutcome::Bound);
        assert!(domains::prove(db, next, wants.id, wants.name.clone(), NOW).await.unwrap().is_some());
        let names: Vec<_> = domains::proven(db).await.unwrap().into_iter().map(|it| it.app).collect();
        assert_eq!(names, [next]);
    }

    async fn one_app_binds_a_name_once_however_often_it_tries_at_once(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let app = app(db, ada, "notes").await;
        let outcomes = at_once(16, |n| {
            let (db, one) = (db.clone(), domain(app, "www.example.com", n as i64));
            async move { bind(&db, &one).await }
        })
        .await;
        let count = |of| outcomes.iter().filter(|outcome| **outcome == of).count();
        assert_eq!((count(BindOutcome::Bound), count(BindOutcome::Exists)), (1, 15));
    }

    async fn quotas_are_exact_under_concurrency(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let eve = human(db, "eve@example.com").await.id;
        let (one, two) = (app(db, ada, "one").await, app(db, ada, "two").await);
        let outcomes = at_once(16, |n| {
            let app = if n % 2 == 0 { one } else { two };
            let (db, name) = (db.clone(), domain(app, &format!("d{n}.example.com"), n as i64));
            async move { domains::bind(&db, name, ada, 5, KeepResponse::nothing()).await.unwrap() }
        })
        .await;
        let count = |of| outcomes.iter().filter(|outcome| **outcome == of).count();
        assert_eq!((count(BindOutcome::Bound), count(BindOutcome::AccountFull)), (5, 11));
        let full = app(db, eve, "full").await;
        for n in 0..DOMAINS_PER_APP_MAX {
            let name = domain(full, &format!("e{n}.example.com"), 0);
            assert_eq!(bind(db, &name).await, BindOutcome::Bound);
        }
        assert_eq!(bind(db, &domain(full, "more.example.com", 0)).await, BindOutcome::AppFull);
        assert_eq!(number(db, "select count(*) from domains").await, 25);
        let other = domain(one, "other.example.com", 0);
        assert_eq!(bind_as(db, eve, &other).await, BindOutcome::Gone, "it is not hers");
        let nowhere = domain(AppId::new(), "no.example.com", 0);
        assert_eq!(bind(db, &nowhere).await, BindOutcome::Gone);
    }

    async fn a_destroyed_app_leaves_its_names_free_and_tells_the_edge_provider(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let mut doomed = new_app(ada, "doomed", &[]);
        doomed.record.status = AppStatus::Deleted;
        let id = doomed.record.id;
        create::create(db, doomed).await.unwrap();
        for (n, edge_id) in ["e1", "e2", "e3"].into_iter().enumerate() {
            let name = domain(id, &format!("d{n}.example.com"), n as i64);
            bind(db, &name).await;
            assert!(prove(db, &name).await);
            domains::set_edge(db, name.id, edge_id.into()).await.unwrap();
        }
        let pending = domain(id, "pending.example.com", 9);
        bind(db, &pending).await;
        mark(db, id).await;
        assert!(!prove(db, &pending).await, "it is being destroyed");
        domains::set_edge(db, pending.id, "e0".into()).await.unwrap();
        assert_eq!(domains::leftovers(db, "", 1).await.unwrap(), ["e0"], "it may have been told already");
        domains::forgotten(db, "e0").await.unwrap();
        let tried = domain(id, "late.example.com", 10);
        assert_eq!(bind(db, &tried).await, BindOutcome::Gone, "it is being destroyed");
        while purge::step(db, id).await.unwrap() {}
        assert_eq!(number(db, "select count(*) from domains").await, 0);
        assert_eq!(number(db, "select count(*) from domain_names").await, 0);
        assert_eq!(domains::proven(db).await.unwrap(), []);
        // A name that is bound again by then, with what the provider knew it by, stays there.
        let next = domain(app(db, ada, "next").await, "d2.example.com", 0);
        bind(db, &next).await;
        assert!(prove(db, &next).await);
        domains::set_edge(db, next.id, "e3".into()).await.unwrap();
        assert_eq!(domains::leftovers(db, "", 1).await.unwrap(), ["e1"]);
        assert_eq!(domains::leftovers(db, "", 10).await.unwrap(), ["e1", "e2"]);
        assert_eq!(domains::leftovers(db, "e1", 1).await.unwrap(), ["e2"], "one that stays holds up none");
        domains::forgotten(db, "e1").await.unwrap();
        assert_eq!(domains::leftovers(db, "", 10).await.unwrap(), ["e2"]);
    }

    async fn what_the_edge_provider_came_to_call_a_domain_before_it_went_is_left_to_be_forgotten(
        test: &TestDb
    ) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let id = app(db, ada, "notes").await;
        let [known, renamed, late] = ["a", "b", "c"].map(|name| domain(id, name, 0));
        for (domain, edge_id) in [(&known, "e1"), (&renamed, "e2")] {
            bind(db, domain).await;
            domains::set_edge(db, domain.id, edge_id.into()).await.unwrap();
        }
        bind(db, &late).await;
        // Each as whoever removes it has read it, and had the provider forget it.
        let read = |domain: &Domain, edge_id: &str| Domain {
            edge_id: Some(edge_id.into()),
            ..domain.clone()
        };
        for read in [read(&known, "e1"), read(&renamed, "before")] {
            assert!(domains::remove(db, read, ada).await.unwrap().is_some());
        }
        // Another request makes it known meanwhile, or has done so and notes it last.
        domains::set_edge(db, late.id, "e3".into()).await.unwrap();
        assert_eq!(domains::remove(db, late.clone(), ada).await.unwrap(), Some(vec![]));
        domains::set_edge(db, late.id, "e4".into()).await.unwrap();
        assert_eq!(domains::leftovers(db, "", 10).await.unwrap(), ["e2", "e3", "e4"]);
    }

    async fn the_oldest_comes_first(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let app = app(db, ada, "notes").await;
        for (name, at) in [("b.example.com", 2), ("c.example.com", 3), ("a.example.com", 1)] {
            bind(db, &domain(app, name, at)).await;
        }
        let names = |found: Vec<Domain>| -> Vec<String> {
            found.into_iter().map(|domain| domain.name.to_string()).collect()
        };
        let expected = ["a.example.com", "b.example.com", "c.example.com"];
        let found = domains::of_app(db, app).await.unwrap();
        for domain in &found {
            assert!(prove(db, domain).await);
        }
        assert_eq!(names(found), expected);
        assert_eq!(names(domains::proven(db).await.unwrap()), expected);
    }
}
