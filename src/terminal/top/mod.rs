//! `rookery ops top`: a live screen. A task asks the server once a second for what the screen
//! wants; the screen's own thread reads keys and draws. Neither waits for the other: each shows
//! the other only its newest value.
//!
//! `screen` is what is shown and what keys do to it, `draw` how it looks.

pub mod draw;
pub mod screen;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rookery_actors::observe::hot::{Measure, Window};
use rookery_domain::text::path_segment;
use tokio::{sync::watch, time::Instant};

use self::screen::{Effect, Screen};
use super::client::{Failure, OpsClient};
use crate::{
    ops::overview::Overview,
    routes::ops::{app::AppDetail, hot::HotApps, restarts::Restarts},
    server::signal::Signals,
};

/// Time between two looks at the server.
const LOOK: Duration = Duration::from_secs(1);
/// How long the screen waits for a key before it looks whether there is something new.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// What the keys do, for `--help`.
pub const KEYS_HELP: &str = "\
Keys:
  Up Down PgUp PgDn Home End   choose an app (also k and j)
  Enter                        look at the chosen app
  Esc Backspace                back
  m w b e                      busiest by messages, wait, bytes, errors
  1 2 3                        rates over 10 s, 1 min, 15 min
  r                            restarts
  Space                        hold the picture, and go on
  ?                            the keys
  q Ctrl-C                     quit";

/// What the screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// The service and its busiest apps.
    Busiest,
    /// The app with this id.
    App(String),
    /// The last crashes.
    Restarts,
}

/// What is asked of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The page.
    pub page: Page,
    /// What makes an app busy.
    pub by: Measure,
    /// The time that rates look back.
    pub window: Window,
}

impl Wanted {
    /// The busiest apps.
    #[must_use]
    pub const fn busiest(by: Measure, window: Window) -> Self {
        Self { page: Page::Busiest, by, window }
    }

    /// Where it is asked for.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.page {
            Page::Busiest => {
                format!("/ops/api/hot?by={}&window={}", self.by.as_str(), self.window.as_str())
            }
            Page::App(id) => format!("/ops/api/apps/{}", path_segment(id)),
            Page::Restarts => "/ops/api/restarts?limit=100".to_owned(),
        }
    }
}

/// What the server said last.
#[derive(Debug, Clone)]
pub struct Picture {
    /// What had been asked.
    pub wanted: Wanted,
    /// The service.
    pub overview: Overview,
    /// What the page lists.
    pub listed: Listed,
}

/// What a page lists.
#[derive(Debug, Clone)]
pub enum Listed {
    /// Busy apps.
    Hot(HotApps),
    /// One app.
    App(Box<AppDetail>),
    /// Crashes.
    Restarts(Restarts),
}

/// The newest picture, or why there is none.
pub type Look = Result<Arc<Picture>, String>;

/// Asks the server for what is wanted.
///
/// # Errors
/// [`Failure`].
pub async fn look(client: &OpsClient, wanted: Wanted) -> Result<Picture, Failure> {
    let overview = client.get("/ops/api/overview").await?;
    let path = wanted.path();
    let listed = match wanted.page {
        Page::Busiest => Listed::Hot(client.get(&path).await?),
        Page::App(_) => Listed::App(Box::new(client.get(&path).await?)),
        Page::Restarts => Listed::Restarts(client.get(&path).await?),
    };
    Ok(Picture { wanted, overview, listed })
}

/// Shows the live screen until its human quits, or the process is asked to end.
///
/// # Errors
/// One line, when the terminal cannot be used, or the server does not answer at all.
pub async fn run(client: OpsClient, wanted: Wanted) -> Result<(), String> {
    // What is wrong with the address or the token is said on a plain line, not on a screen.
    let first = look(&client, wanted.clone()).await?;
    let mut signals =
        Signals::new().map_err(|error| format!("cannot listen to signals: {error}"))?;
    let origin = client.origin().to_owned();
    let (wants, wanted_now) = watch::channel(wanted);
    let (looks, seen) = watch::channel::<Look>(Ok(Arc::new(first)));
    let over = Arc::new(AtomicBool::new(false));
    let screen_over = Arc::clone(&over);
    let mut screen = tokio::task::spawn_blocking(move || show(&origin, &wants, seen, &screen_over));
    let asking = tokio::spawn(keep_looking(client, wanted_now, looks));
    let ended = tokio::select! {
        ended = &mut screen => ended,
        _ = signals.stop() => {
            over.store(true, Ordering::Relaxed);
            screen.await
        }
    };
    asking.abort();
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("the terminal cannot be used: {error}")),
        Err(_) => Err("the screen failed".to_owned()),
    }
}

async fn keep_looking(
    client: OpsClient,
    mut wanted: watch::Receiver<Wanted>,
    looks: watch::Sender<Look>,
) {
    let mut next = Instant::now() + LOOK;
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            changed = wanted.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
        let now = wanted.borrow_and_update().clone();
        next = Instant::now() + LOOK;
        let seen = look(&client, now).await.map(Arc::new).map_err(String::from);
        if looks.send(seen).is_err() {
            return;
        }
    }
}

/// The screen's thread.
fn show(
    origin: &str,
    wants: &watch::Sender<Wanted>,
    mut seen: watch::Receiver<Look>,
    over: &AtomicBool,
) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let mut screen = Screen::new(origin, wants.borrow().clone());
    screen.look(seen.borrow_and_update().clone());
    let mut stale = true;
    let ended = loop {
        if over.load(Ordering::Relaxed) {
            break Ok(());
        }
        if seen.has_changed().unwrap_or(false) {
            screen.look(seen.borrow_and_update().clone());
            stale = true;
        }
        if std::mem::take(&mut stale)
            && let Err(error) = terminal.draw(|frame| draw::draw(frame, &mut screen))
        {
            break Err(error);
        }
        match next_event() {
            Ok(None) => {}
            Ok(Some(Event::Key(key))) if key.kind != KeyEventKind::Release => {
                stale = true;
                match screen.key(key) {
                    Effect::Nothing => {}
                    Effect::Ask => drop(wants.send_replace(screen.wanted.clone())),
                    Effect::Quit => break Ok(()),
                }
            }
            Ok(Some(_)) => stale = true,
            Err(error) => break Err(error),
        }
    };
    ratatui::try_restore()?;
    ended
}

fn next_event() -> io::Result<Option<Event>> {
    if event::poll(KEY_WAIT)? { event::read().map(Some) } else { Ok(None) }
}
