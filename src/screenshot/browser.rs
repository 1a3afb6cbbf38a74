//! A headless Chromium that looks at one page and ends. It has no network at all: every request of
//! the page is answered here or fails ([`PageSource`]), names resolve to nothing, and the proxy
//! that everything else would take does not exist. So a page reaches less than it would in any
//! visitor's browser, and nothing inside this network.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    pin::Pin,
    process::Stdio,
    sync::Arc,
    thread,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    process::Command,
    task::spawn_blocking,
    time::{Instant, Sleep},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Size, devtools::Devtools};
use crate::config;

/// Bounds what each of its processes may take, 1 GiB of memory and 64 MiB for a file, and passes the
/// pipes on as the descriptors that Chromium takes commands from and answers on. What it has to say goes
/// into a file of its profile.
const START: &str = "ulimit -d 1048576; ulimit -f 131072; \
     exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$HOME/said\"";
/// The name of that file, and how much of its end is told when no picture was taken.
const SAID: &str = "said";
const SAID_BYTES_MAX: u64 = 300;
/// Bytes that a page may store.
const STORED_BYTES_MAX: usize = 16 << 20;
/// Times that a profile is removed, and the pause between them: its processes may write for a little
/// after they were told to end.
const REMOVALS_MAX: usize = 10;
const REMOVAL_PAUSE: Duration = Duration::from_millis(100);
/// What it is started with: alone, without a network, without anything that calls home.
const ARGUMENTS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",
    // The same in two words: which of them a Chromium knows depends on how it was built.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--metrics-recording-only",
    "--mute-audio",
    "--hide-scrollbars",
    "--js-flags=--max-old-space-size=256",
];
/// Requests of one page that are answered.
const REQUESTS_MAX: usize = 256;
/// Bytes that they are answered with, together.
const SERVED_BYTES_MAX: usize = 32 << 20;
/// A page that asks for nothing more for so long is taken.
const QUIET: Duration = Duration::from_millis(500);
/// A page that was loaded first so long ago is taken as it is.
const SETTLED_AFTER: Duration = Duration::from_secs(5);
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

/// The browser of the settings.
pub struct Browser {
    program: PathBuf,
    arguments: Vec<String>,
    timeout: Duration,
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// What a page asked for, and the answer.
type Answered = (String, Answer);

impl Browser {
    /// The browser that the settings name, if they do.
    #[must_use]
    pub fn of(config: &config::Screenshot) -> Option<Self> {
        (!config.chromium.is_empty()).then(|| Self {
            program: PathBuf::from(&config.chromium),
            arguments: config.arguments.clone(),
            timeout: Duration::from_secs(config.timeout_s),
        })
    }

    /// Refuses settings that name a program which is not there: every picture would be drawn, and only
    /// the log would say why.
    ///
    /// # Errors
    /// One line that names the setting.
    pub fn check(config: &config::Screenshot) -> Result<(), String> {
        let program = Path::new(&config.chromium);
        let is_there = match config.chromium.as_str() {
            "" => true,
            name if name.contains('/') => is_program(program),
            name => std::env::var_os("PATH").is_some_and(|path| {
                std::env::split_paths(&path).any(|folder| is_program(&folder.join(name)))
            }),
        };
        match is_there {
            true => Ok(()),
            false => Err(format!("screenshot.chromium: {program:?} is no program here")),
        }
    }

    /// Takes a picture of the page of `source`, unless the server stops meanwhile.
    ///
    /// # Errors
    /// Why there is none: the browser does not start, ends, or takes too long; `stops` was cancelled.
    pub async fn picture(
        &self,
        source: impl PageSource,
        size: Size,
        stops: &CancellationToken,
    ) -> io::Result<Bytes> {
        let profile = on_disk(tempfile::tempdir).await??;
        let taken = tokio::select! {
            taken = self.take(profile.path(), Arc::new(source), size) => taken,
            () = stops.cancelled() => Err(io::Error::other("the server stops")),
        };
        let failed = taken.is_err();
        let said = on_disk(move || {
            let end = failed.then(|| said(&profile.path().join(SAID))).flatten();
            remove(profile);
            end
        });
        let said = said.await;
        taken.map_err(|error| match said.ok().flatten() {
            Some(said) => io::Error::other(format!("{error}: {said}")),
            None => error,
        })
    }

    async fn take(
        &self,
        profile: &Path,
        source: Arc<dyn PageSource>,
        size: Size,
    ) -> io::Result<Bytes> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", START])
            .arg(&self.program)
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(&self.arguments)
            .arg("about:blank")
            .env_clear()
            .env("HOME", profile)
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(ear), Some(mouth)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the browser has no pipes"));
        };
        let looked = look(Devtools::new(ear, mouth), source, size);
        let taken = tokio::time::timeout(self.timeout, looked).await;
        // Its pipes are closed, so it ends by itself; but not always soon. If it has ended, so be
        // it.
        let _ = child.kill().await;
        taken.unwrap_or_else(|_| Err(io::Error::other("the browser took too long")))
    }
}

