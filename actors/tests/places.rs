//! The persistent vector against a plain one: whatever is appended, changed and taken away, both
//! hold the same, from whichever end they are walked, and a clone never changes.

use proptest::{prelude::*, sample::Index};
use rookery_actors::testing::PlacesBox;

/// Deep enough for a tree of several levels.
const LENGTH_MAX: usize = 1_200;

/// What a test does to the vector.
#[derive(Debug, Clone)]
enum Step {
    /// So many places more.
    Push(usize),
    /// So many places fewer.
    Pop(usize),
    /// Another value in a place, or none.
    Set(Index, Option<u32>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (1..40usize).prop_map(Step::Push),
        2 => (1..40usize).prop_map(Step::Pop),
        1 => (500..600usize).prop_map(Step::Pop),
        4 => (any::<Index>(), any::<Option<u32>>()).prop_map(|(at, value)| Step::Set(at, value)),
    ]
}

fn all(places: &PlacesBox) -> Vec<Option<u32>> {
    places.range(0..places.count()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_what_a_plain_vector_holds(
        length in 0..LENGTH_MAX,
        steps in proptest::collection::vec(step(), 1..30),
        (start, end) in any::<(Index, Index)>(),
    ) {
        let (mut places, mut model) = (PlacesBox::default(), Vec::new());
        for number in 0..length {
            places.push(Some(number as u32));
            model.push(Some(number as u32));
        }
        for step in steps {
            let (before, kept) = (places.clone(), model.clone());
            match step {
                Step::Push(many) => for number in 0..many {
                    // Holes too.
                    let value = (number % 3 != 0).then_some(number as u32);
                    places.push(value);
                    model.push(value);
                },
                Step::Pop(many) => for _ in 0..many {
                    prop_assert_eq!(places.pop(), model.pop().flatten());
                },
                Step::Set(_, value) if model.is_empty() => {
                    prop_assert!(!places.set(0, value));
                }
                Step::Set(at, value) => {
                    let at = at.index(model.len());
                    prop_assert!(places.set(at, value));
                    model[at] = value;
                }
            }
            prop_assert_eq!(all(&before), kept, "a clone changed");
            prop_assert_eq!(places.count(), model.len());
        }
        prop_assert_eq!(all(&places), model.clone());
        for place in 0..model.len() + 70 {
            prop_assert_eq!(places.get(place), model.get(place).copied().flatten());
        }
        prop_assert!(!places.set(model.len(), Some(1)), "no place behind the last one");
        let (start, end) = (start.index(model.len() + 1), end.index(model.len() + 1));
        let (start, end) = (start.min(end), start.max(end));
        let backwards: Vec<_> = places.range(start..end).rev().collect();
        let expected: Vec<_> = model[start..end].iter().rev().copied().collect();
        prop_assert_eq!(backwards, expected);
        // From both ends in turns: they meet and give nothing twice.
        let (mut walk, mut front, mut back) = (places.range(start..end), Vec::new(), Vec::new());
        while let (Some(first), last) = (walk.next(), walk.next_back()) {
            front.push(first);
            back.extend(last);
        }
        front.extend(back.into_iter().rev());
        prop_assert_eq!(front, model[start..end].to_vec());
    }
}
