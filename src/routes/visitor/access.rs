//! `/s/access`: what this visitor may do, so that a page shows only what will work.

use std::{collections::BTreeMap, sync::Arc};

use axum::Json;
use rookery_domain::{ErrorCode, access::Abilities};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::auth::visitor::AnyVisitor,
    openapi::words::{Ability, CreateAbility},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// What a visitor may do.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccessRecord {
    /// By collection.
    #[schema(value_type = BTreeMap<String, CollectionAccess>)]
    collections: BTreeMap<Arc<str>, CollectionAccess>,
}

/// What a visitor may do in one collection. Each is `all` (on every row), `creator` (on rows it
/// created), `editor` (on rows it wrote last), `creator_or_editor`, or `none`.
#[derive(Debug, Serialize, ToSchema)]
pub struct CollectionAccess {
    /// Get, list and follow.
    #[schema(value_type = Ability)]
    read: &'static str,
    /// Create.
    #[schema(value_type = CreateAbility)]
    write: &'static str,
    /// Update, as far as it also reads the row.
    #[schema(value_type = Ability)]
    update: &'static str,
    /// Delete, as far as it also reads the row.
    #[schema(value_type = Ability)]
    delete: &'static str,
    /// Count.
    #[schema(value_type = Ability)]
    count: &'static str,
}

impl From<Abilities> for CollectionAccess {
    fn from(abilities: Abilities) -> Self {
        let Abilities { read, write, update, delete, count } = abilities;
        Self {
            read: read.as_str(),
            write: write.as_str(),
            update: update.as_str(),
            delete: delete.as_str(),
            count: count.as_str(),
        }
    }
}

/// What may I do?
///
/// Each request is decided anew: this says what would be answered now. A visitor without a token is told what
/// it may do once `POST /s/session` has given it one.
#[utoipa::path(get, path = "/s/access", tag = "Participants", operation_id = "participant_access",
    responses(
        (status = 200, description = "What whoever asks may do, by collection", body = AccessRecord),
    ))]
pub async fn access(visitor: AnyVisitor) -> ApiResult<Json<AccessRecord>> {
    let abilities = visitor.app.abilities(&visitor.caller).await?;
    let collections = abilities.into_iter().map(|(name, may)| (name, may.into())).collect();
    Ok(Json(AccessRecord { collections }))
}
