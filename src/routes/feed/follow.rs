//! `GET /v1/apps/:id/feed`: what happened in an app, waited for if need be.

use std::{net::IpAddr, time::Duration};

use axum::{
    extract::{FromRequestParts, State},
    response::Response,
};
use http::{HeaderName, StatusCode, request::Parts};
use rookery_actors::feed::{FeedPage, FeedQuery, WAIT_DEFAULT, WAIT_MAX};
use rookery_domain::{
    Error, ErrorCode, Result, error::Parameter, meters::Flow, query::PageLimit,
    row::write_json_string,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::stream;
use crate::{
    error::{ApiError, ApiResult},
    http::{
        accept, auth::credential_watch::CredentialWatch, client::RequestContext,
        params::StrictQuery, reply::EVENT_STREAM,
    },
    routes::collections::{answer, app_request::AppRequest, callers::Callers, schema::FeedRecord},
    state::AppState,
};

/// What the feed itself may answer.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CollectionNotFound,
    ErrorCode::CredentialScopeForbidden,
    ErrorCode::ResyncRequired,
];

/// How a browser says where its stream broke off.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What a poll asks for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedParams {
    /// Where you stand: `cursor` of an earlier answer or event, or a list's `feed_cursor`. Without
    /// it the answer is the newest cursor, at once.
    since: Option<String>,
    /// Seconds to wait for an event, 0 to 60; 25 unless given.
    #[param(value_type = Option<u64>, minimum = 0, maximum = 60)]
    wait: Option<String>,
    /// Events in the answer at most, 1 to 200; 50 unless given. Large events make it fewer.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 200)]
    limit: Option<String>,
    /// Only rows of this collection.
    collection: Option<String>,
}

/// The headers that decide how the feed is answered.
#[derive(Debug, Clone)]
pub(crate) struct FeedHeaders {
    stream: bool,
    last_event_id: Option<String>,
}

impl FromRequestParts<AppState> for FeedHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let last = parts.headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
        let last_event_id = last.filter(|id| !id.is_empty()).map(str::to_owned);
        Ok(Self { stream: accept::prefers(&parts.headers, EVENT_STREAM), last_event_id })
    }
}

/// Follows an app
///
/// Holds the request until an event arrives after `since`, or `wait` is over. With
/// `Accept: text/event-stream` the same events come as a stream: `id` is the cursor,
/// `Last-Event-ID` goes on behind it, a comment comes every 15 seconds, and an `error` event ends
/// the stream. An `id` without data says that you have heard everything up to now. A `since` below
/// what is kept, or from before a change of what you may read, is `resync_required`: list each collection
/// again, and follow from the `feed_cursor` of the first list. Between a list and a feed without `since` a
/// row may come that is in neither.
/// The owner hears of everything, so no change of lists ends its cursors: `app.deployed` tells of
/// it, which `collection` leaves out. More open requests of one address than the server allows are
/// `rate_limited`.
#[utoipa::path(
    get,
    path = "/v1/apps/{id}/feed",
    tag = "Feed",
    params(
        ("Last-Event-ID" = Option<String>, Header,
            description = "For a stream: where it broke off; wins over `since`."),
        FeedParams,
    ),
    responses((status = 200, description = "The events.", content(
        (FeedRecord = "application/json"), (String = "text/event-stream"))))
)]
pub(crate) async fn follow_feed<C: Callers>(
    caller: C::Reader,
    State(state): State<AppState>,
    context: RequestContext,
    StrictQuery(params): StrictQuery<FeedParams>,
    headers: FeedHeaders,
    presented: CredentialWatch,
) -> ApiResult<Response> {
    let request: AppRequest = caller.into();
    let watch = request.watch(presented);
    request.app.count_use(Flow::FeedPolls, 1);
    let mut query = query(params)?;
    if headers.stream {
        let resumes = headers.last_event_id.is_some();
        query.since = headers.last_event_id.or(query.since);
        let mut opened = stream::open(request, watch, state, &context, query).await;
        if let Ok(response) = &mut opened {
            accept::vary(response.headers_mut());
        }
        return opened.map_err(|refusal| match refusal.error.code {
            // Nothing else that is asked of the feed here can be malformed.
            ErrorCode::InvalidRequest if resumes => {
                Error::invalid("Last-Event-ID: is not a cursor of this feed").into()
            }
            _ => refusal,
        });
    }
    let page = poll(&request, &watch, &state, context.address, query).await?;
    let mut response = answer::json(StatusCode::OK, body(&page));
    accept::vary(response.headers_mut());
    Ok(response)
}

fn query(params: FeedParams) -> Result<FeedQuery> {
    Ok(FeedQuery {
        since: params.since,
        wait: params.wait.map_or(Ok(WAIT_DEFAULT), |text| wait(&text))?,
        limit: PageLimit::parse(params.limit.as_deref())?.get(),
        collection: params.collection,
    })
}

fn wait(text: &str) -> Result<Duration> {
    let wait = text.parse().map(Duration::from_secs).ok().filter(|wait| *wait <= WAIT_MAX);
    let max = WAIT_MAX.as_secs();
    wait.ok_or_else(|| {
        Error::parameter(
            Parameter::Wait,
            format_args!("must be a whole number of seconds, 0 to {max}"),
        )
    })
}

/// One long poll. When the server drains, it ends with what is there.
async fn poll(
    request: &AppRequest,
    watch: &CredentialWatch,
    state: &AppState,
    address: IpAddr,
    query: FeedQuery,
) -> ApiResult<FeedPage> {
    let waits = query.since.is_some() && !query.wait.is_zero();
    let _waiting = waits.then(|| state.feed_waiters.enter(address)).transpose()?;
    let shown_out = |refusal| request.shown_out(refusal);
    let page = tokio::select! {
        biased;
        refusal = watch.over(state) => Err(refusal),
        page = request.app.feed(&request.caller, &query) => page.map_err(shown_out),
        () = state.drain.cancelled() => {
            let now = FeedQuery { wait: Duration::ZERO, ..query };
            request.app.feed(&request.caller, &now).await.map_err(shown_out)
        }
    };
    // Whoever was shown out meanwhile is told that, and not how the app looks to a stranger.
    request.check_still_here(state).await?;
    Ok(page?)
}

fn body(page: &FeedPage) -> String {
    let bytes: usize = page.events.iter().map(|event| event.json.len() + 1).sum();
    let mut body = String::with_capacity(bytes + 160);
    body.push_str("{\"events\":[");
    for (index, event) in page.events.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str(&event.json);
    }
    body.push_str("],\"cursor\":");
    write_json_string(&page.cursor, &mut body);
    body.push_str(if page.more { ",\"more\":true}" } else { ",\"more\":false}" });
    body
}
