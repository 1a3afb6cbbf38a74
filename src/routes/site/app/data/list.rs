//! `/apps/:id/data/:collection`: the rows of a collection, filtered, sorted, page by page. What is not
//! here: one row (`row`), those that were deleted (`trash`), and how an open page hears of changes
//! (`changes`).

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use rookery_domain::{
    Error, Result,
    error::{Parameter, Reason},
    query::{is_field_path, sorts_by_member},
};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::{
    back_to_list::BackToList,
    collection_page, collection_path,
    columns::{columns, declared},
    condition::condition,
    record::{Members, Row},
    refusal, row_page,
    text::{Cell, told_apart},
};
use crate::{
    error::{self, ApiError, ApiResult},
    http::params::Path,
    pages::visible::visible,
    routes::site::{
        app::app_page::{AppPage, Tab},
        frame::Frame,
        notice::Notice,
        page_context::PageContext,
        paging::{CursorTrail, ITEMS_MAX, ONLY, Pager},
        records::Collection,
        see_other,
        words::{self, At, Count},
    },
};

/// What stands in the place of rows where there are none.
const EMPTY: &str = "No rows";

/// What an address asks for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Query {
    /// A filter of the API, for who knows them; wins over the three below.
    filter: String,
    field: String,
    op: String,
    value: String,
    /// A field; `-` before it for descending.
    sort: String,
}

impl Query {
    /// Whether all rows are asked for.
    fn is_empty(&self) -> bool {
        self.field.is_empty() && self.value.is_empty() && self.filter.is_empty()
    }

    /// Why this page of the list of a collection with so many rows, and so many `set_aside`, is empty: a
    /// heading, and more.
    fn nothing(
        &self,
        trail: &CursorTrail,
        rows: u64,
        set_aside: Option<Count>,
    ) -> (&'static str, String) {
        let why = match rows {
            _ if !self.is_empty() => "None that fits.",
            _ if trail.is_later() => "None here any more.",
            0 if set_aside.is_some() => {
                let set_aside = set_aside.map(|count| count.of("row is", "rows are"));
                let why = "set aside, for the current version takes no such rows. A version that does, \
                           such as an earlier one, brings them back.";
                return (EMPTY, format!("{} {why}", set_aside.unwrap_or_default()));
            }
            0 => "None here yet. They appear by themselves when the app writes some.",
            1 => {
                return (
                    "No rows for you",
                    "The manifest does not let you read the one here.".to_owned(),
                );
            }
            rows => {
                let why = format!("The manifest lets you read none of the {} here.", Count(rows));
                return ("No rows for you", why);
            }
        };
        (EMPTY, why.to_owned())
    }

    /// Why the list at `page` was refused: its place in the list is over, or what the form asks for.
    fn refusal(&self, error: &Error, page: &str) -> Notice {
        if error.reason.as_deref() == Some(&Reason::Parameter(Parameter::Cursor)) {
            let text = "This page of the list is there no more: the list has changed since.";
            let link = Some((self.sorted(page, &self.sort), "Begin again".to_owned()));
            return Notice { link, ..Notice::of_refusal(text.to_owned(), None) };
        }
        let field = if words::names(error, "sort") { "sort" } else { self.doubtful() };
        refusal(error, "filter", &[field])
    }

    /// What a refusal is about that names no field.
    fn doubtful(&self) -> &'static str {
        match (self.filter.trim().is_empty(), is_field_path(self.field.trim())) {
            (false, _) => "filter",
            (true, false) => "field",
            (true, true) => "value",
        }
    }

    /// The filter of the API: one condition, or the one that was written.
    fn filter(&self) -> Result<Option<String>> {
        if !self.filter.trim().is_empty() {
            return Ok(Some(self.filter.clone()));
        }
        if self.field.trim().is_empty() {
            let nothing = self.value.is_empty();
            return nothing.then_some(None).ok_or_else(|| Error::invalid("choose a field"));
        }
        let op = if self.op.is_empty() { "eq" } else { &*self.op };
        Ok(Some(condition(self.field.trim(), op, &self.value).to_string()))
    }

    fn path(&self, app: &str, collection: &str, trail: &CursorTrail) -> Result<String> {
        let path = trail.path(&collection_path(app, collection), ITEMS_MAX);
        let mut query = Serializer::new(path);
        if let Some(filter) = self.filter()? {
            query.append_pair("filter", &filter);
        }
        if !self.sort.is_empty() {
            query.append_pair("sort", &self.sort);
        }
        Ok(query.finish())
    }

    /// The address of the first page in another order.
    fn sorted(&self, page: &str, sort: &str) -> String {
        let mut query = Serializer::new(String::new());
        for (name, value) in [
            ("filter", &*self.filter),
            ("field", &self.field),
            ("op", &self.op),
            ("value", &self.value),
            ("sort", sort),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        match query.finish() {
            query if query.is_empty() => page.to_owned(),
            query => format!("{page}?{query}"),
        }
    }
}

