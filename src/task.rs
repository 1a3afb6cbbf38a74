//! Tasks that go on for as long as the server does.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;

/// The pause before work that panicked is begun again.
const PAUSE: Duration = Duration::from_secs(1);

/// Does `work`, called `what` in the log, until it ends by itself: one that panics is begun again. Else
/// nobody would notice that mail no longer leaves, or that figures stand still, before a restart.
pub(crate) async fn until_it_ends(what: &'static str, mut work: impl AsyncFnMut()) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(what, "a task panicked, and is begun again");
        tokio::time::sleep(PAUSE).await;
    }
}
