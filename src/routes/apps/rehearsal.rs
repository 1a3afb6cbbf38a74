//! What a deploy would do: the answer to `?dry_run=true`.

use rookery_actors::control::{Created, Deployed};
use rookery_domain::{advisory::Difference, compat::Break, manifest::Visibility};
use serde::Serialize;
use utoipa::ToSchema;

use super::record::{self, WarningBody};
use crate::openapi::{
    shapes::{BreakRecord, ExposureDifferenceRecord},
    words,
};

/// What a deploy would do. Nothing was changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Rehearsal {
    /// Always true.
    pub dry_run: bool,
    /// The version that it would make.
    pub version: u32,
    /// Who would reach the app's page.
    #[schema(value_type = words::VisibilityBody)]
    pub visibility: Visibility,
    /// What it would break; with any of these, the deploy needs `force`.
    #[schema(value_type = Vec<BreakRecord>)]
    pub breaks: Vec<Break>,
    /// What is accepted and may not do what was meant: rules that do not run yet, keywords that
    /// JSON Schema does not know, a schema that no row fits, so many origins that proxies may
    /// refuse the head, a visibility that the manifest changes, files that a new list of assets
    /// lacks, rows that stay detached, roles that somebody has and that are not declared any more.
    pub warnings: Vec<WarningBody>,
    /// What changes in who can see and do what.
    #[schema(value_type = ExposureDifferenceRecord)]
    pub exposure: Difference,
    /// Rows that would not be served any more (kept, and counted).
    pub rows_detached: u64,
    /// Rows that would be served again.
    pub rows_reattached: u64,
}

impl Rehearsal {
    /// What creating an app would do.
    #[must_use]
    pub fn of_create(made: Created) -> Self {
        Self {
            dry_run: true,
            version: made.record.version,
            visibility: made.record.visibility,
            breaks: Vec::new(),
            warnings: record::warnings(made.warnings),
            exposure: made.exposure.unwrap_or_default(),
            rows_detached: 0,
            rows_reattached: 0,
        }
    }

    /// What deploying a version would do.
    #[must_use]
    pub fn of_version(deployed: Deployed) -> Self {
        let Deployed { visibility, report, exposure, .. } = deployed;
        Self {
            dry_run: true,
            version: report.version,
            visibility,
            breaks: report.breaks,
            warnings: record::warnings(report.warnings),
            exposure: exposure.unwrap_or_default(),
            rows_detached: report.detached,
            rows_reattached: report.reattached,
        }
    }
}
