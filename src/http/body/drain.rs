//! What is left of a request's body when its answer is ready.
//!
//! A connection that is closed with bytes unread is reset, and a reset takes the answer with it
//! that the client has not read yet: it would see a broken connection instead of `unauthorized` or
//! `payload_too_large`. And where the body comes a moment after its head, a client that keeps its
//! connection would not learn that it is closed. So the rest is read and thrown away first, within
//! bounds, and the connection goes on. Where it cannot go on, the answer says so, and the connection reads
//! on for a while behind it (RFC 9112, 9.6). What is not here: how large a body may be
//! ([`body`](crate::http::body)); that reading on, which is the connection's.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{BoxError, body::Body};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, Limited};
use parking_lot::Mutex;
use tokio::time::timeout;

/// Bytes that are read only to be thrown away.
pub const BYTES_MAX: usize = 64 << 20;
/// Bytes read and discarded of a request that was refused at the door: an address that is over its
/// rate must not cost the bandwidth that it was refused.
pub const REFUSED_BYTES_MAX: usize = 1 << 20;
/// How long they are waited for.
pub const TIME_MAX: Duration = Duration::from_secs(5);
/// A body of so few bytes comes at once, if its client sends it at all.
const SMALL_BYTES_MAX: u64 = 16 << 10;
/// How long such a body is waited for.
const SMALL_TIME_MAX: Duration = Duration::from_secs(1);

/// What a handler leaves of a body that it drops before its end.
#[derive(Debug)]
pub struct Leftover<B>(Option<Left<B>>);

type Left<B> = Arc<Mutex<Rest<B>>>;

#[derive(Debug)]
enum Rest<B> {
    /// Nothing: it is read still, or was read to its end.
    Nothing,
    /// This can be read still.
    Unread(B),
    /// The next request cannot be found behind it.
    Lost,
}

/// `body`, watched unless nothing of it can be left.
pub fn watch<B>(headers: &HeaderMap, body: B) -> (Body, Leftover<B>)
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return (Body::new(body), Leftover(None));
    }
    let left = Arc::new(Mutex::new(Rest::Nothing));
    let held_back = headers.contains_key(header::EXPECT);
    let watched = Watched { body: Some(body), ended: false, held_back, left: Arc::clone(&left) };
    (Body::new(watched), Leftover(Some(left)))
}

impl<B> Leftover<B>
where
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    /// Reads what nobody has read, at most so many bytes. Where some of it stays unread the connection
    /// has to [end](DrainBudget::end): then this says what may still be read behind the answer.
    pub async fn drain(&self, bytes_max: usize) -> Option<DrainBudget> {
        let left = self.0.as_ref()?;
        let rest = mem::replace(&mut *left.lock(), Rest::Lost);
        match rest {
            Rest::Nothing => None,
            Rest::Unread(body) if body.size_hint().lower() <= bytes_max as u64 => {
                // Boxed: nearly every body was read to its end.
                let all_read = Box::pin(throw_away(body, bytes_max)).await;
                (!all_read).then_some(DrainBudget(0))
            }
            Rest::Unread(_) | Rest::Lost => Some(DrainBudget(bytes_max)),
        }
    }
}

/// How many bytes may still come behind an answer that ends its connection, and are thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainBudget(usize);

impl DrainBudget {
    /// Has an answer say that its connection ends: otherwise a client may send its next request into one
    /// that is being closed.
    pub fn end<B>(self, answer: &mut Response<B>) {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        answer.extensions_mut().insert(self);
    }

    /// The bytes that are to be read behind an answer.
    pub fn behind<B>(answer: &Response<B>) -> usize {
        answer.extensions().get::<Self>().map_or(0, |read_on| read_on.0)
    }
}

/// Reads a body to its end. False where it is too long, too slow or broken off: then a reset may take the
/// answer after all.
async fn throw_away<B>(body: B, bytes_max: usize) -> bool
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let is_small = body.size_hint().upper().is_some_and(|bytes| bytes <= SMALL_BYTES_MAX);
    let time_max = if is_small { SMALL_TIME_MAX } else { TIME_MAX };
    let mut rest = Limited::new(body, bytes_max);
    let to_its_end = async {
        loop {
            match rest.frame().await {
                Some(Ok(_)) => {}
                Some(Err(_)) => return false,
                None => return true,
            }
        }
    };
    timeout(time_max, to_its_end).await.unwrap_or(false)
}

/// A body that hands itself back when it is dropped before its end.
struct Watched<B: http_body::Body> {
    /// There until it is dropped.
    body: Option<B>,
    ended: bool,
    /// Whoever asks before it sends has sent nothing yet, and will not when it is refused.
    held_back: bool,
    left: Left<B>,
}

impl<B: http_body::Body + Unpin> http_body::Body for Watched<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        self.held_back = false;
        self.ended |= matches!(polled, Poll::Ready(None));
        if matches!(polled, Poll::Ready(Some(Err(_)))) {
            self.body = None;
            *self.left.lock() = Rest::Lost;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(http_body::Body::size_hint).unwrap_or_default()
    }
}

impl<B: http_body::Body> Drop for Watched<B> {
    fn drop(&mut self) {
        let left = self.body.take().filter(|body| !self.ended && !body.is_end_stream());
        if let Some(body) = left {
            *self.left.lock() = if self.held_back { Rest::Lost } else { Rest::Unread(body) };
        }
    }
}
