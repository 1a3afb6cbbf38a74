//! Making an app: record, first version and first rows in one transaction; its slot is born
//! dormant.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Principal, Result, Timestamp,
    app::{AppRecord, AppStatus},
    event::{Event, EventType, RowChange},
    id::{AgentId, AppId, HistoryId, HumanId, RowId},
    json::Object,
    manifest::Visibility,
    row::Row,
    slug,
    unique::UniqueKey,
};
use rookery_storage::{
    apps::create::{self, CreateOutcome, NewApp},
    commit::{NewVersion, RowState, RowWrite, Totals},
    idempotency_global::{NewAnswer, StoredAnswer},
};
use serde_json::json;

use super::{Bundle, Control, draft, to_the_end};
use crate::{
    app::decide::violated,
    registry::{AppHandle, failed},
};

/// Slugs that are drawn before a request without one is refused.
const SLUGS_TRIED_MAX: usize = 8;

/// A request to make an app.
pub struct CreateApp {
    /// The account it will belong to.
    pub owner: HumanId,
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

/// Makes status, `Location` and body of the answer that is kept.
pub type RenderFirst = Box<dyn Fn(&Created) -> (u16, Option<String>, String) + Send>;

/// How the answer of a first request is kept for its idempotency key.
pub struct FirstAnswer {
    /// SHA-256 of principal, route and key.
    pub scope: [u8; 32],
    /// SHA-256 of the body.
    pub body_hash: [u8; 32],
    /// Answers older than this are forgotten.
    pub not_before: Timestamp,
    /// Renders status, `Location` and body, without secrets.
    pub render: RenderFirst,
}

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
    /// Rows by collection.
    pub rows: BTreeMap<Arc<str>, u64>,
    /// Totals of the rows.
    pub totals: Totals,
    /// JSON pointers of manifest rules that are valid but not active yet.
    pub inactive: Vec<String>,
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
        let named = request.slug.is_some();
        if let Some(slug) = &request.slug {
            slug::check(slug)?;
        }
        let first_slug = request.slug.clone().unwrap_or_else(|| draw(None));
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
            rows: seeds.counts,
            totals: seeds.totals,
            inactive: draft.manifest.inactive.clone(),
            replayed: None,
        };
        let account = env.accounts.get(request.owner, &*env.store).await.map_err(failed)?;
        if request.dry_run {
            if account.rows() + seeds.totals.live > env.limits.max_rows_per_account {
                account.reserve(u64::MAX >> 1, env.limits.max_rows_per_account)?;
            }
            return Ok(created);
        }
        account.reserve(seeds.totals.live, env.limits.max_rows_per_account)?;
        let version = NewVersion {
            number: 1,
            html: request.bundle.html.clone(),
            manifest: draft.manifest_text.clone(),
            assets: request.bundle.assets.clone().unwrap_or_default().into(),
            by: request.by,
            created_at: now,
            drop_through: 0,
        };
        for _ in 0..SLUGS_TRIED_MAX {
            if !named {
                record.slug = draw(Some(visibility)).into();
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
            if !matches!(outcome, Ok(CreateOutcome::Created)) {
                account.add(-(seeds.totals.live as i64));
            }
            match outcome.map_err(failed)? {
                CreateOutcome::Created => {
                    self.apps.adopt(record)?;
                    return Ok(created);
                }
                CreateOutcome::SlugTaken if named => {
                    return Err(Error::new(
                        ErrorCode::SlugTaken,
                        format!("`slug`: {:?} is already used", &*record.slug),
                    ));
                }
                CreateOutcome::SlugTaken => {
                    account.reserve(seeds.totals.live, env.limits.max_rows_per_account)?;
                }
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

    /// The first rows and events, checked like rows that are written later.
    fn seed(&self, request: &CreateApp, draft: &draft::Draft, now: Timestamp) -> Result<Seeds> {
        let limits = &self.env().limits;
        let mut seeds = Seeds::default();
        let mut seq = 1;
        let data = json!({"version": 1}).to_string();
        let deployed = Event {
            seq,
            kind: EventType::AppDeployed,
            at: now,
            by: request.by,
            change: None,
            data: Some(data.into()),
            silent: false,
        };
        seeds.events.push(Arc::new(deployed));
        for (name, rows) in &request.input_data {
            let decl = draft.manifest.collection(name)?;
            let schema = draft.schemas.get(&decl.name);
            let (mut keys, mut held) = (HashSet::new(), HashSet::new());
            for (index, seed) in rows.iter().enumerate() {
                let at = format!("input_data.{name}[{index}]");
                let data = &seed.data;
                if data.text().len() > limits.row_bytes_max {
                    return Err(Error::new(
                        ErrorCode::PayloadTooLarge,
                        format!("`{at}.data` is larger than {} bytes", limits.row_bytes_max),
                    ));
                }
                if let Some(schema) = schema {
                    schema.validate(data.value()).map_err(|violations| {
                        let what = format!("`{at}` does not fit the schema of `{name}`");
                        violated(ErrorCode::InputSchemaViolation, &what, &violations)
                    })?;
                }
                let key = seed.key.clone().unwrap_or_else(|| RowId::new().to_string().into());
                if !keys.insert(key.clone()) {
                    return Err(Error::invalid(format!("`{at}.key`: {key:?} occurs twice")));
                }
                for field in &decl.unique {
                    let form = UniqueKey::of_field(data.value(), field);
                    if form.is_some_and(|form| !held.insert((field.clone(), form))) {
                        return Err(Error::new(
                            ErrorCode::UniqueConflict,
                            format!("`{at}`: another row holds this value of `{field}`"),
                        )
                        .with_details(json!({"field": &**field})));
                    }
                }
                seq += 1;
                let at = Timestamp(now.0 + seq as i64);
                let row = Arc::new(Row {
                    key,
                    data: data.text().into(),
                    version: 1,
                    creator: request.by,
                    editor: request.by,
                    created_at: at,
                    updated_at: at,
                });
                seeds.put(decl.name.clone(), row, seq);
            }
        }
        let Totals { live, bytes, .. } = seeds.totals;
        for (dimension, has, max) in [
            ("rows", live, limits.max_rows_per_app),
            ("storage_bytes", bytes, limits.max_storage_bytes_per_app),
        ] {
            if has > max {
                return Err(Error::new(
                    ErrorCode::AppQuotaExceeded,
                    format!("`input_data` has {has} {dimension}; an app holds at most {max}"),
                )
                .with_details(json!({"dimension": dimension, "limit": max})));
            }
        }
        Ok(seeds)
    }
}

#[derive(Default)]
struct Seeds {
    rows: Vec<RowWrite>,
    events: Vec<Arc<Event>>,
    counts: BTreeMap<Arc<str>, u64>,
    totals: Totals,
}

impl Seeds {
    fn put(&mut self, collection: Arc<str>, row: Arc<Row>, seq: u64) {
        self.totals.live += 1;
        self.totals.bytes += row.stored_bytes();
        *self.counts.entry(collection.clone()).or_default() += 1;
        let change =
            RowChange { collection: collection.clone(), row: row.clone(), previous_editor: None };
        self.events.push(Arc::new(Event {
            seq,
            kind: EventType::RowCreated,
            at: row.created_at,
            by: row.creator,
            change: Some(change),
            data: None,
            silent: false,
        }));
        self.rows.push(RowWrite { collection, row, state: RowState::Live });
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

/// A generated slug: words that can be said, or, for a link that must not be guessed, random.
fn draw(visibility: Option<Visibility>) -> String {
    match visibility {
        Some(Visibility::Link) => slug::generate_random(&mut rand::rng()),
        _ => slug::generate_words(&mut rand::rng()),
    }
}

fn too_many_apps(max: u64) -> Error {
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
