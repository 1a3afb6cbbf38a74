//! Destroying apps in steps.

use rookery_domain::{
    app::AppStatus,
    id::{AppId, HumanId},
    idempotency::{IdempotentRequest, StoredResponse},
};
use rookery_storage::{
    Db,
    apps::{
        self, AccountSums,
        create::{self, CreateOutcome, NewApp},
        purge::{self, DueApp},
    },
    expiry,
    idempotency::KeepResponse,
    idempotency::global::{self, NewResponse},
    meters::roll_up,
    participants::{self, CameBy, Participant},
    session_grants,
    versions::{Asset, VersionAsset},
};

use crate::{
    support::{NOW, contract, hash, human, new_app, number, row, session_grant, spoil, visitor},
    writer::kit::mark,
};

/// An app in the trash, which may be purged ten seconds from now.
async fn deleted(db: &Db, owner: HumanId, slug: &str, rows: usize) -> AppId {
    let rows: Vec<_> = (0..rows).map(|i| row(&format!("k{i}"), "{}")).collect();
    let mut app = new_app(owner, slug, &rows);
    app.record.status = AppStatus::Deleted;
    app.record.deleted_at = Some(NOW);
    app.record.purge_at = Some(NOW.plus_seconds(10));
    let id = app.record.id;
    create::create(db, app).await.unwrap();
    id
}

async fn purge_whole(db: &Db, id: AppId) -> u32 {
    let mut steps = 1;
    while purge::step(db, id).await.unwrap() {
        steps += 1;
    }
    steps
}

