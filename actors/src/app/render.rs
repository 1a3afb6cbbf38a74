//! Answers as JSON: what a route sends, and what an idempotency record keeps so that a replay is
//! the same to the letter.

use rookery_domain::{
    event::Event, idempotency::StoredResponse, row::write_json_string, text::path_segment,
};
use serde_json::json;

use super::message::{PurgedRow, Reply, RowFate, RowReply};

/// The status and body of a row's answer.
#[must_use]
pub fn row(reply: &RowReply) -> (u16, String) {
    let status = if reply.fate == RowFate::Created { 201 } else { 200 };
    let mut body = String::new();
    write_row(reply, &mut body);
    (status, body)
}

/// Appends the body of a row's answer to `out`.
pub fn write_row(reply: &RowReply, out: &mut String) {
    let deleted_at = match reply.fate {
        RowFate::Deleted(at) => Some(at),
        _ => None,
    };
    reply.row.write_json(deleted_at, out);
}

/// `{"key", "version", "purged_at"}`.
#[must_use]
pub fn purged_row(left: &PurgedRow) -> String {
    json!({"key": &*left.key, "version": left.version, "purged_at": left.purged_at}).to_string()
}

/// `{"seq", "type", "at", "by", "data"}`: a custom event that was sent.
#[must_use]
pub fn event(event: &Event) -> String {
    let mut body = format!("{{\"seq\":{},\"type\":", event.seq);
    write_json_string(&event.kind.name(), &mut body);
    body.push_str(",\"at\":\"");
    event.at.write_rfc3339(&mut body);
    body.push_str("\",\"by\":");
    event.by.write_json(&mut body);
    if let Some(data) = &event.data {
        body.push_str(",\"data\":");
        body.push_str(data);
    }
    body.push('}');
    body
}

/// The answer to keep for an idempotency key; nothing of an operation that brings a renderer of its
/// own. Created rows are found at `location_base` plus their key, events at `location_base`.
#[must_use]
pub(crate) fn to_keep(reply: &Reply, location_base: &str) -> Option<StoredResponse> {
    let answer = |status, location, body| Some(StoredResponse { status, location, body });
    match reply {
        Reply::Row(reply) => {
            let (status, body) = row(reply);
            let location = (status == 201)
                .then(|| format!("{location_base}{}", path_segment(reply.row.key())));
            answer(status, location, body)
        }
        Reply::Event(event) => answer(201, Some(location_base.to_owned()), self::event(event)),
        Reply::Replayed(first) => Some(first.clone()),
        Reply::Purged(_)
        | Reply::Batch(_)
        | Reply::App(_)
        | Reply::HandedOver(_)
        | Reply::Access(_)
        | Reply::Deployed(_)
        | Reply::Count(_)
        | Reply::Stale
        | Reply::LookAgain(_) => None,
    }
}
