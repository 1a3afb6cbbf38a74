//! What is counted of answers: how long they took by route, verb and class, and errors by code.
//! Recording is a few relaxed additions. Labels are templates, never paths: no id is in them.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use http::{Method, StatusCode};
use parking_lot::Mutex;
use rookery_actors::observe::histogram::{Distribution, Histogram};
use rookery_domain::ErrorCode;

/// Verbs that are told apart; the last one stands for all others.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"];
/// Classes of statuses.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The class of answers that tell of a failure of the service.
const FAILED: &str = CLASSES[4];

/// How the templates end of routes whose GET may be held until something happens: a long poll takes
/// as long as its client lets it, which says nothing of the server.
const HELD: [&str; 2] = ["/feed", "/changes"];

type Cell = OnceLock<Box<Histogram>>;

/// The origins that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// The site, with the API.
    Site,
    /// The origins of apps.
    App,
    /// The operators' own.
    Ops,
}

impl Listener {
    /// What `/metrics` calls it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::App => "app",
            Self::Ops => "ops",
        }
    }
}

/// The answers of one kind of origin.
#[derive(Debug)]
pub struct RouteFigures {
    listener: Listener,
    /// The templates; the last one stands for paths that no route has.
    templates: Vec<String>,
    cells: Vec<[[Cell; CLASSES.len()]; METHODS.len()]>,
}

/// The verb, one of few: a client may send any word as one.
#[must_use]
pub fn verb(method: &Method) -> &'static str {
    METHODS[verb_number(method)]
}

fn verb_number(method: &Method) -> usize {
    let known = METHODS.iter().position(|name| *name == method.as_str());
    known.unwrap_or(METHODS.len() - 1)
}

/// Durations of one kind of answers.
#[derive(Debug, Clone)]
pub struct RouteReading<'a> {
    /// Whose route it is.
    pub listener: Listener,
    /// The route's template.
    pub route: &'a str,
    /// The verb.
    pub method: &'static str,
    /// The class of the status, `2xx`.
    pub class: &'static str,
    /// How long answers took, from the complete head to the answer's head.
    pub took: Distribution,
}

impl RouteReading<'_> {
    /// Whether such an answer may have been held until something happened.
    fn is_held(&self) -> bool {
        self.method == "GET" && HELD.iter().any(|end| self.route.ends_with(end))
    }
}

impl RouteFigures {
    /// For answers of these routes.
    #[must_use]
    pub fn new(listener: Listener, mut templates: Vec<String>) -> Self {
        templates.push("unknown".to_owned());
        let cells = templates.iter().map(|_| Default::default()).collect();
        Self { listener, templates, cells }
    }

    /// The template of this route; `unknown` for a path that no route has.
    #[must_use]
    pub fn template(&self, route: Option<usize>) -> &str {
        &self.templates[route.unwrap_or(self.templates.len() - 1)]
    }

    /// Counts an answer.
    pub fn record(
        &self,
        route: Option<usize>,
        method: &Method,
        status: StatusCode,
        took: Duration,
    ) {
        // A method that a route does not take has no figures of its own there: anybody may try each.
        let method = match status {
            StatusCode::METHOD_NOT_ALLOWED => METHODS.len() - 1,
            _ => verb_number(method),
        };
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        let route = route.unwrap_or(self.cells.len() - 1);
        self.cells[route][method][class].get_or_init(Box::default).record(took);
    }

    /// What was counted, for each kind of answers that there were.
    pub fn read(&self) -> impl Iterator<Item = RouteReading<'_>> {
        self.templates.iter().zip(&self.cells).flat_map(move |(route, cells)| {
            METHODS.iter().zip(cells).flat_map(move |(method, cells)| {
                CLASSES.iter().zip(cells).filter_map(move |(class, cell)| {
                    Some(RouteReading {
                        listener: self.listener,
                        route,
                        method,
                        class,
                        took: cell.get()?.read(),
                    })
                })
            })
        })
    }
}

/// The answers of a server.
#[derive(Debug)]
pub struct HttpFigures {
    routes: Mutex<Vec<Arc<RouteFigures>>>,
    errors: [AtomicU64; ErrorCode::ALL.len()],
    /// Connections of both listeners that are open now.
    connections: AtomicU64,
    /// Heads that were no request, or did not come in time.
    bad_heads: AtomicU64,
}

/// Counts a connection for as long as it is there.
#[derive(Debug)]
pub struct OpenConnection<'a>(&'a AtomicU64);

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Default for HttpFigures {
    fn default() -> Self {
        Self {
            routes: Mutex::default(),
            errors: std::array::from_fn(|_| AtomicU64::new(0)),
            connections: AtomicU64::new(0),
            bad_heads: AtomicU64::new(0),
        }
    }
}

/// All answers of a server's site and apps together.
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpTotals {
    /// How many there were.
    pub count: u64,
    /// How long they took, those of the feed left out: they wait for an event.
    pub took: Distribution,
    /// Those with a status of 500 and above.
    pub failed: u64,
}

impl HttpFigures {
    /// Adds the routes of one kind of origin.
    pub fn add(&self, routes: Arc<RouteFigures>) {
        self.routes.lock().push(routes);
    }

    /// Counts an error answer.
    pub fn count_error(&self, code: ErrorCode) {
        // Codes are numbered in the order of `ALL`.
        if let Some(counter) = self.errors.get(code as usize) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Counts a connection until it is dropped.
    pub fn open_connection(&self) -> OpenConnection<'_> {
        self.connections.fetch_add(1, Relaxed);
        OpenConnection(&self.connections)
    }

    /// Connections that are open now.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    /// Counts a head that was no request.
    pub fn count_bad_head(&self) {
        self.bad_heads.fetch_add(1, Relaxed);
    }

    /// Heads that were no request.
    #[must_use]
    pub fn bad_heads(&self) -> u64 {
        self.bad_heads.load(Relaxed)
    }

    /// Every kind of origin.
    #[must_use]
    pub fn routes(&self) -> Vec<Arc<RouteFigures>> {
        self.routes.lock().clone()
    }

    /// Error answers by code, those that there were.
    pub fn errors(&self) -> impl Iterator<Item = (ErrorCode, u64)> {
        let counts = ErrorCode::ALL.iter().map(|code| (*code, &self.errors[*code as usize]));
        counts.map(|(code, count)| (code, count.load(Relaxed))).filter(|(_, count)| *count > 0)
    }

    /// The answers of the public listener together.
    #[must_use]
    pub fn totals(&self) -> HttpTotals {
        let mut totals = HttpTotals::default();
        for routes in self.routes().iter().filter(|routes| routes.listener != Listener::Ops) {
            for reading in routes.read() {
                totals.count += reading.took.count();
                if !reading.is_held() {
                    totals.took.add(&reading.took);
                }
                if reading.class == FAILED {
                    totals.failed += reading.took.count();
                }
            }
        }
        totals
    }
}
