//! Deploying a version over an existing app: prepared here, decided by the app's actor against
//! its newest rows, or on its published state for a dry run. What is not here: how what was sent is
//! checked (`draft`), and what a version breaks ([`app::deploy`](crate::app::deploy)).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use rookery_domain::{
    Error, ErrorCode, Result,
    advisory::Difference,
    app::AppRecord,
    id::AppId,
    idempotency::{Idempotent, IdempotentRequest, Kept},
    manifest::{Collection, Manifest, Visibility, Warning},
    principal::Caller,
};
use rookery_storage::versions::{self, VersionAsset};
use tokio::time::timeout;

use super::{AppDetail, Bundle, Control, advisories, draft, moving::Moving, to_the_end};
use crate::{
    app::{
        deploy::{self, DeployPlan, DeployReport, DetachedRows, Expected},
        idempotency::{Lookup, evicted_too_often},
        message::{AppOp, Idempotency, Op, Reply},
        root::Withheld,
    },
    registry::AppHandle,
};

/// Versions that a deploy is prepared on before it gives way to another server of the same
/// database.
const ATTEMPTS_MAX: usize = 4;

/// A request to deploy a version.
#[derive(Debug, Clone)]
pub struct Redeploy {
    /// Who deploys.
    pub caller: Caller,
    /// Its files; what is left out is carried over from the current version.
    pub bundle: Bundle,
    /// How the app has to stand, where it depends on that.
    pub expected: Option<Expected>,
    /// Go on in spite of breaks.
    pub force: bool,
    /// Check everything and change nothing.
    pub dry_run: bool,
    /// What makes it the same request as an earlier one, if it brought a key.
    pub idempotency: Option<Idempotency>,
}

/// What a deploy did, or would do.
#[derive(Debug, Clone)]
pub struct Deployed {
    /// The app after it and before the next version (before it, for a dry run).
    pub detail: AppDetail,
    /// Who reaches the app after it.
    pub visibility: Visibility,
    /// What it did to versions and rows.
    pub report: DeployReport,
    /// For a dry run: what it changes in who can see and do what.
    pub exposure: Option<Difference>,
}

impl Deployed {
    fn new(detail: AppDetail, plan: &DeployPlan, report: DeployReport) -> Self {
        Self {
            visibility: plan.visibility.unwrap_or(detail.record.visibility),
            detail,
            report,
            exposure: None,
        }
    }

    /// A deploy that a repeated request does not do again, but is told of it what is `kept`.
    #[must_use]
    pub fn once(request: IdempotentRequest, kept: Kept<Self>) -> Idempotency {
        Idempotency::rendered(request, move |reply, root| {
            let report = match reply {
                Reply::Deployed(report) => DeployReport::clone(report),
                _ => DeployReport::default(),
            };
            let (detail, visibility) = (AppDetail::of_root(root), root.record.visibility);
            kept(&Self { detail, visibility, report, exposure: None })
        })
    }
}

impl Control {
    /// Deploys a version.
    ///
    /// # Errors
    /// Every code of part 2.2; `manifest_incompatible_redeploy`, `unique_backfill_conflict`,
    /// `payload_too_large`, `conflict`, `rate_limited`.
    pub async fn deploy(&self, app: &AppHandle, request: Redeploy) -> Result<Idempotent<Deployed>> {
        let (control, app) = (self.clone(), app.clone());
        to_the_end(async move { control.redeploy(&app, request).await }).await
    }

