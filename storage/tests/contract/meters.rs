//! Sums of flow, views and visitors.

use rookery_domain::{
    id::{AppId, HumanId},
    meters::{Flows, Window, visit::Country},
};
use rookery_storage::meters::{
    self, SourceKind, forget,
    read::{self, Seen, SourceSum},
    roll_up::{Source, Tally, Views, Visit, roll_up},
};

use crate::support::{TestDb, at_once, contract, number, spoil};

/// The first hour of a day.
const HOUR: i32 = 480_000;
const DAY: i32 = HOUR / 24;
const WINDOW: Window = Window { first: DAY, last: DAY + 1 };

fn flows(requests: u64) -> Flows {
    Flows { requests, bytes_out: 10 * requests, ..Flows::default() }
}

fn source(country: &str, referrer: Option<&str>) -> Source {
    Source { country: Country::parse(country), referrer: referrer.map(Into::into) }
}

/// Views of one visitor each.
fn tally(app: AppId, owner: HumanId, visits: &[(i32, u64, Source)]) -> Tally {
    let views = visits.iter().map(|(hour, _, source)| Views {
        hour: *hour,
        source: source.clone(),
        count: 1,
    });
    let visit = |(hour, visitor, source): &(i32, u64, Source)| Visit {
        hour: *hour,
        visitor: *visitor,
        source: source.clone(),
    };
    Tally {
        app,
        owner,
        is_gone: false,
        hours: vec![(HOUR, flows(1))],
        views: views.collect(),
        visits: visits.iter().map(visit).collect(),
    }
}

/// An app that was looked at once.
pub(super) fn seen(app: AppId, owner: HumanId) -> Tally {
    tally(app, owner, &[(HOUR, 1, Source::default())])
}

async fn sources(test: &TestDb, app: AppId, kind: SourceKind) -> Vec<(String, u64, u64)> {
    let found = read::sources(&test.db, app, kind, WINDOW, 500).await.unwrap();
    let columns = |SourceSum { name, page_views, visitors }| (name, page_views, visitors);
    found.into_iter().map(columns).collect()
}

