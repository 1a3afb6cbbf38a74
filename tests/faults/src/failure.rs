//! Why a campaign could not be carried out. What a campaign finds wrong with the server is no
//! failure: it stands in its verdict.

/// One line for whoever runs the campaign.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// What may not come about.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure in these words.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self(format!("no answer: {error}"))
    }
}

impl From<tokio::task::JoinError> for Failure {
    fn from(error: tokio::task::JoinError) -> Self {
        Self(format!("a part of the campaign ended early: {error}"))
    }
}
