//! Making an app: record, first version and first rows in one transaction; its slot is born
//! dormant. What is not here: how what was sent is checked (`draft`, `seed`).

use std::{collections::BTreeMap, mem, sync::Arc};

use rookery_domain::{
    Error, ErrorCode, Principal, Result,
    advisory::{Difference, Report},
    app::{AppRecord, AppStatus},
    id::{AgentId, AppId, HistoryId, HumanId, OrgId},
    idempotency::{Idempotent, IdempotentRequest, Kept, StoredResponse},
    json::EMPTY_OBJECT,
    limits::AppsMax,
    manifest::{Manifest, Visibility, Warning},
    retention, slug,
};
use rookery_storage::{
    StorageError,
    apps::{
        self, CollectionCounts, KeptCounts,
        create::{self, CreateOutcome, NewApp},
        room::{self, FullOf},
    },
    commit::Totals,
    idempotency::global::{self, NewResponse},
    versions::NewVersion,
};
use serde_json::json;

use super::{
    Bundle, Control,
    draft::{self, Draft},
    moving::Moving,
    seed::Seeds,
    to_the_end,
};
use crate::app::message::NewRow;

/// Slugs that are drawn before a request without one is refused.
const SLUGS_TRIED_MAX: usize = 8;

/// What is done about a slug that an app in one's own trash has.
const IN_TRASH: &str = "Restore the app at details.app with POST /v1/apps/:id/restore, purge it to free its slug, or choose another slug.";
/// What is done about a slug that an app of one's own has whose time in the trash is over.
const OVER: &str = "It is free for your account as soon as the app is destroyed, within ten minutes: try again then, or choose another slug.";
/// What is done about a slug that a closed app of one's own has.
const OF_CLOSED: &str =
    "Choose another slug: the app at details.app stays closed, and keeps its own.";
/// What is done about a slug that an app of a colleague has, in the organization, that is not live.
const OF_ORG: &str = "Choose another slug: the app at details.app keeps its own, and its owner gets it back should the app be destroyed.";
/// What is done about apps in the trash that count.
const TRASH_FULL: &str = "Purge apps in the trash with POST /v1/apps/:id/purge: GET /v1/apps?status=deleted lists them. Deleting another one would only move it there.";
/// What is done about a slug that an app of one's own has.
const IN_USE: &str =
    "Deploy over the app at details.app with POST /v1/apps/:id/versions, or choose another slug.";

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
    pub input_data: BTreeMap<String, Vec<NewRow>>,
    /// Check everything and change nothing.
    pub dry_run: bool,
    /// What makes it the same request as an earlier one, if it brought a key.
    pub idempotency: Option<IdempotentCreate>,
}

/// A creation that a repeated request does not do again.
pub struct IdempotentCreate {
    /// What makes it the same request.
    pub request: IdempotentRequest,
    /// What is stored of the response, in the transaction that makes the app.
    pub render: Kept<Created>,
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
    /// What the deploy accepts and may not do what was meant.
    pub warnings: Vec<Warning>,
    /// For a dry run: what it opens to people that the owner does not know.
    pub exposure: Option<Difference>,
}

/// An app to be made that has passed every rule but those that only the transaction can judge.
struct Prepared {
    record: AppRecord,
    draft: Draft,
    seeds: Seeds,
}

impl Prepared {
    fn created(&self) -> Created {
        let collections = self.seeds.counts(&self.draft.manifest);
        let outlived = collections.iter().filter_map(|first| self.outlived(first));
        Created {
            record: Arc::new(self.record.clone()),
            warnings: self.draft.warnings.iter().cloned().chain(outlived).collect(),
            totals: self.seeds.totals,
            exposure: None,
            collections,
        }
    }

    /// What is to be said of first rows that pruning takes: they are too many, as none is old.
    fn outlived(&self, first: &CollectionCounts) -> Option<Warning> {
        let decl = self.draft.manifest.collections.get(&*first.name)?;
        let bounds = retention::in_force(decl, &self.record.retention);
        let due = retention::rows_due(bounds, self.record.created_at, first.live, []);
        (due > 0).then(|| Warning::outlived(&first.name, due))
    }

