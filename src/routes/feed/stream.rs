//! The feed as an event stream (WHATWG HTML, "Server-sent events"). Events have no name of their
//! own: a browser's `onmessage` hears them all, and the type is in the data.

use std::{fmt::Write as _, time::Duration};

use axum::response::Response;
use futures::stream;
use http::HeaderValue;
use rookery_actors::feed::{FeedEvent, FeedPage, FeedQuery};
use rookery_domain::Error;

use crate::{
    error::{ApiResult, ErrorEnvelope},
    http::{
        auth::credential_watch::CredentialWatch, client::RequestContext, edge::waiters::Waiting,
        reply::event_stream,
    },
    routes::collections::app_request::AppRequest,
    state::AppState,
};

/// A silent stream gets a comment this often, so that neither end takes it for dead.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// What a frame has beside its cursor and its event.
const FRAME_BYTES: usize = "id: \ndata: \n\n".len();

/// One open stream.
struct Stream {
    request: AppRequest,
    watch: CredentialWatch,
    state: AppState,
    request_id: HeaderValue,
    query: FeedQuery,
    /// Whether all that was missed has been sent, and the client told so.
    caught_up: bool,
    ended: bool,
    _waiting: Waiting,
}

/// Opens a stream. What is wrong with the request is answered before it begins.
pub(super) async fn open(
    request: AppRequest,
    watch: CredentialWatch,
    state: AppState,
    context: &RequestContext,
    mut query: FeedQuery,
) -> ApiResult<Response> {
    let waiting = state.feed_waiters.enter(context.address)?;
    query.wait = Duration::ZERO;
    let first = request.app.feed(&request.caller, &query).await?;
    let mut caught_up = false;
    let frames = frames(&first, &mut caught_up);
    query.since = Some(first.cursor);
    query.wait = COMMENT_EVERY;
    let request_id = context.request_id.clone();
    let open = Stream {
        request,
        watch,
        state,
        request_id,
        query,
        caught_up,
        ended: false,
        _waiting: waiting,
    };
    let rest = stream::unfold((Some(frames), open), |(first, mut open)| async move {
        let chunk = match first {
            Some(frames) => frames,
            None => open.next().await?,
        };
        Some((chunk, (None, open)))
    });
    Ok(event_stream(rest))
}

impl Stream {
    /// The next frames; `None` when the server drains, or after an error.
    async fn next(&mut self) -> Option<String> {
        if self.ended {
            return None;
        }
        let page = tokio::select! {
            biased;
            () = self.state.drain.cancelled() => return None,
            refusal = self.watch.over(&self.state) => Err(refusal),
            page = self.request.app.feed(&self.request.caller, &self.query) => {
                page.map_err(|refusal| self.request.shown_out(refusal))
            }
        };
        match self.request.check_still_here(&self.state).await.and(page) {
            Ok(page) => {
                let frames = frames(&page, &mut self.caught_up);
                self.query.since = Some(page.cursor);
                Some(frames)
            }
            Err(error) => {
                self.ended = true;
                Some(self.failure(error))
            }
        }
    }

    /// The frame that ends a stream whose caller may hear no more, or has to list again.
    fn failure(&self, error: Error) -> String {
        if let Some(cause) = &error.cause {
            // The answer's own line was written when it began.
            let request = self.request_id.to_str().unwrap_or_default();
            tracing::warn!(request.id = request, error.cause = &**cause, "a stream broke off");
        }
        let error = self.state.envelope.body(&error, Some(&self.request_id));
        // Strings and a JSON value serialize.
        let data = serde_json::to_string(&ErrorEnvelope { error }).unwrap_or_default();
        format!("event: error\ndata: {data}\n\n")
    }
}

/// The events of a page, whose JSON is one line: newlines inside texts are escaped in it. The place
/// behind them follows where the client has `caught_up` with that, and, with a comment, in a
/// silence, so that its `Last-Event-ID` moves on.
fn frames(page: &FeedPage, caught_up: &mut bool) -> String {
    // No more than is needed: it is kept until the client has read it.
    let frame = |event: &FeedEvent| FRAME_BYTES + event.cursor.len() + event.json.len();
    let events: usize = page.events.iter().map(frame).sum();
    let mut out = String::with_capacity(events + 2 * FRAME_BYTES + page.cursor.len());
    for event in &page.events {
        // Writing to a String cannot fail.
        let _ = write!(out, "id: {}\ndata: {}\n\n", event.cursor, event.json);
    }
    if page.events.is_empty() && (*caught_up || page.more) {
        out.push_str(":\n");
    }
    if !page.more && (page.events.is_empty() || !*caught_up) {
        *caught_up = true;
        let _ = write!(out, "id: {}\n\n", page.cursor);
    }
    out
}
