//! How a trace travels: with the task that works on a request, and into the tasks that it starts.
//!
//! It lives here because commits are the last spans of a trace, and the rooms above use it too.

use std::time::Instant;

use futures::future::Either;
use rookery_domain::trace::Trace;

tokio::task_local! {
    static TRACE: Trace;
}

/// Runs `work` as part of `trace`.
pub fn within<T>(trace: Option<Trace>, work: impl Future<Output = T>) -> impl Future<Output = T> {
    match trace {
        Some(trace) => Either::Left(TRACE.scope(trace, work)),
        None => Either::Right(work),
    }
}

/// The trace that the running task works for.
#[must_use]
pub fn current() -> Option<Trace> {
    TRACE.try_with(Clone::clone).ok()
}

/// Notes a transaction that somebody waited for since `began`, in the trace that the task works for.
pub(crate) fn transaction_ended<T, E>(began: Instant, result: &Result<T, E>) {
    if let Some(trace) = current() {
        let failure = result.is_err().then_some("storage");
        trace.child().end("transaction", began, Instant::now(), failure, Vec::new());
    }
}

/// `work`, to be run in another task, as part of the trace of this one.
pub fn carried<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    within(current(), work)
}