    /// What storage is given of it, once it is `created`.
    fn new_app(&self, request: &CreateApp, created: &Created, apps_max: AppsMax) -> NewApp {
        NewApp {
            record: self.record.clone(),
            bounded: retention::is_bounded(&self.draft.manifest, &self.record.retention),
            version: NewVersion {
                number: 1,
                html: request.bundle.html.clone(),
                manifest: self.draft.manifest_text.clone(),
                assets: request.bundle.assets.clone().unwrap_or_default().into(),
                by: request.by,
                created_at: self.record.created_at,
                drop_through: 0,
            },
            rows: self.seeds.rows.clone(),
            events: self.seeds.events.clone(),
            totals: self.seeds.totals,
            collections: KeptCounts::of(created.collections.iter().cloned()),
            apps_max,
            response: request.idempotency.as_ref().map(|keep| keep.of(created)),
        }
    }
}

impl Control {
    /// Makes an app.
    ///
    /// # Errors
    /// Every code of part 2.2; `slug_not_allowed_for_link`, `slug_taken`, `payload_too_large`,
    /// `collection_not_found`, `input_schema_violation`, `unique_conflict`, `app_quota_exceeded`,
    /// `account_quota_exceeded`, `rate_limited`; `unavailable` when checking the first rows takes too long;
    /// `conflict` for an idempotency key used with another body.
    pub async fn create(&self, request: CreateApp) -> Result<Idempotent<Created>> {
        let control = self.clone();
        to_the_end(async move {
            let key = request.idempotency.as_ref().map(|keep| keep.request);
            // The same request twice at once must not stand in its own way: its rows are reserved
            // before anybody can see its answer.
            let _held = match &key {
                Some(key) => Some(control.creating.hold(key.scope).await),
                None => None,
            };
            control.make(request).await
        })
        .await
    }

    async fn make(&self, mut request: CreateApp) -> Result<Idempotent<Created>> {
        draft::check_sizes(&request.bundle, &self.env().limits)?;
        if let Some(again) = self.first_response(&request).await? {
            return Ok(Idempotent::Replayed(again));
        }
        let (env, owner, bytes) = (self.env(), request.owner, request.bundle.bytes());
        if !request.dry_run {
            env.deployed.check(owner, env.limits.deployed_bytes_per_account)?;
        }
        let prepared = self.prepare(&mut request).await?;
        if request.dry_run {
            return self.rehearse_create(&request, prepared).await.map(Idempotent::Fresh);
        }
        let created = self.store(request, prepared).await?;
        if matches!(created, Idempotent::Fresh(_)) {
            env.deployed.add(owner, bytes);
        }
        Ok(created)
    }

    /// The response that this request got before, by its idempotency key. A repeated request must
    /// find it before it meets a rule that the first one has changed the ground of: the slug is
    /// taken now, by the first one's app.
    async fn first_response(&self, request: &CreateApp) -> Result<Option<StoredResponse>> {
        let Some(IdempotentCreate { request, .. }) = &request.idempotency else { return Ok(None) };
        let now = self.env().clock.now();
        let first = global::find(&self.db, request.scope, now).await?;
        first.map(|first| first.replay_for(request)).transpose()
    }

