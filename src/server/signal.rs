//! The signals that ask the process to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Registered for SIGTERM, SIGINT and SIGHUP.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Registers for them.
    ///
    /// # Errors
    /// When the system refuses the registration.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the first of them.
    pub async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Waits for one SIGINT more: somebody at a terminal does not want to wait. Supervisors repeat the
    /// others.
    pub async fn insist(&mut self) {
        self.interrupt.recv().await;
    }
}
