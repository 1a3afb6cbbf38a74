//! A deploy as a form (RFC 7578): parts `html` and `manifest`, one part `assets` for each file, and
//! the short members as parts of their own.

use axum::{
    body::Body,
    extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request, multipart::Field},
};
use bytes::Bytes;
use http::{HeaderValue, header};
use rookery_domain::{Error, Result, text::quoted};

use super::{Raw, RawAsset, json};
use crate::state::AppState;

/// Parts beside the files that a form may have.
const OTHER_PARTS_MAX: usize = 16;
/// What clients say of a file whose type they do not know. It counts as unsaid: sent on, it would
/// keep browsers from a style or a script.
const UNKNOWN: &str = "application/octet-stream";

/// What mail calls content that is not encoded (RFC 2045, 6.2).
const AS_IT_IS: [&[u8]; 3] = [b"7bit", b"8bit", b"binary"];

/// Reads a form whose `Content-Type` is `kind`; its size is bounded already.
pub(super) async fn read(kind: &str, bytes: Bytes, state: &AppState) -> Result<Raw> {
    let mut request = Request::new(Body::from(bytes));
    let kind = header::HeaderValue::try_from(kind).map_err(|_| malformed())?;
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    DefaultBodyLimit::disable().apply(&mut request);
    let mut form = Multipart::from_request(request, state).await.map_err(|_| malformed())?;
    let mut raw = Raw::default();
    let parts_max = state.config.limits.asset_files_max + OTHER_PARTS_MAX;
    let mut parts = 0;
    while let Some(field) = form.next_field().await.map_err(|_| malformed())? {
        parts += 1;
        if parts > parts_max {
            return Err(Error::new(
                rookery_domain::ErrorCode::PayloadTooLarge,
                format!("the form has more than {parts_max} parts"),
            ));
        }
        part(&mut raw, field).await?;
    }
    Ok(raw)
}

/// The name of a file as its folder has it. A form's encoding escapes three characters of it (HTML,
/// "multipart/form-data encoding algorithm").
///
/// # Errors
/// `invalid_request` where a client has escaped the `/` as well: the file would be at another path.
fn as_named(filename: &str) -> Result<String> {
    if filename.contains("%2F") || filename.contains("%2f") {
        let name = quoted(filename);
        return Err(Error::invalid(format!(
            "`assets`: the filename {name} is percent-encoded: send its `/` as it is"
        )));
    }
    Ok(filename.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
}

async fn part(raw: &mut Raw, field: Field<'_>) -> Result<()> {
    let name = field.name().unwrap_or_default().to_owned();
    let encoding = field.headers().get("content-transfer-encoding").map(HeaderValue::as_bytes);
    if encoding.is_some_and(|said| !AS_IT_IS.iter().any(|it| said.eq_ignore_ascii_case(it))) {
        return Err(Error::invalid(format!(
            "part {}: has a Content-Transfer-Encoding; send its content as it is (RFC 7578, 4.7)",
            quoted(&name)
        )));
    }
    if name == "assets" {
        let path = field.file_name().map(str::to_owned);
        let path = path.ok_or_else(|| Error::invalid("`assets`: a part has no filename"))?;
        let path = as_named(&path)?;
        let content_type = field.content_type().filter(|kind| *kind != UNKNOWN).map(str::to_owned);
        let bytes = field.bytes().await.map_err(|_| malformed())?.into();
        raw.assets.get_or_insert_default().push(RawAsset { path, content_type, bytes });
        return Ok(());
    }
    let bytes = field.bytes().await.map_err(|_| malformed())?;
    let text = || {
        let text = std::str::from_utf8(&bytes).map(str::to_owned);
        text.map_err(|_| Error::invalid(format!("`{name}`: must be UTF-8")))
    };
    match name.as_str() {
        "html" => put(&name, &mut raw.html, text()?),
        "manifest" => put(&name, &mut raw.manifest, text()?),
        "slug" => put(&name, &mut raw.slug, text()?),
        "timezone" => put(&name, &mut raw.timezone, text()?),
        "org_id" => {
            let org = text()?.parse();
            let org = org.map_err(|_| Error::invalid("`org_id`: is not an organization's id"))?;
            put(&name, &mut raw.org_id, org)
        }
        "input_data" => put(&name, &mut raw.input_data, json::read_input_data(&bytes)?),
        "visibility" => {
            let visibility = text()?.parse();
            let visibility =
                visibility.map_err(|why| Error::invalid(format!("`{name}`: {why}")))?;
            put(&name, &mut raw.visibility, visibility)
        }
        "force" => {
            let force = text()?.parse();
            let force = force.map_err(|_| Error::invalid("`force`: must be true or false"))?;
            put(&name, &mut raw.force, force)
        }
        _ => Err(Error::invalid(format!(
            "unknown part {}; known are `html`, `manifest`, `slug`, `visibility`, `timezone`, `org_id`, \
             `input_data`, `force`, and for each file a part `assets` whose filename is its path",
            quoted(&name)
        ))),
    }
}

fn put<T>(name: &str, place: &mut Option<T>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(Error::invalid(format!("`{name}`: the form has it twice")));
    }
    Ok(())
}

fn malformed() -> Error {
    Error::invalid("the body is not a well-formed multipart/form-data")
}
