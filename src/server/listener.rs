//! One listener: accepts connections up to a bound, serves HTTP/1.1 on each, drains when told.

use std::{
    convert::Infallible,
    future::{Future as _, poll_fn},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rookery_storage::log_throttle::LogThrottle;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection_registry::ConnectionRegistry,
    stream::{Answer, Outstanding, Stream, is_late_head},
};
use crate::http::{body::drain::DrainBudget, edge::Edge};

/// Bytes of a request's head, and of hyper's read buffer.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Headers of one request.
const HEADERS_MAX: usize = 100;
/// Bytes of answers that one connection's socket may hold unsent. Without a bound the system takes
/// several MiB for a client that does not read.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 128 << 10;
/// Connections that the system keeps until they are accepted; it may have a lower bound of its own.
/// A client beyond that is not refused, but tries again after a second.
const BACKLOG: u32 = 4_096;
/// Pause after a failed accept (usually no file descriptor left), so that it does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The share of permits that are kept for whoever speaks: with fewer of them free, a connection that
/// says nothing is not waited for, and one that idles, or does not end its head, makes room.
const HURRIED_SHARE: usize = 4;
/// How long a connection may say nothing then. One that has said something may let the server wait for
/// the next head, or for its end, once or twice as long.
const HURRIED: Duration = Duration::from_secs(1);

/// The bounds of one listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Open connections at once.
    pub(super) connections_max: usize,
    /// For a connection to say something.
    pub(super) silence_timeout: Duration,
    /// For a request's head, and for idling between two.
    pub(super) header_timeout: Duration,
    /// For a connection of a trusted proxy to idle between two requests.
    pub(super) proxy_idle_timeout: Duration,
    /// For a client to take more of its answer.
    pub(super) write_timeout: Duration,
    /// For running requests after the drain began.
    pub(super) drain_timeout: Duration,
}

impl Limits {
    /// Those of a connection beside which so many more can be opened.
    fn with_free(self, free: usize) -> Self {
        let hurried = self.missing(free) > 0;
        let silence_timeout =
            if hurried { self.silence_timeout.min(HURRIED) } else { self.silence_timeout };
        Self { silence_timeout, ..self }
    }

    /// How many more permits should be free than `free`.
    fn missing(self, free: usize) -> usize {
        (self.connections_max / HURRIED_SHARE).saturating_sub(free)
    }
}

/// Listens on an address, with what every connection inherits from its listener.
///
/// # Errors
/// What the system says of the address or of an option.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As in std: a restart does not wait for connections of the process before.
    socket.set_reuseaddr(true)?;
    // Answers are written whole: waiting for more to send would only delay them.
    socket.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    SockRef::from(&socket).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `drain` is cancelled, then until open requests are answered or their time is up.
