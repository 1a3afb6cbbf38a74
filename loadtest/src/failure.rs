//! Why a run could not be carried out. What the server answers *under load* is no failure: it is
//! counted (`load::recorder`).

use std::io;

/// A run ends with one of these.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The connection to the server.
    #[error("{0}")]
    Client(#[from] crate::client::ClientError),
    /// The server refused a step of the preparation or of the clean-up.
    #[error("{what}: the server answered {status} {code}: {message}")]
    Refused {
        /// The step, as method and path.
        what: String,
        /// HTTP status.
        status: u16,
        /// The code of the error table, or `-`.
        code: String,
        /// What the server said.
        message: String,
    },
    /// An answer without what this tool needs from it.
    #[error("{what}: the answer has no {member}")]
    Answer {
        /// The step.
        what: String,
        /// The member that is missing.
        member: &'static str,
    },
    /// The server's own process.
    #[error("server: {0}")]
    Server(String),
    /// An argument that cannot be used, named.
    #[error("{0}")]
    Usage(String),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A result file that cannot be read.
    #[error("{path}: {reason}")]
    Format {
        /// Which one.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Ctrl-C or SIGTERM. What was measured until then is kept.
    #[error("interrupted")]
    Interrupted,
}

/// The result of a step.
pub type Result<T> = std::result::Result<T, Failure>;
