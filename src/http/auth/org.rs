//! The permissions of routes about one organization. To a stranger it is not there; a member who is
//! no admin is told so.

use axum::extract::FromRequestParts;
use http::request::Parts;
use rookery_actors::directory::OrgRecord;
use rookery_domain::{
    Error, ErrorCode, Result,
    id::{HumanId, OrgId},
    principal::Caller,
};

use super::{
    permission::{Permission, Scheme},
    recheck, resolve,
};
use crate::{
    error::ApiError,
    http::{client::RequestContext, params},
    state::AppState,
};

/// A member of the organization in the path, or one of the member's agents.
#[derive(Debug, Clone)]
pub struct OrgInsider {
    /// The organization as the member sees it.
    pub org: OrgRecord,
    /// The member.
    pub account: HumanId,
    /// Who asked.
    pub caller: Caller,
}

/// An admin of the organization in the path, or one of the admin's agents.
#[derive(Debug, Clone)]
pub struct OrgAdmin {
    /// The organization.
    pub org: OrgId,
    /// The admin.
    pub account: HumanId,
    /// Who asked.
    pub caller: Caller,
}

const SCHEMES: &[Scheme] = &[Scheme::AgentKey, Scheme::HumanSession];
const CODES: &[ErrorCode] = &[
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::AgentNotClaimed,
    ErrorCode::CsrfOriginMismatch,
    ErrorCode::NotFound,
];

impl Permission for OrgInsider {
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const WHO: &'static str = "A member of the organization, or an agent of one.";
    const CODES: &'static [ErrorCode] = CODES;
}

impl Permission for OrgAdmin {
    const SCHEMES: &'static [Scheme] = SCHEMES;
    const WHO: &'static str = "An admin of the organization, or an agent of one.";
    const CODES: &'static [ErrorCode] = CODES;
}

impl FromRequestParts<AppState> for OrgInsider {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let (account, caller) = resolve::person(parts, state).await?;
        let org = path_org(parts, state).await?;
        let org = state.rooms.directory.org(account, org)?;
        RequestContext::check_stray(parts)?;
        recheck::note::<Self>(parts);
        Ok(Self { org, account, caller })
    }
}

impl FromRequestParts<AppState> for OrgAdmin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let (account, caller) = resolve::person(parts, state).await?;
        let org = path_org(parts, state).await?;
        state.rooms.directory.check_org_admin(account, org)?;
        RequestContext::check_stray(parts)?;
        recheck::note::<Self>(parts);
        Ok(Self { org, account, caller })
    }
}

/// The organization in the path; no id at all is an unknown one.
async fn path_org(parts: &mut Parts, state: &AppState) -> Result<OrgId> {
    let unknown = || Error::new(ErrorCode::NotFound, "no such organization");
    let [id] = params::path(parts, state, ["id"]).await;
    id.and_then(|text| text.parse().ok()).ok_or_else(unknown)
}