/// The rows as the API answers them.
#[derive(Deserialize, Default)]
struct Rows {
    items: Vec<Row>,
    next_cursor: Option<String>,
    feed_cursor: String,
}

/// A row of the table.
struct Line {
    key: String,
    /// The key as the table shows it.
    short: String,
    href: String,
    /// Each with its column.
    cells: Vec<(String, Cell)>,
    version: u32,
    updated_at: At,
}

impl Line {
    fn of(row: &Row, members: &Members, columns: &[String], short: &str, href: String) -> Self {
        let cell = |name: &String| members.get(name).map(|raw| Cell::of(raw)).unwrap_or_default();
        Self {
            key: row.key.clone(),
            short: visible(short),
            href,
            cells: columns.iter().map(|name| (name.clone(), cell(name))).collect(),
            version: row.version,
            updated_at: row.updated_at.clone(),
        }
    }

    fn shown(&self) -> String {
        visible(&self.key)
    }
}

/// A column's heading.
struct Heading {
    /// What sorting by it is called; its id in the page.
    name: String,
    label: String,
    /// Where sorting by it leads, if a list can be sorted by it.
    href: Option<String>,
    /// How it is sorted now.
    sorted: &'static str,
}

#[derive(Template)]
#[template(path = "site/app/data.html")]
struct DataPage {
    frame: Frame,
    app_page: AppPage,
    collection: String,
    /// The page without a query.
    page: String,
    /// The page as it is looked at.
    here: String,
    /// Where a new row is made, and the deleted ones are.
    new: String,
    trash: String,
    query: Query,
    fields: BTreeSet<String>,
    headings: Vec<Heading>,
    lines: Vec<Line>,
    /// How many members the rows of this page have beside those that are columns.
    left_out: Count,
    pager: Pager,
    feed_cursor: String,
    deleted: String,
    /// Why there is nothing in the table; the notice above it says so where the list was refused.
    nothing: Option<(&'static str, String)>,
    ops: &'static [(&'static str, &'static str)],
}

impl DataPage {
    /// What of the rows is said to who hears the page, once they are others.
    fn said(&self) -> String {
        let rows = Count(self.lines.len() as u64).of("row", "rows");
        match self.pager.turns() {
            true => format!("{rows} on this page"),
            false => rows,
        }
    }
}

/// The conditions that the form offers.
const OPS: &[(&str, &str)] = &[
    ("eq", "is"),
    ("ne", "is not"),
    ("contains", "contains"),
    ("prefix", "begins with"),
    ("gt", "is more than"),
    ("gte", "is at least"),
    ("lt", "is less than"),
    ("lte", "is at most"),
    ("in", "is one of"),
    ("exists", "exists (true, false)"),
];

/// `/apps/:id/data`: leads to the first collection.
pub async fn first(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(to_first(&context, &id).await)
}

#[derive(Template)]
#[template(path = "site/app/no_data.html")]
struct NoDataPage {
    frame: Frame,
    app_page: AppPage,
}

async fn to_first(context: &PageContext, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Data).await?;
    match app_page.app.collections.iter().find(|one| !one.undeclared) {
        Some(first) => Ok(see_other(&collection_page(&app_page.app.id.to_string(), &first.name))?),
        None => Ok(context.page(StatusCode::OK, &NoDataPage { frame, app_page })?),
    }
}

