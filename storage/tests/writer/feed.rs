//! The stored feed: pages, the floor, and what retention takes away; idempotency records by age.

use std::sync::Arc;

use rookery_domain::{
    Timestamp,
    event::{Event, EventType},
    id::AppId,
    idempotency::{FirstResponse, KEPT_FOR_S, StoredResponse},
};
use rookery_storage::{
    Writer,
    commit::{ENTRY_BYTES, Outcome, RowState},
    expiry,
    feed::{self, FeedRetention},
    history::{self, ResponsesCut},
    idempotency,
};

use super::kit::{Draft, deploy, load, start};
use crate::support::{NOW, TestDb, contract, row};

/// Keeps so many events, of any age.
const fn newest(events: u64) -> FeedRetention {
    FeedRetention { events, not_before: Timestamp(0), not_after: Timestamp::LAST, bytes: 1 << 40 }
}

/// An app whose feed stands at `last`.
async fn app_at(test: &TestDb, last: u64) -> AppId {
    let app = deploy(test, "notes").await;
    let writer = start(&test.db).await;
    let mut draft = Draft::new(app, 1);
    for seq in 2..=last {
        draft = draft.create(row(&format!("k{seq}"), r#"{"n":1}"#));
    }
    assert_eq!(draft.commit(&writer).await, Outcome::Committed);
    app
}

fn seqs(events: &[Arc<Event>]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

/// Keeps so many responses of a thousand bytes, given a second apart; `by_key` says which are of agents.
async fn keep_responses(writer: &Writer, app: AppId, count: u8, by_key: impl Fn(u8) -> bool) {
    for n in 0..count {
        let draft = Draft::new(app, 1 + u64::from(n)).event(EventType::AppWoken, None, None);
        let draft = draft.response([n; 32], &[]).with(|group| {
            let kept = &mut group.writes.idempotency[0];
            kept.response.body = "x".repeat(1_000);
            kept.created_at = NOW.plus_seconds(i64::from(n));
            kept.by_key = by_key(n);
        });
        assert_eq!(draft.commit(writer).await, Outcome::Committed);
    }
}

contract! {
    async fn pages_follow_each_other_and_stop_at_the_readers_snapshot(test: &TestDb) {
        let app = app_at(test, 10).await;
        let first = feed::events_after(&test.db, app, 2, 9, 4).await.unwrap();
        assert_eq!(seqs(&first), [3, 4, 5, 6]);
        let second = feed::events_after(&test.db, app, 6, 9, 4).await.unwrap();
        assert_eq!(seqs(&second), [7, 8, 9]);
        let none = feed::events_after(&test.db, app, 9, 9, 4).await.unwrap();
        assert_eq!(seqs(&none), [0; 0]);
        let tail = load(&test.db, app).await.tail;
        assert_eq!(first, tail[2..6]);
    }

    async fn pruning_by_count_raises_the_floor_for_good(test: &TestDb) {
        let app = app_at(test, 20).await;
        let pruned = feed::prune(&test.db, app, newest(5)).await.unwrap().unwrap();
        assert_eq!((pruned.events, pruned.floor_seq, pruned.more), (15, 15, false));
        let again = feed::prune(&test.db, app, newest(5)).await.unwrap().unwrap();
        assert_eq!((again.events, again.floor_seq, again.more), (0, 15, false));
        let loaded = load(&test.db, app).await;
        assert_eq!((loaded.head.floor_seq, loaded.head.last_seq), (15, 20));
        assert_eq!(loaded.live_rows().count(), 19);
        let page = feed::events_after(&test.db, app, 15, 20, 100).await.unwrap();
        assert_eq!(seqs(&page), [16, 17, 18, 19, 20]);
        let pruned = feed::events_after(&test.db, app, 3, 20, 100).await.unwrap();
        assert_eq!(seqs(&pruned), [0; 0], "nothing is passed over");
        // The writer goes on above the floor and leaves it where it is.
        let writer = start(&test.db).await;
        let next = Draft::new(app, 20).create(row("z", "{}")).commit(&writer).await;
        assert_eq!(next, Outcome::Committed);
        assert_eq!(load(&test.db, app).await.head.floor_seq, 15);
    }

    async fn pruning_goes_in_bounded_steps(test: &TestDb) {
        let app = app_at(test, u64::from(feed::PRUNE_CHUNK) + 10).await;
        let first = feed::prune(&test.db, app, newest(1)).await.unwrap().unwrap();
        assert_eq!((first.events, first.more), (u64::from(feed::PRUNE_CHUNK), true));
        let second = feed::prune(&test.db, app, newest(1)).await.unwrap().unwrap();
        assert_eq!((second.events, second.more), (9, false));
    }

    async fn pruning_by_bytes_keeps_the_newest_events(test: &TestDb) {
        let app = app_at(test, 20).await;
        // As many as six of them have, less one byte.
        let bytes = 6 * (ENTRY_BYTES as u64 + r#"{"n":1}"#.len() as u64) - 1;
        let keep = FeedRetention { bytes, ..newest(1_000) };
        assert_eq!(feed::due(&test.db, keep, None, 9).await.unwrap(), [app]);
        let pruned = feed::prune(&test.db, app, keep).await.unwrap().unwrap();
        assert_eq!((pruned.events, pruned.floor_seq, pruned.more), (15, 15, false));
        assert_eq!(feed::due(&test.db, keep, None, 9).await.unwrap(), []);
        let again = feed::prune(&test.db, app, keep).await.unwrap().unwrap();
        assert_eq!((again.events, again.floor_seq, again.more), (0, 15, false));
        // What is written from then on counts on top.
        let writer = start(&test.db).await;
        let next = Draft::new(app, 20).create(row("z", r#"{"n":1}"#)).commit(&writer).await;
        assert_eq!(next, Outcome::Committed);
        assert_eq!(feed::due(&test.db, keep, None, 9).await.unwrap(), [app]);
    }

    async fn what_a_purge_has_emptied_counts_no_more_once_it_was_looked_at(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let large = row("gone", &format!(r#"{{"n":"{}"}}"#, "x".repeat(4_000)));
        let draft = Draft::new(app, 1).create(large.clone());
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let draft = Draft::new(app, 2).purge(large);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let keep = FeedRetention { bytes: 4_000, ..newest(1_000) };
        assert_eq!(feed::due(&test.db, keep, None, 9).await.unwrap(), [app]);
        assert_eq!(history::more_than(&test.db, app, keep.bytes).await.unwrap(), None);
        let pruned = feed::prune(&test.db, app, keep).await.unwrap().unwrap();
        assert_eq!((pruned.events, pruned.more), (0, false));
        assert_eq!(feed::due(&test.db, keep, None, 9).await.unwrap(), []);
    }

    async fn the_oldest_responses_go_first(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        keep_responses(&writer, app, 8, |_| true).await;
        let each = ENTRY_BYTES as u64 + 1_000;
        let before = history::more_than(&test.db, app, 0).await.unwrap().unwrap();
        assert_eq!(before.responses, 8 * each);
        // As many as are needed for so many bytes.
        let cut = history::oldest_responses(&test.db, app, 2 * each + 1).await.unwrap();
        let through = NOW.plus_seconds(2);
        assert_eq!(cut, Some(ResponsesCut { by_key: true, through }));
        assert!(!history::forget_responses(&test.db, app, cut.unwrap()).await.unwrap());
        for n in 0..8_u8 {
            let found = idempotency::find(&test.db, [n; 32], NOW).await.unwrap();
            assert_eq!(found.is_some(), n >= 3, "{n}");
        }
        let after = history::more_than(&test.db, app, 0).await.unwrap().unwrap();
        assert_eq!(after, history::History { responses: 5 * each, ..before });
        let all = after.events + after.responses;
        assert_eq!(history::more_than(&test.db, app, all).await.unwrap(), None);
        assert_eq!(history::oldest_responses(&test.db, app, 5 * each + 1).await.unwrap(), None);
    }

    async fn responses_of_visitors_go_before_those_of_keys(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        // Odd ones are of visitors.
        keep_responses(&writer, app, 6, |n| n % 2 == 0).await;
        let each = ENTRY_BYTES as u64 + 1_000;
        for (bytes, cut, left) in [
            (2 * each, (false, 3), vec![0, 2, 4, 5]),
            (2 * each, (true, 0), vec![2, 4]),
        ] {
            let cut = ResponsesCut { by_key: cut.0, through: NOW.plus_seconds(cut.1) };
            let found = history::oldest_responses(&test.db, app, bytes).await.unwrap();
            assert_eq!(found, Some(cut));
            assert!(!history::forget_responses(&test.db, app, cut).await.unwrap());
            let mut kept = Vec::new();
            for n in 0..6_u8 {
                if idempotency::find(&test.db, [n; 32], NOW).await.unwrap().is_some() {
                    kept.push(n);
                }
            }
            assert_eq!(kept, left);
        }
    }

    async fn responses_go_in_bounded_steps(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let mut draft = Draft::new(app, 1).event(EventType::AppWoken, None, None);
        for n in 0..feed::PRUNE_CHUNK + 10 {
            let mut scope = [0; 32];
            scope[..4].copy_from_slice(&n.to_be_bytes());
            draft = draft.response(scope, &[]);
        }
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let cut = ResponsesCut { by_key: true, through: NOW.plus_seconds(60) };
        assert!(history::forget_responses(&test.db, app, cut).await.unwrap());
        let left = history::more_than(&test.db, app, 0).await.unwrap().unwrap();
        assert!(left.responses > 0);
        assert!(!history::forget_responses(&test.db, app, cut).await.unwrap());
        let left = history::more_than(&test.db, app, 0).await.unwrap().unwrap();
        assert_eq!(left.responses, 0);
    }

    async fn feeds_that_are_due_are_found_page_by_page(test: &TestDb) {
        let (first, second) = (deploy(test, "first").await, deploy(test, "second").await);
        let due = |after, limit| feed::due(&test.db, newest(0), after, limit);
        assert_eq!(due(None, 1).await.unwrap(), [first]);
        assert_eq!(due(Some(first), 9).await.unwrap(), [second]);
        assert_eq!(due(Some(second), 9).await.unwrap(), []);
    }

    async fn pruning_by_age_takes_old_events_and_the_remains_of_purged_rows(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let gone = row("gone", "{}");
        let draft = Draft::new(app, 1).create(row("a", "{}")).purge(gone).create(row("b", "{}"));
        let later = draft.with(|group| {
            let last = Arc::make_mut(group.writes.events.last_mut().unwrap());
            last.at = NOW.plus_seconds(100);
        });
        assert_eq!(later.commit(&writer).await, Outcome::Committed);
        assert_eq!(load(&test.db, app).await.tombstones.len(), 1);
        let keep = FeedRetention { not_before: NOW.plus_seconds(50), ..newest(1_000) };
        let pruned = feed::prune(&test.db, app, keep).await.unwrap().unwrap();
        assert_eq!((pruned.events, pruned.floor_seq), (3, 3));
        let loaded = load(&test.db, app).await;
        assert_eq!(loaded.tombstones, []);
        assert_eq!(loaded.head.version_floor, 1, "what its version was is not forgotten");
        assert_eq!(loaded.live_rows().count(), 2);
        assert_eq!(feed::prune(&test.db, rookery_domain::id::AppId::new(), keep).await.unwrap(), None);
    }

    async fn events_of_the_future_go_with_those_behind_them_and_not_before(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let write = async |seq: u64, at: Timestamp| {
            let draft = Draft::new(app, seq - 1).create(row(&format!("k{seq}"), "{}"));
            let draft = draft.with(|group| {
                Arc::make_mut(group.writes.events.last_mut().unwrap()).at = at;
            });
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        };
        let keep_since = |seconds: i64| FeedRetention {
            not_before: NOW.plus_seconds(seconds),
            not_after: NOW.plus_seconds(3_600),
            ..newest(1_000)
        };
        let prune = async |seconds: i64| {
            feed::prune(&test.db, app, keep_since(seconds)).await.unwrap().unwrap().floor_seq
        };
        let due = async |seconds: i64| feed::due(&test.db, keep_since(seconds), None, 9).await.unwrap();
        // The first event is of now; then the clock is slow, then it is ahead.
        write(2, NOW.plus_seconds(-1_000)).await;
        write(3, NOW.plus_seconds(86_400)).await;
        assert_eq!((due(-10).await, prune(-10).await), (Vec::new(), 0));
        assert_eq!((due(10).await, prune(10).await), (vec![app], 2));
        assert_eq!((due(10).await, prune(10).await), (vec![app], 2), "nothing is known of its age");
        write(4, NOW.plus_seconds(20)).await;
        assert_eq!(prune(10).await, 2);
        assert_eq!(prune(30).await, 4);
        assert_eq!(due(30).await, []);
    }

    async fn a_response_is_replayed_for_a_day_and_then_forgotten(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let draft = Draft::new(app, 1)
            .row(EventType::RowCreated, RowState::Live, row("a", "{}"))
            .response([1; 32], &["a"]);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let found = idempotency::find(&test.db, [1; 32], NOW).await.unwrap().unwrap();
        let body = r#"{"key":"k"}"#.to_owned();
        let response = StoredResponse { status: 201, location: Some("/there".to_owned()), body };
        assert_eq!(found, FirstResponse { body_hash: [9; 32], response });
        let day = NOW.plus_seconds(KEPT_FOR_S);
        assert!(idempotency::find(&test.db, [1; 32], day.plus_seconds(-1)).await.unwrap().is_some());
        assert!(idempotency::find(&test.db, [1; 32], day).await.unwrap().is_none());
        assert!(idempotency::find(&test.db, [2; 32], NOW).await.unwrap().is_none());
        assert_eq!(idempotency::forget_expired(&test.db, day.plus_seconds(-1)).await.unwrap(), 0);
        assert_eq!(idempotency::forget_expired(&test.db, day).await.unwrap(), 1);
        // The key may be used anew, also over a record that was not forgotten yet.
        for (seq, body) in [(2, "x"), (3, "y")] {
            let draft = Draft::new(app, seq).event(EventType::AppWoken, None, None);
            let draft = draft.response([3; 32], &[]).with(|group| {
                group.writes.idempotency[0].response.body = body.into();
            });
            assert_eq!(draft.commit(&writer).await, Outcome::Committed);
            let found = idempotency::find(&test.db, [3; 32], NOW).await.unwrap().unwrap();
            assert_eq!(found.response.body, body);
        }
    }

    async fn spent_challenges_and_old_budgets_are_forgotten(test: &TestDb) {
        let app = deploy(test, "notes").await;
        let writer = start(&test.db).await;
        let draft = Draft::new(app, 1).create(row("a", "{}")).extras(1);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        let today = NOW.utc_day();
        let forget = |now, days| expiry::forget_spent(&test.db, now, days);
        assert_eq!(forget(NOW, today..=today).await.unwrap(), 0);
        let later = NOW.plus_seconds(61);
        assert_eq!(forget(later, today + 1..=today + 4).await.unwrap(), 2);
        let loaded = load(&test.db, app).await;
        assert!(loaded.budgets.is_empty() && loaded.spent_challenges.is_empty());
        // A clock that was far ahead counted for a day that is not to be waited for.
        let draft = Draft::new(app, 2).create(row("b", "{}")).extras(2);
        assert_eq!(draft.commit(&writer).await, Outcome::Committed);
        assert_eq!(forget(NOW, today - 3..=today).await.unwrap(), 0);
        assert_eq!(forget(NOW, today - 4..=today - 1).await.unwrap(), 1);
    }
}
