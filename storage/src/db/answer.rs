//! How long a database server may stay silent before its connection counts as lost. What is not
//! here: waiting for locks, which the server itself bounds far below this.

use std::{io, time::Duration};

use tokio::time::timeout;

/// The time for one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerTimeout(pub(crate) Duration);

/// No answer came in time. The connection must not be used again: the answer may still come, and
/// would be taken for that to another question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Silent;

impl Silent {
    pub(crate) const WHY: &'static str = "the server does not answer";
}

impl From<Silent> for sqlx::Error {
    fn from(_: Silent) -> Self {
        Self::Io(io::Error::new(io::ErrorKind::TimedOut, Silent::WHY))
    }
}

impl AnswerTimeout {
    /// The answer, if it comes in time.
    pub(crate) async fn of<T>(self, answer: impl Future<Output = T>) -> Result<T, Silent> {
        timeout(self.0, answer).await.map_err(|_| Silent)
    }
}
