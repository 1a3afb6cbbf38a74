//! What a browser is told to do with one page: open it, be answered what the page asks for until it is
//! quiet, and take its picture. How the browser is started and bounded is not here.

use std::{io, pin::Pin, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use url::Url;

use super::{Size, devtools::Devtools};

/// Bytes that a page may store.
const STORED_BYTES_MAX: usize = 16 << 20;
/// Requests of one page that are answered.
const REQUESTS_MAX: usize = 256;
/// Bytes that they are answered with, together.
const SERVED_BYTES_MAX: usize = 32 << 20;
/// Documents that a page is led on to: some load themselves again and again.
const DOCUMENTS_MAX: usize = 4;
/// A page that asks for nothing more for so long is taken.
const QUIET: Duration = Duration::from_millis(500);
/// A page that was loaded first so long ago is taken as it is.
const SETTLED_AFTER: Duration = Duration::from_secs(5);
/// How often it is tried to take a picture of one page.
const TRIES_MAX: usize = 3;
const PICTURE_BYTES_MAX: usize = 8 << 20;

/// Answers what a page asks for.
pub trait PageSource: Send + Sync + 'static {
    /// The address of the page.
    fn address(&self) -> String;

    /// What becomes of a request.
    fn answer<'a>(&'a self, method: &'a str, url: &'a str) -> BoxFuture<'a, Answer>;
}

/// What becomes of a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// It is answered.
    Served(Served),
    /// It fails.
    Failed,
    /// It stays open, as a stream does on which nothing comes; the page is quiet all the same.
    Open,
}

/// An answer to a page's request.
#[derive(Debug, Clone)]
pub struct Served {
    /// The status code.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// Opens the page, answers what it asks for until it is quiet, and takes its picture.
///
/// # Errors
/// What the browser said instead, or that it said no more.
pub(super) async fn look(
    mut browser: Devtools,
    source: Arc<dyn PageSource>,
    size: Size,
) -> io::Result<Bytes> {
    let (width, height) = size.pixels();
    let (width, height) = (width * size.reduction(), height * size.reduction());
    let made = browser.call(None, "Target.createTarget", json!({"url": "about:blank"})).await?;
    let attach = json!({"targetId": made["targetId"], "flatten": true});
    let attached = browser.call(None, "Target.attachToTarget", attach).await?;
    let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
    let mut shown = Page {
        source,
        session: session.clone(),
        // A target and its outermost frame have one id.
        frame: made["targetId"].as_str().unwrap_or_default().to_owned(),
        requests: 0,
        documents: 0,
        bytes: 0,
        latest: None,
    };
    let page = Some(session.as_str());
    let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Emulation.setDeviceMetricsOverride", screen),
        ("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})),
    ] {
        browser.call(page, method, params).await?;
    }
    let address = shown.source.address();
    let origin = Url::parse(&address).map(|url| url.origin().ascii_serialization());
    let storage = json!({"origin": origin.unwrap_or_default(), "quotaSize": STORED_BYTES_MAX});
    browser.call(page, "Storage.overrideQuotaForOrigin", storage).await?;
    browser.send(page, "Page.navigate", json!({"url": address})).await?;
    let scale = 1.0 / f64::from(size.reduction());
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": scale});
    let wanted = json!({"format": "png", "clip": clip});
    let mut tries = 1;
    let taken = loop {
        shown.settle(&mut browser).await?;
        match browser.call(page, "Page.captureScreenshot", wanted.clone()).await {
            // The page was led on just then.
            Err(_) if tries < TRIES_MAX => tries += 1,
            taken => break taken?,
        }
    };
    let png = BASE64.decode(taken["data"].as_str().unwrap_or_default());
    let png = png.map_err(|_| io::Error::other("the browser sent no picture"))?;
    if png.is_empty() || png.len() > PICTURE_BYTES_MAX {
        return Err(io::Error::other("the browser sent a picture of no sound size"));
    }
    Ok(png.into())
}

/// A page that is looked at.
struct Page {
    source: Arc<dyn PageSource>,
    /// Whom commands for it are for.
    session: String,
    /// Its own frame, as opposed to those within it.
    frame: String,
    /// Requests that it has made.
    requests: usize,
    /// Those of them that were for the page itself.
    documents: usize,
    /// Bytes that it was answered with.
    bytes: usize,
    /// When it is taken as it is; nothing before it is there to be seen.
    latest: Option<Instant>,
}

/// What a page asked for.
struct Asked {
    id: String,
    /// Whether it leads the page itself on.
    is_document: bool,
    answer: Answer,
}

impl Page {
    /// Answers what the page asks for, until it is there and quiet, or was there first [`SETTLED_AFTER`] ago:
    /// some ask without end.
    async fn settle(&mut self, browser: &mut Devtools) -> io::Result<()> {
        let mut asked = FuturesUnordered::new();
        let mut quiet: Pin<Box<Sleep>> = Box::pin(sleep(QUIET));
        loop {
            let latest = sleep_until(self.latest.unwrap_or_else(Instant::now));
            tokio::select! {
                message = browser.next() => {
                    let message = message?;
                    match message["method"].as_str() {
                        Some("Fetch.requestPaused") => asked.push(self.asks(&message["params"])),
                        Some("Page.loadEventFired") => self.is_there(),
                        Some("Page.javascriptDialogOpening") => {
                            let no = json!({"accept": false});
                            browser.send(Some(&self.session), "Page.handleJavaScriptDialog", no).await?;
                        }
                        _ => continue,
                    }
                }
                Some(asked) = asked.next() => match self.reply(asked) {
                    Some((method, params)) => {
                        browser.send(Some(&self.session), method, params).await?;
                    }
                    None => continue,
                },
                () = &mut quiet, if self.latest.is_some() && asked.is_empty() => return Ok(()),
                () = latest, if self.latest.is_some() => return Ok(()),
            }
            quiet.as_mut().reset(Instant::now() + QUIET);
        }
    }