contract! {
    async fn an_app_is_due_when_its_time_in_the_trash_is_over(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let id = deleted(db, owner, "old", 0).await;
        create::create(db, new_app(owner, "live", &[])).await.unwrap();
        let behind = deleted(db, owner, "behind", 0).await;
        // One that was due before comes first, whatever its id.
        let before = deleted(db, owner, "before", 0).await;
        spoil(db, "update apps set purge_at = purge_at - 1000000 where slug = 'before'").await;
        let later = NOW.plus_seconds(10);
        let due = async |after: Option<(AppId, i64)>, now, limit| {
            let after = after.map(|(app, s)| DueApp { app, purge_at: NOW.plus_seconds(s) });
            let due = purge::due(db, now, after, limit).await.unwrap();
            due.into_iter().map(|due| due.app).collect::<Vec<_>>()
        };
        assert_eq!(due(Some((before, 9)), later, 10).await, [id, behind]);
        assert_eq!(due(Some((id, 10)), later, 10).await, [behind]);
        assert_eq!(due(Some((behind, 10)), later, 10).await, []);
        assert_eq!(due(None, NOW.plus_seconds(8), 10).await, []);
        assert_eq!(due(None, NOW.plus_seconds(9), 10).await, [before]);
        assert_eq!(due(None, later, 10).await, [before, id, behind]);
        assert_eq!(due(None, later, 2).await, [before, id]);
        assert_eq!(due(None, later, 0).await, []);
        assert_eq!(purge::marked(db, None, 10).await.unwrap(), []);
        mark(db, id).await;
        assert_eq!(due(None, later, 10).await, [before, behind]);
        let marked = purge::marked(db, None, 10).await.unwrap();
        assert_eq!(marked.iter().map(|due| due.app).collect::<Vec<_>>(), [id]);
        assert_eq!(purge::marked(db, Some(marked[0]), 10).await.unwrap(), []);
    }

    async fn an_app_that_is_not_marked_is_not_touched(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let app = new_app(owner, "restored", &[]);
        let record = app.record.clone();
        create::create(db, app).await.unwrap();
        assert!(!purge::step(db, record.id).await.unwrap());
        assert_eq!(apps::by_id(db, record.id).await.unwrap(), Some(record));
    }

    async fn a_marked_app_counts_for_nothing(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let rows = [row("a", "{}"), row("b", "{}")];
        let app = new_app(owner, "old", &rows);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        assert_ne!(apps::account_sums(db, owner).await.unwrap(), AccountSums::default());
        mark(db, id).await;
        assert_eq!(apps::account_sums(db, owner).await.unwrap(), AccountSums::default());
        let record = apps::by_id(db, id).await.unwrap().unwrap();
        assert_eq!(record.status, AppStatus::Purging);
    }

    async fn a_purge_leaves_nothing_and_frees_the_slug_for_its_owner(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let scope = hash().0;
        let response = StoredResponse { status: 201, location: None, body: "{}".into() };
        let mut app = new_app(owner, "old", &[row("a", "{}")]);
        app.record.status = AppStatus::Deleted;
        let id = app.record.id;
        let request = IdempotentRequest { scope, body_hash: [1; 32] };
        let response = NewResponse { request, response, now: NOW };
        create::create(db, NewApp { response: Some(response), ..app }).await.unwrap();
        let visitor = Participant { app: id, ..visitor(CameBy::Anonymous) };
        participants::create(db, &visitor).await.unwrap();
        session_grants::create(db, &session_grant(id, owner), NOW, KeepResponse::nothing()).await.unwrap();
        let neighbour = new_app(owner, "neighbour", &[row("a", "{}")]);
        for app in [id, neighbour.record.id] {
            roll_up::roll_up(db, vec![super::meters::seen(app, owner)]).await.unwrap();
        }
        create::create(db, neighbour).await.unwrap();

        mark(db, id).await;
        purge_whole(db, id).await;
        assert_eq!(apps::by_id(db, id).await.unwrap(), None);
        assert_eq!(global::find(db, scope, NOW).await.unwrap(), None);
        for (table, left) in [
            ("select count(*) from apps", 1),
            ("select count(*) from app_head", 1),
            ("select count(*) from rows", 1),
            ("select count(*) from events", 2),
            ("select count(*) from versions", 1),
            ("select count(*) from assets", 2),
            ("select count(*) from app_hours", 1),
            ("select count(*) from app_days", 1),
            ("select count(*) from app_sources", 2),
            ("select count(*) from visitor_sketches", 2),
            ("select count(*) from participants", 0),
            ("select count(*) from session_grants", 0),
        ] {
            assert_eq!(number(db, table).await, left, "{table}");
        }
        create::create(db, new_app(owner, "old", &[])).await.unwrap();
        assert!(apps::by_slug(db, "old").await.unwrap().is_some());
    }

    async fn a_slug_is_kept_for_the_last_owner_of_its_app(test: &TestDb) {
        let db = &test.db;
        let ada = human(db, "ada@example.com").await.id;
        let bob = human(db, "bob@example.com").await.id;
        let outcome = async |who| create::create(db, new_app(who, "old", &[])).await.unwrap();
        for _ in 0..2 {
            let id = deleted(db, ada, "old", 0).await;
            assert!(!apps::is_slug_free(db, "old", ada).await.unwrap());
            mark(db, id).await;
            purge_whole(db, id).await;
        }
        assert!(apps::is_slug_free(db, "old", ada).await.unwrap());
        assert!(!apps::is_slug_free(db, "old", bob).await.unwrap());
        assert_eq!(outcome(bob).await, CreateOutcome::SlugTaken);
        assert_eq!(number(db, "select count(*) from app_head").await, 0, "nothing was made");
        assert_eq!(outcome(ada).await, CreateOutcome::Created);
    }

    async fn a_large_app_goes_in_many_steps(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let id = deleted(db, owner, "large", 2_500).await;
        mark(db, id).await;
        assert!(purge_whole(db, id).await >= 5);
        assert_eq!(number(db, "select count(*) from rows").await, 0);
        assert_eq!(apps::by_id(db, id).await.unwrap(), None);
    }

    async fn a_step_takes_no_more_than_a_few_bytes(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let big = format!(r#""{}""#, "x".repeat((1 << 20) - 2));
        let rows: Vec<_> = (0..6).map(|i| row(&format!("k{i}"), &big)).collect();
        let app = new_app(owner, "heavy", &rows);
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        mark(db, id).await;
        let mut seen = Vec::new();
        loop {
            let events = number(db, "select count(*) from events").await;
            let rows = number(db, "select count(*) from rows").await;
            seen.push((events, rows));
            if !purge::step(db, id).await.unwrap() {
                break;
            }
        }
        // The first event has a few bytes of its own.
        assert_eq!(seen[..5], [(7, 6), (2, 6), (0, 6), (0, 2), (0, 0)]);
    }

    async fn asset_contents_go_when_no_version_has_referred_to_them_for_a_while(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let id = deleted(db, owner, "first", 0).await;
        create::create(db, new_app(owner, "second", &[])).await.unwrap();
        assert_eq!(number(db, "select count(*) from blobs").await, 2, "stored request for both");
        let later = NOW.plus_seconds(3_600);
        let sweep = async |unseen_since, after| {
            expiry::sweep_blobs(db, unseen_since, after).await.unwrap()
        };
        mark(db, id).await;
        purge_whole(db, id).await;
        assert_eq!(sweep(later, None).await, None);
        assert_eq!(number(db, "select count(*) from blobs").await, 2, "the second refers to them");
        let second = apps::by_slug(db, "second").await.unwrap().unwrap().id;
        mark(db, second).await;
        purge_whole(db, second).await;
        sweep(NOW, None).await;
        assert_eq!(number(db, "select count(*) from blobs").await, 2, "seen a moment ago");
        assert_eq!(sweep(later, None).await, None);
        assert_eq!(number(db, "select count(*) from blobs").await, 0);
    }

    async fn asset_contents_go_a_few_bytes_at_a_time(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let mut app = new_app(owner, "heavy", &[]);
        let asset = |i: u8| {
            let bytes: Vec<u8> = vec![i; 2 << 20];
            VersionAsset::New(Asset::new(format!("{i}.bin"), "image/png".into(), bytes.into()))
        };
        app.version.assets = (0..5).map(asset).collect();
        let id = app.record.id;
        create::create(db, app).await.unwrap();
        create::create(db, new_app(owner, "other", &[])).await.unwrap();
        mark(db, id).await;
        purge_whole(db, id).await;
        let later = NOW.plus_seconds(3_600);
        let mut after = None;
        for (left, more) in [(5, true), (3, true), (2, false)] {
            after = expiry::sweep_blobs(db, later, after).await.unwrap();
            assert_eq!(number(db, "select count(*) from blobs").await, left);
            assert_eq!(after.is_some(), more);
        }
    }
}
