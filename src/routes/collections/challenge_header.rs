//! What came with a write as the answer to a challenge, and what is known of it before the app
//! decides.

use std::net::IpAddr;

use rookery_domain::{Result, challenge::ChallengeAnswer};

use super::app_request::{AppRequest, Surface, Write};
use crate::state::AppState;

/// The challenge header of a request, not looked at yet.
pub(crate) struct ChallengeHeader {
    /// Its value.
    pub(crate) token: Option<Box<str>>,
    /// Who sent it.
    pub(crate) address: IpAddr,
    /// Where the provider is.
    pub(crate) state: AppState,
}

impl ChallengeHeader {
    /// What the app is to judge `write` by. A visitor's token goes to the provider, where there is
    /// one, and only for a write that comes as far as the challenge: the provider spends a token by
    /// looking at it, and one that is repeated has its answer already. Whoever asks through `/v1` is a
    /// program and has no widget.
    ///
    /// # Errors
    /// `unavailable` when the provider does not answer; those of [`AppRequest::first_response`].
    pub(crate) async fn evidence(
        self,
        request: &AppRequest,
        collection: &str,
        write: &Write<'_>,
    ) -> Result<Option<ChallengeAnswer>> {
        let Self { token, address, state } = self;
        let Some(token) = token else { return Ok(None) };
        let provider = state.siteverify.as_deref().filter(|_| request.surface == Surface::Origin);
        let Some(provider) = provider else { return Ok(Some(ChallengeAnswer::Work(token))) };
        if !request.app.would_ask_for_challenge(&request.caller, collection).await
            || request.first_response(write).await?.is_some()
        {
            return Ok(Some(ChallengeAnswer::Refused("was not looked at")));
        }
        let slug = request.app.record().slug.to_string();
        let names = state.rooms.domains().names(request.app.id());
        let is_own = |host: &str| {
            state.origins.is_host_of(host, &slug) || names.iter().any(|name| **name == *host)
        };
        provider.judge(&token, address, is_own, state.clock.now()).await.map(Some)
    }
}
