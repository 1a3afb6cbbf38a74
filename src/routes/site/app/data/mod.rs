//! `/apps/:id/data`: an app's rows. A collection as a list (`list`) of what fits a condition
//! (`condition`), with the members that tell rows apart (`columns`), what changes while it is looked at
//! (`changes`), one row to see and edit (`row`), its past (`history`), its conflicts (`merge`), new rows
//! (`create`), the trash (`trash`); and the way from each of them back to the list (`back_to_list`). What a
//! row is and who wrote it (`record`), and how its content is written (`text`), is the same on all of them.

pub mod back_to_list;
pub mod changes;
pub mod columns;
pub mod condition;
pub mod create;
pub mod history;
pub mod list;
pub mod merge;
pub mod record;
pub mod row;
pub mod text;
pub mod trash;

use rookery_domain::{Error, pointer, text::path_segment};
use serde_json::Value;

use crate::routes::site::{FORM_BYTES_MAX, notice::Notice};

/// Bytes of a form that carries a row of so many: the row as it was, and as it is to be, indented; each
/// byte of both percent-encoded, beside the form's other fields.
pub(in crate::routes::site) const fn form_bytes_max(row_bytes_max: usize) -> usize {
    row_bytes_max.saturating_mul(3 * (1 + text::INDENTED_MAX)).saturating_add(FORM_BYTES_MAX)
}

/// The API's path of a collection.
pub(super) fn collection_path(app: &str, collection: &str) -> String {
    format!("/v1/apps/{app}/collections/{}", path_segment(collection))
}

/// The API's path of a row.
fn row_path(app: &str, collection: &str, key: &str) -> String {
    format!("{}/{}", collection_path(app, collection), path_segment(key))
}

fn collection_page(app: &str, collection: &str) -> String {
    format!("/apps/{app}/data/{}", path_segment(collection))
}

fn row_page(app: &str, collection: &str, key: &str) -> String {
    format!("{}/rows/{}", collection_page(app, collection), path_segment(key))
}

/// Why the form of `action` was refused, with everything that a schema has against its row.
fn refusal(error: &Error, action: &str, fields: &[&'static str]) -> Notice {
    let mut notice = Notice::of_form(error, action, "", fields);
    let violations = error.details.as_deref().and_then(|details| details.get("violations"));
    let violations = violations.and_then(|list| list.as_array()).into_iter().flatten();
    let faults: Vec<String> = violations.map(fault).collect();
    if !faults.is_empty() {
        notice.text =
            format!("The row does not fit what its collection holds: {}.", faults.join("; "));
    }
    notice
}

/// One thing that a schema has against a row: which field, and what of it.
fn fault(violation: &Value) -> String {
    let text = |name: &str| violation.get(name).and_then(Value::as_str).unwrap_or_default();
    let message = text("message");
    match text("path").strip_prefix('/') {
        Some(path) => {
            let field = pointer::name(path);
            format!("“{field}” {}", message.strip_prefix("the value ").unwrap_or(message))
        }
        None => message.to_owned(),
    }
}
