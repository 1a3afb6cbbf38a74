//! Who asks an app for its rows and its feed. Each operation is one handler for both interfaces, which
//! asks for a permission by what it does; here is which one that is for the callers of either.

use axum::extract::FromRequestParts;

use super::app_request::{AppRequest, Surface};
use crate::{
    error::ApiError,
    http::auth::{
        permission::{Permission, Readable, RowCaller, RowCallerBeyondAllowlist},
        visitor::{AnyVisitor, Visitor},
    },
    state::AppState,
};

/// A permission that tells which app is asked, and by whom.
pub(crate) trait Asks:
    Permission + FromRequestParts<AppState, Rejection = ApiError> + Into<AppRequest> + Send + 'static
{
}

impl<P> Asks for P where
    P: Permission
        + FromRequestParts<AppState, Rejection = ApiError>
        + Into<AppRequest>
        + Send
        + 'static
{
}

/// The callers of one interface, by what they ask for.
pub(crate) trait Callers: Send + 'static {
    /// Through which they ask.
    const SURFACE: Surface;
    /// For reading.
    type Reader: Asks;
    /// For changing rows.
    type Writer: Asks;
    /// For reading what no service credential may.
    type ReaderBeyondAllowlist: Asks;
    /// For doing what no service credential may.
    type WriterBeyondAllowlist: Asks;
}

/// Agents and service credentials, at `/v1/apps/:id`. No cookie counts there.
#[derive(Debug)]
pub(crate) enum Api {}

impl Callers for Api {
    const SURFACE: Surface = Surface::Api;
    type Reader = RowCaller<Readable>;
    type Writer = RowCaller;
    type ReaderBeyondAllowlist = RowCallerBeyondAllowlist<Readable>;
    type WriterBeyondAllowlist = RowCallerBeyondAllowlist;
}

/// Visitors of the app's page, at `/s`, by cookie (then with the CSRF check) or by header. Reading
/// needs no participant in a public app, changing anything does. A service credential is nobody here.
#[derive(Debug)]
pub(crate) enum Origin {}

impl Callers for Origin {
    const SURFACE: Surface = Surface::Origin;
    type Reader = AnyVisitor;
    type Writer = Visitor;
    type ReaderBeyondAllowlist = AnyVisitor;
    type WriterBeyondAllowlist = Visitor;
}
