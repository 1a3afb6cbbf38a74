//! A statement of a group with its parameters, the same on both databases: of what is rare enough
//! to be bound for itself.

use crate::{commit::Abort, db::Args};

/// A statement, its parameters, and what it means when no row answers it or is changed.
pub(super) struct Bound {
    pub(super) sql: &'static str,
    pub(super) args: Args,
    /// Nothing, where there is none.
    pub(super) without_row: Option<Abort>,
}

impl Bound {
    /// A statement that may well find no row.
    pub(super) const fn new(sql: &'static str, args: Args) -> Self {
        Self { sql, args, without_row: None }
    }

    /// A statement that refuses the group where it finds no row.
    pub(super) const fn or(sql: &'static str, args: Args, abort: Abort) -> Self {
        Self { sql, args, without_row: Some(abort) }
    }
}
