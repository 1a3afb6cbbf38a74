//! The signals that ask the process to end.

use std::{future::Future, io};

use tokio::signal::unix::{SignalKind, signal};

/// Registers for SIGTERM and SIGINT; the future ends with the first of them.
///
/// # Errors
/// When the system refuses the registration.
pub fn stop() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
