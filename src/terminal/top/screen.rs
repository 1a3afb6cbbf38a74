//! What the live screen shows, and what each key does to it. No terminal and no network.

use std::sync::Arc;

use ratatui::{
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
    widgets::TableState,
};
use rookery_actors::observe::hot::{Measure, Window};

use super::{Listed, Look, Page, Picture, Wanted};

/// Rows that PgUp and PgDn go.
const PAGE_ROWS: usize = 10;

/// The screen.
#[derive(Debug)]
pub struct Screen {
    /// Where the server is.
    pub origin: String,
    /// What is asked of it.
    pub wanted: Wanted,
    /// What it said last.
    pub picture: Option<Arc<Picture>>,
    /// Why it said nothing the last time.
    pub trouble: Option<String>,
    /// The picture is held.
    pub held: bool,
    /// The keys are explained.
    pub help: bool,
    /// The chosen row.
    pub rows: TableState,
    /// The chosen row of the busiest apps, to come back to.
    came_from: usize,
}

/// What a key asks of the screen's surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Nothing,
    /// Something else is wanted of the server.
    Ask,
    /// The human is done.
    Quit,
}

impl Screen {
    /// A screen for the server at `origin`.
    #[must_use]
    pub fn new(origin: &str, wanted: Wanted) -> Self {
        Self {
            origin: origin.to_owned(),
            wanted,
            picture: None,
            trouble: None,
            held: false,
            help: false,
            rows: TableState::new().with_selected(0),
            came_from: 0,
        }
    }

    /// The server was asked: this is what came of it.
    pub fn look(&mut self, look: Look) {
        match look {
            Err(why) => self.trouble = Some(why),
            Ok(picture) => {
                self.trouble = None;
                // An answer to what was wanted before would show the wrong page.
                if picture.wanted != self.wanted {
                    return;
                }
                let same = self.picture.as_ref().is_some_and(|old| old.wanted == self.wanted);
                if !(self.held && same) {
                    self.picture = Some(picture);
                }
                self.choose(self.chosen());
            }
        }
    }

    /// A key was pressed.
    pub fn key(&mut self, key: KeyEvent) -> Effect {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if std::mem::take(&mut self.help) && key.code != KeyCode::Char('q') && !control {
            return Effect::Nothing;
        }
        match key.code {
            KeyCode::Char('c') if control => Effect::Quit,
            _ if control => Effect::Nothing,
            KeyCode::Char('q') => Effect::Quit,
            KeyCode::Char('?') => {
                self.help = true;
                Effect::Nothing
            }
            KeyCode::Char(' ') => {
                self.held = !self.held;
                Effect::Nothing
            }
            KeyCode::Up | KeyCode::Char('k') => self.choose(self.chosen().saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.choose(self.chosen() + 1),
            KeyCode::PageUp => self.choose(self.chosen().saturating_sub(PAGE_ROWS)),
            KeyCode::PageDown => self.choose(self.chosen() + PAGE_ROWS),
            KeyCode::Home => self.choose(0),
            KeyCode::End => self.choose(usize::MAX),
            KeyCode::Enter => self.open(),
            KeyCode::Esc | KeyCode::Backspace => self.back(),
            KeyCode::Char('r') => self.go(Page::Restarts),
            KeyCode::Char('m') => self.order(Measure::Messages, self.wanted.window),
            KeyCode::Char('w') => self.order(Measure::Wait, self.wanted.window),
            KeyCode::Char('b') => self.order(Measure::Bytes, self.wanted.window),
            KeyCode::Char('e') => self.order(Measure::Errors, self.wanted.window),
            KeyCode::Char('1') => self.order(self.wanted.by, Window::TenSeconds),
            KeyCode::Char('2') => self.order(self.wanted.by, Window::Minute),
            KeyCode::Char('3') => self.order(self.wanted.by, Window::QuarterHour),
            _ => Effect::Nothing,
        }
    }

    /// Whether the picture is of the page that is wanted.
    #[must_use]
    pub fn shows_page(&self) -> bool {
        self.picture.as_ref().is_some_and(|picture| picture.wanted.page == self.wanted.page)
    }

    fn chosen(&self) -> usize {
        self.rows.selected().unwrap_or(0)
    }

    fn len(&self) -> usize {
        match self.picture.as_ref().filter(|_| self.shows_page()).map(|picture| &picture.listed) {
            Some(Listed::Hot(hot)) => hot.items.len(),
            Some(Listed::App(app)) => app.recent.len(),
            Some(Listed::Restarts(page)) => page.items.len(),
            None => 0,
        }
    }

    fn choose(&mut self, row: usize) -> Effect {
        self.rows.select(Some(row.min(self.len().saturating_sub(1))));
        Effect::Nothing
    }

    /// Looks at the app of the chosen row.
    fn open(&mut self) -> Effect {
        let Some(picture) = self.picture.clone().filter(|_| self.shows_page()) else {
            return Effect::Nothing;
        };
        let id = match &picture.listed {
            Listed::Hot(hot) => hot.items.get(self.chosen()).map(|app| app.app.id.clone()),
            Listed::Restarts(page) => {
                page.items.get(self.chosen()).and_then(|crash| crash.app.clone())
            }
            Listed::App(_) => None,
        };
        id.map_or(Effect::Nothing, |id| self.go(Page::App(id)))
    }

    fn back(&mut self) -> Effect {
        if self.wanted.page == Page::Busiest {
            return Effect::Nothing;
        }
        let row = self.came_from;
        let effect = self.go(Page::Busiest);
        self.rows.select(Some(row));
        effect
    }

    fn order(&mut self, by: Measure, window: Window) -> Effect {
        self.wanted = Wanted { page: Page::Busiest, by, window };
        self.rows.select(Some(0));
        Effect::Ask
    }

    fn go(&mut self, page: Page) -> Effect {
        if self.wanted.page == Page::Busiest {
            self.came_from = self.chosen();
        }
        self.wanted.page = page;
        self.rows.select(Some(0));
        Effect::Ask
    }
}
