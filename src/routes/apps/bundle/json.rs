//! A deploy as JSON.

use base64::Engine as _;
use rookery_actors::app::message::NewRow;
use rookery_domain::{
    Error, Result, id::OrgId, json::RawObject, manifest::Visibility, text::BASE64_LENIENT,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::{InputData, Raw, RawAsset};
use crate::{
    http::body::strict::{AsObject, optional_word},
    openapi::shapes::AnyObject,
};

/// A deploy, of a new app or over one that is there (`schema` says which members belong to which).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    html: String,
    manifest: Option<Box<RawValue>>,
    assets: Option<Vec<AsObject<AssetBody>>>,
    slug: Option<String>,
    #[serde(default, deserialize_with = "optional_word")]
    visibility: Option<Visibility>,
    timezone: Option<String>,
    org_id: Option<OrgId>,
    input_data: Option<BTreeMap<String, Vec<AsObject<SeedBody>>>>,
    force: Option<bool>,
}

/// A file beside the document, with either `text` or `base64`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetBody {
    /// Its path below the app's address.
    path: String,
    /// Its media type; by the path's extension when left out.
    content_type: Option<String>,
    /// Its content as text.
    text: Option<String>,
    /// Its content in base64.
    base64: Option<String>,
}

/// One of an app's first rows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedBody {
    /// Its key, by the rules of every row's key; drawn when left out.
    key: Option<Box<str>>,
    /// Its data.
    #[schema(value_type = AnyObject)]
    data: RawObject,
}

/// Reads a JSON body.
pub(super) fn read(bytes: &[u8]) -> Result<Raw> {
    let body: Body = crate::http::body::parse(bytes)?;
    let decode = |AsObject(file): AsObject<AssetBody>| file.decode();
    let assets = body.assets.map(|files| files.into_iter().map(decode).collect());
    Ok(Raw {
        html: Some(body.html),
        manifest: body.manifest.map(|raw| raw.get().to_owned()),
        assets: assets.transpose()?,
        slug: body.slug,
        visibility: body.visibility,
        timezone: body.timezone,
        org_id: body.org_id,
        input_data: body.input_data.map(seeds),
        force: body.force,
    })
}

/// Reads the first rows where they stand alone, as a part of a form.
pub(super) fn read_input_data(text: &[u8]) -> Result<InputData> {
    let rows = rookery_domain::json::from_slice(text).map_err(|mut error| {
        error.message = format!("`input_data`: {}", error.message);
        error
    })?;
    Ok(seeds(rows))
}

fn seeds(rows: BTreeMap<String, Vec<AsObject<SeedBody>>>) -> InputData {
    let seed = |AsObject(SeedBody { key, data: RawObject(data) })| NewRow { key, data };
    rows.into_iter().map(|(name, rows)| (name, rows.into_iter().map(seed).collect())).collect()
}

impl AssetBody {
    fn decode(self) -> Result<RawAsset> {
        let Self { path, content_type, text, base64 } = self;
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => BASE64_LENIENT.decode(encoded).map_err(|_| {
                Error::invalid(format!("assets: `base64` of path {path:?} is not base64"))
            })?,
            (Some(_), Some(_)) => {
                let message = format!(
                    "assets: path {path:?} has both `text` and `base64`; one is its content"
                );
                return Err(Error::invalid(message));
            }
            (None, None) => {
                let message = format!("assets: path {path:?} needs `text` or `base64`");
                return Err(Error::invalid(message));
            }
        };
        Ok(RawAsset { path, content_type, bytes })
    }
}
