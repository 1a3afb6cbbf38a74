//! Turning the pages of a list. The API's cursors lead on only; so the address of a later page
//! keeps the cursors that led to it, and there is a way back without script. A page with several
//! lists has a trail for each, and turning one leaves the others where they are.

use url::form_urlencoded::{self, Serializer, byte_serialize};

use super::page_context::{DONE, PageContext};

/// Items of a list on a page, where the list does not say otherwise.
pub const ITEMS_MAX: usize = 25;
/// Cursors that an address keeps, some 130 bytes each. Whoever has turned further goes back that
/// far page by page, and then to the first.
const KEPT_MAX: usize = 20;
/// Bytes of them: a cursor holds what its list is sorted by, and proxies take addresses of 8 KiB.
const KEPT_BYTES_MAX: usize = 4 << 10;
/// What the list of a page is called that has only one.
pub const ONLY: &str = "cursor";

/// Where a reader is in a list.
#[derive(Debug, Clone)]
pub struct CursorTrail {
    /// The parameter that holds it, and the place on the page, unless it is the only list there.
    list: &'static str,
    /// What led here from the first page, this page's cursor last. An empty one at the start stands
    /// for those that are not kept any more.
    cursors: Vec<String>,
    /// The other parameters of the address.
    others: Vec<(String, String)>,
}

/// Where a list's pages are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager {
    /// What is turned, for who hears the page.
    pub what: &'static str,
    /// The first page, unless it is this one or the previous.
    pub first: Option<String>,
    /// The page before this one.
    pub previous: Option<String>,
    /// The page behind this one.
    pub next: Option<String>,
}

impl CursorTrail {
    /// The trail of a page's list in the page's address.
    #[must_use]
    pub fn of(context: &PageContext, list: &'static str) -> Self {
        Self::read(context.asked(), list)
    }

    /// The trail that a query holds.
    #[must_use]
    pub fn read(query: &str, list: &'static str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        // What the last action did is not said again.
        let pairs = pairs.filter(|(name, _)| name != DONE);
        let (own, others): (Vec<_>, Vec<_>) = pairs.partition(|(name, _)| name == list);
        let cursors = own.into_iter().map(|(_, cursor)| cursor).collect();
        Self { list, cursors, others }
    }

    /// The cursor of this page; none on the first one.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursors.last().map(String::as_str).filter(|cursor| !cursor.is_empty())
    }

    /// Whether this is not the first page.
    #[must_use]
    pub fn is_later(&self) -> bool {
        self.cursor().is_some()
    }

    /// The API's address of this page of the list at `path`.
    #[must_use]
    pub fn path(&self, path: &str, limit: usize) -> String {
        let mut path = format!("{path}?limit={limit}");
        if let Some(cursor) = self.cursor() {
            path.push_str("&cursor=");
            path.extend(byte_serialize(cursor.as_bytes()));
        }
        path
    }

    /// The ways from here, on the page at `page`; `next` is the API's cursor.
    #[must_use]
    pub fn pager(&self, what: &'static str, page: &str, next: Option<String>) -> Pager {
        let here = self.cursors.len();
        let address = |cursors: &[&str]| self.address(page, cursors);
        let kept: Vec<&str> = self.cursors.iter().map(String::as_str).collect();
        let is_cut = kept.first().is_some_and(|first| first.is_empty());
        let previous = (self.is_later() && !(is_cut && here <= 2))
            .then(|| address(&kept[..here.saturating_sub(1)]));
        let first = (here > 1).then(|| address(&[]));
        let next = next.map(|next| {
            let known = &kept[usize::from(is_cut)..];
            let mut bytes = next.len();
            let fits = |cursor: &&&str| {
                bytes += cursor.len();
                bytes <= KEPT_BYTES_MAX
            };
            let room = known.iter().rev().take(KEPT_MAX - 1).take_while(fits).count();
            let (gone, known) = known.split_at(known.len() - room);
            let start: &[&str] = if is_cut || !gone.is_empty() { &[""] } else { &[] };
            address(&[start, known, &[&next]].concat())
        });
        Pager { what, first, previous, next }
    }

    /// The address of this page.
    #[must_use]
    pub fn here(&self, page: &str) -> String {
        let cursors: Vec<&str> = self.cursors.iter().map(String::as_str).collect();
        self.address(page, &cursors)
    }

    fn address(&self, page: &str, cursors: &[&str]) -> String {
        let mut query = Serializer::new(String::new());
        query.extend_pairs(&self.others);
        query.extend_pairs(cursors.iter().map(|cursor| (self.list, cursor)));
        let query = query.finish();
        let mark = if query.is_empty() { "" } else { "?" };
        match self.list {
            ONLY => format!("{page}{mark}{query}"),
            list => format!("{page}{mark}{query}#{list}"),
        }
    }
}

impl Pager {
    /// Whether there is any other page.
    #[must_use]
    pub const fn turns(&self) -> bool {
        self.previous.is_some() || self.next.is_some() || self.first.is_some()
    }
}
