//! A small HTTP/1.1 client: one request at a time on a keep-alive connection, bytes in, bytes out.
//!
//! It exists because the generator shares the machine with what it measures: every microsecond it
//! spends is missing on the server's side. So no dispatcher task, no header map, no body stream; a
//! request is bytes that were built before, and an answer is a view of the read buffer.
//! Not in here: redirects, cookies, proxies, pipelining, HTTP/2.

mod connection;
mod endpoint;
mod request;
mod stream;
pub mod wire;

use std::io;

pub use connection::{Answer, Connection};
pub use endpoint::Endpoint;
pub use request::RequestHead;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address cannot be used.
    #[error("{url}: {reason}")]
    Address {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection.
    #[error("cannot connect to {host}: {source}")]
    Connect {
        /// Host and port.
        host: String,
        /// What the system said.
        source: io::Error,
    },
    /// The connection failed during the exchange.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The server closed it before the answer was complete.
    #[error("the server closed the connection")]
    Closed,
    /// What came is no HTTP/1.1 answer within the bounds.
    #[error("not an HTTP answer: {0}")]
    Protocol(&'static str),
    /// No answer in time.
    #[error("no answer in time")]
    Timeout,
}

impl ClientError {
    /// The name under which it is counted beside the server's error codes.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Address { .. } | Self::Connect { .. } => "connect_failed",
            Self::Io(_) => "connection_failed",
            Self::Closed => "connection_closed",
            Self::Protocol(_) => "bad_answer",
            Self::Timeout => "timeout",
        }
    }
}
