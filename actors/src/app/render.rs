//! Answers as JSON: what a route sends, and what an idempotency record keeps so that a replay is
//! the same to the letter.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_domain::{
    Error, error::ErrorCode, event::Event, idempotency::StoredResponse, row::write_json_string,
};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::message::{PurgedRow, Reply, RowFate, RowReply};

/// The status and body of a row's answer.
#[must_use]
pub fn row(reply: &RowReply) -> (u16, String) {
    let status = if reply.fate == RowFate::Created { 201 } else { 200 };
    let mut body = String::new();
    write_row(reply, &mut body);
    (status, body)
}

fn write_row(reply: &RowReply, out: &mut String) {
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

/// `{"results": [{"index", "status", "row" | "error"}]}`, with `"existed": true` where the key of a
/// create was taken and nothing was written; `docs_url` is where a code is explained.
#[must_use]
pub fn batch(
    results: &[rookery_domain::Result<RowReply>],
    docs_url: impl Fn(ErrorCode) -> String,
) -> String {
    let mut body = String::from("{\"results\":[");
    for (index, result) in results.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        body.push_str("{\"index\":");
        body.push_str(&index.to_string());
        body.push_str(",\"status\":");
        match result {
            Ok(reply) => {
                body.push_str(match reply.fate {
                    RowFate::Created => "201",
                    RowFate::Existed => "200,\"existed\":true",
                    RowFate::Updated | RowFate::Deleted(_) | RowFate::Restored => "200",
                });
                body.push_str(",\"row\":");
                write_row(reply, &mut body);
            }
            Err(error) => {
                body.push_str(&error.code.status().to_string());
                body.push_str(",\"error\":");
                // Serializing strings and what is JSON already cannot fail.
                let item = ItemError::new(error, docs_url(error.code));
                body.push_str(&serde_json::to_string(&item).unwrap_or_default());
            }
        }
        body.push('}');
    }
    body.push_str("]}");
    body
}

/// The members of an error that belong to one item of a batch: the request id belongs to the
/// request.
#[derive(Serialize)]
struct ItemError<'a> {
    code: &'static str,
    status: u16,
    message: &'a str,
    hint: &'static str,
    retryable: bool,
    docs_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<&'a [String]>,
}

impl<'a> ItemError<'a> {
    fn new(error: &'a Error, docs_url: String) -> Self {
        let code = error.code;
        Self {
            code: code.as_str(),
            status: code.status(),
            message: &error.message,
            hint: error.hint.unwrap_or_else(|| code.hint()),
            retryable: code.retryable(),
            docs_url,
            // What is JSON already is a raw value.
            details: error.details_json().and_then(|json| RawValue::from_string(json).ok()),
            required: error.required.as_deref(),
        }
    }
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

/// `text` as one segment of a path (RFC 3986, section 3.3): everything but unreserved characters
/// is percent-encoded.
#[must_use]
pub fn path_segment(text: &str) -> String {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}