/// The end of what the browser said, in one line.
fn said(file: &Path) -> Option<String> {
    let mut file = fs::File::open(file).ok()?;
    let end = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(end.saturating_sub(SAID_BYTES_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(SAID_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let said = String::from_utf8_lossy(&bytes).trim().replace('\n', " | ");
    (!said.is_empty()).then_some(said)
}

/// Does what waits for the disk where no request waits for it. There are no more such jobs at once than
/// pictures.
async fn on_disk<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    Ok(spawn_blocking(job).await?)
}

fn remove(profile: TempDir) {
    for _ in 1..REMOVALS_MAX {
        if fs::remove_dir_all(profile.path()).is_ok() {
            break;
        }
        thread::sleep(REMOVAL_PAUSE);
    }
    // Once more, if it is still there.
    drop(profile);
}

/// Opens the page, answers what it asks for until it is quiet, and takes its picture.
async fn look(mut browser: Devtools, source: Arc<dyn PageSource>, size: Size) -> io::Result<Bytes> {
    let (width, height) = size.pixels();
    let (width, height) = (width * size.reduction(), height * size.reduction());
    let made = browser.call(None, "Target.createTarget", json!({"url": "about:blank"})).await?;
    let attach = json!({"targetId": made["targetId"], "flatten": true});
    let attached = browser.call(None, "Target.attachToTarget", attach).await?;
    let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
    let page = Some(session.as_str());
    let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Emulation.setDeviceMetricsOverride", screen),
        ("Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})),
    ] {
        browser.call(page, method, params).await?;
    }
    let address = source.address();
    let origin = Url::parse(&address).map(|url| url.origin().ascii_serialization());
    let storage = json!({"origin": origin.unwrap_or_default(), "quotaSize": STORED_BYTES_MAX});
    browser.call(page, "Storage.overrideQuotaForOrigin", storage).await?;
    browser.send(page, "Page.navigate", json!({"url": address})).await?;
    settle(&mut browser, &session, source).await?;
    let scale = 1.0 / f64::from(size.reduction());
    let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": scale});
    let wanted = json!({"format": "png", "clip": clip});
    let taken = browser.call(page, "Page.captureScreenshot", wanted).await?;
    let png = BASE64.decode(taken["data"].as_str().unwrap_or_default());
    let png = png.map_err(|_| io::Error::other("the browser sent no picture"))?;
    if png.is_empty() || png.len() > PICTURE_BYTES_MAX {
        return Err(io::Error::other("the browser sent a picture of no sound size"));
    }
    Ok(png.into())
}

/// Answers what the page asks for, until it is loaded and quiet, or was loaded first [`SETTLED_AFTER`] ago:
/// some ask without end.
async fn settle(
    browser: &mut Devtools,
    session: &str,
    source: Arc<dyn PageSource>,
) -> io::Result<()> {
    let page = Some(session);
    let mut asked = FuturesUnordered::<BoxFuture<'static, Answered>>::new();
    let (mut requests, mut bytes, mut is_loaded) = (0, 0, false);
    let mut quiet: Pin<Box<Sleep>> = Box::pin(tokio::time::sleep(QUIET));
    let mut latest: Pin<Box<Sleep>> = Box::pin(tokio::time::sleep(SETTLED_AFTER));
    loop {
        tokio::select! {
            message = browser.next() => {
                let message = message?;
                match message["method"].as_str() {
                    Some("Fetch.requestPaused") => {
                        requests += 1;
                        let source = (requests <= REQUESTS_MAX).then(|| Arc::clone(&source));
                        asked.push(Box::pin(answer(source, message["params"].clone())));
                    }
                    // Some load themselves again and again.
                    Some("Page.loadEventFired") if !is_loaded => {
                        is_loaded = true;
                        latest.as_mut().reset(Instant::now() + SETTLED_AFTER);
                    }
                    Some("Page.loadEventFired") => {}
                    Some("Page.javascriptDialogOpening") => {
                        let no = json!({"accept": false});
                        browser.send(page, "Page.handleJavaScriptDialog", no).await?;
                    }
                    _ => continue,
                }
            }
            Some((request, served)) = asked.next() => {
                let served = match served {
                    Answer::Open => continue,
                    Answer::Failed => None,
                    Answer::Served(served) => {
                        bytes += served.body.len();
                        Some(served).filter(|_| bytes <= SERVED_BYTES_MAX)
                    }
                };
                let (method, params) = reply(&request, served);
                browser.send(page, method, params).await?;
            }
            () = &mut quiet, if is_loaded && asked.is_empty() => return Ok(()),
            () = &mut latest, if is_loaded => return Ok(()),
        }
        quiet.as_mut().reset(Instant::now() + QUIET);
    }
}

/// Answers one request; without a source it fails.
async fn answer(source: Option<Arc<dyn PageSource>>, paused: Value) -> Answered {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (id, request) = (text(&paused["requestId"]), &paused["request"]);
    let (method, url) = (text(&request["method"]), text(&request["url"]));
    let served = match source {
        Some(source) => source.answer(&method, &url).await,
        None => Answer::Failed,
    };
    (id, served)
}

fn reply(request: &str, served: Option<Served>) -> (&'static str, Value) {
    let Some(Served { status, headers, body }) = served else {
        return (
            "Fetch.failRequest",
            json!({"requestId": request, "errorReason": "BlockedByClient"}),
        );
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
