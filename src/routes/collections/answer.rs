//! Answers of row routes: text that is rendered once and handed on, with its headers.

use std::convert::Infallible;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use futures::stream;
use http::{HeaderName, HeaderValue, StatusCode, header};
use rookery_actors::app::{
    message::{RowFate, RowReply},
    page::PageText,
    render,
};
use rookery_domain::{
    Error, Result, Timestamp, event::Event, idempotency::StoredResponse, if_match::etag,
    text::path_segment,
};
use serde::Deserialize;

use super::batch_text::BatchText;
use crate::{
    http::{
        idempotency::replay,
        reply::{JSON, RawJson},
    },
    state::AppState,
};

/// Marks the answer of a create whose key was taken already.
const ROW_EXISTED: HeaderName = HeaderName::from_static("row-existed");

/// JSON text as an answer.
pub(crate) fn json(status: StatusCode, body: String) -> Response {
    (status, RawJson(body)).into_response()
}

/// A page of rows. A long one leaves in pieces, each made when the client has taken the one before.
pub(crate) fn page(text: PageText) -> Response {
    in_pieces(text, PageText::is_done)
}

/// The results of a batch. Many leave in pieces as well.
pub(crate) fn batch(state: AppState, results: Vec<Result<RowReply>>) -> Response {
    in_pieces(BatchText::new(state, results), BatchText::is_done)
}

fn in_pieces<T>(mut text: T, is_done: fn(&T) -> bool) -> Response
where
    T: Iterator<Item = String> + Send + 'static,
{
    let first = text.next().unwrap_or_default();
    if is_done(&text) {
        return json(StatusCode::OK, first);
    }
    let pieces = std::iter::once(first).chain(text).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(stream::iter(pieces)));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A row after a write that makes none.
pub(crate) fn row(reply: &RowReply) -> Response {
    let (status, body) = render::row(reply);
    let mut response = json(StatusCode::from_u16(status).unwrap_or_default(), body);
    put(response.headers_mut(), header::ETAG, etag(reply.row.version, reply.row.updated_at));
    response
}

/// A row after a create or upsert. `location_base` is asked for when it is new.
pub(crate) fn created(reply: &RowReply, location_base: impl FnOnce() -> String) -> Response {
    let mut response = row(reply);
    let headers = response.headers_mut();
    match reply.fate {
        RowFate::Created => {
            let location = location_base() + &path_segment(reply.row.key());
            put(headers, header::LOCATION, location);
        }
        RowFate::Existed => {
            headers.insert(ROW_EXISTED, HeaderValue::from_static("true"));
        }
        RowFate::Updated | RowFate::Deleted(_) | RowFate::Restored => {}
    }
    response
}

/// A custom event that was sent; it is read in the feed at `location`.
pub(crate) fn event(event: &Event, location: String) -> Response {
    let mut response = json(StatusCode::CREATED, render::event(event));
    put(response.headers_mut(), header::LOCATION, location);
    response
}

/// A row's first response once more, headers included. `creates`: a 200 then meant that the row
/// existed.
pub(crate) fn row_again(kept: StoredResponse, creates: bool) -> Result<Response> {
    #[derive(Deserialize)]
    struct Written {
        version: u32,
        updated_at: Timestamp,
    }
    let Written { version, updated_at } =
        serde_json::from_str(&kept.body).map_err(|_| Error::internal())?;
    let existed = creates && kept.status == 200;
    let mut response = replay(kept);
    put(response.headers_mut(), header::ETAG, etag(version, updated_at));
    if existed {
        response.headers_mut().insert(ROW_EXISTED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Paths of percent-encoded segments and quoted numbers are valid header values.
fn put(headers: &mut http::HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}
