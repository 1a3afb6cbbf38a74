//! What a request costs the app it is for: one request, and the bytes of its answer.
//!
//! An extractor finds the app, but only the boundary sees the answer; between them the request's
//! task remembers which app it was. That costs no allocation. What is not here: what is counted
//! elsewhere (row writes by the app, polls by the feed's route, views by the page's).

use std::cell::RefCell;

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures::FutureExt as _;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use rookery_actors::AppHandle;
use rookery_domain::meters::Flow;

tokio::task_local! {
    static APP: RefCell<Option<AppHandle>>;
}

/// Counts a request for `app`, and has the boundary count its answer. A request is counted once,
/// also where its permission is asked for again.
pub fn credit(app: &AppHandle) {
    // Only requests that came through the boundary have a place for it: what this service looks at by
    // itself, for a picture, is nobody's use.
    let before = APP.try_with(|place| place.replace(Some(app.clone())));
    if matches!(before, Ok(None)) {
        app.count_use(Flow::Requests, 1);
    }
}

/// Runs a request's handlers; answers the app it was for, too.
pub fn run(
    handlers: impl Future<Output = Response>,
) -> impl Future<Output = (Response, Option<AppHandle>)> {
    let noted = handlers.map(|response| (response, APP.with(RefCell::take)));
    APP.scope(RefCell::new(None), noted)
}

/// Counts the bytes of an answer for `app`: at once where their number is known, as they leave
/// where it is not.
pub fn count_bytes(response: Response, app: AppHandle) -> Response {
    match response.body().size_hint().exact() {
        Some(0) => response,
        Some(bytes) => {
            app.count_use(Flow::BytesOut, bytes);
            response
        }
        None => response.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                app.count_use(Flow::BytesOut, bytes as u64);
                frame
            }))
        }),
    }
}
