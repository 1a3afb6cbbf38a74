//! Followers of one app and the writer whose commits they wait for, on a thread of their own.
//!
//! A commit counts from the moment its answer was read: that is when the writer may tell somebody.
//! A follower that heard of it even earlier counts as the smallest time there is.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    rc::Rc,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Deserialize;
use tokio::{sync::oneshot, task::LocalSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::feed::Way;
use crate::{
    api::{Api, text},
    client::{ClientError, Connection},
    failure::{Failure, Result},
    load::{
        GeneratorUse, Recorder, Recording,
        pacer::Pacer,
        recorder::{LATENCY_US_MAX, Sample, micros},
    },
    machine,
    target::App,
};

/// Seconds that a poll asks to be held.
const WAIT_S: u64 = 25;
/// Time for all followers to be waiting before the first commit.
const SETTLE: Duration = Duration::from_millis(500);
/// Time for the last deliveries after the last commit.
const LINGER: Duration = Duration::from_secs(5);
/// How often it is looked whether all were delivered.
const LINGER_POLL: Duration = Duration::from_millis(10);

/// What is to be done.
pub(super) struct Order {
    pub(super) api: Api,
    pub(super) app: App,
    pub(super) way: Way,
    pub(super) followers: usize,
    pub(super) rate: f64,
    pub(super) duration: Duration,
    pub(super) timeout: Duration,
}

/// What was seen.
pub(super) struct Seen {
    /// The writer's own answers.
    pub(super) writer: Recording,
    /// From a commit to each delivery.
    pub(super) each: Histogram<u64>,
    /// From a commit to its last delivery.
    pub(super) last: Histogram<u64>,
    /// Deliveries that never came.
    pub(super) missed: usize,
    /// Deliveries of commits whose own answer did not come, which counts from nothing.
    pub(super) unanswered: usize,
    /// Followers that ended before they were told to, by what ended them.
    pub(super) ended: BTreeMap<String, usize>,
}

/// Commits and who heard of them, by the number that the row was given.
#[derive(Default)]
struct Board {
    acknowledged: HashMap<u64, Instant>,
    heard: HashMap<u64, Vec<Instant>>,
}

impl Board {
    /// Deliveries of commits that were acknowledged, or of all others.
    fn deliveries(&self, acknowledged: bool) -> usize {
        let heard = self.heard.iter();
        let wanted =
            heard.filter(|(number, _)| self.acknowledged.contains_key(number) == acknowledged);
        wanted.map(|(_, heard)| heard.len()).sum()
    }
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Event>,
    cursor: String,
}

#[derive(Deserialize)]
struct Event {
    data: Option<Row>,
}

#[derive(Deserialize)]
struct Row {
    n: Option<u64>,
}

/// Runs it on a thread of its own.
pub(super) async fn run(order: Order, cancel: &CancellationToken) -> Result<Seen> {
    let (done, outcome) = oneshot::channel();
    let cancel = cancel.clone();
    let body = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let result =
            runtime.map_err(|error| Failure::Client(ClientError::Io(error))).and_then(|runtime| {
                runtime.block_on(LocalSet::new().run_until(async {
                    let pacer = Rc::new(Pacer::default());
                    tokio::select! {
                        seen = follow(order, &pacer) => seen,
                        ended = Rc::clone(&pacer).run() => Err(Failure::Client(
                            ended.err().map_or(ClientError::Closed, ClientError::Io),
                        )),
                        () = cancel.cancelled() => Err(Failure::Interrupted),
                    }
                }))
            });
        drop(done.send(result));
    };
    let spawned = std::thread::Builder::new().name("followers".to_owned()).spawn(body);
    spawned.map_err(|error| Failure::Client(ClientError::Io(error)))?;
    outcome.await.unwrap_or(Err(Failure::Client(ClientError::Closed)))
}

async fn follow(order: Order, pacer: &Pacer) -> Result<Seen> {
    let feed = format!("/v1/apps/{}/feed", order.app.id);
    let now = order.api.expect("GET", &feed, None).await?;
    let cursor = text(&now, "/cursor", "GET /v1/apps/:id/feed")?.to_owned();
    let board = Rc::new(RefCell::new(Board::default()));
    let mut following = Vec::with_capacity(order.followers);
    for _ in 0..order.followers {
        let connection = order.api.endpoint().connect().await?;
        let (api, feed) = (order.api.clone(), feed.clone());
        let (cursor, board, way) = (cursor.clone(), Rc::clone(&board), order.way);
        following.push(tokio::task::spawn_local(async move {
            let ended = match way {
                Way::LongPoll => poll(&api, &feed, cursor, connection, &board).await,
                Way::Sse => stream(&api, &feed, &cursor, connection, &board).await,
            };
            ended.unwrap_or_else(|error| error.name().to_owned())
        }));
    }
    tokio::time::sleep(SETTLE).await;
    let writer = write(&order, &board, pacer).await?;
    let expected = order.followers * board.borrow().acknowledged.len();
    let deadline = Instant::now() + LINGER;
    while board.borrow().deliveries(true) < expected && Instant::now() < deadline {
        tokio::time::sleep(LINGER_POLL).await;
    }
    let mut ended = BTreeMap::new();
    for follower in following {
        if follower.is_finished() {
            let why = follower.await.unwrap_or_else(|_| "failed".to_owned());
            *ended.entry(why).or_default() += 1;
        } else {
            follower.abort();
        }
    }
    let board = board.borrow();
    let unanswered = board.deliveries(false);
    let (each, last) = (histogram(), histogram());
    let mut seen = Seen { writer, each, last, missed: expected, unanswered, ended };
    for (number, at) in &board.acknowledged {
        let heard = board.heard.get(number).map(Vec::as_slice).unwrap_or_default();
        seen.missed = seen.missed.saturating_sub(heard.len());
        let after = |heard: &Instant| micros(heard.saturating_duration_since(*at));
        heard.iter().for_each(|heard| seen.each.saturating_record(after(heard)));
        if let Some(last) = heard.iter().max() {
            seen.last.saturating_record(after(last));
        }
    }
    Ok(seen)
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_US_MAX, 3).unwrap_or_else(|_| unreachable!("constant bounds"))
}

