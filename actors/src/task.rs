//! Work that is finished once it is begun, whatever becomes of the request that began it.

use std::future::Future;

use rookery_domain::{Error, Result};
use rookery_storage::trace;

/// Runs `work` to its end in a task of its own, whatever becomes of the request that asked.
///
/// # Errors
/// Those of `work`; `internal` with an unknown outcome, when it panicked or the service ended before it.
pub async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    match tokio::spawn(trace::carried(work)).await {
        Ok(done) => done,
        // At an unknown point.
        Err(cut_short) => Err(Error::unknown_outcome().caused_by(cut_short)),
    }
}
