//! The record of an offer, for both sides.

use std::sync::Arc;

use rookery_actors::{
    Directory,
    control::{Offer, TransferContents},
    directory::Human,
};
use rookery_domain::{
    Timestamp,
    id::{AppId, HumanId, TransferId},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce, openapi::ids, routes::apps::record::MigrationModeBody,
    state::State,
};

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
    /// What goes over with the app, as it is now.
    pub comes_with: ComesWith,
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
    /// Its name, as others are shown it: one that it has chosen itself.
    pub name: Option<String>,
    /// Its address; null unless it is proven.
    #[schema(format = Email)]
    pub email: Option<String>,
}

impl OfferedBy {
    /// The account `id`, which is this human's.
    #[must_use]
    pub fn of(id: HumanId, human: Option<&Human>) -> Self {
        let email = human.and_then(Human::proven_email).map(str::to_owned);
        Self { id, name: human.map(Directory::display_name), email }
    }
}

/// What goes over with an offered app, and what does not. Preview links never do: they end.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct ComesWith {
    /// Members, without the one that it is offered to.
    pub members: u64,
    /// Grant links that have not ended.
    pub grant_links: u64,
    /// Service credentials that are not revoked.
    pub service_credentials: u64,
    /// Whether it has a share link, which whoever has it, the former owner too, goes on getting in by.
    pub share_link: bool,
    /// Custom domains, those that are not proven yet too.
    pub custom_domains: u64,
    /// Migration mode, which goes on until its time is over.
    pub migration_mode: MigrationModeBody,
    /// Whether it leaves an organization, whose admins act for it no more.
    pub leaves_organization: bool,
}

impl ComesWith {
    fn of(state: &State, offer: &Offer) -> Self {
        let TransferContents { members, grants, credentials, domains } = offer.along;
        Self {
            members,
            grant_links: grants,
            service_credentials: credentials,
            share_link: offer.record.share.is_some(),
            custom_domains: domains,
            migration_mode: MigrationModeBody::of(&offer.record, state.clock.now()),
            leaves_organization: offer.record.org.is_some(),
        }
    }
}

impl TransferBody {
    /// The record of `offer`.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn of(state: &State, offer: &Offer) -> rookery_domain::Result<Self> {
        let human = state.rooms.directory.human(offer.transfer.offered_by)?;
        let by = OfferedBy::of(offer.transfer.offered_by, human.as_deref());
        Ok(Self::new(state, offer, by))
    }

    /// The record of `offer`, which this account makes.
    #[must_use]
    pub fn new(state: &State, offer: &Offer, offered_by: OfferedBy) -> Self {
        let Offer { transfer, record, .. } = offer;
        Self {
            id: transfer.id,
            status: "pending",
            app: OfferedApp {
                id: record.id,
                slug: record.slug.clone(),
                url: state.app_url(record.id, &record.slug),
            },
            email: transfer.email.clone(),
            offered_by,
            comes_with: ComesWith::of(state, offer),
            created_at: transfer.created_at,
        }
    }
}

impl ShownOnce for TransferBody {
    fn without_secrets(self) -> Self {
        self
    }
}