pub(super) async fn serve(
    listener: TcpListener,
    edge: Arc<Edge>,
    limits: Limits,
    drain: CancellationToken,
) {
    let permits = Arc::new(Semaphore::new(limits.connections_max.min(Semaphore::MAX_PERMITS)));
    let connections = TaskTracker::new();
    let registry = Arc::new(ConnectionRegistry::default());
    connections.spawn(make_room(
        Arc::clone(&registry),
        Arc::clone(&permits),
        limits,
        drain.clone(),
    ));
    // Whoever comes while no permit is free, or no file, writes one line a second.
    let (refusals, waits) = (LogThrottle::default(), LogThrottle::default());
    loop {
        if permits.available_permits() == 0
            && let Some(skipped) = waits.take()
        {
            let connections = limits.connections_max;
            tracing::warn!(connections, skipped, "all connections are taken: further ones wait");
        }
        let accepted = tokio::select! {
            () = drain.cancelled() => break,
            accepted = accept(&listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => {
                let connection = Connection {
                    stream,
                    peer,
                    edge: Arc::clone(&edge),
                    limits: limits.with_free(permits.available_permits()),
                    registry: Arc::clone(&registry),
                    drain: drain.clone(),
                };
                connections.spawn(connection.serve(permit));
            }
            Err(error) => {
                if let Some(skipped) = refusals.take() {
                    tracing::warn!(%error, skipped, "no connection was accepted");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if timeout(limits.drain_timeout, connections.wait()).await.is_err() {
        let waited_s = limits.drain_timeout.as_secs_f64();
        tracing::warn!(waited_s, "requests were still running when a listener had to close");
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // The semaphore is never closed.
    let permit = Arc::clone(permits).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

/// While few permits are free, has connections make room that let the server wait; until the drain begins.
async fn make_room(
    registry: Arc<ConnectionRegistry>,
    permits: Arc<Semaphore>,
    limits: Limits,
    drain: CancellationToken,
) {
    while timeout(HURRIED, drain.cancelled()).await.is_err() {
        let missing = limits.missing(permits.available_permits());
        if missing > 0 {
            registry.make_room(missing);
        }
    }
}

/// One accepted connection.
struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    edge: Arc<Edge>,
    limits: Limits,
    registry: Arc<ConnectionRegistry>,
    drain: CancellationToken,
}

impl Connection {
    /// Serves it to its end; `permit` is what it holds among the connections.
    async fn serve(self, permit: OwnedSemaphorePermit) {
        let edge = Arc::clone(&self.edge);
        let counted = edge.open_connection();
        if speaks(&self.stream, self.limits, &self.drain).await {
            // Boxed: a connection that has not spoken yet needs no room for it.
            Box::pin(http(self)).await;
        }
        drop(counted);
        drop(permit);
    }
}

/// Serves a connection that speaks.
async fn http(Connection { stream, peer, edge, limits, registry, drain }: Connection) {
    let (outstanding, leave) = (Outstanding::default(), drain.child_token());
    let is_proxy = edge.is_trusted(peer);
    // A proxy's request must not meet a connection that closes.
    let _registration = (!is_proxy).then(|| registry.enter(outstanding.clone(), leave.clone()));
    // hyper has one bound for both. Where idling may take longer, the stream sees to heads.
    let (idle_timeout, head_timeout) = match is_proxy {
        true => (limits.proxy_idle_timeout, Some(limits.header_timeout)),
        false => (limits.header_timeout, None),
    };
    let stream = Stream::new(stream, limits.write_timeout, head_timeout, outstanding.clone());
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let (edge, outstanding) = (Arc::clone(&edge), outstanding.request());
        // Boxed, because hyper keeps room for it while a connection is idle, too.
        Box::pin(async move {
            let answer = edge.handle(request, peer).await;
            outstanding.reads_on(DrainBudget::behind(&answer));
            Ok::<_, Infallible>(answer.map(|body| Answer::new(body, outstanding)))
        })
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            // That the client left, did not read, or asked for nothing more, is its affair.
            if let Err(error) = ended
                && (error.is_parse()
                    || error.is_timeout() && outstanding.awaits_head()
                    || is_late_head(&error))
            {
                edge.tell_bad_head(peer, &error);
            }
            return;
        }
        () = leave.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    // What a connection that owes nothing waits for is the rest of a request's head.
    poll_fn(|cx| match connection.as_mut().poll(cx) {
        Poll::Pending if !outstanding.is_nothing() => Poll::Pending,
        _ => Poll::Ready(()),
    })
    .await;
}

/// Waits for the first byte, as long as for a head, or not for long where permits are few. Until then
/// a connection has no buffers: one that is opened and never used costs a tenth of one that speaks.
async fn speaks(stream: &TcpStream, limits: Limits, drain: &CancellationToken) -> bool {
    // Readiness alone may be told of a socket that has nothing.
    let mut byte = [0; 1];
    tokio::select! {
        () = drain.cancelled() => false,
        first = timeout(limits.silence_timeout, stream.peek(&mut byte)) => {
            matches!(first, Ok(Ok(1)))
        }
    }
}
