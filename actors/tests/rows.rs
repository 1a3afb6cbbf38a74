//! The container of rows against a sorted map: whatever is put, taken, put back or squeezed
//! together, both hold the same rows in the same order, and a clone never changes.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use proptest::prelude::*;
use rookery_actors::testing::RowsBox;
use rookery_domain::{
    Principal, Timestamp,
    row::{Row, RowText},
};

/// What a test does to the container.
#[derive(Debug, Clone)]
enum Step {
    /// A new row, newer than all others.
    Append(u8),
    /// A new row of the same millisecond as the newest, or nearly.
    AppendAtOnce(u8),
    /// A row at an old place in the order of creation: a restore.
    Restore(u8, i64),
    /// A new version of the row at the key.
    Update(u8),
    /// The row leaves.
    Remove(u8),
    /// Most rows leave, so that holes are squeezed out.
    RemoveMany,
    /// What came is put into order, as for every publication.
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Append),
        4 => any::<u8>().prop_map(Step::AppendAtOnce),
        3 => (any::<u8>(), 0..40_000i64).prop_map(|(key, at)| Step::Restore(key, at)),
        2 => any::<u8>().prop_map(Step::Update),
        4 => any::<u8>().prop_map(Step::Remove),
        1 => Just(Step::RemoveMany),
        1 => Just(Step::Settle),
    ]
}

fn row(key: u8, created_at: i64, version: u32) -> Arc<Row> {
    Arc::new(Row {
        text: RowText::new(&format!("key-{key}"), "{}"),
        version,
        creator: Principal::SYSTEM,
        editor: Principal::SYSTEM,
        created_at: Timestamp(created_at),
        updated_at: Timestamp(created_at),
    })
}

/// The same rows as a plain map.
#[derive(Default)]
struct Model(BTreeMap<u8, Arc<Row>>);

impl Model {
    fn sorted(&self) -> Vec<Arc<Row>> {
        let mut rows: Vec<_> = self.0.values().cloned().collect();
        rows.sort_by(|a, b| (moment(a), a.key()).cmp(&(moment(b), b.key())));
        rows
    }

    fn newest_first(&self) -> Vec<Arc<Row>> {
        let mut rows = self.sorted();
        rows.sort_by_key(|row| Reverse(moment(row)));
        rows
    }
}

fn moment(row: &Row) -> i64 {
    row.created_at.0.div_euclid(1_000)
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut rows, mut model) = (RowsBox::default(), Model::default());
    let mut newest = 50_000;
    for step in steps {
        let (before, kept) = (rows.clone(), rows.all());
        match *step {
            Step::Append(key) | Step::AppendAtOnce(key) if !model.0.contains_key(&key) => {
                newest += if matches!(step, Step::Append(_)) { 90 } else { 1 };
                let new = row(key, newest, 1);
                prop_assert!(rows.put(new.clone()).is_none());
                model.0.insert(key, new);
            }
            Step::Restore(key, at) if !model.0.contains_key(&key) => {
                let old = row(key, at, 1);
                prop_assert!(rows.put(old.clone()).is_none());
                model.0.insert(key, old);
            }
            Step::Update(key) => {
                if let Some(old) = model.0.get(&key).cloned() {
                    let next = row(key, old.created_at.0, old.version + 1);
                    prop_assert_eq!(rows.put(next.clone()), Some(old));
                    model.0.insert(key, next);
                }
            }
            Step::Remove(key) => {
                prop_assert_eq!(rows.remove(&format!("key-{key}")), model.0.remove(&key));
            }
            Step::RemoveMany => {
                for key in (0..=u8::MAX).filter(|key| key % 8 != 0) {
                    prop_assert_eq!(rows.remove(&format!("key-{key}")), model.0.remove(&key));
                }
            }
            Step::Settle => {
                rows.sort_pending();
                prop_assert_eq!(rows.all(), model.sorted());
            }
            Step::Append(_) | Step::AppendAtOnce(_) | Step::Restore(..) => {}
        }
        prop_assert_eq!(before.all(), kept, "a clone changed");
        prop_assert_eq!(rows.count(), model.0.len());
    }
    rows.sort_pending();
    let (sorted, newest_first) = (model.sorted(), model.newest_first());
    prop_assert_eq!(&rows.all(), &sorted);
    prop_assert_eq!(&rows.newest_first(None), &newest_first);
    for key in 0..=u8::MAX {
        prop_assert_eq!(rows.get(&format!("key-{key}")), model.0.get(&key).cloned());
    }
    for (place, row) in sorted.iter().enumerate() {
        prop_assert_eq!(&rows.after(row.created_at, row.key())[..], &sorted[place + 1..]);
    }
    for (place, row) in newest_first.iter().enumerate() {
        let behind = rows.newest_first(Some((row.created_at, row.key())));
        prop_assert_eq!(&behind[..], &newest_first[place + 1..]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_container_holds_what_a_sorted_map_holds(
        steps in proptest::collection::vec(step(), 1..250),
    ) {
        run(&steps)?;
    }
}

#[test]
fn holes_are_squeezed_out_and_order_stays() {
    let steps: Vec<Step> = (0..=u8::MAX)
        .map(Step::Append)
        .chain([Step::RemoveMany])
        .chain((0..50).map(|key| Step::Restore(key, i64::from(key))))
        .chain([Step::RemoveMany])
        .collect();
    run(&steps).expect("both hold the same");
}

#[test]
fn rows_that_came_before_removed_ones_are_put_into_order() {
    use Step::{Append, AppendAtOnce, Remove, Restore, Settle};
    let later = [Append(19), AppendAtOnce(100), Remove(19), Remove(100)];
    let earlier = [Restore(2, 12_000), Restore(100, 12_000), Settle];
    run(&[&later[..], &earlier].concat()).expect("both hold the same");
}

#[test]
fn rows_that_were_not_put_into_order_yet_are_when_holes_are_squeezed_out() {
    let steps: Vec<Step> = (0..=u8::MAX)
        .filter(|key| key % 8 != 0)
        .map(Step::Append)
        .chain([Step::Settle, Step::AppendAtOnce(200), Step::AppendAtOnce(192), Step::RemoveMany])
        .collect();
    run(&steps).expect("both hold the same");
}

/// Each of the rows in the middle once laid all of them anew, which is a matter of minutes here.
#[test]
fn many_rows_that_come_before_many_others_find_room() {
    const ROWS: i64 = 20_000;
    let row = |key: String, created_at: i64| {
        let text = RowText::new(&key, "{}");
        Arc::new(Row { text, ..Row::clone(&row(0, created_at, 1)) })
    };
    let mut rows = RowsBox::default();
    for n in 0..ROWS {
        rows.put(row(format!("ahead-{n}"), 1_000_000_000 + n * 1_000));
    }
    for n in 0..ROWS {
        rows.put(row(format!("now-{n}"), n * 500));
        if n % 100 == 0 {
            rows.sort_pending();
        }
    }
    rows.sort_pending();
    let all = rows.all();
    assert_eq!(all.len() as i64, 2 * ROWS);
    let place = |row: &Arc<Row>| (moment(row), row.key().to_owned());
    assert!(all.is_sorted_by_key(place));
    assert_eq!(rows.after(Timestamp(ROWS * 500), "").len() as i64, ROWS);
    assert_eq!(rows.newest_first(None).len(), all.len());
}