    async fn redeploy(&self, app: &AppHandle, request: Redeploy) -> Result<Idempotent<Deployed>> {
        draft::check_sizes(&request.bundle, &self.env().limits)?;
        // One at a time, rehearsals too: a plan holds all detached rows.
        let turn = app.slot.deploying.lock();
        let turn = timeout(self.env().options.request_timeout, turn).await;
        let busy = |_| Error::unavailable("other versions of this app are being deployed");
        let _turn = turn.map_err(busy)?;
        let mut last = Error::internal();
        for _ in 0..ATTEMPTS_MAX {
            let asked = match &request.idempotency {
                None => None,
                Some(request) => match app.look_up(request).await? {
                    Lookup::Found(answer) => return Ok(Idempotent::Replayed(answer)),
                    Lookup::Absent(asked) => Some(asked),
                },
            };
            let (env, owner) = (self.env(), app.record().owner);
            if !request.dry_run {
                env.deployed.check(owner, env.limits.deployed_bytes_per_account)?;
            }
            let plan = Arc::new(self.plan(app, &request).await?);
            if request.dry_run {
                return self.rehearse(app, &plan).await.map(Idempotent::Fresh);
            }
            let base = plan.base_version;
            let bytes = plan.html.len() + plan.manifest_text.len();
            let op = Op::App(AppOp::Deploy(plan.clone()));
            let turn = self.turn_to_move(app, &plan).await?;
            let answer = app.apply_with(request.caller.clone(), op, asked, bytes).await;
            if let (Some(turn), Ok(Reply::Deployed(_))) = (turn, &answer) {
                turn.done();
            }
            match answer {
                Ok(Reply::Deployed(report)) => {
                    env.deployed.add(owner, request.bundle.bytes());
                    // In this turn: after it the next version may be there.
                    let detail = self.detail(app).await.map_err(Error::after_change)?;
                    return Ok(Idempotent::Fresh(Deployed::new(detail, &plan, *report)));
                }
                Ok(Reply::Replayed(first)) => return Ok(Idempotent::Replayed(first)),
                // It was evicted between the look-up and the actor's turn.
                Ok(Reply::LookAgain(_)) => {
                    last = evicted_too_often();
                }
                // Another version came first: prepare anew on that one.
                Err(error)
                    if error.code == ErrorCode::Unavailable && app.record().version != base =>
                {
                    let message = "other versions were deployed at the same time";
                    last = Error::new(ErrorCode::Conflict, message);
                }
                Err(error) => return Err(error),
                Ok(other) => return Err(other.unexpected()),
            }
        }
        Err(last)
    }

    /// The turn that a deploy takes which may move many bytes of rows.
    async fn turn_to_move(&self, app: &AppHandle, plan: &DeployPlan) -> Result<Option<Moving>> {
        let root = app.root().await?;
        let coming =
            plan.detached.by_collection.values().flatten().map(|row| row.data().len() as u64);
        let leaving = if plan.force { root.totals.bytes } else { 0 };
        Moving::turn(self.env(), root.record.owner, coming.sum::<u64>() + leaving).await
    }

    async fn plan(&self, app: &AppHandle, request: &Redeploy) -> Result<DeployPlan> {
        let record = app.record();
        let gone = || Error::unavailable("another version was deployed meanwhile");
        let text: Arc<str> = match &request.bundle.manifest {
            Some(text) => text.as_str().into(),
            None => {
                versions::manifest(&self.db, record.id, record.version).await?.ok_or_else(gone)?
            }
        };
        let bundle = &request.bundle;
        let target = draft::Target {
            owner: record.owner,
            host: self.env().options.app_hosts.of(&record.slug),
            domains: self.domains.names(record.id),
            visibility: Some(record.visibility),
        };
        let draft = draft::draft(self.env(), text, bundle, target).await?;
        let mut warnings = draft.warnings;
        let assets = match &bundle.assets {
            Some(assets) => {
                warnings.extend(self.files_gone(&record, assets).await?);
                assets.clone().into()
            }
            None => self.stored_assets(record.id, record.version).await?.into(),
        };
        warnings.extend(self.roles_gone(app, &draft.manifest).await?);
        let detached = self.detached(app, &draft.manifest).await?;
        let last_declared = self.last_declared(app, &record, &draft.manifest).await?;
        Ok(DeployPlan {
            base_version: record.version,
            expected: request.expected,
            manifest: draft.manifest,
            manifest_text: draft.manifest_text,
            html: bundle.html.clone(),
            assets,
            schemas: draft.schemas,
            events: draft.events,
            visibility: draft.visibility,
            asks_visibility: bundle.visibility.is_some(),
            share: Some(self.share_token(record.id)),
            timezone: draft.timezone,
            force: request.force,
            detached,
            last_declared,
            warnings,
        })
    }

