//! A headless Chromium that looks at one page and ends. It has no network at all: every request of
//! the page is answered here or fails ([`PageSource`]), names resolve to nothing, and the proxy
//! that everything else would take does not exist. So a page reaches less than it would in any
//! visitor's browser, and nothing inside this network. What it is told to do with the page is not here
//! ([`look`]).

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    thread,
    time::Duration,
};

use bytes::Bytes;
use tempfile::TempDir;
use tokio::{process::Command, task::spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::{
    Size,
    devtools::Devtools,
    look::{PageSource, look},
};
use crate::config;

/// Bounds what each of its processes may take, 1 GiB of memory and 64 MiB for a file, and passes the
/// pipes on as the descriptors that Chromium takes commands from and answers on. What it has to say goes
/// into a file of its profile.
const START: &str = "ulimit -d 1048576; ulimit -f 131072; \
     exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>\"$HOME/said\"";
/// The name of that file, and how much of its end is told when no picture was taken.
const SAID: &str = "said";
const SAID_BYTES_MAX: u64 = 300;
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
/// The browser of the settings.
pub struct Browser {
    program: PathBuf,
    arguments: Vec<String>,
    timeout: Duration,
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

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
