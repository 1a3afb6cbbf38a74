//! What is left of a request's body when its answer is ready.
//!
//! A connection that is closed with bytes unread is reset, and a reset takes the answer with it
//! that the client has not read yet: it would see a broken connection instead of `unauthorized` or
//! `payload_too_large`. So the rest is read and thrown away first, within bounds. What is not here:
//! how large a body may be ([`body`](super::body)); how the connection is closed, which is hyper's.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Limited};
use tokio::time::timeout;

/// A body up to this size is in the connection's buffers anyway.
const SMALL_BYTES_MAX: u64 = 16 << 10;
/// Bytes that are read only to be thrown away.
const LINGER_BYTES_MAX: usize = 64 << 20;
/// How long they are waited for.
const LINGER_TIME_MAX: Duration = Duration::from_secs(5);

/// Where a body goes that a handler drops before its end.
#[derive(Debug, Default)]
pub struct Leftover(Option<Place>);

type Place = Arc<Mutex<Option<Body>>>;

/// `body`, watched if it may be long enough to matter.
pub fn watch(headers: &HeaderMap, body: Body) -> (Body, Leftover) {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length = length.and_then(|text| text.parse::<u64>().ok());
    let is_long = match length {
        Some(length) => length > SMALL_BYTES_MAX,
        None => headers.contains_key(header::TRANSFER_ENCODING),
    };
    // Whoever asks before it sends has sent nothing yet, and will not when it is refused.
    if !is_long || headers.contains_key(header::EXPECT) {
        return (body, Leftover(None));
    }
    let place = Place::default();
    let watched = Watched { body: Some(body), ended: false, place: Arc::clone(&place) };
    (Body::new(watched), Leftover(Some(place)))
}

impl Leftover {
    /// Reads what nobody has read.
    pub async fn drain(self) {
        let Some(place) = self.0 else { return };
        let body = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body else { return };
        let mut rest = Limited::new(body, LINGER_BYTES_MAX);
        // Too long, too slow or broken off: then the connection is reset after all.
        let _ =
            timeout(LINGER_TIME_MAX, async { while let Some(Ok(_)) = rest.frame().await {} }).await;
    }
}

/// A body that hands itself back when it is dropped before its end.
struct Watched {
    /// There until it is dropped.
    body: Option<Body>,
    ended: bool,
    place: Place,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        // After an error there is nothing left to read either.
        self.ended |= matches!(polled, Poll::Ready(None | Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(http_body::Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let ended = self.ended || http_body::Body::is_end_stream(self);
        if let Some(body) = self.body.take().filter(|_| !ended) {
            *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}