contract! {
    async fn what_a_destroyed_app_used_is_its_accounts_only(test: &TestDb) {
        let (app, owner) = (AppId::new(), HumanId::new());
        roll_up(&test.db, vec![Tally { is_gone: true, ..seen(app, owner) }]).await.unwrap();
        let used = Flows { page_views: 1, ..flows(1) };
        assert_eq!(read::account_hours(&test.db, owner, WINDOW).await.unwrap(), [(HOUR, used)]);
        assert_eq!(read::app_days(&test.db, app, WINDOW).await.unwrap(), []);
        assert_eq!(sources(test, app, SourceKind::Country).await, []);
    }

    async fn a_roll_up_adds_to_what_is_there(test: &TestDb) {
        let db = &test.db;
        let (app, other, owner) = (AppId::new(), AppId::new(), HumanId::new());
        for _ in 0..2 {
            let of = |app, requests| Tally {
                hours: vec![(HOUR, flows(requests)), (HOUR + 24, flows(1))],
                ..tally(app, owner, &[])
            };
            roll_up(db, vec![of(app, 1), of(other, 5)]).await.unwrap();
        }
        let expected = [(DAY, flows(2)), (DAY + 1, flows(2))];
        assert_eq!(read::app_days(db, app, WINDOW).await.unwrap(), expected);
        let today = Window { first: DAY + 1, ..WINDOW };
        assert_eq!(read::app_days(db, app, today).await.unwrap(), expected[1..]);
        let account = [(DAY, flows(12)), (DAY + 1, flows(4))];
        assert_eq!(read::account_days(db, owner, WINDOW).await.unwrap(), account);
        let hours = [(HOUR, flows(12)), (HOUR + 24, flows(4))];
        assert_eq!(read::account_hours(db, owner, WINDOW).await.unwrap(), hours);
        assert_eq!(read::account_days(db, HumanId::new(), WINDOW).await.unwrap(), []);
        roll_up(db, Vec::new()).await.unwrap();
    }

    async fn a_visitor_counts_once_in_its_hour_and_day_where_it_came_from_first(test: &TestDb) {
        let db = &test.db;
        let (app, owner) = (AppId::new(), HumanId::new());
        let (de, fr) = (source("DE", Some("news.example")), source("FR", None));
        let first = tally(app, owner, &[(HOUR, 1, de.clone()), (HOUR, 2, fr.clone())]);
        roll_up(db, vec![first]).await.unwrap();
        let again = tally(app, owner, &[(HOUR, 1, fr.clone()), (HOUR + 1, 1, fr), (HOUR + 24, 1, de)]);
        roll_up(db, vec![again]).await.unwrap();

        let seen = |period, page_views, visitors| Seen { period, page_views, visitors };
        let days = read::seen_days(db, app, WINDOW).await.unwrap();
        assert_eq!(days, [seen(DAY, 4, 2), seen(DAY + 1, 1, 1)]);
        let hours = read::seen_hours(db, app, HOUR, HOUR + 2).await.unwrap();
        assert_eq!(hours, [seen(HOUR, 3, 2), seen(HOUR + 1, 1, 1)]);
        let named = |name: &str, views, visitors| (name.to_owned(), views, visitors);
        let countries = sources(test, app, SourceKind::Country).await;
        assert_eq!(countries, [named("FR", 3, 1), named("DE", 2, 2)]);
        let referrers = sources(test, app, SourceKind::Referrer).await;
        assert_eq!(referrers, [named("direct", 3, 1), named("news.example", 2, 2)]);
    }

    async fn a_day_names_a_bounded_number_of_referrers(test: &TestDb) {
        let db = &test.db;
        let (app, owner) = (AppId::new(), HumanId::new());
        let max = meters::REFERRERS_PER_DAY_MAX as u64;
        for from in [0, max] {
            let visits: Vec<_> = (from..from + max)
                .map(|i| (HOUR, i, source("", Some(&format!("site-{i}.example")))))
                .collect();
            roll_up(db, vec![tally(app, owner, &visits)]).await.unwrap();
        }
        let referrers = sources(test, app, SourceKind::Referrer).await;
        assert_eq!(referrers.len() as u64, max + 1);
        assert_eq!(referrers[0], ("other".to_owned(), max, max));
    }

    async fn what_tells_visitors_apart_goes_with_its_day_and_sums_when_they_are_old(test: &TestDb) {
        let db = &test.db;
        let salt = meters::salt(db, DAY, [1; 32]).await.unwrap();
        let tomorrow = meters::salt(db, DAY + 1, [2; 32]).await.unwrap();
        assert_eq!((salt, tomorrow), ([1; 32], [2; 32]));
        let (app, owner) = (AppId::new(), HumanId::new());
        let visits = [(HOUR, 1, Source::default()), (HOUR + 24, 1, Source::default())];
        roll_up(db, vec![tally(app, owner, &visits)]).await.unwrap();
        assert!(!forget::visitors(db, DAY).await.unwrap());
        assert_eq!(number(db, "select count(*) from visitor_sketches").await, 4);
        assert!(!forget::visitors(db, DAY + 1).await.unwrap());
        assert_eq!(number(db, "select count(*) from visitor_sketches").await, 2);
        assert_eq!(number(db, "select count(*) from visitor_salts").await, 1);
        assert_eq!(meters::salt(db, DAY, [3; 32]).await.unwrap(), [3; 32], "the old one is gone");

        for (first, left) in [(DAY, 2), (DAY + 1, 1), (DAY + 2, 0)] {
            assert!(!forget::sums(db, first).await.unwrap());
            for count in [
                "select count(*) from app_hours",
                "select count(*) from account_hours",
                "select count(*) from app_days",
            ] {
                assert_eq!(number(db, count).await, left, "{count}");
            }
            assert_eq!(number(db, "select count(*) from app_sources").await, 2 * left);
        }

        // Of a clock that was ahead and is right again.
        let far = DAY + 400;
        meters::salt(db, far, [4; 32]).await.unwrap();
        roll_up(db, vec![tally(AppId::new(), owner, &[(HOUR + 24 * 400, 1, Source::default())])])
            .await
            .unwrap();
        assert!(!forget::visitors(db, DAY + 1).await.unwrap());
        assert_eq!(number(db, "select count(*) from visitor_sketches").await, 2);
        assert_eq!(meters::salt(db, far, [5; 32]).await.unwrap(), [5; 32], "this one is gone, too");
    }

    async fn everybody_who_asks_gets_the_same_salt(test: &TestDb) {
        let salts = at_once(16, |i| {
            let db = test.db.clone();
            async move { meters::salt(&db, DAY, [i as u8; 32]).await.unwrap() }
        })
        .await;
        assert!(salts.iter().all(|salt| *salt == salts[0]), "{salts:?}");
    }

    async fn visitors_that_cannot_be_read_keep_nobody_from_being_counted(test: &TestDb) {
        let db = &test.db;
        let (app, owner) = (AppId::new(), HumanId::new());
        roll_up(db, vec![seen(app, owner)]).await.unwrap();
        spoil(db, "update visitor_sketches set state = app_id").await;
        for _ in 0..2 {
            roll_up(db, vec![seen(app, owner), seen(AppId::new(), owner)]).await.unwrap();
        }
        // Whoever was seen before is seen anew, once.
        assert_eq!(number(db, "select max(visitors) from app_days").await, 2);
        assert_eq!(number(db, "select count(*) from app_days").await, 3);
    }
}