    /// It can be seen. That counts once: some load themselves again and again.
    fn is_there(&mut self) {
        self.latest.get_or_insert_with(|| Instant::now() + SETTLED_AFTER);
    }

    /// What becomes of a request that the browser holds up.
    fn asks(&mut self, paused: &Value) -> BoxFuture<'static, Asked> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, request) = (text(&paused["requestId"]), &paused["request"]);
        let (method, url) = (text(&request["method"]), text(&request["url"]));
        let is_document =
            paused["resourceType"] == "Document" && paused["frameId"] == self.frame.as_str();
        self.requests += 1;
        self.documents += usize::from(is_document);
        let is_within =
            self.requests <= REQUESTS_MAX && (!is_document || self.documents <= DOCUMENTS_MAX);
        let source = is_within.then(|| Arc::clone(&self.source));
        Box::pin(async move {
            let answer = match source {
                Some(source) => source.answer(&method, &url).await,
                None => Answer::Failed,
            };
            Asked { id, is_document, answer }
        })
    }

    /// The command that answers a request; nothing for one that stays open. Where a page is led on to what
    /// is not answered, it stays what it is: the browser would show a page of its own about what failed.
    fn reply(&mut self, asked: Asked) -> Option<(&'static str, Value)> {
        let served = match asked.answer {
            Answer::Open => return None,
            Answer::Failed => None,
            Answer::Served(served) => {
                self.bytes += served.body.len();
                Some(served).filter(|_| self.bytes <= SERVED_BYTES_MAX)
            }
        };
        let failure = if asked.is_document { "Aborted" } else { "BlockedByClient" };
        if served.is_none() && asked.is_document {
            // Its load event may be told later, or never.
            self.is_there();
        }
        Some(reply(&asked.id, served.ok_or(failure)))
    }
}

fn reply(request: &str, served: Result<Served, &str>) -> (&'static str, Value) {
    let Served { status, headers, body } = match served {
        Ok(served) => served,
        Err(why) => {
            return ("Fetch.failRequest", json!({"requestId": request, "errorReason": why}));
        }
    };
    let headers: Vec<Value> =
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let body = BASE64.encode(body);
    (
        "Fetch.fulfillRequest",
        json!({"requestId": request, "responseCode": status, "responseHeaders": headers,
            "body": body}),
    )
}
