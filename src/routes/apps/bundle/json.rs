//! A deploy as JSON.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use rookery_actors::control::SeedRow;
use rookery_domain::{Error, Result, id::OrgId, json::RawObject};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::{InputData, Raw, RawAsset};
use crate::{
    http::strict::{AsObject, optional_word},
    openapi::{ids, shapes::AnyObject},
    routes::apps::record::VisibilityBody,
};

/// Base64 with or without its padding, as clients differ.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An app to deploy.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployBody {
    /// The document.
    #[schema(min_length = 1)]
    html: String,
    /// What the app declares. Left out of a redeploy, it carries over.
    #[schema(value_type = Option<AnyObject>)]
    manifest: Option<Box<RawValue>>,
    /// The files beside the document. A list replaces the whole list; left out, they carry over.
    #[schema(value_type = Option<Vec<AssetBody>>)]
    assets: Option<Vec<AsObject<AssetBody>>>,
    /// The slug; for a new app that is not `link` only. Drawn when left out. That of a purged app is free
    /// to the account that owned it last, and taken to every other.
    slug: Option<String>,
    /// Who reaches the page: `private` unless the manifest says otherwise.
    #[serde(default, deserialize_with = "optional_word")]
    visibility: Option<VisibilityBody>,
    /// An IANA name; `UTC` when left out.
    timezone: Option<String>,
    /// The organization that a new app will belong to; the account must be an admin of it.
    #[schema(value_type = Option<ids::OrgId>)]
    org_id: Option<OrgId>,
    /// The first rows of a new app, by collection.
    #[schema(value_type = Option<BTreeMap<String, Vec<SeedBody>>>)]
    input_data: Option<BTreeMap<String, Vec<AsObject<SeedBody>>>>,
    /// For a redeploy: go on in spite of breaks.
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
    let body: DeployBody = crate::http::body::parse(bytes)?;
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
    let seed = |AsObject(SeedBody { key, data: RawObject(data) })| SeedRow { key, data };
    rows.into_iter().map(|(name, rows)| (name, rows.into_iter().map(seed).collect())).collect()
}

impl AssetBody {
    fn decode(self) -> Result<RawAsset> {
        let Self { path, content_type, text, base64 } = self;
        let bytes = match (text, base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => BASE64.decode(encoded).map_err(|_| {
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
