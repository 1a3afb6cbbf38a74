//! What the document says of an operation that the API shares with apps' own origins, where it is
//! described for the latter: what it takes and answers is the same, its words refer to the API's.

use utoipa::openapi::path::Paths;

use super::operation::operations;

/// How paths of the API begin where an app's own origin has its counterpart.
const API: &str = "/v1/apps/{id}/";
/// The same on the app's own origin.
const ORIGIN: &str = "/s/";
/// The group of what visitors do.
const TAG: &str = "Participants";

/// What is said otherwise of one operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtOrigin {
    /// What follows "As `GET /v1/...`".
    pub note: &'static str,
    /// Its summary, where it differs.
    pub summary: Option<&'static str>,
    /// Its id, where it is not `participant_` before the API's.
    pub id: Option<&'static str>,
}

impl From<&'static str> for AtOrigin {
    fn from(note: &'static str) -> Self {
        Self { note, ..Self::default() }
    }
}

/// Moves the operations in `paths` to apps' own origins.
pub fn serve_at_origin(paths: &mut Paths, told: AtOrigin) {
    for (path, mut item) in std::mem::take(&mut paths.paths) {
        for (verb, operation) in operations(&mut item) {
            operation.tags = Some(vec![TAG.to_owned()]);
            operation.description = Some(format!("As `{verb} {path}`{}.", told.note));
            let id = operation.operation_id.take().unwrap_or_default();
            operation.operation_id =
                Some(told.id.map_or_else(|| format!("participant_{id}"), str::to_owned));
            if let Some(summary) = told.summary {
                operation.summary = Some(summary.to_owned());
            }
        }
        paths.paths.insert(path.replacen(API, ORIGIN, 1), item);
    }
}
