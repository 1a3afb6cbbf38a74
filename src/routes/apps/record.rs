//! The app record (contract part 4): what every route about an app answers, in one home.

use std::{borrow::Cow, sync::Arc};

use rookery_actors::{
    AppHandle, Directory,
    control::{AppDetail, SharedCollection, ShownStatus},
};
use rookery_domain::{
    Error, Result, Timestamp,
    app::AppRecord,
    id::{AppId, HumanId, OrgId},
    manifest::{Visibility, Warning},
};
use rookery_storage::apps::CollectionCounts;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, words},
    state::AppState,
};

/// An app, without its rows.
#[derive(Clone, Serialize, ToSchema)]
pub struct AppRecordBody {
    /// Its id.
    #[schema(value_type = ids::AppId)]
    pub id: AppId,
    /// Its name in addresses.
    #[schema(value_type = String, example = "calm-maple-rook")]
    pub slug: Arc<str>,
    /// Where its page is.
    pub url: String,
    /// The link that lets visitors in while visibility is `link`; never in a replayed answer.
    pub share_url: Option<String>,
    /// `live` while an actor runs for it, `dormant` until the next request that needs its rows, `deleted`
    /// in the trash, `closed` by an operator for good.
    #[schema(value_type = words::StatusBody)]
    pub status: ShownStatus,
    /// Whether it is live but no actor runs for it: the next request that needs its rows wakes it.
    pub dormant: bool,
    /// The current version's number, from 1.
    pub version: u32,
    /// Who reaches its page.
    #[schema(value_type = words::VisibilityBody)]
    pub visibility: Visibility,
    /// IANA name; its days begin at midnight there.
    #[schema(value_type = String, example = "UTC")]
    pub timezone: Arc<str>,
    /// Whether the owner's row writes are silent.
    pub migration_mode: MigrationModeBody,
    /// Whether its page may talk to any internet service.
    pub unrestricted: bool,
    /// The custom domain that serves it: the oldest of those that work.
    pub domain: Option<String>,
    /// Domains that redirect to `domain`.
    pub domain_aliases: Vec<String>,
    /// The template that it was installed from.
    pub template: Option<String>,
    /// The account that it belongs to.
    pub owner: OwnerBody,
    /// The organization whose admins act as its owner.
    #[schema(value_type = Option<ids::OrgId>)]
    pub org_id: Option<OrgId>,
    /// Its collections: the declared ones, and those that only hold detached rows. A member is shown
    /// the declared ones in which it may do something.
    pub collections: Vec<CollectionBody>,
    /// What counts towards its quotas; null for a member.
    pub usage: Option<UsageBody>,
    /// When it was deployed first.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When the record or the version changed last; rows do not count.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When it went to the trash.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Timestamp>,
    /// From when on it may be destroyed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub purge_at: Option<Timestamp>,
}

/// Migration mode: row writes of the owner are marked `silent` in the feed and set off nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct MigrationModeBody {
    /// Whether it is on now.
    pub on: bool,
    /// Until when.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

impl MigrationModeBody {
    /// That of the app with this record.
    #[must_use]
    pub fn of(record: &AppRecord, now: Timestamp) -> Self {
        let until = record.migrates_until(now);
        Self { on: until.is_some(), until }
    }
}

/// The account that an app belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct OwnerBody {
    /// The human.
    #[schema(value_type = ids::HumanId)]
    pub id: HumanId,
    /// Its name as others are shown it: the one it has given, else what precedes the `@` of its
    /// address.
    #[schema(value_type = Option<String>)]
    pub name: Option<Arc<str>>,
    /// Its address where it is proven, in a human's own list of apps.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Email)]
    pub email: Option<Arc<str>>,
}

/// One collection in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CollectionBody {
    /// Its name.
    #[schema(value_type = String)]
    pub name: Arc<str>,
    /// Live rows; null for a member that may not count them.
    pub row_count: Option<u64>,
    /// Rows in the trash; null for a member.
    pub deleted_count: Option<u64>,
    /// Rows kept but not served, because a forced deploy left no place for them; null for a member.
    pub detached: Option<u64>,
}

/// What counts towards an app's quotas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct UsageBody {
    /// Rows: live and detached. Those in the trash do not count.
    pub rows: u64,
    /// Rows that it may have.
    pub rows_limit: u64,
    /// Bytes of their keys and data.
    pub storage_bytes: u64,
    /// Bytes that it may have.
    pub storage_bytes_limit: u64,
}

/// Something that a deploy accepted and that may not do what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct WarningBody {
    /// JSON pointer into the manifest; `/assets` is the list of files beside it.
    pub path: String,
    /// What is to be known about it.
    pub message: Cow<'static, str>,
}

impl From<Warning> for WarningBody {
    fn from(Warning { path, message }: Warning) -> Self {
        Self { path, message }
    }
}

