//! What the writer promises about groups that meet no fault but each other.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use rookery_domain::{
    event::{Event, EventType},
    id::HumanId,
};
use rookery_storage::{
    Writer, WriterOptions,
    commit::{Abort, AppWrite, Epoch, Outcome, RowState, Ticket},
    idempotency,
    versions::{self, Asset, AssetInfo, NewVersion, VersionAsset},
};

use super::kit::{
    Draft, Hold, deploy, deploy_with, is_pending, keys, load, picture, start, start_at,
};
use crate::support::{NOW, assets, at_once, contract, number, on_sqlite, row, spoil, writer};

contract! {
    async fn a_group_is_visible_once_it_is_settled_and_not_before(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let hold = Hold::on(test, app).await;
        let mut outcome = Draft::new(app, 1).create(row("a", "{}")).extras(1).submit(&writer);
        for sql in [
            "select count(*) from rows",
            "select count(*) from events where seq > 1",
            "select count(*) from app_head where last_seq > 1",
            "select count(*) from budgets",
        ] {
            assert_eq!(number(&test.db, sql).await, 0, "{sql}");
        }
        assert!(idempotency::find(&test.db, [1; 32], NOW).await.unwrap().is_none());
        assert!(is_pending(&mut outcome).await);
        drop(hold);
        assert_eq!(outcome.await, Ok(Outcome::Committed));
        let after = load(&test.db, app).await;
        assert_eq!(keys(&after), ["a"]);
        assert_eq!(after.head.last_seq, 2);
        assert!(idempotency::find(&test.db, [1; 32], NOW).await.unwrap().is_some());
    }

    async fn a_barrier_waits_for_what_was_submitted_before_it(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let hold = Hold::on(test, app).await;
        let mut outcome = Draft::new(app, 1).create(row("a", "{}")).submit(&writer);
        let mut barrier = Box::pin(writer.barrier(app));
        assert!(is_pending(&mut barrier).await);
        drop(hold);
        barrier.await;
        assert_eq!(outcome.try_recv(), Ok(Outcome::Committed));
        writer.barrier(app).await;
    }

    async fn groups_of_one_app_land_in_their_order(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let hold = Hold::on(test, app).await;
        let first = Draft::new(app, 1).create(row("a", r#"{"n":1}"#)).submit(&writer);
        let second = Draft::new(app, 2).create(row("a", r#"{"n":2}"#)).submit(&writer);
        let third = Draft::new(app, 3).create(row("b", "{}")).submit(&writer);
        drop(hold);
        for outcome in [first, second, third] {
            assert_eq!(outcome.await, Ok(Outcome::Committed));
        }
        let loaded = load(&test.db, app).await;
        assert_eq!(loaded.head.last_seq, 4);
        assert_eq!(loaded.rows[0].rows[0].data(), r#"{"n":2}"#);
    }

    async fn a_group_that_builds_on_a_stale_head_is_fenced_and_leaves_nothing(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let before = picture(&load(&test.db, app).await);
        for stale in [0, 2] {
            let outcome = Draft::new(app, stale).create(row("a", "{}")).extras(1).commit(&writer);
            assert_eq!(outcome.await, Outcome::Aborted(Abort::Fenced));
        }
        let gone = rookery_domain::id::AppId::new();
        let outcome = Draft::new(gone, 0).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(outcome, Outcome::Aborted(Abort::Fenced));
        assert_eq!(picture(&load(&test.db, app).await), before);
        assert!(idempotency::find(&test.db, [1; 32], NOW).await.unwrap().is_none());
    }

    async fn an_older_process_start_is_fenced_once_a_newer_one_has_written(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let old = start_at(&test.db, Epoch(1));
        let new = start_at(&test.db, Epoch(2));
        assert_eq!(Draft::new(app, 1).create(row("a", "{}")).commit(&old).await, Outcome::Committed);
        assert_eq!(Draft::new(app, 2).create(row("b", "{}")).commit(&new).await, Outcome::Committed);
        let late = Draft::new(app, 3).create(row("c", "{}")).commit(&old).await;
        assert_eq!(late, Outcome::Aborted(Abort::Fenced));
        let loaded = load(&test.db, app).await;
        assert_eq!(keys(&loaded), ["a", "b"]);
    }

    async fn one_bad_group_fails_alone(test: &TestDb) {
        let good = [deploy(test, "one").await, deploy(test, "two").await];
        let bad = deploy(test, "three").await;
        let writer = start(&test.db).await;
        let good_once = Draft::new(bad, 1).create(row("a", "{}")).commit(&writer).await;
        assert_eq!(good_once, Outcome::Committed);
        let before = picture(&load(&test.db, bad).await);
        let hold = Hold::on(test, good[0]).await;
        let first = Draft::new(good[0], 1).create(row("a", "{}")).submit(&writer);
        // An event with the number of another: its unique index refuses the statement.
        let twice = Draft::new(bad, 2).create(row("b", "{}")).with(|group| {
            group.writes.events[0] = Arc::new(Event { seq: 2, ..Event::clone(&group.writes.events[0]) });
        });
        let twice = twice.submit(&writer);
        let last = Draft::new(good[1], 1).create(row("a", "{}")).submit(&writer);
        drop(hold);
        assert_eq!(first.await, Ok(Outcome::Committed));
        assert!(matches!(twice.await, Ok(Outcome::Aborted(Abort::Refused(_)))));
        assert_eq!(last.await, Ok(Outcome::Committed));
        assert_eq!(picture(&load(&test.db, bad).await), before);
        for app in good {
            assert_eq!(keys(&load(&test.db, app).await), ["a"]);
        }
        assert!(writer.health().ok);
        let next = Draft::new(bad, 2).create(row("b", "{}")).commit(&writer).await;
        assert_eq!(next, Outcome::Committed);
    }

    async fn a_challenge_that_is_spent_again_fails_no_group(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        for (prev_seq, later) in [(1, 0), (2, 60)] {
            let spent = Draft::new(app, prev_seq).create(row("a", "{}")).extras(7);
            let spent = spent.with(|group| {
                let challenge = &mut group.writes.spent_challenges[0];
                challenge.expires_at = challenge.expires_at.plus_seconds(later);
            });
            assert_eq!(spent.commit(&writer).await, Outcome::Committed);
        }
        let found = load(&test.db, app).await.spent_challenges;
        let until: Vec<_> = found.iter().map(|spent| spent.expires_at).collect();
        assert_eq!(until, [NOW.plus_seconds(120)]);
    }

    async fn a_record_and_its_version_change_with_their_group(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer_handle = start(&test.db).await;
        let mut record = load(&test.db, app).await.record;
        record.timezone = "Europe/Berlin".into();
        record.version = 2;
        record.updated_at = NOW.plus_seconds(5);
        record.share = None;
        let [_, style] = versions::assets(&test.db, app, 1).await.unwrap().try_into().unwrap();
        let version = NewVersion {
            number: 2,
            html: "<p>two".into(),
            manifest: r#"{"cdn":true}"#.into(),
            assets: [VersionAsset::Stored(style)].into(),
            by: writer(),
            created_at: NOW,
            drop_through: 1,
        };
        let write = AppWrite { version: Some(version), ..AppWrite::of(record.clone()) };
        let outcome = Draft::new(app, 1)
            .event(EventType::AppDeployed, None, Some(r#"{"version":2}"#))
            .with(|group| group.writes.app_write = Some(Box::new(write)))
            .commit(&writer_handle)
            .await;
        assert_eq!(outcome, Outcome::Committed);
        let loaded = load(&test.db, app).await;
        assert_eq!(loaded.record, record);
        assert_eq!(&*loaded.manifest, r#"{"cdn":true}"#);
        assert_eq!(versions::html(&test.db, app, 1).await.unwrap(), None);
        assert_eq!(versions::html(&test.db, app, 2).await.unwrap().as_deref(), Some("<p>two"));
        assert!(versions::assets(&test.db, app, 1).await.unwrap().is_empty());
        let [style, _] = assets();
        let carried = versions::asset(&test.db, app, 2, "style.css").await.unwrap();
        assert_eq!(carried, Some(style.clone()), "its content did not travel");

        // Nobody brings this one, and nobody has it.
        let asset = Asset::new("new.css".into(), "text/css".into(), b"p{}"[..].into());
        let (content_type, sha256) = (asset.content_type.clone(), asset.sha256);
        let gone = AssetInfo { path: asset.path.clone(), content_type, sha256, size: 3 };
        let version = NewVersion {
            number: 3,
            html: "<p>three".into(),
            manifest: "{}".into(),
            assets: [VersionAsset::Stored(gone)].into(),
            by: writer(),
            created_at: NOW,
            drop_through: 2,
        };
        record.version = 3;
        let write = AppWrite { version: Some(version), ..AppWrite::of(record) };
        let outcome = Draft::new(app, 2)
            .event(EventType::AppDeployed, None, Some(r#"{"version":3}"#))
            .with(|group| group.writes.app_write = Some(Box::new(write)))
            .commit(&writer_handle)
            .await;
        assert!(matches!(outcome, Outcome::Aborted(Abort::Refused(_))), "{outcome:?}");
        let kept = versions::asset(&test.db, app, 2, "style.css").await.unwrap();
        assert_eq!(kept, Some(style));
    }

    async fn sixty_four_apps_at_once_lose_nothing(test: &TestDb) {
        let mut apps = Vec::new();
        for number in 0..64 {
            apps.push(deploy(test, &format!("app-{number}")).await);
        }
        let writer = start(&test.db).await;
        let shared = Arc::new(apps.clone());
        let outcomes = at_once(64, |number| {
            let (writer, apps) = (writer.clone(), Arc::clone(&shared));
            async move {
                let app = apps[usize::try_from(number).unwrap()];
                for step in 1..=20 {
                    let draft = Draft::new(app, step).create(row(&format!("k{step:02}"), "{}"));
                    assert_eq!(draft.commit(&writer).await, Outcome::Committed);
                }
            }
        });
        assert_eq!(outcomes.await.len(), 64);
        for app in apps {
            let loaded = load(&test.db, app).await;
            assert_eq!(loaded.live_rows().count(), 20);
            let seqs: Vec<u64> = loaded.tail.iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=21).collect::<Vec<_>>());
        }
        let health = writer.health();
        assert_eq!((health.groups, health.rows, health.queued), (1_280, 1_280, 0));
        assert!(health.batches <= 1_280);
        assert_eq!(health.commit_times.iter().sum::<u64>(), health.batches);
    }

    async fn a_drained_writer_commits_what_waits_and_takes_no_more(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let hold = Hold::on(test, app).await;
        let mut waiting = Draft::new(app, 1).create(row("a", "{}")).submit(&writer);
        let mut drained = Box::pin(writer.drain());
        assert!(is_pending(&mut drained).await);
        drop(hold);
        drained.await;
        assert_eq!(waiting.try_recv(), Ok(Outcome::Committed));
        let late = Draft::new(app, 2).create(row("b", "{}")).commit(&writer).await;
        assert!(matches!(late, Outcome::Aborted(Abort::Refused(_))));
        assert_eq!(keys(&load(&test.db, app).await), ["a"]);
    }

    async fn a_purge_leaves_no_content_in_rows_events_and_responses(test: &TestDb) {
        let secret = row("a", r#"{"secret":"canary"}"#);
        let other = row("b", r#"{"kept":true}"#);
        let app = deploy_with(test, "notes", &[Arc::clone(&secret), Arc::clone(&other)]).await;
        let writer = start(&test.db).await;
        let responses = Draft::new(app, 3)
            .row(EventType::RowUpdated, RowState::Live, Arc::clone(&secret))
            .response([1; 32], &["a"])
            .response([2; 32], &["b"])
            .response([3; 32], &["b", "a"])
            .response([4; 32], &["b", "\"a\" é"])
            .response([5; 32], &[]);
        assert_eq!(responses.commit(&writer).await, Outcome::Committed);
        // Within one group: written, then purged, and answered in between.
        let purge = Draft::new(app, 4)
            .row(EventType::RowUpdated, RowState::Live, Arc::clone(&secret))
            .response([6; 32], &["a"])
            .response([7; 32], &["a", "b"])
            .response([8; 32], &["b", "c"])
            .purge(Arc::clone(&secret))
            // What comes under the key afterwards is another row.
            .create(row("a", r#"{"new":true}"#))
            .response([9; 32], &["a"]);
        assert_eq!(purge.commit(&writer).await, Outcome::Committed);
        let loaded = load(&test.db, app).await;
        assert!(!picture(&loaded).contains("canary"));
        assert!(picture(&loaded).contains("kept"));
        assert_eq!(loaded.tail.len(), 7);
        let mut kept = Vec::new();
        for scope in 1..=9 {
            kept.push(idempotency::find(&test.db, [scope; 32], NOW).await.unwrap().is_some());
        }
        assert_eq!(kept, [false, true, false, true, true, false, false, true, true]);
        let purge = Draft::new(app, 7).purge(row("a", ""));
        assert_eq!(purge.commit(&writer).await, Outcome::Committed);
        let loaded = load(&test.db, app).await;
        assert_eq!(loaded.tombstones.len(), 1);
        assert_eq!(loaded.tombstones[0].state, RowState::Purged(NOW));
        assert_eq!(loaded.tombstones[0].bytes, 0);
        assert_eq!(idempotency::find(&test.db, [9; 32], NOW).await.unwrap(), None);
    }

    async fn small_groups_wait_for_one_large_one_at_most_and_accounts_take_turns(test: &TestDb) {
        struct Told(&'static str, Arc<Mutex<Vec<&'static str>>>);
        impl Ticket for Told {
            fn resolve(self: Box<Self>, _: Outcome) {
                self.1.lock().unwrap().push(self.0);
            }
        }
        let options = WriterOptions { postgres_lanes: 1, ..WriterOptions::default() };
        let writer = Writer::start(&test.db, test.db.next_epoch().await.unwrap(), options).unwrap();
        let told = Arc::default();
        let [ada, ben, eve] = [HumanId::new(), HumanId::new(), HumanId::new()];
        let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
        let mut submitted = Vec::new();
        let first = deploy(test, "first").await;
        for (name, owner, data) in [
            ("ada-1", ada, large.as_str()),
            ("ada-2", ada, &large),
            // Small, but it purges.
            ("ada-3", ada, ""),
            ("ben", ben, &large),
            ("small", eve, "{}"),
        ] {
            submitted.push((deploy(test, name).await, name, owner, data));
        }
        let hold = Hold::on(test, first).await;
        for (app, name, owner, data) in [(first, "first", eve, "{}")].iter().chain(&submitted) {
            let ticket = Box::new(Told(name, Arc::clone(&told)));
            let draft = Draft::new(*app, 1).of(*owner);
            let draft = match data.is_empty() {
                true => draft.purge(row("a", "")),
                false => draft.create(row("a", data)),
            };
            drop(draft.with(|group| group.ticket = ticket).submit(&writer));
        }
        drop(hold);
        for (app, ..) in submitted {
            writer.barrier(app).await;
        }
        let told = told.lock().unwrap();
        assert_eq!(*told, ["first", "small", "ada-1", "ben", "ada-2", "ada-3"]);
    }

    async fn a_ticket_that_panics_takes_nobody_with_it(test: &TestDb) {
        struct Bomb;
        impl Ticket for Bomb {
            fn resolve(self: Box<Self>, _: Outcome) {
                panic!("a ticket's own bug");
            }
        }
        let (first, second) = (deploy(test, "one").await, deploy(test, "two").await);
        let writer = start(&test.db).await;
        let hold = Hold::on(test, first).await;
        let bomb = Draft::new(first, 1).create(row("a", "{}"));
        // Its own receiver never hears of it.
        let lost = bomb.with(|group| group.ticket = Box::new(Bomb)).submit(&writer);
        let other = Draft::new(second, 1).create(row("a", "{}")).submit(&writer);
        drop(hold);
        assert_eq!(other.await, Ok(Outcome::Committed));
        assert!(lost.await.is_err());
        writer.barrier(first).await;
        assert_eq!(keys(&load(&test.db, first).await), ["a"]);
        assert!(writer.health().ok);
    }

    async fn the_cold_path_gets_its_turn_while_apps_write(test: &TestDb) {
        let writer = start(&test.db).await;
        let over = Arc::new(AtomicBool::new(false));
        let mut apps = Vec::new();
        for number in 0..4 {
            let app = deploy(test, &format!("app-{number}")).await;
            let (writer, over) = (writer.clone(), Arc::clone(&over));
            apps.push(tokio::spawn(async move {
                let mut seq = 1;
                while !over.load(Ordering::Acquire) {
                    let draft = Draft::new(app, seq).create(row("a", "{}"));
                    assert_eq!(draft.commit(&writer).await, Outcome::Committed);
                    seq += 1;
                }
                seq
            }));
        }
        let first = test.db.next_epoch().await.unwrap();
        for number in 1..=20 {
            assert_eq!(test.db.next_epoch().await.unwrap(), Epoch(first.0 + number));
        }
        over.store(true, Ordering::Release);
        for app in apps {
            assert!(app.await.unwrap() > 1);
        }
    }

    async fn a_start_is_above_all_that_was_written_whatever_the_counter_says(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let before = start_at(&test.db, Epoch(9));
        let draft = Draft::new(app, 1).create(row("a", "{}"));
        assert_eq!(draft.commit(&before).await, Outcome::Committed);
        for counter in ["update counters set value = 3", "delete from counters"] {
            spoil(&test.db, counter).await;
            assert_eq!(test.db.next_epoch().await.unwrap(), Epoch(10), "{counter}");
        }
        assert_eq!(test.db.next_epoch().await.unwrap(), Epoch(11));
    }

    async fn a_start_that_fails_takes_nothing_over(test: &TestDb) {
        let before = start(&test.db).await;
        before.take_over().await.unwrap();
        // As far as one comes that finds no key, or no accounts.
        let failed = start(&test.db).await;
        assert!(!before.is_superseded().await.unwrap());
        let after = start(&test.db).await;
        after.take_over().await.unwrap();
        for superseded in [&before, &failed] {
            assert!(superseded.is_superseded().await.unwrap());
        }
        // Whoever comes late to say so changes nothing.
        failed.take_over().await.unwrap();
        assert!(!after.is_superseded().await.unwrap());
    }
}

#[test]
fn the_log_of_sqlite_is_moved_to_the_file_every_few_dozen_commits() {
    on_sqlite(async |test| {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        for seq in 1..=150 {
            let draft = Draft::new(app, seq).create(row("a", "{}"));
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        }
        writer.drain().await;
        let health = writer.health();
        assert_eq!(health.batches, 150);
        assert!(health.checkpoints >= 3);
        assert!(health.wal_bytes > 0 && health.wal_bytes < 8 << 20, "{}", health.wal_bytes);
        assert!(!health.wal_alarm);
        let options = WriterOptions { wal_alarm_bytes: 1, ..WriterOptions::default() };
        let epoch = test.db.next_epoch().await.unwrap();
        let watched = Writer::start(&test.db, epoch, options).unwrap();
        let outcome = Draft::new(app, 151).create(row("b", "{}")).commit(&watched).await;
        assert_eq!(outcome, Outcome::Committed);
        watched.drain().await;
        assert!(watched.health().wal_alarm);
    });
}
