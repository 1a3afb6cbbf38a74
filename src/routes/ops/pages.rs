//! `/ops`: the pages for operators, and the stream of what changes on an open one. A page is whole
//! without its script; with it, it stays current.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use futures::stream;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use rookery_domain::{Error, ErrorCode, text::path_segment};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{
    act::{self, Action},
    operator::ActingOperator,
    views::{ViewQuery, Which, make},
};
use crate::{
    error::{self, ApiResult},
    http::{
        client::RequestContext,
        params::{PageQuery, Path, StrictQuery},
        reply::event_stream,
    },
    ops::view::{POINTS, Part, Row, View, changes},
    pages::shell,
    routes::site::form,
    state::AppState,
};

/// Own files only; nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "ops/page.html")]
struct Page<'a> {
    view: &'a View,
    present: Which,
    /// The app that actions on this page are for.
    acts_on: Option<&'a str>,
    actions: &'a [Action],
    said: &'a Said,
}

/// What the form of an app's page did, or why not.
#[derive(Default)]
struct Said {
    status: StatusCode,
    text: String,
    /// The reason that was given with what was refused.
    reason: String,
}

/// What an address says was done.
#[derive(Deserialize)]
pub struct Done {
    done: Option<String>,
}

/// What the form of an app's page sends.
#[derive(Deserialize)]
struct Form {
    action: String,
    reason: String,
}

impl Page<'_> {
    /// The row in this place of a grid; an empty one where there is none.
    fn row<'r>(&self, rows: &'r [Row], place: &usize) -> &'r Row {
        static EMPTY: Row = Row {
            key: String::new(),
            level: 0,
            href: String::new(),
            expanded: None,
            cells: Vec::new(),
        };
        rows.get(*place).unwrap_or(&EMPTY)
    }

    fn cell<'r>(&self, row: &'r Row, column: &usize) -> &'r str {
        row.cells.get(*column).map_or("", String::as_str)
    }

    const fn points(&self) -> usize {
        POINTS
    }
}

/// `/`: leads to the overview. The listener has nothing else that a human would look for.
pub async fn start() -> Redirect {
    Redirect::to("/ops")
}

async fn show(state: &AppState, asked: ViewQuery, said: &Said) -> ApiResult<Response> {
    let view = make(state, &asked).await?;
    let acts_on = asked.id.as_deref().filter(|_| state.config.ops.actions);
    let page = Page { view: &view, present: asked.view, acts_on, actions: &Action::ALL, said };
    let mut response = (said.status, shell::render(&page)?).into_response();
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, shell::REFERRER_POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

macro_rules! page {
    ($(#[doc = $doc:literal])* $name:ident, $which:ident) => {
        $(#[doc = $doc])*
        ///
        /// # Errors
        /// `invalid_request`, `not_found`.
        pub async fn $name(
            State(state): State<AppState>,
            StrictQuery(mut asked): StrictQuery<ViewQuery>,
        ) -> ApiResult<Response> {
            asked.view = Which::$which;
            show(&state, asked, &Said::default()).await
        }
    };
}

page! {
    /// Everything at one look.
    overview, Overview
}
page! {
    /// The supervision tree.
    tree, Tree
}
page! {
    /// The busiest apps.
    hot, Hot
}
page! {
    /// The last crashes.
    restarts, Restarts
}

/// One app.
///
/// # Errors
/// `app_not_found`.
pub async fn app(
    State(state): State<AppState>,
    Path(id): Path<String>,
    PageQuery(Done { done }): PageQuery<Done>,
) -> ApiResult<Response> {
    let done = done.and_then(|action| action.parse::<Action>().ok());
    let text = done.map(|action| format!("done: {}", action.as_str())).unwrap_or_default();
    show(&state, ViewQuery::app(id), &Said { text, ..Said::default() }).await
}

/// Does what the form of an app's page asks for, where no script sends it.
///
/// # Errors
/// `forbidden`, `app_not_found`, `unavailable`, `internal`; any other refusal is said on the page.
pub async fn act(
    _: ActingOperator,
    State(state): State<AppState>,
    client: RequestContext,
    headers: HeaderMap,
    Path(id): Path<String>,
    body: Body,
) -> ApiResult<Response> {
    let form: Form = form(&state, &headers, client.address, body).await?;
    let done = match form.action.parse::<Action>() {
        Ok(action) => act::run(&state, &id, action, &form.reason).await.map(|_| action),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(action) => {
            let page = format!("/ops/apps/{}?done={}", path_segment(&id), action.as_str());
            Ok(Redirect::to(&page).into_response())
        }
        Err(failed) if matches!(failed.error.code.status(), 400 | 409) => {
            let said = Said {
                status: error::status(failed.error.code),
                text: failed.error.message.clone(),
                reason: form.reason,
            };
            show(&state, ViewQuery::app(id), &said).await
        }
        Err(failed) => Err(failed),
    }
}

/// The script of the pages.
pub async fn script() -> impl IntoResponse {
    let script = include_str!("../../../templates/ops/console.js");
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], script)
}

/// The style of the pages.
pub async fn style() -> impl IntoResponse {
    let style = include_str!("../../../templates/ops/console.css");
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], style)
}

/// An open page.
struct Live {
    state: AppState,
    asked: ViewQuery,
    ticks: watch::Receiver<u64>,
    sent: BTreeMap<String, String>,
    first: bool,
    _permit: OwnedSemaphorePermit,
}

/// What changes on an open page, as an event stream: first every text of the page by its name,
/// then each second those that are different.
///
/// # Errors
/// Those of the page; `unavailable` when too many pages are open.
pub async fn live(
    State(state): State<AppState>,
    StrictQuery(asked): StrictQuery<ViewQuery>,
) -> ApiResult<Response> {
    let permit = state
        .ops
        .streams
        .clone()
        .try_acquire_owned()
        .map_err(|_| Error::new(ErrorCode::Unavailable, "too many live pages are open"))?;
    // What is wrong with the request is answered before the stream begins.
    make(&state, &asked).await?;
    let ticks = state.ops.ticks();
    let live = Live { state, asked, ticks, sent: BTreeMap::new(), first: true, _permit: permit };
    let events = stream::unfold(live, |mut live| async move {
        let event = live.next().await?;
        Some((event, live))
    });
    Ok(event_stream(events))
}

impl Live {
    /// The next changes; `None` when the server drains or the page is gone. A second without a
    /// change is a comment, so that neither end takes the stream for dead.
    async fn next(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.first) {
            tokio::select! {
                () = self.state.drain.cancelled() => return None,
                ticked = self.ticks.changed() => ticked.ok()?,
            }
        }
        let now = make(&self.state, &self.asked).await.ok()?.cells();
        let changed = changes(&self.sent, &now);
        // A map of texts serializes.
        let data = serde_json::to_string(&changed).unwrap_or_default();
        let event = match changed.is_empty() {
            true => ":\n\n".to_owned(),
            false => format!("data: {data}\n\n"),
        };
        self.sent = now;
        Some(event)
    }
}
