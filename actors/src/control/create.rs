//! Making an app: record, first version and first rows in one transaction; its slot is born
//! dormant.

use std::{collections::BTreeMap, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Principal, Result, Timestamp,
    advisory::{Difference, Report},
    app::{AppRecord, AppStatus},
    id::{AgentId, AppId, HistoryId, HumanId, OrgId},
    json::Object,
    manifest::{Manifest, Visibility},
    slug,
};
use rookery_storage::{
    StorageError,
    apps::{
        self,
        create::{self, CreateOutcome, NewApp},
    },
    commit::{NewVersion, Totals},
    idempotency_global::{self, NewAnswer, StoredAnswer},
};
use serde_json::json;

use super::{Bundle, Control, draft, to_the_end};
use crate::{
    app::root::CollectionCounts,
    registry::{AppHandle, failed},
};

/// Slugs that are drawn before a request without one is refused.
const SLUGS_TRIED_MAX: usize = 8;

/// A request to make an app.
pub struct CreateApp {
    /// The account it will belong to.
    pub owner: HumanId,
    /// The organization that it will belong to; the account must be an admin of it.
    pub org: Option<OrgId>,
    /// The agent that deploys it.
    pub agent: Option<AgentId>,
    /// How records name the deployer.
    pub by: Principal,
    /// Its files and settings.
    pub bundle: Bundle,
    /// The slug it shall have; drawn when absent.
    pub slug: Option<String>,
    /// Its first rows by collection.
    pub input_data: BTreeMap<String, Vec<SeedRow>>,
    /// Check everything and change nothing.
    pub dry_run: bool,
    /// Makes the answer to keep for an idempotency key, in the transaction that makes the app.
    pub answer: Option<FirstAnswer>,
}

/// How the answer of a first request is kept for its idempotency key.
pub struct FirstAnswer {
    /// SHA-256 of principal, route and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
    /// Answers older than this are forgotten.
    pub not_before: Timestamp,
    /// Renders status, `Location` and body, without secrets.
    pub render: Box<Render>,
}

/// Renders status, `Location` and body of an answer.
pub type Render = dyn Fn(&Created) -> (u16, Option<String>, String) + Send + Sync;

/// One of an app's first rows.
#[derive(Debug, Clone)]
pub struct SeedRow {
    /// Its key; drawn when absent.
    pub key: Option<Box<str>>,
    /// Its data.
    pub data: Object,
}

/// An app that was made, or would be.
#[derive(Debug, Clone)]
pub struct Created {
    /// Its record.
    pub record: Arc<AppRecord>,
    /// Its collections with their rows.
    pub collections: Vec<CollectionCounts>,
    /// Totals of the rows.
    pub totals: Totals,
    /// JSON pointers of manifest rules that are valid but not active yet.
    pub inactive: Vec<String>,
    /// For a dry run: what it opens to people that the owner does not know.
    pub exposure: Option<Difference>,
    /// The first answer to replay, when the idempotency key was used before.
    pub replayed: Option<StoredAnswer>,
}

impl Control {
    /// Makes an app.
    ///
    /// # Errors
    /// Every code of part 2.2; `slug_not_allowed_for_link`, `slug_taken`, `payload_too_large`,
    /// `collection_not_found`, `input_schema_violation`, `unique_conflict`, `app_quota_exceeded`,
    /// `account_quota_exceeded`; `conflict` for an idempotency key used with another body.
    pub async fn create(&self, request: CreateApp) -> Result<Created> {
        let control = self.clone();
        to_the_end(async move { control.make(request).await }).await
    }

