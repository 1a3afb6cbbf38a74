//! Apps: made in one piece or not at all, found, listed, summed up.

use rookery_domain::{
    Timestamp,
    app::AppStatus,
    id::{AppId, HumanId},
    idempotency::{FirstResponse, IdempotentRequest, StoredResponse},
    limits::AppsMax,
};
use rookery_storage::{
    apps::{
        self, AccountSums, AppFilter, AppHead, CollectionCounts,
        create::{self, CreateOutcome, NewApp},
        room::{self, FullOf},
    },
    faults::damage,
    idempotency::global::NewResponse,
    self_apps, versions,
};

use crate::{
    support::{NOW, assets, at_once, contract, hash, human, new_app, number, row},
    writer::kit::mark,
};

fn response(scope: [u8; 32], body: &str) -> NewResponse {
    let location = Some("/v1/apps/x".into());
    let response = StoredResponse { status: 201, location, body: body.into() };
    NewResponse { request: IdempotentRequest { scope, body_hash: [1; 32] }, response, now: NOW }
}

contract! {
    async fn a_created_app_is_there_with_all_its_parts(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let app = new_app(owner, "guestbook", &[row("a", r#"{"n":1}"#), row("b", r#"{"n":"ü"}"#)]);
        let (record, events, totals) = (app.record.clone(), app.events.len(), app.totals);
        let (by, html) = (app.version.by, app.version.html.clone());
        let (manifest, files) = (app.version.manifest.clone(), assets());
        assert_eq!(create::create(db, app).await.unwrap(), CreateOutcome::Created);

        assert_eq!(apps::by_id(db, record.id).await.unwrap().as_ref(), Some(&record));
        assert_eq!(apps::by_slug(db, "guestbook").await.unwrap().as_ref(), Some(&record));
        assert_eq!(apps::by_id(db, AppId::new()).await.unwrap(), None);
        assert_eq!(apps::by_slug(db, "Guestbook").await.unwrap(), None);

        let listed = versions::list(db, record.id).await.unwrap();
        assert_eq!(listed.iter().map(|v| (v.number, v.by, v.created_at)).collect::<Vec<_>>(),
                   [(1, by, NOW)]);
        assert_eq!(versions::html(db, record.id, 1).await.unwrap(), Some(html));
        assert_eq!(versions::html(db, record.id, 2).await.unwrap(), None);
        assert_eq!(versions::manifest(db, record.id, 1).await.unwrap(), Some(manifest));
        let infos = versions::assets(db, record.id, 1).await.unwrap();
        let paths: Vec<_> = infos.iter().map(|info| info.path.as_str()).collect();
        assert_eq!(paths, ["logo.svg", "style.css"], "in the order of their paths");
        assert_eq!(infos[0].size, 6);
        assert_eq!(infos[0].sha256, files[1].sha256);
        let file = versions::asset(db, record.id, 1, "style.css").await.unwrap();
        assert_eq!(file.as_ref(), Some(&files[0]));
        assert_eq!(versions::asset(db, record.id, 1, "none.css").await.unwrap(), None);

        assert_eq!(number(db, "select last_seq from app_head").await, events as i64);
        assert_eq!(number(db, "select epoch from app_head").await, 0);
        assert_eq!(number(db, "select count(*) from rows where state = 0").await, 2);
        assert_eq!(number(db, "select count(*) from events").await, events as i64);
        let sums = apps::account_sums(db, owner).await.unwrap();
        assert_eq!(sums, AccountSums { apps: 1, rows: 2, bytes: totals.bytes, trashed: 0 });
        let head = apps::head(db, record.id).await.unwrap().unwrap();
        let collections = vec![CollectionCounts::of_live("entries".into(), 2)];
        assert_eq!(head, AppHead { seq: events as u64, totals, collections });
    }

    async fn an_app_with_a_thousand_rows_is_created_whole(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let rows: Vec<_> = (0..1_000).map(|i| row(&format!("k{i}"), r#"{"n":1}"#)).collect();
        create::create(db, new_app(owner, "big", &rows)).await.unwrap();
        assert_eq!(number(db, "select count(*) from events").await, 1_001);
    }

    async fn of_32_apps_that_want_one_slug_one_gets_it_and_the_others_leave_nothing(
        test: &TestDb
    ) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let outcomes = at_once(32, |i| {
            let db = db.clone();
            async move {
                let owner = if i % 2 == 0 {
                    owner
                } else {
                    human(&db, &format!("h{i}@example.com")).await.id
                };
                create::create(&db, new_app(owner, "wanted", &[row("a", "{}")])).await.unwrap()
            }
        })
        .await;
        let created = outcomes.iter().filter(|o| **o == CreateOutcome::Created).count();
        let taken = outcomes.iter().filter(|o| **o == CreateOutcome::SlugTaken).count();
        assert_eq!((created, taken), (1, 31));
        for table in [
            "select count(*) from apps",
            "select count(*) from versions",
            "select count(*) from app_head",
            "select count(*) from rows",
        ] {
            assert_eq!(number(db, table).await, 1, "{table}");
        }
    }

    async fn an_account_never_gets_more_apps_than_it_may_have(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let outcomes = at_once(32, |i| {
            let db = db.clone();
            async move {
                let app = new_app(owner, &format!("app-{i}"), &[]);
                create::create(&db, NewApp { apps_max: AppsMax { kept: 5, trashed: 1 }, ..app }).await.unwrap()
            }
        })
        .await;
        let created = outcomes.iter().filter(|o| **o == CreateOutcome::Created).count();
        let refused = outcomes.iter().filter(|o| **o == CreateOutcome::QuotaReached(FullOf::Apps)).count();
        assert_eq!((created, refused), (5, 27));
        let nobody = new_app(HumanId::new(), "nobodys", &[]);
        assert_eq!(create::create(db, nobody).await.unwrap(), CreateOutcome::NoSuchAccount);
    }

    async fn apps_in_the_trash_count_where_it_has_no_room_for_them(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let add = async |slug: &str, status: AppStatus| {
            let mut app = new_app(owner, slug, &[]);
            app.record.status = status;
            app.apps_max = AppsMax { kept: 1, trashed: 3 };
            create::create(db, app).await.unwrap()
        };
        for slug in ["one", "two", "three"] {
            assert_eq!(add(slug, AppStatus::Deleted).await, CreateOutcome::Created);
        }
        let lacking = async |app, kept, trashed| {
            room::lacking(db, owner, app, AppsMax { kept, trashed }).await.unwrap()
        };
        let full = Some(FullOf::Trash);
        for (kept, trashed, found) in [(1, 3, None), (1, 2, full), (2, 2, None), (0, 3, Some(FullOf::Apps))] {
            assert_eq!(lacking(AppId::new(), kept, trashed).await, found, "{kept} and {trashed}");
        }
        // One of them that comes back is in the trash no more.
        let one = apps::by_slug(db, "one").await.unwrap().unwrap().id;
        assert_eq!(lacking(one, 1, 2).await, None);
        assert_eq!(lacking(one, 1, 1).await, full);
        let trashed = AccountSums { trashed: 3, ..AccountSums::default() };
        assert_eq!(apps::account_sums(db, owner).await.unwrap(), trashed);
        assert_eq!(add("live", AppStatus::Live).await, CreateOutcome::Created);
        assert_eq!(add("another", AppStatus::Live).await, CreateOutcome::QuotaReached(FullOf::Apps));
        assert_eq!(apps::account_sums(db, owner).await.unwrap().apps, 1);
    }

    async fn a_repeated_creation_is_answered_with_the_first_response(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let scope = hash().0;
        let outcomes = at_once(16, |i| {
            let db = db.clone();
            async move {
                let app = new_app(owner, &format!("app-{i}"), &[]);
                let response = Some(response(scope, &format!("body {i}")));
                create::create(&db, NewApp { response, ..app }).await.unwrap()
            }
        })
        .await;
        let created = outcomes.iter().position(|o| *o == CreateOutcome::Created).unwrap();
        let NewResponse { request, response, .. } = response(scope, &format!("body {created}"));
        let first = FirstResponse { body_hash: request.body_hash, response };
        for (i, outcome) in outcomes.into_iter().enumerate() {
            if i != created {
                assert_eq!(outcome, CreateOutcome::Answered(first.clone()));
            }
        }
        assert_eq!(number(db, "select count(*) from apps").await, 1);
    }

    async fn a_refused_creation_stores_no_response(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        create::create(db, new_app(owner, "taken", &[])).await.unwrap();
        let scope = hash().0;
        let app = NewApp { response: Some(response(scope, "first")), ..new_app(owner, "taken", &[]) };
        assert_eq!(create::create(db, app).await.unwrap(), CreateOutcome::SlugTaken);
        let app = NewApp { response: Some(response(scope, "second")), ..new_app(owner, "free", &[]) };
        assert_eq!(create::create(db, app).await.unwrap(), CreateOutcome::Created);
    }

    async fn an_accounts_apps_are_listed_newest_first_page_by_page(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let mut records = Vec::new();
        for i in 0..6i64 {
            let mut app = new_app(owner, &format!("app-{i}"), &[]);
            // Two share a time, so the id decides between them.
            app.record.created_at = Timestamp(NOW.0 + i / 2);
            app.record.status = if i == 4 { AppStatus::Deleted } else { AppStatus::Live };
            records.push(app.record.clone());
            create::create(db, app).await.unwrap();
        }
        let eve = human(db, "eve@example.com").await.id;
        create::create(db, new_app(eve, "other", &[])).await.unwrap();
        records.sort_by_key(|record| std::cmp::Reverse((record.created_at, record.id)));
        let live: Vec<_> =
            records.iter().filter(|r| r.status == AppStatus::Live).cloned().collect();

        let list = async |filter: &AppFilter, limit| {
            let found = apps::list(db, owner, filter, limit).await.unwrap();
            for one in &found.apps {
                let head = apps::head(db, one.record.id).await.unwrap();
                assert_eq!(head.as_ref(), Some(&one.head));
            }
            found.apps.into_iter().map(|one| one.record).collect::<Vec<_>>()
        };
        let first = list(&AppFilter::default(), 3).await;
        assert_eq!(first, live[..3]);
        let after = AppFilter {
            after: Some((first[2].created_at, first[2].id)),
            ..AppFilter::default()
        };
        assert_eq!(list(&after, 50).await, live[3..]);
        let all = AppFilter { include_deleted: true, ..AppFilter::default() };
        assert_eq!(list(&all, 50).await, records);
        let deleted = AppFilter { status: Some(AppStatus::Deleted), ..AppFilter::default() };
        let listed = list(&deleted, 50).await;
        assert_eq!(listed.iter().map(|r| &*r.slug).collect::<Vec<_>>(), ["app-4"]);
        let slug = AppFilter { slug: Some("app-2".into()), ..AppFilter::default() };
        assert_eq!(list(&slug, 50).await.len(), 1);
        let foreign = AppFilter { slug: Some("other".into()), ..AppFilter::default() };
        assert_eq!(list(&foreign, 50).await, []);
        self_apps::add_favorite(db, owner, records[2].id, NOW).await.unwrap();
        for (whose, marked) in [(owner, &[records[2].clone()][..]), (eve, &[])] {
            let favorites = AppFilter { marked: Some((whose, true)), ..all.clone() };
            assert_eq!(list(&favorites, 50).await, marked);
            let others = AppFilter { marked: Some((whose, false)), ..all.clone() };
            assert_eq!(list(&others, 50).await.len(), records.len() - marked.len());
        }
        // A purged app is in no list, whatever is asked.
        mark(db, listed[0].id).await;
        let purging = AppFilter { status: Some(AppStatus::Purging), ..AppFilter::default() };
        assert_eq!(list(&purging, 50).await, []);
        assert_eq!(list(&all, 50).await, live);
    }

    async fn an_app_that_cannot_be_read_hides_no_other(test: &TestDb) {
        let db = &test.db;
        let owner = human(db, "ada@example.com").await.id;
        let mut oldest_first = Vec::new();
        for i in 0..4i64 {
            let mut app = new_app(owner, &format!("app-{i}"), &[]);
            app.record.created_at = NOW.plus_seconds(i);
            oldest_first.push(app.record.id);
            create::create(db, app).await.unwrap();
        }
        assert!(damage::head(db, oldest_first[2]).await.unwrap());
        let mut filter = AppFilter::default();
        let mut pages = Vec::new();
        loop {
            let page = apps::list(db, owner, &filter, 2).await.unwrap();
            pages.push(page.apps.into_iter().map(|one| one.record.id).collect::<Vec<_>>());
            filter.after = page.next;
            if filter.after.is_none() {
                break;
            }
        }
        let newest_first = [vec![oldest_first[3]], vec![oldest_first[1], oldest_first[0]], vec![]];
        assert_eq!(pages, newest_first);
    }

    async fn an_account_without_apps_sums_to_nothing(test: &TestDb) {
        let sums = apps::account_sums(&test.db, HumanId::new()).await.unwrap();
        assert_eq!(sums, AccountSums::default());
    }
}