/// Commits at a steady rate, each changing the app's one row to a number of its own.
async fn write(order: &Order, board: &RefCell<Board>, pacer: &Pacer) -> Result<Recording> {
    let head = order.api.head();
    let mut connection = order.api.endpoint().connect().await?;
    let mut recorder = Recorder::new(1, true);
    let mut request = Vec::new();
    let cpu = machine::thread_cpu();
    let start = Instant::now();
    let commits = (order.duration.as_secs_f64() * order.rate).ceil().max(1.0) as u64;
    // The row begins with 0.
    for number in 1..=commits {
        let intended = Duration::from_secs_f64((number - 1) as f64 / order.rate);
        // After an answer that came too late the next commit is due at once, which is not the
        // generator's lateness.
        if start.elapsed() < intended {
            pacer.until(start + intended).await;
            recorder.record_lateness(start.elapsed().saturating_sub(intended));
        }
        let body = format!(r#"{{"data":{{"n":{number}}}}}"#);
        let path = format_args!("{}/k0", order.app.collection());
        head.json(&mut request, "PATCH", path, body.as_bytes());
        let sent = start.elapsed();
        if !connection.is_usable(Instant::now()) {
            connection = order.api.endpoint().connect().await?;
        }
        let answered = timeout(order.timeout, connection.exchange(&request)).await;
        let error = match answered.unwrap_or(Err(ClientError::Timeout)) {
            Ok(answer) if answer.is_ok() => None,
            Ok(answer) => Some(format!("http_{}", answer.status)),
            Err(error) => Some(error.name().to_owned()),
        };
        let done = start.elapsed();
        if error.is_none() {
            board.borrow_mut().acknowledged.insert(number, start + done);
        }
        recorder.record(Sample { lane: 0, intended, sent, done, error: error.as_deref() });
    }
    let elapsed = start.elapsed();
    let cpu_s = machine::thread_cpu().saturating_sub(cpu).as_secs_f64();
    let busiest = cpu_s / elapsed.as_secs_f64().max(1e-9);
    Ok(Recording { recorder, elapsed, generator: GeneratorUse { cpu_s, busiest, threads: 1 } })
}

/// Polls until an answer is none; its status is answered.
async fn poll(
    api: &Api,
    feed: &str,
    mut cursor: String,
    mut connection: Connection,
    board: &RefCell<Board>,
) -> std::result::Result<String, ClientError> {
    let head = api.head();
    let mut request = Vec::new();
    loop {
        let since: String = url::form_urlencoded::byte_serialize(cursor.as_bytes()).collect();
        head.bodiless(&mut request, "GET", format_args!("{feed}?since={since}&wait={WAIT_S}"));
        if !connection.is_usable(Instant::now()) {
            connection = api.endpoint().connect().await?;
        }
        let answer = connection.exchange(&request).await?;
        let heard_at = Instant::now();
        if !answer.is_ok() {
            return Ok(format!("http_{}", answer.status));
        }
        let page: Page = serde_json::from_slice(answer.body)
            .map_err(|_| ClientError::Protocol("a page of the feed"))?;
        page.events.iter().for_each(|event| hear(board, event, heard_at));
        cursor = page.cursor;
    }
}

/// Reads the stream to its end; why it ended is answered.
async fn stream(
    api: &Api,
    feed: &str,
    cursor: &str,
    mut connection: Connection,
    board: &RefCell<Board>,
) -> std::result::Result<String, ClientError> {
    let since: String = url::form_urlencoded::byte_serialize(cursor.as_bytes()).collect();
    let mut request = Vec::new();
    let api = api.also("accept", "text/event-stream");
    api.head().bodiless(&mut request, "GET", format_args!("{feed}?since={since}"));
    let status = connection.open_stream(&request).await?;
    if status >= 300 {
        return Ok(format!("http_{status}"));
    }
    let mut text = Vec::new();
    while let Some(part) = connection.next_part().await? {
        let heard_at = Instant::now();
        text.extend_from_slice(part);
        // An event may come in pieces; only whole lines are read.
        let Some(end) = text.iter().rposition(|byte| *byte == b'\n') else { continue };
        for line in text[..end].split(|byte| *byte == b'\n') {
            let event =
                line.strip_prefix(b"data:").and_then(|data| serde_json::from_slice(data).ok());
            event.iter().for_each(|event| hear(board, event, heard_at));
        }
        text.drain(..=end);
    }
    Ok("stream_ended".to_owned())
}

fn hear(board: &RefCell<Board>, event: &Event, at: Instant) {
    if let Some(number) = event.data.as_ref().and_then(|row| row.n) {
        board.borrow_mut().heard.entry(number).or_default().push(at);
    }
}
