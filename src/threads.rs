//! Runtimes, with the thread for long jobs that each of them keeps, and the threads that talk to whoever
//! reads what the process says. What runs on a runtime is decided where it is spawned; how many long jobs
//! there are at once is not decided here.

use std::{io, sync::mpsc, thread, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// How long whoever reads what the process says is waited for.
const READER_PATIENCE: Duration = Duration::from_secs(2);

/// Has `write` write, and waits a moment for it: a terminal may be stopped and a pipe be full, and whether
/// the server serves or ends does not depend on either.
pub(crate) fn say(write: impl FnOnce() + Send + 'static) {
    let (written, hears) = mpsc::channel();
    let thread = thread::Builder::new().spawn(move || {
        write();
        let _ = written.send(());
    });
    if thread.is_ok() {
        let _ = hears.recv_timeout(READER_PATIENCE);
    }
}

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
