//! Runtimes, and the thread for long jobs that each of them keeps. What runs on them is decided where it is
//! spawned; how many long jobs there are at once is not decided here.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// A runtime of as many threads as there are CPUs, called `name`.
///
/// One thread for long jobs is there from the start, and all stay. Where the system gives no thread any
/// more, a job waits for one of those that there are. Were there none, tokio would panic with the job
/// still in its queue, where no later one would make it begin.
///
/// # Errors
/// When the system does not give what it needs.
///
/// # Panics
/// When the system gives none of these threads.
pub(crate) fn runtime(name: &str) -> io::Result<Runtime> {
    let mut threads = Builder::new_multi_thread();
    threads.thread_name(name).enable_all().thread_keep_alive(Duration::MAX);
    let runtime = threads.build()?;
    runtime.spawn_blocking(|| ());
    Ok(runtime)
}
