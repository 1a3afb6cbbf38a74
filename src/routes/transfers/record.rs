//! The record of an offer, for both sides.

use std::sync::Arc;

use rookery_actors::{Directory, control::Offer};
use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId, TransferId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{http::idempotency::ShownOnce, openapi::ids, state::State};

/// A pending offer of an app's ownership.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TransferBody {
    /// Its id.
    #[schema(value_type = ids::TransferId)]
    pub id: TransferId,
    /// Always `pending`: an offer that was accepted, declined or withdrawn is gone.
    #[schema(value_type = String, example = "pending")]
    pub status: &'static str,
    /// The app.
    pub app: OfferedApp,
    /// The address that it is offered to.
    #[schema(format = Email)]
    pub email: String,
    /// The account that offers it.
    pub offered_by: OfferedBy,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// An app that is offered.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OfferedApp {
    /// Its id.
    #[schema(value_type = ids::AppId)]
    pub id: AppId,
    /// Its slug.
    #[schema(value_type = String)]
    pub slug: Arc<str>,
    /// Where its page is.
    pub url: String,
}

/// The account that offers an app.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OfferedBy {
    /// The human.
    #[schema(value_type = ids::HumanId)]
    pub id: HumanId,
    /// Its name, as others are shown it.
    pub name: Option<String>,
}

impl TransferBody {
    /// The record of `offer`.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn of(state: &State, offer: &Offer) -> rookery_domain::Result<Self> {
        let human = state.rooms.directory.human(offer.transfer.offered_by)?;
        Ok(Self::new(state, offer, human.map(|human| Directory::display_name(&human))))
    }

    /// The record of `offer`, which the human of this name makes, as others are shown it.
    #[must_use]
    pub fn new(state: &State, Offer { transfer, record }: &Offer, name: Option<String>) -> Self {
        Self {
            id: transfer.id,
            status: "pending",
            app: OfferedApp {
                id: record.id,
                slug: record.slug.clone(),
                url: state.app_url(record.id, &record.slug),
            },
            email: transfer.email.clone(),
            offered_by: OfferedBy { id: transfer.offered_by, name },
            created_at: transfer.created_at,
        }
    }
}

impl ShownOnce for TransferBody {
    fn without_secrets(&self) -> Self {
        self.clone()
    }
}
