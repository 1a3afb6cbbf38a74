//! What is sent: requests to the rows of apps. A workload makes one independent stream of requests
//! for each connection.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use clap::ValueEnum;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

use crate::{client::RequestHead, stats::Zipf};

/// Bytes of the text in a row that fill it up to about 200 bytes of data.
pub const FILLER_BYTES: usize = 150;

/// The requests of one connection.
pub trait Traffic {
    /// Writes the next request over `request`; which app it goes to.
    fn next(&mut self, request: &mut Vec<u8>) -> usize;
}

/// What a phase sends.
pub trait Workload: Send + Sync {
    /// Number of apps that are told apart.
    fn lanes(&self) -> usize;

    /// The requests of one more connection.
    fn worker(&self, seed: u64) -> Box<dyn Traffic>;

    /// The share of requests that an app is meant to get.
    fn share(&self, lane: usize) -> f64 {
        let _ = lane;
        1.0 / self.lanes().max(1) as f64
    }

    /// The refusal that it is meant to provoke, if any.
    fn meant_refusal(&self) -> Option<&'static str> {
        None
    }
}

/// What is done with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// Creates rows under new keys.
    Create,
    /// Merges a new number into an existing row.
    Update,
    /// Reads one row by key.
    Get,
    /// Reads the first page.
    List,
    /// 60 of 100 reads of a row, 20 lists, 15 updates, 5 creates.
    Mixed,
}

impl Operation {
    /// Its name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Get => "get",
            Self::List => "list",
            Self::Mixed => "mixed",
        }
    }

    /// Whether it reads or changes rows that must be there.
    #[must_use]
    pub const fn needs_rows(self) -> bool {
        !matches!(self, Self::Create)
    }

    fn draw(self, random: &mut SmallRng) -> Self {
        match self {
            Self::Mixed => match random.random_range(0..100) {
                0..60 => Self::Get,
                60..80 => Self::List,
                80..95 => Self::Update,
                _ => Self::Create,
            },
            one => one,
        }
    }
}

/// Operations on the rows of apps: all of this tool's scenarios but those that watch something.
pub struct RowWork {
    /// The fields of every request.
    pub head: RequestHead,
    /// The path of each app's collection.
    pub collections: Arc<[String]>,
    /// What is done.
    pub operation: Operation,
    /// Rows `k0` to `k<rows - 1>` are there in every app.
    pub rows: usize,
    /// Rows of one page.
    pub page: usize,
    /// How popular the apps are.
    pub popularity: Zipf,
    /// Makes names unique over connections and phases.
    pub names: Arc<AtomicU64>,
}

impl Workload for RowWork {
    fn lanes(&self) -> usize {
        self.collections.len()
    }

    fn worker(&self, seed: u64) -> Box<dyn Traffic> {
        Box::new(RowTraffic {
            head: self.head.clone(),
            collections: Arc::clone(&self.collections),
            operation: self.operation,
            rows: self.rows.max(1),
            page: self.page,
            popularity: (self.collections.len() > 1).then(|| self.popularity.clone()),
            names: Arc::clone(&self.names),
            random: SmallRng::seed_from_u64(seed),
            body: String::with_capacity(256),
            path: String::with_capacity(128),
        })
    }

    fn share(&self, lane: usize) -> f64 {
        self.popularity.share(lane)
    }
}

struct RowTraffic {
    head: RequestHead,
    collections: Arc<[String]>,
    operation: Operation,
    rows: usize,
    page: usize,
    popularity: Option<Zipf>,
    names: Arc<AtomicU64>,
    random: SmallRng,
    body: String,
    path: String,
}

impl Traffic for RowTraffic {
    fn next(&mut self, request: &mut Vec<u8>) -> usize {
        let lane = self.popularity.as_ref().map_or(0, |zipf| zipf.draw(&mut self.random));
        let collection = &self.collections[lane];
        self.body.clear();
        self.path.clear();
        // Writing to a String does not fail.
        match self.operation.draw(&mut self.random) {
            Operation::Create => {
                let name = self.names.fetch_add(1, Ordering::Relaxed);
                write_row(&mut self.body, name);
                self.head.json(request, "POST", collection, self.body.as_bytes());
            }
            Operation::Update => {
                let _ =
                    write!(self.path, "{collection}/k{}", self.random.random_range(0..self.rows));
                let n: u32 = self.random.random();
                let _ = write!(self.body, r#"{{"data":{{"n":{n}}}}}"#);
                self.head.json(request, "PATCH", &self.path, self.body.as_bytes());
            }
            Operation::List => {
                let _ = write!(self.path, "{collection}?limit={}", self.page);
                self.head.bodiless(request, "GET", &self.path);
            }
            Operation::Get | Operation::Mixed => {
                let _ =
                    write!(self.path, "{collection}/k{}", self.random.random_range(0..self.rows));
                self.head.bodiless(request, "GET", &self.path);
            }
        }
        lane
    }
}

/// The body that creates row number `name` under a key of the server's choice.
pub fn write_row(body: &mut String, name: u64) {
    // Writing to a String does not fail.
    let _ = write!(
        body,
        r#"{{"data":{{"name":"n{name}","n":{name},"text":"{:x<FILLER_BYTES$}"}}}}"#,
        ""
    );
}

/// The same request again and again.
pub struct Constant {
    /// As bytes.
    pub request: Vec<u8>,
}

impl Workload for Constant {
    fn lanes(&self) -> usize {
        1
    }

    fn worker(&self, _seed: u64) -> Box<dyn Traffic> {
        Box::new(Repeat(self.request.clone()))
    }
}

struct Repeat(Vec<u8>);

impl Traffic for Repeat {
    fn next(&mut self, request: &mut Vec<u8>) -> usize {
        if request.is_empty() {
            request.extend_from_slice(&self.0);
        }
        0
    }
}
