//! `/apps/:id/data/:collection/changes`: what a page of rows waits for. Answers when rows have
//! changed, or after a while; the page then shows them, and waits again.

use askama::Template;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use rookery_domain::ErrorCode;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::collection_page;
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{home::Any, page_context::PageContext, see_other},
};

/// Tells htmx which event to raise on the page.
const TRIGGER: HeaderName = HeaderName::from_static("hx-trigger");
/// Seconds that one request waits.
const WAIT_S: u32 = 25;

#[derive(Deserialize)]
struct Query {
    since: String,
}

#[derive(Deserialize)]
struct Feed {
    events: Vec<Any>,
    cursor: String,
}

/// The line of the page that waits.
#[derive(Template)]
#[template(path = "site/app/_live.html")]
struct Live {
    page: String,
    feed_cursor: String,
}

/// Waits for a change.
pub async fn wait(
    context: PageContext,
    Path((id, collection)): Path<(String, String)>,
) -> Response {
    context.answer(look(&context, &id, &collection).await)
}

async fn look(context: &PageContext, id: &str, collection: &str) -> ApiResult<Response> {
    if !context.is_for_script() {
        return Ok(see_other(&collection_page(id, collection))?);
    }
    let Query { since } = context.query()?;
    let query = Serializer::new(String::new())
        .append_pair("since", &since)
        .append_pair("collection", collection)
        .append_pair("wait", &WAIT_S.to_string())
        .append_pair("limit", "200")
        .finish();
    let (feed_cursor, changed) =
        match context.api.get::<Feed>(&format!("/v1/apps/{id}/feed?{query}")).await {
            Ok(feed) => (feed.cursor, !feed.events.is_empty()),
            // Away for too long: the page is shown anew, and waits from there.
            Err(failed) if failed.error.code == ErrorCode::ResyncRequired => {
                let now: Feed = context.api.get(&format!("/v1/apps/{id}/feed?wait=0")).await?;
                (now.cursor, true)
            }
            Err(failed) => return Err(failed),
        };
    let live = Live { page: collection_page(id, collection), feed_cursor };
    let mut response = context.page(StatusCode::OK, &live)?;
    if changed {
        response.headers_mut().insert(TRIGGER, HeaderValue::from_static("rows-changed"));
    }
    Ok(response)
}