impl From<CollectionCounts> for CollectionBody {
    fn from(counts: CollectionCounts) -> Self {
        let CollectionCounts { name, live, trashed, detached } = counts;
        Self { name, row_count: Some(live), deleted_count: Some(trashed), detached: Some(detached) }
    }
}

impl From<SharedCollection> for CollectionBody {
    fn from(SharedCollection { name, live }: SharedCollection) -> Self {
        Self { name, row_count: live, deleted_count: None, detached: None }
    }
}

impl AppRecordBody {
    /// The record without its share link.
    fn without_link(state: &AppState, detail: AppDetail, owner: OwnerBody) -> Self {
        let shown = detail.shown();
        let AppDetail { record, dormant: _, collections, totals } = detail;
        let limits = &state.config.limits;
        let (domain, aliases) = state.rooms.domains().addresses(record.id);
        Self {
            id: record.id,
            url: state.app_url(record.id, &record.slug),
            share_url: None,
            status: shown,
            dormant: shown == ShownStatus::Dormant,
            version: record.version,
            visibility: record.visibility,
            timezone: record.timezone.clone(),
            migration_mode: MigrationModeBody::of(&record, state.clock.now()),
            unrestricted: record.unrestricted,
            domain: domain.map(String::from),
            domain_aliases: aliases.into_iter().map(String::from).collect(),
            template: None,
            owner,
            org_id: record.org,
            collections: collections.into_iter().map(CollectionBody::from).collect(),
            usage: Some(UsageBody {
                rows: totals.rows(),
                rows_limit: limits.max_rows_per_app,
                storage_bytes: totals.bytes,
                storage_bytes_limit: limits.max_storage_bytes_per_app,
            }),
            created_at: record.created_at,
            updated_at: record.updated_at,
            deleted_at: record.deleted_at,
            purge_at: record.purge_at,
            slug: record.slug.clone(),
        }
    }

    /// The record for its owner's eyes.
    #[must_use]
    pub fn new(state: &AppState, detail: AppDetail, owner: OwnerBody) -> Self {
        let share_url = share_url(state, &detail.record);
        Self { share_url, ..Self::without_link(state, detail, owner) }
    }

    /// The record for a member's eyes: of what the app holds it tells what the member may know.
    #[must_use]
    pub fn of_member(
        state: &AppState,
        detail: AppDetail,
        owner: OwnerBody,
        shared: Vec<SharedCollection>,
    ) -> Self {
        let collections = shared.into_iter().map(CollectionBody::from).collect();
        Self { collections, usage: None, ..Self::without_link(state, detail, owner) }
    }

    /// The record of `app` as it is now. Wakes nothing.
    ///
    /// # Errors
    /// `unavailable` when storage does not answer; `app_not_found` when it has gone meanwhile.
    pub async fn of(state: &AppState, app: &AppHandle) -> Result<Self> {
        let detail = state.rooms.control().detail(app).await?;
        let owner = owner(state, detail.record.owner)?;
        Ok(Self::new(state, detail, owner))
    }

    /// The record of `app`, which this request has changed.
    ///
    /// # Errors
    /// As [`Self::of`], and never one that says that nothing was applied.
    pub async fn of_changed(state: &AppState, app: &AppHandle) -> Result<Self> {
        Self::of(state, app).await.map_err(Error::after_change)
    }
}

impl ShownOnce for AppRecordBody {
    fn without_secrets(self) -> Self {
        Self { share_url: None, ..self }
    }
}

/// The link that lets visitors into an app, while its visibility is `link`.
#[must_use]
pub fn share_url(state: &AppState, record: &AppRecord) -> Option<String> {
    let token = state.rooms.control().open_share_token(record)?;
    Some(format!("{}s/share/{token}", state.app_url(record.id, &record.slug)))
}

/// How records name an account.
///
/// # Errors
/// `unavailable` while accounts are being loaded.
pub fn owner(state: &AppState, id: HumanId) -> Result<OwnerBody> {
    let human = state.rooms.directory.human(id)?;
    let name = human.map(|human| Directory::display_name(&human).into());
    Ok(OwnerBody { id, name, email: None })
}

/// The same for whoever an app is shared with: a name is what somebody calls itself, so the proven
/// address stands beside it.
///
/// # Errors
/// `unavailable` while accounts are being loaded.
pub fn identified_owner(state: &AppState, id: HumanId) -> Result<OwnerBody> {
    let human = state.rooms.directory.human(id)?;
    let email = human.as_ref().and_then(|human| human.proven_email()).map(Arc::from);
    Ok(OwnerBody { email, ..owner(state, id)? })
}

/// Warnings as answers tell them.
#[must_use]
pub fn warnings(warnings: Vec<Warning>) -> Vec<WarningBody> {
    warnings.into_iter().map(WarningBody::from).collect()
}
