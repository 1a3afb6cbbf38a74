//! The record of a service credential.

use std::sync::Arc;

use rookery_actors::{
    AppHandle,
    app::{
        access_ops::{AccessOp, AccessReply},
        message::Reply,
    },
};
use rookery_domain::{
    Principal, Result, Timestamp,
    access::Operation,
    credentials::{Credential, CredentialStatus, Mode, Scope},
    id::CredentialId,
    principal::Caller,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, shapes::PrincipalRecord, words},
    state::AppState,
};

/// A service credential.
#[derive(Clone, Serialize, ToSchema)]
pub struct CredentialBody {
    /// Its id.
    #[schema(value_type = ids::CredentialId)]
    id: CredentialId,
    /// What humans call it.
    #[schema(value_type = Option<String>)]
    name: Option<Arc<str>>,
    /// The beginning of its token.
    #[schema(value_type = String, example = "rk_cred_Ab12Cd")]
    prefix: Arc<str>,
    /// Whether it works.
    #[schema(value_type = words::CredentialStatus)]
    status: CredentialStatus,
    /// `explicit`: it reaches the collections that it names. `following`: it reaches every other
    /// one too, later ones included.
    #[schema(value_type = words::CredentialMode)]
    mode: Mode,
    /// The collections that it names.
    collections: Vec<CollectionRightsBody>,
    /// With `following`: what it may do in every other collection.
    #[schema(value_type = Vec<words::CredentialOperation>)]
    operations: Vec<Operation>,
    /// With `following`: `own` for rows that it created only, else `all`.
    #[schema(value_type = words::CredentialScope)]
    scope: Scope,
    /// Who made it.
    #[schema(value_type = PrincipalRecord)]
    created_by: Principal,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When its status or its token changed last.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// The token, in the one answer that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Until when the token before this one works, while it does: after a rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    previous_token_expires_at: Option<Timestamp>,
}

/// What a credential may do in one collection.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CollectionRightsBody {
    /// The collection.
    #[schema(value_type = String)]
    name: Arc<str>,
    /// What it may do there.
    #[schema(value_type = Vec<words::CredentialOperation>)]
    operations: Vec<Operation>,
    /// `own` for rows that the credential created only, else `all`.
    #[schema(value_type = words::CredentialScope)]
    scope: Scope,
}

impl CredentialBody {
    /// The record, without its token. `previous_ends_at` is when the token before ends, or has ended.
    #[must_use]
    pub fn of(
        credential: &Credential,
        previous_ends_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let rights = &credential.rights;
        let named = rights.collections.iter().map(|one| CollectionRightsBody {
            name: one.name.clone(),
            operations: one.operations.clone(),
            scope: one.scope,
        });
        Self {
            id: credential.id,
            name: credential.name.clone(),
            prefix: credential.prefix.clone(),
            status: credential.status,
            mode: rights.mode,
            collections: named.collect(),
            operations: rights.operations.clone(),
            scope: rights.scope,
            created_by: credential.created_by,
            created_at: credential.created_at,
            updated_at: credential.updated_at,
            token: None,
            previous_token_expires_at: previous_ends_at.filter(|end| *end > now),
        }
    }

    /// The record of a credential that the app has answered with, without its token.
    #[must_use]
    pub fn answered(credential: &Credential, now: Timestamp) -> Self {
        Self::of(credential, credential.previous_ends_at(), now)
    }

    /// The record with its token.
    #[must_use]
    pub fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }
}

impl ShownOnce for CredentialBody {
    fn without_secrets(self) -> Self {
        Self { token: None, ..self }
    }
}

/// The credential that the app has answered with.
#[must_use]
pub fn answered(reply: &Reply) -> Option<Arc<Credential>> {
    match reply {
        Reply::Access(AccessReply::Credential(credential)) => Some(credential.clone()),
        _ => None,
    }
}

/// Has the app change a credential, and shows it. One that is revoked is `conflict`.
///
/// # Errors
/// `not_found`, `conflict`, and what else the app answers.
pub async fn change(
    state: &AppState,
    app: &AppHandle,
    caller: Caller,
    id: CredentialId,
    op: AccessOp,
) -> Result<CredentialBody> {
    match app.apply(caller, op.into()).await {
        Ok(Reply::Access(AccessReply::Credential(credential))) => {
            Ok(CredentialBody::answered(&credential, state.clock.now()))
        }
        Ok(other) => Err(other.unexpected()),
        Err(refused) => Err(state.rooms.control().explain_credential(app, id, refused).await),
    }
}
