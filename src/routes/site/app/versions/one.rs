//! `/apps/:id/versions/:number`: what a version changed, what it declares and exposes, and what
//! going back to it would do.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use rookery_actors::{
    AppHandle,
    control::{Deployed, Expected, RollBack, VersionContent},
};
use rookery_domain::{
    Error, ErrorCode,
    advisory::{Change, Finding, Severity},
    compat::Break,
    manifest::Visibility,
    principal::Caller,
};
use serde::Deserialize;

use super::diff::{Difference, FileChange, canonical, files};
use crate::{
    error::ApiResult,
    http::params::Path,
    pages::{disclosure::DisclosurePage, shell::Shell},
    routes::site::{
        app::{
            app_page::{AppPage, Tab},
            data::record::Names,
        },
        frame::Frame,
        notice::Notice,
        page_context::PageContext,
        words::{At, Count, quoted},
    },
};

#[derive(Deserialize, Default)]
struct Query {
    /// The version to compare with; the one before where none is named.
    against: Option<u32>,
}

/// What going back to a version would do.
#[derive(Default)]
pub(super) struct Rehearsal {
    /// How the app stood for it; nothing where it was refused.
    on: Option<Expected>,
    breaks: Vec<Break>,
    detached: u64,
    reattached: u64,
    visibility: Option<&'static str>,
    opened: Vec<Finding>,
    closed: Vec<Finding>,
    /// What strangers could do in another way, such as without a challenge.
    changed: Vec<Change>,
    /// Roles that somebody has and that it does not declare.
    roles: Vec<String>,
    /// Rows that stay set aside, since others hold their unique values, or that pruning will take.
    rows: Vec<String>,
    /// Why it cannot be done at all.
    refused: Option<String>,
}

/// What changed from one version to another.
#[derive(Default)]
struct Differences {
    html: Difference,
    manifest: Difference,
    files: Vec<FileChange>,
}

/// A choice of what to compare with.
struct Other {
    number: u32,
    chosen: bool,
}

#[derive(Template)]
#[template(path = "site/app/version.html")]
struct VersionPage {
    frame: Frame,
    app_page: AppPage,
    number: u32,
    by: String,
    at: At,
    current: bool,
    others: Vec<Other>,
    against: Option<u32>,
    differences: Differences,
    declared: DisclosurePage,
    findings: Vec<Finding>,
    rehearsal: Option<Rehearsal>,
}

impl VersionPage {
    fn rows(&self, count: &u64) -> String {
        Count(*count).of("row", "rows")
    }

    /// A message of the API, as people read it.
    fn says(&self, message: &str) -> String {
        quoted(message)
    }

    /// A severity as a word that sorts into a style.
    fn severity(&self, finding: &Finding) -> &'static str {
        match finding.severity {
            Severity::Critical => "critical",
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Info => "info",
        }
    }
}

/// The page.
pub async fn page(context: PageContext, Path((id, number)): Path<(String, String)>) -> Response {
    context.answer(view(&context, &id, &number, StatusCode::OK, None).await)
}

/// The page of a version.
pub(super) async fn view(
    context: &PageContext,
    id: &str,
    number: &str,
    status: StatusCode,
    notice: Option<Notice>,
) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Versions).await?;
    let frame = frame.with(notice);
    let control = context.state.rooms.control();
    let app = context.state.rooms.apps().find(id).await?;
    let number = parse(number)?;
    let kept = control.versions(app.id()).await?;
    let names = Names::load(context).await?;
    let Query { against } = context.query()?;
    // With the one before; the oldest with the newest, which going back would replace.
    let others = || kept.iter().map(|info| info.number).filter(|other| *other != number);
    let usual = others().find(|other| *other < number).or_else(|| others().next());
    let against = against.filter(|other| *other != number).or(usual);
    // The documents are large: whoever waits for a turn has none yet.
    let turn = context.state.reading.permit(context.human).await?;
    let version = control.version(app.id(), number).await?;
    let other = match against {
        Some(other) => Some(control.version(app.id(), other).await?),
        None => None,
    };
    let compared = turn.run(move || {
        let differences = other.map(|other| Differences::between(&other, &version));
        (version.info, version.manifest, differences.unwrap_or_default())
    });
    let (info, manifest, differences) = compared.await?;
    let record = app.record();
    let current = number == record.version;
    // A closed app takes no deploy.
    let rehearsal = match current || app_page.is_closed() {
        true => None,
        false => Some(rehearse(context, &app, number).await?),
    };
    let report = control.report_on(&app, manifest.clone()).await?;
    let page = VersionPage {
        frame,
        number,
        by: names.of(&info.by.into()),
        at: info.created_at.into(),
        current,
        others: kept
            .iter()
            .filter(|info| info.number != number)
            .map(|info| Other { number: info.number, chosen: Some(info.number) == against })
            .collect(),
        against,
        differences,
        declared: DisclosurePage::new(Shell::default(), &record, &manifest),
        findings: report.findings,
        rehearsal,
        app_page,
    };
    Ok(context.page(status, &page)?)
}

impl Differences {
    /// Documents may be large, so this takes its time.
    fn between(before: &VersionContent, after: &VersionContent) -> Self {
        let (old, new) = (canonical(&before.manifest_text), canonical(&after.manifest_text));
        Self {
            html: Difference::of(&before.html, &after.html),
            manifest: Difference::of(&old, &new),
            files: files(&before.assets, &after.assets),
        }
    }
}

/// A version's number in a path.
pub(super) fn parse(number: &str) -> Result<u32, Error> {
    let unknown = || Error::new(ErrorCode::NotFound, "no such version");
    number.parse().map_err(|_| unknown())
}

/// Tries going back, and changes nothing.
async fn rehearse(context: &PageContext, app: &AppHandle, number: u32) -> Result<Rehearsal, Error> {
    let caller = Caller::human(context.human);
    let request =
        RollBack { caller, number, expected: None, force: true, dry_run: true, idempotency: None };
    let tried = context.state.rooms.control().roll_back(app, request).await;
    match tried.and_then(|tried| tried.fresh().ok_or_else(Error::internal)) {
        Ok(deployed) => Ok(Rehearsal::of(deployed, app)),
        Err(error) if error.code.status() < 500 => {
            Ok(Rehearsal { refused: Some(error.message), ..Rehearsal::default() })
        }
        Err(error) => Err(error),
    }
}

impl Rehearsal {
    fn of(deployed: Deployed, app: &AppHandle) -> Self {
        let exposure = deployed.exposure.unwrap_or_default();
        let becomes =
            (deployed.visibility != app.record().visibility).then_some(match deployed.visibility {
                Visibility::Private => "private",
                Visibility::Link => "open to whoever has the link",
                Visibility::Public => "public",
            });
        let warnings = |is_about: fn(&str) -> bool| {
            let all = deployed.report.warnings.iter();
            let wanted = all.filter(|warning| is_about(&warning.path));
            wanted.map(|warning| warning.message.to_string()).collect()
        };
        Self {
            on: Some(Expected::of(&deployed.detail.record)),
            roles: warnings(|path| path.starts_with("/roles/")),
            rows: warnings(|path| {
                let is_of_rows = path.ends_with("/unique") || path.ends_with("/retention");
                path.starts_with("/collections/") && is_of_rows
            }),
            breaks: deployed.report.breaks,
            detached: deployed.report.detached,
            reattached: deployed.report.reattached,
            visibility: becomes,
            opened: exposure.added,
            closed: exposure.removed,
            changed: exposure.changed,
            refused: None,
        }
    }
}