    /// Takes the first rows out of the request.
    async fn prepare(&self, request: &mut CreateApp) -> Result<Prepared> {
        let env = self.env();
        let id = AppId::new();
        if let Some(slug) = &request.slug {
            slug::check(slug)?;
        }
        if let Some(org) = request.org {
            env.orgs.check_admin(org, Some(request.owner))?;
        }
        let slug = request.slug.clone().unwrap_or_else(|| draw(None, 0));
        let target = draft::Target {
            owner: request.owner,
            host: env.options.app_hosts.of(&slug),
            domains: Vec::new(),
            visibility: None,
        };
        let text =
            request.bundle.manifest.clone().unwrap_or_else(|| EMPTY_OBJECT.to_owned()).into();
        let draft = draft::draft(env, text, &request.bundle, target).await?;
        let visibility = draft.visibility.unwrap_or_default();
        if request.slug.is_some() && visibility == Visibility::Link {
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
            slug: slug.into(),
            status: AppStatus::Live,
            visibility: Visibility::Private,
            timezone: draft.timezone.clone().unwrap_or_else(|| "UTC".into()),
            version: 1,
            share: None,
            migration_until: None,
            unrestricted: false,
            retention: BTreeMap::new(),
            history: HistoryId::new(),
            opened_seq: 0,
            created_at: now,
            updated_at: now,
            deleted_at: None,
            purge_at: None,
        };
        record.set_visibility(visibility, Some(self.share_token(id)));
        let (input, by) = (mem::take(&mut request.input_data), request.by);
        let row_bytes_max = env.limits.row_bytes_max;
        let prepare = move || {
            let seeds = Seeds::new(&input, &draft, by, row_bytes_max, now)?;
            Ok(Prepared { record, draft, seeds })
        };
        env.deciding.run(request.owner, prepare).await?
    }

    /// What would be made: checks what only the transaction can be sure of, as far as it can be
    /// seen beforehand.
    async fn rehearse_create(&self, request: &CreateApp, prepared: Prepared) -> Result<Created> {
        let seeds = &prepared.seeds;
        let limits = &self.env().limits;
        self.check_slug(request).await?;
        seeds.check_room(limits)?;
        let (app, apps_max) = (prepared.record.id, limits.apps_max());
        if let Some(of) = room::lacking(&self.db, request.owner, app, apps_max).await? {
            return Err(too_many_apps(of, apps_max));
        }
        let env = self.env();
        let account = env.accounts.get(request.owner, &*env.store).await?;
        account.check(seeds.totals.live, limits.max_rows_per_account)?;
        let rehearse = move || {
            let Prepared { record, draft, seeds } = &prepared;
            let report = Report::new(&draft.manifest, record.visibility, &seeds.evidence());
            let nothing = Report::new(&Manifest::default(), record.visibility, &BTreeMap::new());
            Created { exposure: Some(nothing.difference(&report)), ..prepared.created() }
        };
        env.rehearsing.run(request.owner, rehearse).await
    }

    /// What is said of a slug that an app has; which one, to whoever acts as its owner.
    async fn taken(&self, slug: &str, owner: HumanId) -> Error {
        let error = |message| Error::new(ErrorCode::SlugTaken, message);
        let found = self.apps.find_until_destroyed(slug).await.map(|app| app.record());
        let own = found.ok().filter(|record| {
            *record.slug == *slug
                && self.env().orgs.acts_as_owner(record, Some(owner)).unwrap_or(false)
        });
        let (what, hint, app) = match own {
            Some(app) if app.owner != owner => {
                let hint = if app.status == AppStatus::Live { IN_USE } else { OF_ORG };
                ("an app of another account in your organization", hint, app)
            }
            Some(app) if app.is_over(self.env().clock.now()) => {
                ("an app of yours whose time in the trash is over", OVER, app)
            }
            Some(app) if app.status == AppStatus::Live => ("an app of yours", IN_USE, app),
            Some(app) if app.status == AppStatus::Deleted => {
                ("an app in your trash", IN_TRASH, app)
            }
            Some(app) if app.status == AppStatus::Closed => {
                ("an app of yours that was closed", OF_CLOSED, app)
            }
            _ => {
                let message = "is used, or was used by an app of somebody else";
                return error(format!("`slug`: {slug:?} {message}"));
            }
        };
        error(format!("`slug`: {slug:?} is that of {what}"))
            .with_hint(hint)
            .with_details(json!({"app": {"id": app.id, "slug": app.slug}}))
    }

