//! Whether the database can still promise anything. One failed fsync, on whichever path, ends all
//! writing of this process: what the next fsync says about the same pages is worth nothing
//! (the kernel reports such a failure once). So does a file that somebody took away.

use tokio::sync::watch;

use crate::faults::FullAt;

/// Sound, or broken for good with a reason.
#[derive(Debug, Default)]
pub(crate) struct Soundness {
    broken: watch::Sender<Option<String>>,
    /// Where a test lets the space run out.
    pub(crate) full_at: FullAt,
}

impl Soundness {
    /// From now on nothing is written. The first reason stays, and is logged.
    pub(crate) fn break_for(&self, why: &str) {
        let is_first = self.broken.send_if_modified(|broken| {
            let is_first = broken.is_none();
            if is_first {
                *broken = Some(why.to_owned());
            }
            is_first
        });
        if is_first {
            tracing::error!(why, "the store is broken: nothing is written any more");
        }
    }

    /// Why nothing is written any more.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    /// Returns once nothing is written any more, and says why.
    pub(crate) async fn until_broken(&self) -> String {
        let mut watch = self.broken.subscribe();
        // The sender lives as long as `self`.
        let broken = watch.wait_for(Option::is_some).await;
        broken.ok().and_then(|why| why.clone()).unwrap_or_default()
    }
}
