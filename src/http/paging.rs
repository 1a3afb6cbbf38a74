//! Pages of lists that are not rows: how many items, from where on, and the cursor that leads to
//! the next page: time and id of the last item, bound to the list and to whose list it is. What is
//! not here: how a cursor is signed, and those of rows (`rookery_domain::query`).

use std::{fmt, str::FromStr};

use rookery_domain::{
    Result, Timestamp,
    query::{ListCursor, PageLimit, foreign_cursor},
    sealed::ServerKey,
};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::{http::reply::Page, state::AppState};

/// Which page of a list.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Items on the page, 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
}

impl Paging {
    /// As asked for by a route whose query says more than this.
    #[must_use]
    pub const fn new(limit: Option<usize>, cursor: Option<String>) -> Self {
        Self { limit, cursor }
    }

    /// The page that is asked for, of the list at `route` that belongs to `owner`.
    ///
    /// # Errors
    /// `invalid_request` for a limit out of bounds, and for a cursor that was altered or made for
    /// another list.
    pub fn of<'a>(
        &self,
        route: &'static str,
        owner: Uuid,
        state: &'a AppState,
    ) -> Result<PageRequest<'a>> {
        self.within(scope(route, owner), state)
    }

    /// The same of a list of which a query shows a part. `scope` names the list, whose it is and the part:
    /// a cursor fits no other.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn within<'a, I: FromStr>(
        &self,
        scope: String,
        state: &'a AppState,
    ) -> Result<PageRequest<'a, I>> {
        let (list, limit) = self.list(scope, state)?;
        Ok(PageRequest { limit, after: list.position(self.cursor.as_deref())?, list })
    }

    /// The same of a list in the order of names.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn by_name<'a>(
        &self,
        route: &'static str,
        owner: Uuid,
        state: &'a AppState,
    ) -> Result<PageRequestByName<'a>> {
        let (list, limit) = self.list(scope(route, owner), state)?;
        let after = list.read(self.cursor.as_deref())?.map(|cursor| cursor.after);
        Ok(PageRequestByName { list, limit, after })
    }

    /// The same of a list that is made anew for each page: the cursor is a number of items, and what
    /// changes in between may be seen twice or not at all.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn by_number<'a>(
        &self,
        route: &'static str,
        owner: Uuid,
        state: &'a AppState,
    ) -> Result<PageRequestByNumber<'a>> {
        let (list, limit) = self.list(scope(route, owner), state)?;
        let skip = list.read(self.cursor.as_deref())?.map(|cursor| cursor.after.parse());
        let skip = skip.transpose().map_err(|_| foreign_cursor())?.unwrap_or(0);
        Ok(PageRequestByNumber { list, limit, skip })
    }

    fn list<'a>(&self, scope: String, state: &'a AppState) -> Result<(List<'a>, usize)> {
        let list = List { scope, key: &state.rooms.key };
        Ok((list, PageLimit::of(self.limit)?.get()))
    }
}

/// What the cursors of a whole list are bound to.
fn scope(route: &'static str, owner: Uuid) -> String {
    format!("{route} {owner}")
}

/// A page that is asked for of a list in the order of names.
#[derive(Debug, Clone)]
pub struct PageRequestByName<'a> {
    list: List<'a>,
    limit: usize,
    after: Option<String>,
}

impl PageRequestByName<'_> {
    /// The page out of all there is, in order.
    pub fn show<'n, T, B>(
        &self,
        all: impl Iterator<Item = (&'n str, T)>,
        body: impl FnMut((&'n str, T)) -> B,
    ) -> Page<B> {
        let behind = |name: &str| self.after.as_deref().is_none_or(|after| name > after);
        let mut found: Vec<_> = all.filter(|(name, _)| behind(name)).take(self.limit + 1).collect();
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        let last = found.last().filter(|_| more);
        let next_cursor =
            last.map(|(name, _)| self.list.token(&ListCursor { after: (*name).to_owned() }));
        Page { items: found.into_iter().map(body).collect(), next_cursor }
    }
}

/// A page that is asked for of a list that is made anew for each.
#[derive(Debug, Clone)]
pub struct PageRequestByNumber<'a> {
    list: List<'a>,
    limit: usize,
    skip: usize,
}

impl PageRequestByNumber<'_> {
    /// The page out of all there is, in order.
    #[must_use]
    pub fn show<T>(&self, all: Vec<T>) -> Page<T> {
        let end = self.skip.saturating_add(self.limit);
        let next = ListCursor { after: end.to_string() };
        let next_cursor = (all.len() > end).then(|| self.list.token(&next));
        Page { items: all.into_iter().skip(self.skip).take(self.limit).collect(), next_cursor }
    }
}

/// A page that is asked for of a list whose cursors name items by `I`.
#[derive(Debug, Clone)]
pub struct PageRequest<'a, I = Uuid> {
    list: List<'a>,
    /// Items on it at most.
    pub limit: usize,
    after: Option<(Timestamp, I)>,
}

impl<I: Copy + fmt::Display> PageRequest<'_, I> {
    /// The place behind which it begins: time and id of the last item before; none at the start.
    pub fn after<T>(&self, id: impl FnOnce(I) -> T) -> Option<(Timestamp, T)> {
        self.after.map(|(at, named)| (at, id(named)))
    }

    /// Items to look for: one more than fit tells whether there is another page.
    #[must_use]
    pub fn wanted<N: From<u16>>(&self) -> N {
        one_more(self.limit)
    }

    /// The page of what was found; `place` tells time and id of an item.
    pub fn show<T, B>(
        &self,
        mut found: Vec<T>,
        place: impl FnOnce(&T) -> (Timestamp, I),
        body: impl FnMut(&T) -> B,
    ) -> Page<B> {
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        let next_cursor = found.last().filter(|_| more).map(|last| self.cursor(place(last)));
        Page { items: found.iter().map(body).collect(), next_cursor }
    }

    /// The cursor that leads on from the item at this time and id.
    #[must_use]
    pub fn cursor(&self, place: (Timestamp, I)) -> String {
        self.list.cursor(place)
    }
}

/// One more than `items` of a page: what is looked for, to know whether there are more.
#[must_use]
pub fn one_more<N: From<u16>>(items: usize) -> N {
    u16::try_from(items + 1).unwrap_or(u16::MAX).into()
}

/// A list that a cursor belongs to.
#[derive(Debug, Clone)]
struct List<'a> {
    /// What its cursors are bound to.
    scope: String,
    /// What signs its cursors.
    key: &'a ServerKey,
}

impl List<'_> {
    fn cursor(&self, (at, id): (Timestamp, impl fmt::Display)) -> String {
        self.token(&ListCursor::behind(at, id))
    }

    fn position<I: FromStr>(&self, cursor: Option<&str>) -> Result<Option<(Timestamp, I)>> {
        self.read(cursor)?.map(|cursor| cursor.place()).transpose()
    }

    fn token(&self, cursor: &ListCursor) -> String {
        cursor.to_token(self.key, &self.scope)
    }

    fn read(&self, cursor: Option<&str>) -> Result<Option<ListCursor>> {
        cursor.map(|token| ListCursor::parse(token, self.key, &self.scope)).transpose()
    }
}
