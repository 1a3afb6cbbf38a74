//! The closed error table (part 7 of the source documents, 90 rows, and our own `internal` and
//! `unavailable`) and the error value that every rule answers with.
//!
//! How an error becomes an HTTP answer is decided in one place of the server crate, not here.

mod table;
mod waiting;

use std::fmt;

use serde_json::Value;

pub use table::ErrorCode;

use crate::{json::EMPTY_OBJECT, text::quoted};

/// A result whose failure is a row of the error table.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refusal or failure: a row of the table and what this request adds to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    /// The row of the table.
    pub code: ErrorCode,
    /// What is wrong with this request: names the field, collection or value. Never a secret.
    pub message: String,
    /// The `details` member, an object, where the code has one.
    pub details: Option<Box<Value>>,
    /// `details.current` as JSON: the row as it stands, its numbers and members as they were sent,
    /// which no [`Value`] keeps.
    pub current: Option<Box<str>>,
    /// The `required` member: the subjects consulted, for role refusals.
    pub required: Option<Box<[String]>>,
    /// Why, where somebody tells it in other words than the message, as the pages for people do.
    pub reason: Option<Box<Reason>>,
    /// What to do about it, where that is another thing than the table says of the code.
    pub hint: Option<&'static str>,
    /// What failed beneath, for whoever runs the service: no answer tells it, the log does.
    pub cause: Option<Box<str>>,
}

/// Why a request was refused, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A query parameter is wrong.
    Parameter(Parameter),
    /// Only these callers may, in the plural.
    OnlyFor(&'static str),
    /// The body has more than so many bytes.
    BodyBytesMax(usize),
}

/// A query parameter that rules refuse by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// Where a page of a list begins.
    Cursor,
    /// How many days a report looks back.
    Days,
    /// How many records a page has.
    Limit,
    /// How long a poll is held.
    Wait,
}

impl Parameter {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Cursor => "cursor",
            Self::Days => "days",
            Self::Limit => "limit",
            Self::Wait => "wait",
        }
    }
}

impl Error {
    /// An error of `code` that says `message`.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            message,
            details: None,
            current: None,
            required: None,
            reason: None,
            hint: None,
            cause: None,
        }
    }

    /// Adds the `details` member.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds `details.current`, a row as JSON.
    #[must_use]
    pub fn with_current(mut self, row: String) -> Self {
        self.current = Some(row.into());
        self
    }

    /// Leaves out the `details` member.
    #[must_use]
    pub fn without_details(self) -> Self {
        Self { details: None, current: None, ..self }
    }

    /// The `details` member as JSON, where there is one.
    #[must_use]
    pub fn details_json(&self) -> Option<String> {
        let details = self.details.as_deref().map(Value::to_string);
        let Some(current) = &self.current else { return details };
        let mut json = details.unwrap_or_else(|| EMPTY_OBJECT.to_owned());
        // It is an object: what it holds stands before the row.
        json.pop();
        let comma = if json.len() > 1 { "," } else { "" };
        Some(format!("{json}{comma}\"current\":{current}}}"))
    }

    /// Adds the `required` member.
    #[must_use]
    pub fn with_required(mut self, required: Vec<String>) -> Self {
        self.required = Some(required.into());
        self
    }

    /// Says what to do about this one, in place of what the table says of the code.
    #[must_use]
    pub const fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Keeps what failed beneath, for the log alone.
    #[must_use]
    pub fn caused_by(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string().into());
        self
    }

    /// `invalid_request`: the message names the field.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// `invalid_request` of a query parameter; `why` goes on from its name.
    #[must_use]
    pub fn parameter(parameter: Parameter, why: impl fmt::Display) -> Self {
        let message = format!("query parameter {}: {why}", parameter.as_str());
        Self { reason: Some(Reason::Parameter(parameter).into()), ..Self::invalid(message) }
    }

    /// `forbidden`: the credential is good, but of another kind than `callers`.
    #[must_use]
    pub fn only_for(callers: &'static str) -> Self {
        let error = Self::new(ErrorCode::Forbidden, format!("this route is for {callers}"));
        Self { reason: Some(Reason::OnlyFor(callers).into()), ..error }
    }

    /// `payload_too_large`: a body of more than `max` bytes.
    #[must_use]
    pub fn body_too_large(max: usize) -> Self {
        let message = format!("the request body is larger than {max} bytes");
        let error = Self::new(ErrorCode::PayloadTooLarge, message);
        Self { reason: Some(Reason::BodyBytesMax(max).into()), ..error }
    }

    /// `row_not_found`: one body for a row that is absent, deleted or hidden.
    #[must_use]
    pub fn row_not_found() -> Self {
        Self::new(ErrorCode::RowNotFound, "there is no such row, or none that you may see")
    }

    /// `participant_token_invalid` of somebody who came by a link that lets nobody in any more.
    #[must_use]
    pub fn link_ended() -> Self {
        let message = "what this participant came by is revoked or has expired";
        Self::new(ErrorCode::ParticipantTokenInvalid, message).with_hint(
            "Open the link again that led to this app; where it opens nothing any more, ask the app's owner for a new one.",
        )
    }

    /// `app_not_found`: one body for an unknown app and for somebody else's.
    #[must_use]
    pub fn app_not_found() -> Self {
        Self::new(ErrorCode::AppNotFound, "no such app")
    }

    /// `collection_not_found`.
    #[must_use]
    pub fn collection_not_found(name: &str) -> Self {
        let message = format!("the manifest declares no collection {}", quoted(name));
        Self::new(ErrorCode::CollectionNotFound, message)
    }

    /// `unavailable`: certainly not applied, may be sent again.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    /// `internal`, with nothing of the cause: nothing was applied.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ErrorCode::Internal, "the service failed")
    }

    /// `internal` of a write that may or may not have been applied: its `details` say so.
    #[must_use]
    pub fn unknown_outcome() -> Self {
        Self::internal().with_details(serde_json::json!({"outcome": "unknown"}))
    }

    /// Whether it is of a write that may or may not have been applied.
    #[must_use]
    pub fn is_unknown_outcome(&self) -> bool {
        self.details.as_deref().is_some_and(|details| details["outcome"] == "unknown")
    }

    /// What a request answers that made its change and failed behind it: never that nothing was
    /// applied.
    #[must_use]
    pub fn after_change(self) -> Self {
        match self.code {
            ErrorCode::Unavailable | ErrorCode::Internal => Self::unknown_outcome().caused_by(self),
            _ => self,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        self.cause.as_deref().map_or(Ok(()), |cause| write!(f, " ({cause})"))
    }
}

impl std::error::Error for Error {}
