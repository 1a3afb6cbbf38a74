//! The body of a deploy, in any of its three forms (contract part 4): JSON, a form, a zip. Each
//! form is read into the same [`Raw`] parts; what they must be is checked once, here.
//!
//! What is not here: the rules of the manifest and the sizes of a version, which are the domain's.

mod archive;
mod errors;
mod form;
mod json;
mod schema;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use axum::extract::{FromRequest, Request};
pub(super) use errors::deploy_errors;
use http::header;
pub use json::{AssetBody, SeedBody};
use rookery_actors::{
    app::message::NewRow,
    control::{Bundle, Hold},
};
use rookery_domain::{Error, Result, id::OrgId, manifest::Visibility, text::quoted};
use rookery_storage::versions::{Asset, VersionAsset};
pub use schema::{DeployBody, RedeployBody};
pub(super) use schema::{DeployForm, DeployQuery, RedeployForm, RedeployQuery};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use crate::{
    error::ApiError,
    http::{
        body::{self, BodyBound, require_json, sent_type},
        params,
        single_header::SingleHeader,
    },
    pages::{assets, document, paths},
    state::AppState,
};

/// First rows by collection.
type InputData = BTreeMap<String, Vec<NewRow>>;

/// A deploy as it was asked for, checked as far as it can be without an app.
#[derive(Debug)]
pub struct Deploy {
    /// Its files and settings.
    pub bundle: Bundle,
    /// The slug it asks for.
    pub slug: Option<String>,
    /// The organization that it shall belong to.
    pub org: Option<OrgId>,
    /// The first rows it brings.
    pub input_data: Option<InputData>,
    /// Whether it goes on in spite of breaks; `None` when it does not say.
    pub force: Option<bool>,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
}

/// What stands in the query of a deploy: for a zip, which has no other place for it, the members of a body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    #[serde(default)]
    dry_run: bool,
    slug: Option<String>,
    visibility: Option<Visibility>,
    timezone: Option<String>,
    org_id: Option<OrgId>,
    force: Option<bool>,
}

/// What a body holds, whatever its form.
#[derive(Debug, Default)]
struct Raw {
    html: Option<String>,
    /// The manifest's text, as it was sent.
    manifest: Option<String>,
    assets: Option<Vec<RawAsset>>,
    slug: Option<String>,
    visibility: Option<Visibility>,
    timezone: Option<String>,
    org_id: Option<OrgId>,
    input_data: Option<InputData>,
    force: Option<bool>,
}

/// A file as it was sent.
#[derive(Debug)]
struct RawAsset {
    path: String,
    content_type: Option<String>,
    bytes: Vec<u8>,
}

/// The three forms of a body.
#[derive(Debug, Clone)]
enum Form {
    Json,
    Multipart(String),
    Zip,
}

impl FromRequest<AppState> for Deploy {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let text = parts.uri.query().unwrap_or_default();
        params::check_text(text)?;
        let query: Query = params::query(text)?;
        let form = form_of(&parts.headers)?;
        let (bytes, mut share) = body::read(&mut parts, body, BodyBound::Deploy, state).await?;
        let server = state.clone();
        // Megabytes to unpack and to parse: not on a thread that serves requests.
        let read = state.reading.run(share.network(), move || {
            let limits = &server.config.limits;
            let raw = match form {
                Form::Json => json::read(&bytes)?,
                Form::Multipart(kind) => {
                    Handle::current().block_on(form::read(&kind, bytes, &server))?
                }
                Form::Zip => archive::read(bytes, limits, &mut share)?,
            };
            finish(raw, query, Hold::of(share))
        });
        Ok(read.await??)
    }
}

fn form_of(headers: &http::HeaderMap) -> Result<Form> {
    let declared = SingleHeader::of(headers, header::CONTENT_TYPE).text();
    let essence = declared.and_then(|text| text.split(';').next()).map(str::trim);
    let essence = essence.map(str::to_ascii_lowercase);
    match (essence.as_deref(), declared) {
        (Some("application/json"), _) => require_json(headers).map(|()| Form::Json),
        (Some("multipart/form-data"), Some(kind)) => Ok(Form::Multipart(kind.to_owned())),
        (Some("application/zip" | "application/x-zip-compressed"), _) => Ok(Form::Zip),
        _ => Err(Error::invalid(format!(
            "Content-Type: must be application/json, multipart/form-data or application/zip, {}",
            sent_type(headers)
        ))),
    }
}

