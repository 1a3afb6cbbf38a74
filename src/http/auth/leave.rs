//! For requests that are held open: how long they may be. A key that is paused and a session that is
//! ended are refused on the very next request, and end what they have waiting at that moment.

use axum::extract::FromRequestParts;
use http::request::Parts;
use rookery_domain::{
    Error,
    secret::{Secret, SecretKind},
};

use super::{Presented, presented, resolve};
use crate::{error::ApiError, state::AppState};

/// What a request was let in by, as far as it can end while the request waits. The end of a service
/// credential and of a visitor's link is the app's to tell.
#[derive(Debug, Clone, Default)]
pub struct Leave(Option<Secret>);

impl Leave {
    /// Completes with the refusal when it is good no more.
    pub async fn over(&self, state: &AppState) -> Error {
        let Some(secret) = &self.0 else { return std::future::pending().await };
        loop {
            match state.authenticator.watch(secret) {
                // After that it may still be good: accounts are loaded anew after a crash.
                Ok(Some(end)) => end.cancelled().await,
                Ok(None) => return resolve::invalid(),
                Err(unavailable) => return unavailable,
            }
        }
    }
}

impl FromRequestParts<AppState> for Leave {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        Ok(Self(match presented(&parts.headers, state.is_https()) {
            Presented::Bearer(text) => Secret::parse(SecretKind::Agent, text),
            Presented::Session(text) => Secret::parse(SecretKind::Session, text),
            Presented::Malformed | Presented::Nothing => None,
        }))
    }
}
