//! The apps that a signed-in human sees: owned, deleted, looked at lately, and its favorites.

pub mod deleted;
pub mod favorite;
pub mod list;
pub mod recent;
pub mod record;
pub mod view;

use http::StatusCode;
use rookery_domain::{Error, ErrorCode};
use rookery_storage::StorageError;

use crate::error::ApiResult;

/// What a mark is answered. An account that was closed since the request came in keeps none.
fn marked(is_marked: Result<bool, StorageError>) -> ApiResult<StatusCode> {
    match is_marked.map_err(Error::from)? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Error::new(ErrorCode::Unauthorized, "this account is closed").into()),
    }
}