    /// What is to be said of roles that members or grant links have, and that `manifest` declares no
    /// more.
    async fn roles_gone(&self, app: &AppHandle, manifest: &Manifest) -> Result<Vec<Warning>> {
        let (root, now) = (app.root().await?, self.env().clock.now());
        let gone = root.manifest.roles.keys().filter(|role| !manifest.declares_role(role));
        let warning = |role: &Arc<str>| {
            let (members, links) = root.access.holders(role, now);
            Warning::role_gone(role, members, links)
        };
        Ok(gone.filter_map(warning).collect())
    }

    /// The detached rows of the collections that `manifest` declares.
    async fn detached(&self, app: &AppHandle, manifest: &Manifest) -> Result<DetachedRows> {
        let root = app.root().await?;
        let names = manifest.collections.keys().filter(|name| root.withheld(name).detached > 0);
        let names: Vec<_> = names.cloned().collect();
        let owner = root.record.owner;
        drop(root);
        if names.is_empty() {
            return Ok(DetachedRows::default());
        }
        let env = self.env();
        let busy = |_| Error::unavailable("too many deploys bring rows back");
        let permit = env.detached.permit(owner).await.map_err(busy)?;
        let mut by_collection = BTreeMap::new();
        for name in names {
            let rows = env.store.detached_rows(app.id(), &name).await?;
            by_collection.insert(name, rows);
        }
        Ok(DetachedRows { by_collection, permit: Some(permit) })
    }

    /// The files of a version that is stored, for one that has the same.
    async fn stored_assets(&self, app: AppId, number: u32) -> Result<Vec<VersionAsset>> {
        let assets = versions::assets(&self.db, app, number).await?;
        Ok(assets.into_iter().map(VersionAsset::Stored).collect())
    }

    /// What is to be said of the files that the current version has and `assets` lacks.
    async fn files_gone(
        &self,
        record: &AppRecord,
        assets: &[VersionAsset],
    ) -> Result<Option<Warning>> {
        let there = versions::assets(&self.db, record.id, record.version).await?;
        let kept: BTreeSet<&str> = assets.iter().map(VersionAsset::path).collect();
        let gone = there.into_iter().map(|asset| asset.path);
        let gone: Vec<_> = gone.filter(|path| !kept.contains(&**path)).collect();
        Ok(Warning::files_gone(record.version, &gone))
    }

    /// How the collections of `manifest` that the current version does not declare, and whose rows are
    /// withheld, stood when a version declared them last: rows of theirs may come back. Looks at the
    /// versions that are kept, newest first, and no further than it must.
    async fn last_declared(
        &self,
        app: &AppHandle,
        record: &AppRecord,
        manifest: &Manifest,
    ) -> Result<BTreeMap<Arc<str>, Arc<Collection>>> {
        let root = app.root().await?;
        let comes_back = |name: &&Arc<str>| {
            root.collection(name).is_none() && root.withheld(name) != Withheld::default()
        };
        let mut unseen: BTreeSet<_> = manifest.collections.keys().filter(comes_back).collect();
        let mut found = BTreeMap::new();
        let kept = self.env().limits.versions_kept as usize;
        for number in (1..record.version).rev().take(kept) {
            if unseen.is_empty() {
                break;
            }
            let text = versions::manifest(&self.db, record.id, number).await?;
            let Some(text) = text else { break };
            let manifest = self.read_manifest(record.owner, text).await?;
            for (name, decl) in manifest.collections {
                if unseen.remove(&name) {
                    found.insert(name, decl);
                }
            }
        }
        Ok(found)
    }

    async fn rehearse(&self, app: &AppHandle, plan: &Arc<DeployPlan>) -> Result<Deployed> {
        let root = app.root().await?;
        let (plan, owner) = (plan.clone(), root.record.owner);
        let now = self.env().clock.now();
        let rehearse = move || {
            let (report, served) = deploy::dry_run(&root, &plan, now)?;
            let exposure = Some(advisories::change(&root, &plan, &served));
            let detail = AppDetail::of_root(&root);
            Ok(Deployed { exposure, ..Deployed::new(detail, &plan, report) })
        };
        self.env().rehearsing.run(owner, rehearse).await?
    }
}
