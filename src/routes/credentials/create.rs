//! `POST /v1/apps/:id/credentials`: makes a service credential.

use std::{fmt, sync::Arc};

use axum::response::Response;
use rookery_actors::app::access_ops::{self, AccessOp};
use rookery_domain::{
    ErrorCode,
    access::Operation,
    agent_name::AgentName,
    credentials::{CollectionRights, Credential, Mode, Rights, Scope},
    id::CredentialId,
    limits::Limits,
    secret::{Secret, SecretKind},
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use utoipa::ToSchema;

use super::record::{CredentialBody, answered};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{
            BodyBound, RequestBody, StrictJson,
            strict::{optional_word, optional_words, word, words},
        },
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    openapi::words::{CredentialMode, CredentialOperation, CredentialScope},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] =
    &[ErrorCode::CollectionNotFound, ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// A service credential to be made. Unless `mode` is `following`, `collections` names at least one.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCredential {
    /// What humans call it, 1 to 100 characters.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// `explicit` (it reaches the collections that it names; so when left out) or `following` (it
    /// reaches every other one too, later ones included).
    #[serde(default, deserialize_with = "word")]
    #[schema(value_type = CredentialMode)]
    mode: Mode,
    /// The collections that it names: a name, or what it may do there.
    #[serde(default)]
    collections: Vec<Named>,
    /// What it may do in collections that are given as a name only, and with `following` in those
    /// that are not named: among `read`, `create`, `update`, `delete` and `count`.
    #[serde(default, deserialize_with = "words")]
    #[schema(value_type = Vec<CredentialOperation>, example = json!(["read"]))]
    operations: Vec<Operation>,
    /// For the same collections: `own` for rows that the credential created only, else `all`.
    #[serde(default, deserialize_with = "word")]
    #[schema(value_type = CredentialScope)]
    scope: Scope,
}

/// A collection that a credential names.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Named {
    /// It may do there what the credential may.
    Name(String),
    /// It may do there what this says.
    Rights(NewCollectionRights),
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamedVisitor)
    }
}

/// Unlike the derived reader of an untagged enum it says which member is wrong.
struct NamedVisitor;

impl<'de> Visitor<'de> for NamedVisitor {
    type Value = Named;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a collection's name, or an object with `name`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Named, E> {
        Ok(Named::Name(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Named, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(members)).map(Named::Rights)
    }
}

/// What a credential is to do in one collection.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCollectionRights {
    /// The collection.
    name: String,
    /// Among `read`, `create`, `update`, `delete` and `count`; those of the credential when left
    /// out.
    #[serde(default, deserialize_with = "optional_words")]
    #[schema(value_type = Option<Vec<CredentialOperation>>, example = json!(["read", "create"]))]
    operations: Option<Vec<Operation>>,
    /// `own` for rows that the credential created only, else `all`; that of the credential when
    /// left out.
    #[serde(default, deserialize_with = "optional_word")]
    #[schema(value_type = Option<CredentialScope>)]
    scope: Option<Scope>,
}

impl RequestBody for NewCredential {
    const BOUND: BodyBound = BodyBound::Small;

    fn check(&self, _: &Limits) -> rookery_domain::Result<()> {
        if let Some(name) = &self.name {
            AgentName::parse(name)?;
        }
        self.rights().check()
    }
}

impl NewCredential {
    fn rights(&self) -> Rights {
        let named = self.collections.iter().map(|named| match named {
            Named::Name(name) => CollectionRights {
                name: name.as_str().into(),
                operations: self.operations.clone(),
                scope: self.scope,
            },
            Named::Rights(rights) => CollectionRights {
                name: rights.name.as_str().into(),
                operations: rights.operations.as_ref().unwrap_or(&self.operations).clone(),
                scope: rights.scope.unwrap_or(self.scope),
            },
        });
        let (operations, scope) = match self.mode {
            Mode::Explicit => (Vec::new(), Scope::All),
            Mode::Following => (self.operations.clone(), self.scope),
        };
        Rights { mode: self.mode, collections: named.collect(), operations, scope }
    }
}

/// Makes a service credential, a bearer token for what it enumerates.
///
/// The token is shown this one time. What it may do is what the owner may, cut down to the
/// collections and operations that it names: beyond that it is `credential_scope_forbidden`, and
/// beyond what the owner may, the collection's own refusal. Without `read`, answers to its writes
/// show of `data` only the members that the request sent. `mode` is `explicit` (only the collections that
/// it names; so when left out) or `following` (every other one too, later ones included); `scope` is `all`
/// or `own` (only rows that the credential itself created). A collection that the manifest does not
/// declare is `collection_not_found`. An app has at most 1,000 credentials: beyond them it is `conflict`.
#[utoipa::path(
    post, path = "/v1/apps/{id}/credentials", tag = "Sharing", request_body = NewCredential,
    params(IdempotencyKey),
    responses((status = 201, description = "The credential", body = CredentialBody)),
)]
pub async fn create(
    owner: AppOwner,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<NewCredential>,
) -> ApiResult<Response> {
    let AppOwner { app, caller, .. } = owner;
    // It stands beside what the credential may do, so it is held to what agents' names are.
    let name = body.name.as_deref().map(AgentName::parse).transpose()?;
    let secret = Secret::generate(SecretKind::Credential, &mut rand::rng());
    let new = access_ops::NewCredential {
        id: CredentialId::new(),
        name: name.map(|name| name.as_str().into()),
        rights: Arc::new(body.rights()),
        token: (&secret).into(),
    };
    let id = app.id();
    let shown = move |credential: &Arc<Credential>| Created {
        location: format!("/v1/apps/{id}/credentials/{}", credential.id),
        record: CredentialBody::of(credential, None, credential.created_at)
            .with_token(secret.expose().to_owned()),
    };
    let op = AccessOp::MintCredential(new).into();
    let what = ["POST credentials", &id.to_string()];
    let request = key.request(caller.principal(), &what, &body);
    answer_once(shown, |kept| app.idempotent(request, kept, caller, op, answered)).await
}
