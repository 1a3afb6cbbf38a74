//! The container of rows against a sorted map: whatever is put, taken, put back or squeezed
//! together, both hold the same rows in the same order, and a clone never changes.

use std::{collections::BTreeMap, sync::Arc};

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
    /// A row at an old place in the order of creation: a restore.
    Restore(u8, i64),
    /// A new version of the row at the key.
    Update(u8),
    /// The row leaves.
    Remove(u8),
    /// Most rows leave, so that holes are squeezed out.
    RemoveMany,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u8>().prop_map(Step::Append),
        3 => (any::<u8>(), 0..400i64).prop_map(|(key, at)| Step::Restore(key, at)),
        2 => any::<u8>().prop_map(Step::Update),
        4 => any::<u8>().prop_map(Step::Remove),
        1 => Just(Step::RemoveMany),
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
        rows.sort_by(|a, b| (a.created_at, a.key()).cmp(&(b.created_at, b.key())));
        rows
    }
}

fn run(steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut rows, mut model) = (RowsBox::default(), Model::default());
    let mut newest = 1_000;
    for step in steps {
        let (before, kept) = (rows.clone(), model.sorted());
        match *step {
            Step::Append(key) if !model.0.contains_key(&key) => {
                newest += 1;
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
            Step::Append(_) | Step::Restore(..) => {}
        }
        prop_assert_eq!(before.all(), kept, "a clone changed");
        prop_assert_eq!(rows.count(), model.0.len());
    }
    let sorted = model.sorted();
    prop_assert_eq!(&rows.all(), &sorted);
    for key in 0..=u8::MAX {
        prop_assert_eq!(rows.get(&format!("key-{key}")), model.0.get(&key).cloned());
    }
    for at in sorted.iter().map(|row| row.created_at) {
        let (before, since): (Vec<_>, Vec<_>) =
            sorted.iter().cloned().partition(|row| row.created_at < at);
        prop_assert_eq!(rows.since(at), since);
        prop_assert_eq!(rows.before(at), before.into_iter().rev().collect::<Vec<_>>());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

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
