//! `/apps/:id/data/:collection/trash`: the deleted rows of a collection.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::{
    back_to_list::BackToList, collection_page, collection_path, record::Row, row_page, text::Cell,
};
use crate::{
    error::ApiResult,
    http::params::Path,
    pages::visible::visible,
    routes::site::{
        app::app_page::{AppPage, Tab},
        frame::Frame,
        page_context::PageContext,
        paging::{CursorTrail, ITEMS_MAX, ONLY, Pager},
        records::List,
        words::At,
    },
};

struct Line {
    key: String,
    version: u32,
    href: String,
    summary: Cell,
    deleted_at: Option<At>,
}

impl Line {
    fn shown(&self) -> String {
        visible(&self.key)
    }
}

#[derive(Template)]
#[template(path = "site/app/row_trash.html")]
struct TrashPage {
    frame: Frame,
    app_page: AppPage,
    collection: String,
    list: String,
    lines: Vec<Line>,
    /// Days that a row stays here.
    days: u32,
    pager: Pager,
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
    let trail = CursorTrail::of(context, ONLY);
    let path = trail.path(&format!("{}/deleted", collection_path(id, &collection)), ITEMS_MAX);
    let rows: List<Row> = context.api.get(&path).await?;
    let way = BackToList::back(context, id, &collection);
    let line = |row: &Row| Line {
        key: row.key.clone(),
        version: row.version,
        href: way.to(&row_page(id, &collection, &row.key)),
        summary: Cell::of(&row.data),
        deleted_at: row.deleted_at.clone(),
    };
    let here = format!("{}/trash", collection_page(id, &collection));
    let page = TrashPage {
        frame,
        lines: rows.items.iter().map(line).collect(),
        pager: trail.pager("deleted rows", &here, rows.next_cursor),
        days: context.state.config.limits.deleted_row_retention_days,
        list: way.list(),
        collection,
        app_page,
    };
    Ok(context.page(StatusCode::OK, &page)?)
}
