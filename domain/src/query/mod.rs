//! Asking for rows (contract part 5): filter, sort, pages, and the tokens that go on from them.
//!
//! A [`RowQuery`] is compiled once and then tested against rows as they lie in memory: raw JSON
//! text, of which only the members that the query names are read. What is not here: which rows a
//! caller may see at all (`access::RowScope`), and where the rows are.

pub mod cursor;
mod field;
mod filter;
pub mod page;
mod sort;
mod value;

pub use cursor::{FeedCursor, PageBinding, PageCursor};
pub use page::{ListCursor, PAGE_BYTES_MAX, PageLimit, foreign_cursor};
pub use sort::SortKey;

use serde_json::Value;

use crate::{Result, manifest::Collection, row::Row};
use field::{Field, Projection, View};
use filter::Filter;
use sort::Sort;

/// Bytes of a filter's text.
const FILTER_BYTES_MAX: usize = 8 << 10;
/// Tests, combinators and values of `in` in one filter.
const FILTER_NODES_MAX: usize = 100;
/// Levels of a filter: the objects of tests that stand in each other, itself the first.
const FILTER_DEPTH_MAX: usize = 8;
/// Fields of one sort.
const SORT_FIELDS_MAX: usize = 4;
/// Bytes of a dotted path.
const PATH_BYTES_MAX: usize = 256;
/// Bytes of a text that sorting looks at; what is equal up to there is ordered by key.
const SORT_TEXT_BYTES_MAX: usize = 256;

/// Whether a list can be sorted by the member of a row's data that has just this name: names with
/// dots, of members of the record, and the like mean something else in a sort.
#[must_use]
pub fn sorts_by_member(name: &str) -> bool {
    Sort::names_member(name)
}

/// Whether a filter may name `path`.
#[must_use]
pub fn is_field_path(path: &str) -> bool {
    Field::parse(path, "filter", &mut Projection::default()).is_ok()
}

/// A compiled filter and sort.
#[derive(Debug, Clone)]
pub struct RowQuery {
    filter: Option<Filter>,
    sort: Sort,
    projection: Projection,
}

impl RowQuery {
    /// Compiles the query parameters `filter` (a JSON object) and `sort` (`-created_at,title`).
    ///
    /// Both name `created_at`, `updated_at`, `key` and `version` of the record, and else members
    /// of `data` by dotted path. Absent and empty parameters mean: all rows, oldest first.
    ///
    /// # Errors
    /// `invalid_request` that names the operator or field.
    pub fn parse(filter: Option<&str>, sort: Option<&str>) -> Result<Self> {
        let mut projection = Projection::default();
        let filter = match filter {
            Some(text) if !text.is_empty() => Some(Filter::parse(text, &mut projection)?),
            _ => None,
        };
        let sort = Sort::parse(sort.unwrap_or_default(), &mut projection)?;
        Ok(Self { filter, sort, projection })
    }

    /// Refuses a sort that looks misspelt, such as `n desc`, for rows of `collection`.
    ///
    /// # Errors
    /// `invalid_request` that names the field and how it is written.
    pub fn check_sort(&self, collection: &Collection) -> Result<()> {
        self.sort.check_spelling(|name| {
            // Looked at for a name that hardly any schema has.
            let schema = collection.schema.as_ref();
            let schema = schema.and_then(|source| serde_json::from_str::<Value>(&source.text).ok());
            schema.is_some_and(|schema| schema["properties"].get(name).is_some())
        })
    }

    /// Whether `row` is asked for.
    #[must_use]
    pub fn matches(&self, row: &Row) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&View::new(row, &self.projection)))
    }

    /// The place of `row` in the order; `None` when the filter leaves it out. The row's data is
    /// read once for both.
    #[must_use]
    pub fn place(&self, row: &Row) -> Option<SortKey> {
        let view = View::new(row, &self.projection);
        match &self.filter {
            Some(filter) if !filter.matches(&view) => None,
            _ => Some(self.sort.key(&view)),
        }
    }

    /// The order of two places. Total: ties are broken by key, which is unique.
    ///
    /// Values of one field are ordered null and absent, false, true, numbers, strings (by code
    /// point), arrays, objects (both by their JSON text).
    #[must_use]
    pub fn compare(&self, a: &SortKey, b: &SortKey) -> std::cmp::Ordering {
        self.sort.compare(a, b)
    }

    /// Whether it has a filter.
    #[must_use]
    pub const fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// How many tests, combinators and values its filter has: how often a row may be read for it.
    #[must_use]
    pub fn filter_nodes(&self) -> usize {
        self.filter.as_ref().map_or(0, Filter::nodes)
    }

    /// When the order is that of creation: whether it runs from the newest. The app keeps that
    /// order as an index and needs no sorting.
    #[must_use]
    pub fn creation_order(&self) -> Option<bool> {
        self.sort.creation_order()
    }

    /// The sort in one normal text: cursors and entity tags are bound to it.
    #[must_use]
    pub fn sort_text(&self) -> &str {
        self.sort.text()
    }

    /// The filter in one normal text, empty without one.
    #[must_use]
    pub fn filter_text(&self) -> &str {
        self.filter.as_ref().map_or("", Filter::text)
    }
}
