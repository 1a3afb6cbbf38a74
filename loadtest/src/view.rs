//! What the terminal shows while a run goes on: one line that is drawn again, or, where nobody
//! looks, one line for each phase.

use std::{
    io::{IsTerminal as _, Write as _},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use tokio::task::JoinHandle;

use crate::load::Live;

/// How often the line is drawn.
const REDRAW: Duration = Duration::from_millis(200);
/// Cells of the bar.
const BAR_CELLS: usize = 20;

/// Standard output. Nobody has to read it for a run to go on.
#[derive(Debug, Clone, Copy)]
pub struct View {
    is_terminal: bool,
}

/// A phase that is being shown.
pub struct Progress {
    drawing: Option<JoinHandle<()>>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(drawing) = self.drawing.take() {
            drawing.abort();
            write("\r\x1b[2K");
        }
    }
}

impl Default for View {
    fn default() -> Self {
        Self { is_terminal: std::io::stdout().is_terminal() }
    }
}

impl View {
    /// Prints a line.
    pub fn line(&self, text: &str) {
        write(&format!("{text}\n"));
    }

    /// Shows a step without counters, until dropped.
    #[must_use]
    pub fn step(&self, what: &str) -> Progress {
        if self.is_terminal {
            write(&format!("\r\x1b[2K{what} ..."));
            return Progress { drawing: Some(tokio::spawn(async {})) };
        }
        Progress { drawing: None }
    }

    /// Shows the counters of a phase that takes about `length`, until dropped.
    #[must_use]
    pub fn progress(&self, what: &str, live: &Arc<Live>, length: Duration) -> Progress {
        if !self.is_terminal {
            return Progress { drawing: None };
        }
        let (what, live) = (what.to_owned(), Arc::clone(live));
        let drawing = tokio::spawn(async move {
            let start = Instant::now();
            let mut last = (start, 0);
            loop {
                tokio::time::sleep(REDRAW).await;
                let (now, ok) = (Instant::now(), live.ok.load(Ordering::Relaxed));
                let rate = (ok - last.1) as f64 / (now - last.0).as_secs_f64();
                last = (now, ok);
                let errors = live.errors.load(Ordering::Relaxed);
                let dropped = live.dropped.load(Ordering::Relaxed);
                let bar = bar(start.elapsed(), length);
                write(&format!(
                    "\r\x1b[2K{what} {bar} {rate:.0}/s  ok {ok}  errors {errors}  dropped {dropped}"
                ));
            }
        });
        Progress { drawing: Some(drawing) }
    }
}

fn bar(passed: Duration, length: Duration) -> String {
    let share = passed.as_secs_f64() / length.as_secs_f64().max(0.001);
    let full = ((share.min(1.0)) * BAR_CELLS as f64) as usize;
    format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full))
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
