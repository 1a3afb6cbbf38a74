//! Path, query and headers of row routes.

use axum::extract::FromRequestParts;
use http::{HeaderMap, HeaderName, request::Parts};
use rookery_domain::{Error, Result, if_match::IfMatch};
use serde::Deserialize;
use utoipa::{
    IntoParams,
    openapi::path::{Parameter, ParameterIn},
};

use super::challenge_header::ChallengeHeader;
use crate::{
    error::ApiError,
    http::{
        body::strict::version_in_query,
        client::RequestContext,
        conditional::IfMatchHeader,
        idempotency::IdempotencyKey,
        params::{self, StrictQuery, optional_header},
        single_header::SingleHeader,
    },
    state::AppState,
};

/// The header that carries the answer to a challenge.
const CHALLENGE_TOKEN: HeaderName = HeaderName::from_static("x-service-challenge-token");

/// The collection in the path.
#[derive(Debug, Clone)]
pub(crate) struct CollectionPath(pub(crate) String);

impl FromRequestParts<AppState> for CollectionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let [name] = params::path(parts, state, ["name"]).await;
        Ok(Self(name.unwrap_or_default()))
    }
}

/// The row in the path. A key that no row can have is the app's to answer: like an absent one.
#[derive(Debug, Clone)]
pub(crate) struct RowPath {
    pub(crate) collection: String,
    pub(crate) key: String,
}

impl FromRequestParts<AppState> for RowPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let [collection, key] = params::path(parts, state, ["name", "key"]).await;
        Ok(Self { collection: collection.unwrap_or_default(), key: key.unwrap_or_default() })
    }
}

/// What a list asks for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    /// A JSON object: members of `data` by dotted path, or `key`, `version`, `created_at`,
    /// `updated_at`; a value, or `{"eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "contains" |
    /// "prefix" | "exists": ...}`; `and`, `or`, `not`. An absent field compares as `null`, so `ne`
    /// holds for it, and `exists` tells the two apart. An order holds between two numbers or two
    /// texts alone; dates in `data` compare as texts. `contains` looks for a part of a text, or an
    /// item of an array. A whole number in a path is an index of an array (`tags.0`), without leading
    /// zeros. Empty is as if left out. More in `/reference/api.md`.
    #[param(example = r#"{"status": "open", "n": {"gte": 3}}"#)]
    pub(crate) filter: Option<String>,
    /// Fields in order, `-` for descending; ties go by key. Of a text the first 256 bytes count.
    /// Ascending, absent and `null` come first, then `false`, `true`, numbers, texts, arrays, objects.
    /// Empty is as if left out.
    #[param(example = "-created_at,title")]
    pub(crate) sort: Option<String>,
    /// Rows on the page, 1 to 200; 50 unless given.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 200)]
    pub(crate) limit: Option<String>,
    /// `next_cursor` of the page before.
    #[param(min_length = 1)]
    pub(crate) cursor: Option<String>,
    /// With the rows in the trash: for the owner.
    pub(crate) include_deleted: Option<bool>,
}

/// A page of a list that has no order to choose.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParams {
    /// Rows on the page, 1 to 200; 50 unless given.
    #[param(value_type = Option<u16>, minimum = 1, maximum = 200)]
    pub(crate) limit: Option<String>,
    /// `next_cursor` of the page before.
    #[param(min_length = 1)]
    pub(crate) cursor: Option<String>,
}

/// How one row is read.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetParams {
    /// Also when it is in the trash: for the owner.
    pub(crate) include_deleted: Option<bool>,
}

/// Whether a change is only tried.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DryRunParams {
    /// Show what would happen, and change nothing.
    pub(crate) dry_run: Option<bool>,
}

/// Which version of the row a write has seen, by its header and its query.
#[derive(Debug)]
pub(crate) struct SeenVersion {
    header: Option<IfMatch>,
    query: Option<u64>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct VersionParams {
    /// The row's version; as good as `If-Match`.
    #[serde(default, deserialize_with = "version_in_query")]
    #[param(maximum = 9_223_372_036_854_775_807_i64)]
    if_match: Option<u64>,
}

impl IntoParams for SeenVersion {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let what = "The `ETag` that you have seen, or the version. A weak tag matches nothing.";
        let mut all = vec![optional_header("If-Match", what)];
        all.extend(VersionParams::into_params(place));
        all
    }
}

impl FromRequestParts<AppState> for SeenVersion {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let StrictQuery(VersionParams { if_match: query }) =
            StrictQuery::from_request_parts(parts, state).await?;
        let IfMatchHeader(header) = IfMatchHeader::from_request_parts(parts, state).await?;
        Ok(Self { header, query })
    }
}

impl SeenVersion {
    /// What the write demands of the row's version, by its body too: the places must agree. The header
    /// may name the row's whole tag, so it counts where it is there.
    pub(crate) fn with_body(self, body: Option<u64>) -> Result<Option<IfMatch>> {
        let [query, body] = [self.query, body].map(|given| given.map(IfMatch::version));
        let places = [
            ("the header If-Match", self.header),
            ("the query's `if_match`", query),
            ("the body's `if_match`", body),
        ];
        let mut given = places.into_iter().filter_map(|(place, given)| Some((place, given?)));
        let Some((first, condition)) = given.next() else { return Ok(None) };
        match given.find(|(_, other)| other.versions() != condition.versions()) {
            Some((second, _)) => {
                Err(Error::invalid(format!("{first} and {second} name different versions")))
            }
            None => Ok(Some(condition)),
        }
    }
}

/// The headers of a create.
pub(crate) struct WriteHeaders {
    /// `Idempotency-Key`.
    pub(crate) idempotency: Option<String>,
    /// `x-service-challenge-token`.
    pub(crate) challenge: ChallengeHeader,
}

impl IntoParams for WriteHeaders {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all = IdempotencyKey::into_params(place);
        let what = "The answer to a challenge, where the collection asks for one.";
        all.push(optional_header(CHALLENGE_TOKEN.as_str(), what));
        all
    }
}

impl FromRequestParts<AppState> for WriteHeaders {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let IdempotencyKey(idempotency) = IdempotencyKey::from_request_parts(parts, state).await?;
        let challenge = ChallengeHeader {
            token: challenge(&parts.headers),
            address: RequestContext::from_request_parts(parts, state).await?.address,
            state: state.clone(),
        };
        Ok(Self { idempotency, challenge })
    }
}

/// A value that is not text still counts as an answer, a wrong one, and so do two.
fn challenge(headers: &HeaderMap) -> Option<Box<str>> {
    match SingleHeader::of(headers, CHALLENGE_TOKEN) {
        SingleHeader::Absent => None,
        sent => Some(sent.text().unwrap_or_default().into()),
    }
}
