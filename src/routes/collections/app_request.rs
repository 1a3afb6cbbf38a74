//! Who asks which app, and the way of a write to it: with an idempotency key or without.

use std::sync::Arc;

use rookery_actors::{
    AppHandle,
    app::message::{Idempotency, Op, Renderer, Reply},
    directory::Participant,
};
use rookery_domain::{
    Error, ErrorCode, Result,
    idempotency::{IdempotentRequest, StoredResponse},
    principal::Caller,
    text::path_segment,
};
use sha2::{Digest as _, Sha256};

use crate::{
    http::auth::{
        credential_watch::CredentialWatch,
        permission::{Lifecycle, RowCaller, RowCallerBeyondAllowlist},
        visitor::{AnyVisitor, Visitor, is_by_former_link, token_invalid},
    },
    state::State,
};

/// The interface through which an app is asked: `Location` leads back there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The API, `/v1/apps/:id/collections`.
    Api,
    /// The app's own origin, `/s/collections`.
    Origin,
}

/// One request to an app: which one, who asks, and where.
#[derive(Debug, Clone)]
pub(crate) struct AppRequest {
    /// The app.
    pub(crate) app: AppHandle,
    /// Who asks.
    pub(crate) caller: Caller,
    /// Where.
    pub(crate) surface: Surface,
    /// The participant, of a visitor that has a token.
    pub(crate) participant: Option<Arc<Participant>>,
}

impl<L: Lifecycle> From<RowCaller<L>> for AppRequest {
    fn from(RowCaller { app, caller, .. }: RowCaller<L>) -> Self {
        Self { app, caller, surface: Surface::Api, participant: None }
    }
}

impl<L: Lifecycle> From<RowCallerBeyondAllowlist<L>> for AppRequest {
    fn from(RowCallerBeyondAllowlist { app, caller, .. }: RowCallerBeyondAllowlist<L>) -> Self {
        Self { app, caller, surface: Surface::Api, participant: None }
    }
}

impl From<Visitor> for AppRequest {
    fn from(Visitor { app, caller, participant }: Visitor) -> Self {
        let participant = Some(participant);
        Self { app, caller, surface: Surface::Origin, participant }
    }
}

impl From<AnyVisitor> for AppRequest {
    fn from(AnyVisitor { app, caller, participant, .. }: AnyVisitor) -> Self {
        Self { app, caller, surface: Surface::Origin, participant }
    }
}

/// A write whose first response may have been given already.
#[derive(Debug, Clone)]
pub(crate) struct Write<'a> {
    /// What the path names behind the app: `collections`, `batch`, `events`.
    pub(crate) route: &'static str,
    /// The collection, where there is one.
    pub(crate) collection: Option<&'a str>,
    /// The caller's `Idempotency-Key`.
    pub(crate) key: Option<&'a str>,
    /// The body as it came.
    pub(crate) body: &'a [u8],
    /// Renders the answer to keep, where the app cannot.
    pub(crate) render: Option<Renderer>,
}

impl AppRequest {
    /// The path that a row's key is appended to.
    pub(crate) fn rows_path(&self, collection: &str) -> String {
        match self.surface {
            Surface::Api => {
                format!("/v1/apps/{}/collections/{}/", self.app.id(), path_segment(collection))
            }
            Surface::Origin => format!("/s/collections/{}/", path_segment(collection)),
        }
    }

    /// The path of the app's feed.
    pub(crate) fn feed_path(&self) -> String {
        match self.surface {
            Surface::Api => format!("/v1/apps/{}/feed", self.app.id()),
            Surface::Origin => "/s/feed".to_owned(),
        }
    }

    /// What a request that waits was let in by: a visitor by its token alone, whatever else was
    /// `presented`.
    pub(crate) fn watch(&self, presented: CredentialWatch) -> CredentialWatch {
        match self.surface {
            Surface::Api => presented,
            Surface::Origin => CredentialWatch::of_visitor(self.participant.as_ref()),
        }
    }

    /// Checks that whoever asked has not left meanwhile: for requests that wait.
    ///
    /// # Errors
    /// `participant_token_invalid`; `unavailable` when storage does not answer.
    pub(crate) async fn check_still_here(&self, state: &State) -> Result<()> {
        match &self.participant {
            Some(participant) if !state.rooms.directory.is_here(participant).await? => {
                Err(token_invalid())
            }
            _ => Ok(()),
        }
    }

    /// What somebody is told whom the app refuses in the middle of a wait: the same as with the next
    /// request. A member's visits end a moment after the membership: also between the two it is no
    /// stranger.
    pub(crate) fn shown_out(&self, refusal: Error) -> Error {
        if refusal.code != ErrorCode::Unauthorized {
            return refusal;
        }
        match (&self.participant, &self.caller) {
            (Some(visitor), _) if visitor.came_by.human().is_some() => token_invalid(),
            (Some(visitor), _) if is_by_former_link(&self.app, visitor) => Error::link_ended(),
            (None, Caller::Human { .. }) => Error::app_not_found(),
            _ => refusal,
        }
    }

    /// What makes a write the same as an earlier one, if it has a key.
    fn idempotent(&self, write: &Write<'_>) -> Option<IdempotentRequest> {
        let key = write.key?;
        let (principal, id) = (self.caller.principal(), self.app.id().to_string());
        let place = match self.surface {
            Surface::Api => "api",
            Surface::Origin => "origin",
        };
        let collection = write.collection.unwrap_or_default();
        let what = [place, write.route, &id, collection, key];
        Some(IdempotentRequest::new(principal, &what, Sha256::digest(write.body).into()))
    }

    /// The first response to a write that was answered before, as far as it is durable.
    ///
    /// # Errors
    /// `conflict` when the key came with another body; `unavailable`.
    pub(crate) async fn first_response(&self, write: &Write<'_>) -> Result<Option<StoredResponse>> {
        match self.idempotent(write) {
            Some(request) => self.app.first_response(&request).await,
            None => Ok(None),
        }
    }

    /// Has the app do `op`, unless the same request was answered before.
    ///
    /// # Errors
    /// What the app answers; `conflict` when the key came with another body.
    pub(crate) async fn write(&self, op: Op, write: Write<'_>) -> Result<Reply> {
        let (caller, bytes) = (self.caller.clone(), write.body.len());
        let Some(request) = self.idempotent(&write) else {
            return self.app.apply_with(caller, op, None, bytes).await;
        };
        let idempotency = Idempotency {
            request,
            collection: write.collection.map(Into::into),
            location_base: write
                .collection
                .map_or_else(|| self.feed_path(), |name| self.rows_path(name)),
            render: write.render,
        };
        // Boxed: few ask for it, and its state is larger than a write's.
        Box::pin(self.app.apply_idempotent(caller, op, idempotency, bytes)).await
    }
}
