//! Pictures of apps: taken by a headless browser where the settings name one, drawn otherwise.
//! There is always one.
//!
//! A picture is kept by version and visibility for an hour, and no longer once somebody purges a row of the
//! app: rows that the sweeper destroys are in no picture after that hour. How many are taken at once, how
//! many of an account may wait, how long one takes and how many bytes it costs are bounded; what is beyond
//! them is drawn.

mod browser;
mod devtools;
mod drawn;
mod look;
mod places;
mod source;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::Router;
use bytes::Bytes;
use rookery_domain::{Error, Result, app::AppRecord, id::AppId, manifest::Visibility};
use rookery_storage::offload::Offload;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

pub use self::{
    browser::Browser,
    look::{Answer, PageSource, Served},
};
use self::{places::Places, source::AppSource};
use crate::{config, state::AppState};

/// Bytes of all pictures that are kept together.
const CACHE_BYTES_MAX: u64 = 64 << 20;
/// How long a picture is shown before another is taken: what it shows of the app's rows may be gone.
const TAKEN_FOR: Duration = Duration::from_secs(3_600);
/// How long one waits for its turn, before it gets a drawn one too.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// After a picture could not be taken, it is not tried again for so long.
const FAILED_FOR: Duration = Duration::from_secs(600);
/// Versions whose failure is remembered.
const FAILED_MAX: u64 = 10_000;

/// A size of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// 640 by 400, of a window of 1,280 by 800: for lists.
    #[default]
    Card,
    /// 1,200 by 630: what the Open Graph protocol asks for.
    Og,
}

impl Size {
    /// Pixels of the picture: width, height.
    #[must_use]
    pub const fn pixels(self) -> (u32, u32) {
        match self {
            Self::Card => (640, 400),
            Self::Og => (1_200, 630),
        }
    }

    /// How many pixels of the page are one of the picture, each way.
    #[must_use]
    pub const fn reduction(self) -> u32 {
        match self {
            Self::Card => 2,
            Self::Og => 1,
        }
    }
}

/// A picture in PNG.
#[derive(Debug, Clone)]
pub struct Picture {
    /// Its bytes.
    pub png: Bytes,
    /// Whether a browser has taken it, and not this service drawn it.
    pub is_taken: bool,
}

/// Of what a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    app: AppId,
    version: u32,
    visibility: Visibility,
    size: Size,
}

impl Key {
    fn of(app: &AppRecord, size: Size) -> Self {
        Self { app: app.id, version: app.version, visibility: app.visibility, size }
    }
}

/// That a picture could not be taken.
struct FailedLately;

/// All pictures, and who takes them.
pub struct Screenshots {
    browser: Option<Browser>,
    /// What answers on apps' own origins. It has no state: that holds the pictures.
    app_handlers: Router<AppState>,
    taken: moka::sync::Cache<Key, Bytes>,
    /// How often a row was purged; a picture that was begun before is not kept.
    destroyed: AtomicU64,
    failed: moka::sync::Cache<Key, ()>,
    /// Those that wait and those that are being taken.
    places: Arc<Places>,
    /// They go round by the owners of apps.
    turns: Offload,
}

impl Screenshots {
    /// Refuses settings with which no picture could be taken.
    ///
    /// # Errors
    /// One line that names the setting.
    pub fn check(config: &config::Screenshot) -> Result<(), String> {
        Browser::check(config)
    }

    /// Pictures as the settings want them, of apps on whose origins `app_handlers` answer.
    #[must_use]
    pub fn new(config: &config::Screenshot, app_handlers: Router<AppState>) -> Self {
        let weight = |_: &Key, png: &Bytes| u32::try_from(png.len()).unwrap_or(u32::MAX);
        Self {
            browser: Browser::of(config),
            app_handlers,
            taken: moka::sync::Cache::builder()
                .max_capacity(CACHE_BYTES_MAX)
                .weigher(weight)
                .time_to_live(TAKEN_FOR)
                .build(),
            destroyed: AtomicU64::new(0),
            failed: moka::sync::Cache::builder()
                .max_capacity(FAILED_MAX)
                .time_to_live(FAILED_FOR)
                .build(),
            places: Arc::default(),
            turns: Offload::with_permits(config.concurrency, WAIT_MAX),
        }
    }

    /// The picture of an app's current version.
    ///
    /// # Errors
    /// `internal` when not even one could be drawn.
    pub async fn of(&self, state: &AppState, app: &Arc<AppRecord>, size: Size) -> Result<Picture> {
        if let Some(png) = self.take(state, app, size).await {
            return Ok(Picture { png, is_taken: true });
        }
        let app = Arc::clone(app);
        let drawn = state.reading.run(app.owner, move || drawn::draw(&app, size)).await?;
        let png = drawn.ok_or_else(Error::internal)?;
        Ok(Picture { png, is_taken: false })
    }

    async fn take(&self, state: &AppState, app: &Arc<AppRecord>, size: Size) -> Option<Bytes> {
        self.browser.as_ref()?;
        let key = Key::of(app, size);
        if let Some(known) = self.known(&key) {
            return known.ok();
        }
        let _place = self.places.take(app.owner)?;
        let turn = self.turns.permit(app.owner).await.ok()?;
        // Whoever was before may have taken it, or tried to.
        if let Some(known) = self.known(&key) {
            return known.ok();
        }
        let source = AppSource::new(state, Arc::clone(app), self.app_handlers.clone());
        let state = state.clone();
        // To its end: where who asked has left, the next one would begin anew.
        let picture = tokio::spawn(async move {
            let _turn = turn;
            state.screenshots.look(source, key, &state.drain).await
        });
        picture.await.ok()?
    }

    /// Requests that wait for their turn.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.turns.waits().count
    }

    /// The picture that was taken, or that this failed; nothing where neither happened lately.
    fn known(&self, key: &Key) -> Option<Result<Bytes, FailedLately>> {
        match self.taken.get(key) {
            Some(png) => Some(Ok(png)),
            None => self.failed.contains_key(key).then_some(Err(FailedLately)),
        }
    }

    /// Forgets the pictures of an app of which somebody purged a row.
    pub fn forget(&self, app: &AppRecord) {
        self.destroyed.fetch_add(1, Ordering::SeqCst);
        for &visibility in Visibility::ALL {
            for size in [Size::Card, Size::Og] {
                self.taken.invalidate(&Key { visibility, ..Key::of(app, size) });
            }
        }
    }

    async fn look(&self, source: AppSource, key: Key, stops: &CancellationToken) -> Option<Bytes> {
        let destroyed = self.destroyed.load(Ordering::SeqCst);
        match self.browser.as_ref()?.picture(source, key.size, stops).await {
            Ok(png) => {
                self.taken.insert(key, png.clone());
                if destroyed != self.destroyed.load(Ordering::SeqCst) {
                    self.taken.invalidate(&key);
                }
                Some(png)
            }
            Err(error) => {
                tracing::warn!(app.id = %key.app, %error, "no screenshot was taken");
                self.failed.insert(key, ());
                None
            }
        }
    }
}