/// The page.
pub async fn page(
    context: PageContext,
    Path((id, collection)): Path<(String, String)>,
) -> Response {
    context.answer(view(&context, &id, collection).await)
}

async fn view(context: &PageContext, id: &str, collection: String) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Data).await?;
    let app = app_page.app.id.to_string();
    let query: Query = context.query()?;
    let trail = CursorTrail::of(context, ONLY);
    let listed = match query.path(&app, &collection, &trail) {
        Ok(path) => context.api.get::<Rows>(&path).await,
        Err(error) => Err(error.into()),
    };
    let (rows, refused) = match listed {
        Ok(rows) => (rows, None),
        // A filter that is none, a list that the owner may not read: said above an empty table.
        Err(ApiError { error, .. }) if matches!(error.code.status(), 400 | 403) => {
            (Rows::default(), Some(error))
        }
        Err(failed) => return Err(failed),
    };
    let status = refused.as_ref().map_or(StatusCode::OK, |error| error::status(error.code));
    let page = collection_page(&app, &collection);
    let data: Vec<_> = rows.items.iter().map(Row::members).collect();
    let declared = declared(context, &app, &collection).await?;
    let columns = columns(&declared, &data);
    let way = BackToList::from_here(context, &app, &collection);
    let members = columns.iter().map(|name| Heading::of_member(&query, &page, name));
    let headings =
        members.chain([Heading::sorting(&query, &page, "updated_at", "Changed")]).collect();
    let keys: Vec<_> = rows.items.iter().map(|row| &*row.key).collect();
    let line = |((row, members), short): ((&Row, &Members), &String)| {
        let href = way.to(&row_page(&app, &collection, &row.key));
        Line::of(row, members, &columns, short, href)
    };
    let counts = app_page.app.collections.iter().find(|one| one.name == collection);
    let (notice, nothing) = match refused.map(|error| query.refusal(&error, &page)) {
        // What was done just now is said; why its list is not shown stands in the place of that.
        Some(refusal) if frame.says_done() => (None, Some((EMPTY, refusal.text))),
        Some(refusal) => (Some(refusal), None),
        None => {
            let rows = counts.and_then(|one| one.row_count).map_or(0, |rows| rows.0);
            let set_aside = counts.and_then(Collection::set_aside);
            (None, Some(query.nothing(&trail, rows, set_aside)))
        }
    };
    let frame = frame.with(notice);
    let mut fields: BTreeSet<_> = data.iter().flat_map(|members| members.keys().cloned()).collect();
    let left_out = fields.iter().filter(|field| !columns.contains(field)).count();
    fields.extend(declared);
    let page = DataPage {
        frame,
        nothing,
        lines: rows.items.iter().zip(&data).zip(&told_apart(&keys)).map(line).collect(),
        left_out: Count(left_out as u64),
        fields,
        headings,
        pager: trail.pager("rows", &page, rows.next_cursor),
        here: trail.here(&page),
        new: way.to(&format!("{page}/new")),
        trash: way.to(&format!("{page}/trash")),
        deleted: counts
            .and_then(|one| one.deleted_count)
            .map(|n| n.to_string())
            .unwrap_or_default(),
        feed_cursor: rows.feed_cursor,
        page,
        query,
        collection,
        app_page,
        ops: OPS,
    };
    Ok(context.page(status, &page)?)
}

impl Heading {
    fn of_member(query: &Query, page: &str, name: &str) -> Self {
        if sorts_by_member(name) {
            return Self::sorting(query, page, name, name);
        }
        let label = if name.is_empty() { "\"\"".to_owned() } else { visible(name) };
        Self { name: name.to_owned(), label, href: None, sorted: "none" }
    }

    fn sorting(query: &Query, page: &str, name: &str, label: &str) -> Self {
        let (sorted, sort) = match query.sort.strip_prefix('-') {
            Some(field) if field == name => ("descending", name.to_owned()),
            None if query.sort == name => ("ascending", format!("-{name}")),
            _ => ("none", name.to_owned()),
        };
        let href = Some(query.sorted(page, &sort));
        Self { name: name.to_owned(), label: visible(label), href, sorted }
    }
}