    async fn make(&self, request: CreateApp) -> Result<Created> {
        let env = self.env();
        draft::check_sizes(&request.bundle, &env.limits)?;
        let id = AppId::new();
        let first = self.first_answer(&request).await?;
        let named = request.slug.is_some();
        if let Some(slug) = &request.slug {
            slug::check(slug)?;
        }
        if let Some(org) = request.org {
            self.check_admin(org, Some(request.owner))?;
        }
        let first_slug = request.slug.clone().unwrap_or_else(|| draw(None, 0));
        let host = format!("{first_slug}.{}", env.options.apps_domain);
        let text = request.bundle.manifest.clone().unwrap_or_else(|| "{}".to_owned()).into();
        let draft = draft::draft(env, text, &request.bundle, host, None).await?;
        let visibility = draft.visibility.unwrap_or_default();
        if named && visibility == Visibility::Link {
            return Err(Error::new(
                ErrorCode::SlugNotAllowedForLink,
                "`slug`: an app with visibility link gets its slug from the server",
            ));
        }
        let now = env.clock.now();
        let mut record = AppRecord {
            id,
            owner: request.owner,
            org: request.org,
            created_by: request.agent,
            slug: first_slug.into(),
            status: AppStatus::Live,
            visibility: Visibility::Private,
            timezone: draft.timezone.clone().unwrap_or_else(|| "UTC".into()),
            version: 1,
            share_hash: None,
            share_sealed: None,
            migration_until: None,
            unrestricted: false,
            retention: BTreeMap::new(),
            history: HistoryId::new(),
            created_at: now,
            updated_at: now,
            deleted_at: None,
            purge_at: None,
        };
        record.set_visibility(visibility, Some(self.share_token(id)));
        let seeds = self.seed(&request, &draft, now)?;
        let mut created = Created {
            record: Arc::new(record.clone()),
            collections: seeds.counts(&draft.manifest),
            totals: seeds.totals,
            inactive: draft.manifest.inactive.clone(),
            exposure: None,
            replayed: first,
        };
        if created.replayed.is_some() {
            return Ok(created);
        }
        let account = env.accounts.get(request.owner, &*env.store).await.map_err(failed)?;
        if request.dry_run {
            self.rehearse_create(&request).await?;
            account.check(seeds.totals.live, env.limits.max_rows_per_account)?;
            let report = Report::new(&draft.manifest, visibility, &seeds.evidence());
            let nothing = Report::new(&Manifest::default(), visibility, &BTreeMap::new());
            created.exposure = Some(nothing.difference(&report));
            return Ok(created);
        }
        let mut rows = account.reserve(seeds.totals.live, env.limits.max_rows_per_account)?;
        let version = NewVersion {
            number: 1,
            html: request.bundle.html.clone(),
            manifest: draft.manifest_text.clone(),
            assets: request.bundle.assets.clone().unwrap_or_default().into(),
            by: request.by,
            created_at: now,
            drop_through: 0,
        };
        for attempt in 0..SLUGS_TRIED_MAX {
            if !named {
                record.slug = draw(Some(visibility), attempt).into();
                created.record = Arc::new(record.clone());
            }
            let answer = request.answer.as_ref().map(|first| first.of(&created, now));
            let app = NewApp {
                record: record.clone(),
                version: version.clone(),
                rows: seeds.rows.clone(),
                events: seeds.events.clone(),
                totals: seeds.totals,
                apps_max: env.limits.max_apps_per_account,
                answer,
            };
            let outcome = create::create(&self.db, app).await;
            if matches!(outcome, Err(StorageError::MaybeCommitted(_))) {
                // Rather too many until the next start than too few: the app may be there.
                rows.keep();
            }
            match outcome.map_err(failed)? {
                CreateOutcome::Created => {
                    rows.keep();
                    self.apps.adopt(record)?;
                    return Ok(created);
                }
                CreateOutcome::SlugTaken if named => {
                    return Err(taken(&record.slug));
                }
                CreateOutcome::SlugTaken => {}
                CreateOutcome::QuotaReached => {
                    return Err(too_many_apps(env.limits.max_apps_per_account));
                }
                CreateOutcome::NoSuchAccount => {
                    return Err(Error::new(ErrorCode::Forbidden, "the account is closed"));
                }
                CreateOutcome::Answered(first) => {
                    let same = request.answer.is_some_and(|a| a.body_hash == first.body_hash);
                    if !same {
                        return Err(crate::app::answers::reused());
                    }
                    created.replayed = Some(first);
                    return Ok(created);
                }
            }
        }
        Err(Error::unavailable("no free slug was found"))
    }

    /// The answer that this request got before, by its idempotency key. A repeated request must
    /// find it before it meets a rule that the first one has changed the ground of: the slug is
    /// taken now, by the first one's app.
    async fn first_answer(&self, request: &CreateApp) -> Result<Option<StoredAnswer>> {
        let Some(answer) = &request.answer else { return Ok(None) };
        let found = idempotency_global::get(&self.db, answer.scope, answer.not_before)
            .await
            .map_err(failed)?;
        match found {
            Some(first) if first.body_hash != answer.body_hash => {
                Err(crate::app::answers::reused())
            }
            found => Ok(found),
        }
    }

    /// What only the transaction can be sure of, as far as it can be seen beforehand.
    async fn rehearse_create(&self, request: &CreateApp) -> Result<()> {
        let apps_max = self.env().limits.max_apps_per_account;
        let sums = apps::account_sums(&self.db, request.owner).await.map_err(failed)?;
        if sums.apps >= apps_max {
            return Err(too_many_apps(apps_max));
        }
        if let Some(slug) = &request.slug
            && apps::by_slug(&self.db, slug).await.map_err(failed)?.is_some()
        {
            return Err(taken(slug));
        }
        Ok(())
    }
}

impl FirstAnswer {
    fn of(&self, created: &Created, now: Timestamp) -> NewAnswer {
        let (status, location, body) = (self.render)(created);
        let answer =
            StoredAnswer { body_hash: self.body_hash, status, location, body, created_at: now };
        NewAnswer { scope: self.scope, answer, not_before: self.not_before }
    }
}

/// The `attempt`-th generated slug: words that can be said, or, for a link that must not be
/// guessed, random.
fn draw(visibility: Option<Visibility>, attempt: usize) -> String {
    match visibility {
        Some(Visibility::Link) => slug::generate_random(&mut rand::rng()),
        _ => slug::generate_words(attempt, &mut rand::rng()),
    }
}

fn taken(slug: &str) -> Error {
    Error::new(ErrorCode::SlugTaken, format!("`slug`: {slug:?} is already used"))
}

pub(crate) fn too_many_apps(max: u64) -> Error {
    Error::new(
        ErrorCode::AccountQuotaExceeded,
        format!("the account has {max} apps, which is its limit; deleted ones count until purged"),
    )
    .with_details(json!({"dimension": "apps", "limit": max}))
}

impl Control {
    /// The app that `created` is, for whoever goes on with it.
    ///
    /// # Errors
    /// As [`crate::Apps::find`].
    pub async fn handle(&self, created: &Created) -> Result<AppHandle> {
        self.apps.by_id(created.record.id).await
    }
}
