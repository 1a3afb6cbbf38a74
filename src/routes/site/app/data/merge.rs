//! A row that two changed at once: what each did to its members, and a proposal that keeps both
//! wherever they touched different ones.

use std::collections::BTreeSet;

use rookery_domain::json::Object;
use serde_json::{Value, value::RawValue};

use super::{
    record::members,
    text::{compared, indent, short},
};

/// A member that somebody changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its name, as a page shows it.
    pub name: String,
    /// As it was when the human began; empty for none.
    pub before: String,
    /// As the human wants it.
    pub mine: String,
    /// As it is now.
    pub theirs: String,
    /// Whether both changed it, and not alike.
    pub clash: bool,
}

/// What became of a row that two changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// What was changed, by name.
    pub changes: Vec<Change>,
    /// Both changes in one; where they clash, the human's.
    pub proposal: String,
}

impl Merge {
    /// Merges `mine` and `theirs`, which both came from `before`. Numbers are what is written: of
    /// large ones several have the same value. What is no object merges as one without members.
    #[must_use]
    pub fn of(before: &str, mine: &str, theirs: &str) -> Self {
        let [before, mine, theirs] = [before, mine, theirs].map(|text| {
            Object::parse(text).map(|object| members(object.text())).unwrap_or_default()
        });
        let names: BTreeSet<&String> =
            before.keys().chain(mine.keys()).chain(theirs.keys()).collect();
        let (mut changes, mut merged) = (Vec::new(), Vec::new());
        for name in names {
            let [old, my, their] =
                [&before, &mine, &theirs].map(|members| members.get(name).map(|raw| &**raw));
            let (i_did, they_did) = (!same(old, my), !same(old, their));
            let kept = if i_did { my } else { their };
            if let Some(kept) = kept {
                merged.push(format!("{}:{}", Value::from(name.as_str()), kept.get()));
            }
            if i_did || they_did {
                let [before, mine, theirs] = compared([old, my, their]);
                changes.push(Change {
                    name: short(name),
                    before,
                    mine,
                    theirs,
                    clash: i_did && they_did && !same(my, their),
                });
            }
        }
        Self { changes, proposal: indent(&format!("{{{}}}", merged.join(","))) }
    }

    /// Whether both changed a member, and not alike.
    #[must_use]
    pub fn clashes(&self) -> bool {
        self.changes.iter().any(|change| change.clash)
    }
}

fn same(left: Option<&RawValue>, right: Option<&RawValue>) -> bool {
    left.map(RawValue::get) == right.map(RawValue::get)
}
