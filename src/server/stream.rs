//! A connection's socket, with deadlines for clients that do not read and for heads that do not end;
//! and what the connection still owes its client, so that a drain knows whom it need not wait for.

use std::{
    error::Error as _,
    future::Future as _,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
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
    time::{Instant, Sleep, sleep, sleep_until},
};

use crate::http::body::drain;

/// How long an answer is still worked on for a client that will send no more. It may have closed its
/// half and wait for the answer (RFC 9293, 3.6), or have left: that looks the same.
const HALF_CLOSED_MAX: Duration = Duration::from_secs(1);

/// Bytes that a client takes at least for each second that a write may wait, 15 KiB in half a minute. One that
/// takes less keeps a connection from others for next to nothing.
const TAKEN_BYTES_PER_SECOND_MIN: u64 = 512;

/// Bytes that are thrown away at once.
const DISCARD_BYTES: usize = 8 << 10;

/// How much a connection owes: requests whose head was complete and whose answer is not, and a
/// write that waits.
#[derive(Debug, Clone, Default)]
pub(super) struct Outstanding(Arc<OutstandingCounts>);

#[derive(Debug, Default)]
struct OutstandingCounts {
    open: AtomicUsize,
    /// How many there ever were.
    begun: AtomicUsize,
    /// Whether something came, while nothing was open, that has not become a request.
    awaits_head: AtomicBool,
    /// How many bytes to read behind the last answer.
    unread: AtomicUsize,
}

/// What a connection waits for that owes nothing: as long as that is the same, its client lets it wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// How much it has ever owed.
    owed: usize,
    /// Whether the next head has begun.
    in_head: bool,
}

/// One thing owed, until it is dropped.
#[derive(Debug)]
pub(super) struct OutstandingGuard(Outstanding);

impl OutstandingGuard {
    /// So many bytes of this request are read, and thrown away, once its answer was the last one.
    pub(super) fn reads_on(&self, bytes_max: usize) {
        self.0.0.unread.store(bytes_max, Ordering::Relaxed);
    }
}

impl Outstanding {
    /// A request, whose head is complete.
    pub(super) fn request(&self) -> OutstandingGuard {
        self.0.awaits_head.store(false, Ordering::Relaxed);
        self.one()
    }

    /// Whether a head has begun that is not complete.
    pub(super) fn awaits_head(&self) -> bool {
        self.0.awaits_head.load(Ordering::Relaxed)
    }

    fn one(&self) -> OutstandingGuard {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        OutstandingGuard(self.clone())
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.0.open.load(Ordering::Relaxed) == 0
    }

    /// What it waits for, while nothing is owed.
    pub(super) fn waits(&self) -> Option<Waits> {
        self.is_nothing().then(|| Waits { owed: self.begun(), in_head: self.awaits_head() })
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::Relaxed)
    }
}

impl Drop for OutstandingGuard {
    fn drop(&mut self) {
        self.0.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer, which is owed until it has been handed out.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _outstanding: OutstandingGuard,
}

impl Answer {
    pub(super) const fn new(body: Body, outstanding: OutstandingGuard) -> Self {
        Self { body, _outstanding: outstanding }
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

/// A head that has begun and is not complete.
#[derive(Debug)]
struct Head {
    deadline: Instant,
    /// What had been owed when it began: once there is more, it is complete.
    owed_before: usize,
    /// Set while the rest of it does not come. Most heads come whole, and need no timer.
    timer: Option<Pin<Box<Sleep>>>,
}

/// The rest of a head did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the rest of a head did not come in time")]
struct HeadTooLate;

/// Whether `error` is that of a head whose rest did not come in time.
pub(super) fn is_late_head(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.and_then(io::Error::get_ref).is_some_and(|cause| cause.is::<HeadTooLate>())
}

/// What a client sends that has its last answer, and may not have read it.
#[derive(Debug)]
struct Unread {
    bytes_max: usize,
    deadline: Pin<Box<Sleep>>,
    /// Until then its client is owed the answer still.
    _outstanding: OutstandingGuard,
}

impl Unread {
    /// Reads it and throws it away, within bounds: what is unread when a socket is closed resets the
    /// connection, and takes the answer with it.
    fn poll_read(&mut self, socket: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [MaybeUninit::uninit(); DISCARD_BYTES];
        while self.bytes_max > 0 {
            let mut buf = ReadBuf::uninit(&mut space);
            match Pin::new(&mut *socket).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    self.bytes_max = self.bytes_max.saturating_sub(buf.filled().len());
                }
                Poll::Ready(_) => break,
                Poll::Pending => return self.deadline.as_mut().poll(cx),
            }
        }
        Poll::Ready(())
    }
}

/// A socket whose writes fail when the client takes too little in `write_timeout` while there is more, and
/// whose end is told a little later while something is owed. With a `head_timeout` a read fails when the rest
/// of a head does not come within it. Where its last answer left something unread, it ends by reading that.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    write_timeout: Duration,
    head_timeout: Option<Duration>,
    outstanding: Outstanding,
    head: Option<Head>,
    /// Set from when a write waits until enough is taken, or all. Most never wait, and need no timer.
    stalled: Option<Stalled>,
    /// Set once the client has sent its last byte, and something was owed then.
    half_closed: Option<Pin<Box<Sleep>>>,
    /// Set once the last byte was sent.
    unread: Option<Unread>,
}

