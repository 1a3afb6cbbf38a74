//! A connection's socket, with a deadline for clients that do not read; and what the connection
//! still owes its client, so that a drain knows whom it need not wait for.

use std::{
    future::Future as _,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

/// How long an answer is still worked on for a client that will send no more. It may have closed its
/// half and wait for the answer (RFC 9293, 3.6), or have left: that looks the same.
const HALF_CLOSED_MAX: Duration = Duration::from_secs(1);

/// How much a connection owes: requests whose head was complete and whose answer is not, and a
/// write that waits.
#[derive(Debug, Clone, Default)]
pub(super) struct Owed(Arc<AtomicUsize>);

/// One thing owed, until it is dropped.
#[derive(Debug)]
pub(super) struct Debt(Owed);

impl Owed {
    pub(super) fn one(&self) -> Debt {
        self.0.fetch_add(1, Ordering::Relaxed);
        Debt(self.clone())
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer, which is owed until it has been handed out.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _owed: Debt,
}

impl Answer {
    pub(super) const fn new(body: Body, owed: Debt) -> Self {
        Self { body, _owed: owed }
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket whose writes fail when the client takes nothing for `write_timeout`, and whose end is
/// told a little later while something is owed.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    write_timeout: Duration,
    owed: Owed,
    /// Set while a write waits. Most never do, and need no timer.
    stalled: Option<Stalled>,
    /// Set once the client has sent its last byte, and something was owed then.
    half_closed: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Stalled {
    deadline: Pin<Box<Sleep>>,
    _owed: Debt,
}

impl Stream {
    pub(super) const fn new(socket: TcpStream, write_timeout: Duration, owed: Owed) -> Self {
        Self { socket, write_timeout, owed, stalled: None, half_closed: None }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (this, before) = (&mut *self, buf.filled().len());
        let read = ready!(Pin::new(&mut this.socket).poll_read(cx, buf));
        let is_end = read.is_ok() && buf.filled().len() == before && buf.remaining() > 0;
        if is_end && !this.owed.is_nothing() {
            let until = this.half_closed.get_or_insert_with(|| Box::pin(sleep(HALF_CLOSED_MAX)));
            ready!(until.as_mut().poll(cx));
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        if written.is_ready() {
            this.stalled = None;
            return written;
        }
        let stalled = this.stalled.get_or_insert_with(|| Stalled {
            deadline: Box::pin(sleep(this.write_timeout)),
            _owed: this.owed.one(),
        });
        ready!(stalled.deadline.as_mut().poll(cx));
        this.stalled = None;
        // The system wakes a writer only when much has been taken: a slow client may have taken
        // less.
        let socket = SockRef::from(&this.socket);
        let written = socket.send_vectored(bufs).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                // What is unsent goes with the connection. If the system refuses, it stays for a
                // while.
                let _ = socket.set_linger(Some(Duration::ZERO));
                io::ErrorKind::TimedOut.into()
            }
            _ => error,
        });
        Poll::Ready(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
