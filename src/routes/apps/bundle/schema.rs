//! What the document says of a deploy's query and body: of a new app, and of a redeploy, the body as JSON
//! and as a form. They are read alike (`json`, `form`); a member that only the other one has is refused where
//! the deploy is asked for.

#![expect(dead_code, reason = "these types describe; nothing builds them")]

use std::collections::BTreeMap;

use utoipa::{IntoParams, ToSchema};

use super::{AssetBody, SeedBody};
use crate::openapi::{
    ids,
    shapes::{AnyObject, FileBytes},
    words::VisibilityBody,
};

/// What stands in the query where an app is deployed; with a zip it stands nowhere else.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::apps) struct DeployQuery {
    /// Runs every check, answers what would happen, and changes nothing.
    dry_run: Option<bool>,
    /// As the member `slug`.
    slug: Option<String>,
    /// As the member `visibility`.
    #[param(inline)]
    visibility: Option<VisibilityBody>,
    /// As the member `timezone`.
    timezone: Option<String>,
    /// As the member `org_id`.
    org_id: Option<ids::OrgId>,
}

/// What stands in the query where a version is deployed; with a zip it stands nowhere else.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(in crate::routes::apps) struct RedeployQuery {
    /// Runs every check, answers what would happen, and changes nothing.
    dry_run: Option<bool>,
    /// As the member `visibility`.
    #[param(inline)]
    visibility: Option<VisibilityBody>,
    /// As the member `timezone`.
    timezone: Option<String>,
    /// As the member `force`.
    force: Option<bool>,
}

/// An app to deploy.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployBody {
    /// The document.
    #[schema(min_length = 1)]
    html: String,
    /// What the app declares; `{}` when left out.
    manifest: Option<AnyObject>,
    /// The files beside the document.
    assets: Option<Vec<AssetBody>>,
    /// The slug: 3 to 63 lower-case letters, digits and hyphens, which neither begins nor ends with a
    /// hyphen, has no two of them as its third and fourth character, and is no word of the service's
    /// own. An app whose visibility is `link` takes none. Drawn when left out. The slug of a purged app
    /// is free for the account that owned it last, and taken for every other.
    slug: Option<String>,
    /// Who reaches the page: `private` unless the manifest says otherwise.
    visibility: Option<VisibilityBody>,
    /// An IANA name; `UTC` when left out.
    timezone: Option<String>,
    /// The organization that the app will belong to; the account must be an admin of it.
    org_id: Option<ids::OrgId>,
    /// The first rows, by collection.
    input_data: Option<BTreeMap<String, Vec<SeedBody>>>,
}

/// A version to deploy over an app.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedeployBody {
    /// The document.
    #[schema(min_length = 1)]
    html: String,
    /// What the app declares. Left out, it carries over.
    manifest: Option<AnyObject>,
    /// The files beside the document. A list replaces the whole list; left out, they carry over.
    assets: Option<Vec<AssetBody>>,
    /// Who reaches the page: as before, unless a manifest that is sent says otherwise.
    visibility: Option<VisibilityBody>,
    /// An IANA name; as before when left out.
    timezone: Option<String>,
    /// Goes on in spite of breaks.
    force: Option<bool>,
}

/// An app to deploy, part by part. A part of another name is refused.
#[derive(ToSchema)]
pub(in crate::routes::apps) struct DeployForm {
    /// The document, as a file or as text.
    #[schema(min_length = 1)]
    html: String,
    /// What the app declares, as a file or as text; `{}` when left out.
    #[schema(required = false)]
    manifest: AnyObject,
    /// The files beside the document: one part for each, whose filename is its path below the
    /// app's address.
    #[schema(required = false)]
    assets: Vec<FileBytes>,
    /// The slug: 3 to 63 lower-case letters, digits and hyphens, which neither begins nor ends with a
    /// hyphen, has no two of them as its third and fourth character, and is no word of the service's
    /// own. An app whose visibility is `link` takes none. Drawn when left out. The slug of a purged app
    /// is free for the account that owned it last, and taken for every other.
    #[schema(required = false)]
    slug: String,
    /// Who reaches the page: `private` unless the manifest says otherwise.
    #[schema(required = false)]
    visibility: VisibilityBody,
    /// An IANA name; `UTC` when left out.
    #[schema(required = false)]
    timezone: String,
    /// The organization that the app will belong to; the account must be an admin of it.
    #[schema(required = false, value_type = ids::OrgId)]
    org_id: String,
    /// The first rows, by collection.
    #[schema(required = false)]
    input_data: BTreeMap<String, Vec<SeedBody>>,
}

/// A version to deploy over an app, part by part. A part of another name is refused.
#[derive(ToSchema)]
pub(in crate::routes::apps) struct RedeployForm {
    /// The document, as a file or as text.
    #[schema(min_length = 1)]
    html: String,
    /// What the app declares, as a file or as text. Left out, it carries over.
    #[schema(required = false)]
    manifest: AnyObject,
    /// The files beside the document: one part for each, whose filename is its path below the
    /// app's address. They replace the whole list; left out, it carries over.
    #[schema(required = false)]
    assets: Vec<FileBytes>,
    /// Who reaches the page: as before, unless a manifest that is sent says otherwise.
    #[schema(required = false)]
    visibility: VisibilityBody,
    /// An IANA name; as before when left out.
    #[schema(required = false)]
    timezone: String,
    /// Goes on in spite of breaks.
    #[schema(required = false)]
    force: bool,
}