#[derive(Debug)]
struct Stalled {
    deadline: Pin<Box<Sleep>>,
    /// Bytes that the client has taken since.
    taken: u64,
    _outstanding: OutstandingGuard,
}

impl Stream {
    /// Bytes that the client takes at least while a write waits.
    const fn taken_min(&self) -> u64 {
        self.write_timeout.as_secs() * TAKEN_BYTES_PER_SECOND_MIN
    }

    pub(super) const fn new(
        socket: TcpStream,
        write_timeout: Duration,
        head_timeout: Option<Duration>,
        outstanding: Outstanding,
    ) -> Self {
        let (head, stalled, half_closed, unread) = (None, None, None, None);
        Self {
            socket,
            write_timeout,
            head_timeout,
            outstanding,
            head,
            stalled,
            half_closed,
            unread,
        }
    }

    /// Looks whether a head begins with what a read brought, and whether the rest of one may still
    /// be waited for.
    fn watch_head(&mut self, cx: &mut Context<'_>, read: Poll<usize>) -> io::Result<()> {
        let Some(head_timeout) = self.head_timeout else { return Ok(()) };
        let owed_before = self.outstanding.begun();
        self.head.take_if(|head| head.owed_before != owed_before);
        match (read, &mut self.head) {
            (Poll::Ready(1..), head @ None) if self.outstanding.is_nothing() => {
                let deadline = Instant::now() + head_timeout;
                *head = Some(Head { deadline, owed_before, timer: None });
            }
            (Poll::Pending, Some(Head { deadline, timer, .. })) => {
                let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(*deadline)));
                if timer.as_mut().poll(cx).is_ready() {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, HeadTooLate));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// What the system holds of an answer when the connection is closed on our side goes, too, when the client
/// takes nothing of it. Not before: to the system a client makes no progress that takes less at a time
/// than it has room for.
#[cfg(target_os = "linux")]
impl Drop for Stream {
    fn drop(&mut self) {
        // If the system refuses, it stays for as long as the system says.
        let _ = SockRef::from(&self.socket).set_tcp_user_timeout(Some(self.write_timeout));
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (this, before) = (&mut *self, buf.filled().len());
        let read = Pin::new(&mut this.socket).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        this.watch_head(cx, if read.is_pending() { Poll::Pending } else { Poll::Ready(bytes) })?;
        let read = ready!(read);
        if bytes > 0 && this.outstanding.is_nothing() {
            this.outstanding.0.awaits_head.store(true, Ordering::Relaxed);
        }
        let is_end = read.is_ok() && bytes == 0 && buf.remaining() > 0;
        if is_end && !this.outstanding.is_nothing() {
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
        let taken_min = this.taken_min();
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, bufs);
        if let Poll::Ready(written) = written {
            this.stalled.take_if(|stalled| {
                stalled.taken += written.as_ref().map_or(0, |bytes| *bytes as u64);
                stalled.taken >= taken_min
            });
            return Poll::Ready(written);
        }
        let stalled = this.stalled.get_or_insert_with(|| Stalled {
            deadline: Box::pin(sleep(this.write_timeout)),
            taken: 0,
            _outstanding: this.outstanding.one(),
        });
        ready!(stalled.deadline.as_mut().poll(cx));
        let taken = stalled.taken;
        this.stalled = None;
        // The system wakes a writer only when much has been taken: a slow client may have taken
        // less.
        let socket = SockRef::from(&this.socket);
        match socket.send_vectored(bufs) {
            Ok(bytes) if taken + bytes as u64 >= taken_min => return Poll::Ready(Ok(bytes)),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                return Poll::Ready(Err(error));
            }
            _ => {}
        }
        // What is unsent goes with the connection. If the system refuses, it stays for a while.
        let _ = socket.set_linger(Some(Duration::ZERO));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing waits any more.
        self.stalled = None;
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let bytes_max = this.outstanding.0.unread.load(Ordering::Relaxed);
        if this.unread.is_none() {
            ready!(Pin::new(&mut this.socket).poll_shutdown(cx))?;
        }
        if bytes_max == 0 {
            return Poll::Ready(Ok(()));
        }
        let unread = this.unread.get_or_insert_with(|| Unread {
            bytes_max,
            deadline: Box::pin(sleep(drain::TIME_MAX)),
            _outstanding: this.outstanding.one(),
        });
        unread.poll_read(&mut this.socket, cx).map(Ok)
    }
}