fn finish(raw: Raw, query: Query, hold: Hold) -> Result<Deploy> {
    let html = raw.html.filter(|html| !html.is_empty());
    let html = html.ok_or_else(|| Error::invalid("`html`: the document is missing"))?;
    text("html", &html)?;
    let embedded = document::extract_embedded_manifest(&html)?;
    let manifest = match (raw.manifest, embedded) {
        (Some(_), Some(_)) => {
            return Err(Error::invalid(
                "`manifest`: it is in two places at once, beside the document and in it",
            ));
        }
        (beside, inside) => beside.or(inside),
    };
    // It is read back as JSON, which begins with none (RFC 8259, 8.1).
    let manifest = manifest.map(|text| match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    });
    let assets = raw.assets.map(named).transpose()?;
    Ok(Deploy {
        bundle: Bundle {
            html: html.into(),
            manifest,
            assets,
            visibility: once("visibility", raw.visibility, query.visibility)?,
            timezone: once("timezone", raw.timezone, query.timezone)?,
            hold,
        },
        slug: once("slug", raw.slug, query.slug)?,
        org: once("org_id", raw.org_id, query.org_id)?,
        input_data: raw.input_data,
        force: once("force", raw.force, query.force)?,
        dry_run: query.dry_run,
    })
}

/// A member that may stand in the body or in the query, but not in both.
fn once<T>(name: &str, body: Option<T>, query: Option<T>) -> Result<Option<T>> {
    if body.is_some() && query.is_some() {
        return Err(Error::invalid(format!("`{name}`: it is in two places, body and query")));
    }
    Ok(body.or(query))
}

/// PostgreSQL keeps no NUL in a text, and no document needs one.
fn text(name: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::invalid(format!("`{name}`: must not hold NUL")));
    }
    Ok(())
}

/// Files under the paths they are stored by, each path once.
fn named(raw: Vec<RawAsset>) -> Result<Vec<VersionAsset>> {
    let mut taken = BTreeSet::new();
    let mut assets = Vec::with_capacity(raw.len());
    for file in raw {
        let path = paths::from_deploy(&file.path)?;
        if !taken.insert(path.clone()) {
            return Err(Error::invalid(format!("assets: path {path:?} occurs twice")));
        }
        let declared = file.content_type.as_deref();
        if let Some(kind) = declared.filter(|kind| !assets::is_media_type(kind.trim())) {
            return Err(Error::invalid(format!(
                "assets: `content_type` of path {path:?} is not a media type: {}",
                quoted(kind)
            )));
        }
        let content_type = assets::content_type(&path, file.content_type.as_deref());
        let asset = Asset::new(path, content_type, file.bytes.into());
        assets.push(VersionAsset::New(asset));
    }
    Ok(assets)
}

/// The manifest with the members of its objects in one order, in which a client that repeats a
/// request need not send them. A text that is no JSON stays as it is: it is refused later.
fn members_in_order(manifest: &str) -> Cow<'_, str> {
    match rookery_domain::json::parse(manifest.as_bytes()) {
        Ok(value) => rookery_domain::json::canonical(&value).into(),
        Err(_) => manifest.into(),
    }
}

impl Deploy {
    /// The same for the same deploy, in whatever form it was sent.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut put = |bytes: Option<&[u8]>| {
            let len = bytes.map_or(u64::MAX, |bytes| bytes.len() as u64);
            hash.update(len.to_be_bytes());
            hash.update(bytes.unwrap_or_default());
        };
        let bundle = &self.bundle;
        put(Some(bundle.html.as_bytes()));
        put(bundle.manifest.as_deref().map(members_in_order).as_deref().map(str::as_bytes));
        put(bundle.visibility.map(|visibility| visibility.as_str().as_bytes()));
        put(bundle.timezone.as_deref().map(str::as_bytes));
        put(self.slug.as_deref().map(str::as_bytes));
        put(self.org.map(|org| org.uuid().into_bytes()).as_ref().map(<[u8; 16]>::as_slice));
        put(Some(&[u8::from(self.force == Some(true))]));
        let mut assets: Vec<&VersionAsset> = bundle.assets.iter().flatten().collect();
        assets.sort_unstable_by_key(|asset| asset.path());
        put(bundle
            .assets
            .as_ref()
            .map(|assets| assets.len().to_string())
            .as_deref()
            .map(str::as_bytes));
        for asset in assets {
            put(Some(asset.path().as_bytes()));
            put(Some(asset.content_type().as_bytes()));
            put(Some(asset.sha256()));
        }
        for (collection, rows) in self.input_data.iter().flatten() {
            put(Some(collection.as_bytes()));
            put(Some(&rows.len().to_be_bytes()));
            for row in rows {
                put(row.key.as_deref().map(str::as_bytes));
                put(Some(row.data.text().as_bytes()));
            }
        }
        hash.finalize().into()
    }
}
