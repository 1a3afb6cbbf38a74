//! For requests that are held open: how long they may be. A key that is paused, a session that is
//! ended and a visitor that signs out are refused on the very next request, and end what they have
//! waiting at that moment.

use std::{future::pending, sync::Arc};

use axum::extract::FromRequestParts;
use http::request::Parts;
use rookery_actors::directory::{AskedBy, Participant};
use rookery_domain::{
    Error,
    secret::{Secret, SecretKind},
};

use super::{Presented, presented, resolve, visitor::token_invalid};
use crate::{error::ApiError, state::AppState};

/// What a request was let in by, as far as it can end while the request waits. The end of a service
/// credential and of a visitor's link is the app's to tell.
#[derive(Debug, Clone)]
pub enum CredentialWatch {
    /// Nothing that ends.
    Unbounded,
    /// An agent's key, or a session of the site.
    Credential(Secret),
    /// A visitor's token.
    Visitor(Arc<Participant>),
}

impl CredentialWatch {
    /// What a test session ends with that the request asks for, if its key or session may ask.
    #[must_use]
    pub fn asked_by(&self) -> Option<AskedBy> {
        let Self::Credential(secret) = self else { return None };
        match secret.kind() {
            SecretKind::Agent => Some(AskedBy::Key(secret.hash())),
            SecretKind::Session => Some(AskedBy::Session(secret.hash())),
            _ => None,
        }
    }

    /// What a visitor of an app is let in by.
    #[must_use]
    pub fn of_visitor(participant: Option<&Arc<Participant>>) -> Self {
        participant.map_or(Self::Unbounded, |one| Self::Visitor(Arc::clone(one)))
    }

    /// Completes with the refusal once it is no longer good.
    pub async fn over(&self, state: &AppState) -> Error {
        // After each end it may still be good: accounts are loaded anew after a crash, and a human
        // may have left another app.
        loop {
            match self {
                Self::Unbounded => return pending().await,
                Self::Credential(secret) => match state.authenticator.watch(secret) {
                    Ok(Some(end)) => end.cancelled().await,
                    Ok(None) => return resolve::invalid(),
                    Err(unavailable) => return unavailable,
                },
                Self::Visitor(visitor) => {
                    let directory = &state.rooms.directory;
                    // The watch first, so that no end falls between.
                    let watch = directory.watch_visitor(visitor);
                    match (watch, directory.is_here(visitor).await) {
                        (Ok(watch), Ok(true)) => watch.ended().await,
                        (_, Ok(false)) => return token_invalid(),
                        (Err(unavailable), _) | (_, Err(unavailable)) => return unavailable,
                    }
                }
            }
        }
    }
}

impl FromRequestParts<AppState> for CredentialWatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let secret = match presented(&parts.headers, state) {
            Presented::Bearer(text) => Secret::parse(SecretKind::Agent, text),
            Presented::Session(text) => Secret::parse(SecretKind::Session, text),
            Presented::Malformed | Presented::Nothing => None,
        };
        Ok(secret.map_or(Self::Unbounded, Self::Credential))
    }
}