    /// A slug that is taken is told before any quota; the transaction looks again.
    ///
    /// # Errors
    /// `slug_taken`.
    async fn check_slug(&self, request: &CreateApp) -> Result<()> {
        match &request.slug {
            Some(slug) if !apps::is_slug_free(&self.db, slug, request.owner).await? => {
                Err(self.taken(slug, request.owner).await)
            }
            _ => Ok(()),
        }
    }

    /// Makes the app, with a slug that is free.
    async fn store(
        &self,
        request: CreateApp,
        mut prepared: Prepared,
    ) -> Result<Idempotent<Created>> {
        let env = self.env();
        let (apps_max, rows_max) = (env.limits.apps_max(), env.limits.max_rows_per_account);
        if let Err(taken) = self.check_slug(&request).await {
            // By this very request, perhaps, which another server was sent.
            return self.first_response(&request).await?.map(Idempotent::Replayed).ok_or(taken);
        }
        prepared.seeds.check_room(&env.limits)?;
        let account = env.accounts.get(request.owner, &*env.store).await?;
        // Before rows are reserved, which others of the account then lack.
        let turn = Moving::turn(env, request.owner, prepared.seeds.totals.bytes).await?;
        let mut rows = account.reserve(prepared.seeds.totals.live, rows_max)?;
        for attempt in 0..SLUGS_TRIED_MAX {
            if request.slug.is_none() {
                prepared.record.slug = draw(Some(prepared.record.visibility), attempt).into();
            }
            let created = prepared.created();
            let app = prepared.new_app(&request, &created, apps_max);
            let outcome = create::create(&self.db, app).await;
            if matches!(outcome, Err(StorageError::MaybeCommitted(_))) {
                // Rather too many until the next start than too few: the app may be there.
                rows.keep();
            }
            match outcome? {
                CreateOutcome::Created => {
                    rows.keep();
                    if let Some(turn) = turn {
                        turn.done();
                    }
                    // It is there, whatever becomes of this: the next look-up finds it too.
                    if let Err(error) = self.apps.adopt(prepared.record).await {
                        let app = created.record.id;
                        tracing::warn!(app.id = %app, %error, "a new app has no slot yet");
                    }
                    return Ok(Idempotent::Fresh(created));
                }
                CreateOutcome::SlugTaken if request.slug.is_some() => {
                    return Err(self.taken(&prepared.record.slug, request.owner).await);
                }
                CreateOutcome::SlugTaken => {}
                CreateOutcome::QuotaReached(of) => return Err(too_many_apps(of, apps_max)),
                CreateOutcome::NoSuchAccount => return Err(account_closed()),
                CreateOutcome::Answered(first) => {
                    // Only a request with a key is answered so.
                    let keep = request.idempotency.as_ref();
                    let keep = keep.ok_or_else(Error::internal)?;
                    return first.replay_for(&keep.request).map(Idempotent::Replayed);
                }
            }
        }
        Err(Error::unavailable("no free slug was found"))
    }
}

impl IdempotentCreate {
    fn of(&self, created: &Created) -> NewResponse {
        let now = created.record.created_at;
        NewResponse { request: self.request, response: (self.render)(created), now }
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

pub(crate) fn account_closed() -> Error {
    Error::new(ErrorCode::Forbidden, "the account that owns the app is closed")
}

/// What is said of an account that has no room for one more app, because it is full of `of`.
pub(crate) fn too_many_apps(of: FullOf, max: AppsMax) -> Error {
    let AppsMax { kept, trashed } = max;
    let refused = |message| {
        Error::new(ErrorCode::AccountQuotaExceeded, message)
            .with_details(json!({"dimension": "apps", "limit": kept}))
    };
    match of {
        FullOf::Apps => {
            refused(format!("the account may have {kept} apps, and has room for no more"))
        }
        FullOf::Trash => refused(format!(
            "the account may have {kept} apps, and those in its trash beyond {trashed} count too"
        ))
        .with_hint(TRASH_FULL),
    }
}
