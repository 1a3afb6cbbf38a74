//! `/apps/:id/versions`: the kept versions of an app, newest first.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        app::{
            app_page::{AppPage, Tab},
            data::record::Names,
        },
        frame::Frame,
        page_context::PageContext,
        words::{At, Count},
    },
};

/// A version in the list.
struct Line {
    number: u32,
    by: String,
    at: At,
}

#[derive(Template)]
#[template(path = "site/app/versions.html")]
struct VersionsPage {
    frame: Frame,
    app_page: AppPage,
    lines: Vec<Line>,
    /// How many versions are kept.
    kept: Count,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id).await)
}

async fn view(context: &PageContext, id: &str) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Versions).await?;
    let names = Names::load(context).await?;
    let versions = context.state.rooms.control().versions(app_page.app.id).await?;
    let lines = versions
        .into_iter()
        .map(|version| Line {
            number: version.number,
            by: names.of(&version.by.into()),
            at: version.created_at.into(),
        })
        .collect();
    let kept = Count(context.state.config.limits.versions_kept);
    Ok(context.page(StatusCode::OK, &VersionsPage { frame, app_page, lines, kept })?)
}
