//! Recordings: what servers wrote and synced, and which changes they acknowledged meanwhile.

use std::path::Path;

use rookery_domain::id::AppId;

use crate::{
    api::Api,
    crew::{Crew, OnSilence},
    disk::{FILES, Image, Record, Trace},
    failure::{Failure, Result},
    journal::Journal,
    serve,
    server::Launch,
    shim::{Failing, Shim},
    world::{App, World},
};

/// Requests that write at the same time: few, so that there are many commits.
const WRITERS: usize = 8;
/// Acknowledgements, or the end of a server whose disk fails, take this long at most.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

/// What was recorded.
pub(super) struct Recording {
    /// The app that was written to.
    pub app: AppId,
    /// The files before the recording began.
    pub base: Image,
    /// The traces of all servers, one behind the other.
    pub trace: Vec<u8>,
    /// What they acknowledged; its marks are places in `trace`.
    pub journal: Journal,
}

impl Recording {
    /// How many writes it holds.
    pub(super) fn writes(&self) -> Result<usize> {
        self.count(|record| matches!(record, Record::Write { .. }))
    }

    /// How many syncs succeeded.
    pub(super) fn syncs(&self) -> Result<usize> {
        self.count(|record| matches!(record, Record::SyncEnded { .. }))
    }

    fn count(&self, is_one: impl Fn(&Record<'_>) -> bool) -> Result<usize> {
        let trace = Trace::read(&self.trace)?;
        Ok(trace.records.iter().filter(|(_, record)| is_one(record)).count())
    }

    /// Adds what the next server over the same files did.
    fn add(&mut self, mut trace: Vec<u8>, mut journal: Journal) -> Result<()> {
        let before = self.trace.len() as u64;
        for (at, _) in &mut journal.marks {
            *at = at.saturating_add(before);
        }
        self.journal.absorb(journal);
        // The last record of a server that was killed may be incomplete.
        let whole = Trace::read(&trace)?.records.last().map_or(0, |(end, _)| *end);
        trace.truncate(usize::try_from(whole).unwrap_or(usize::MAX));
        self.trace.append(&mut trace);
        Ok(())
    }
}

/// An app, and a server that is ready to be recorded.
struct Studio {
    scratch: tempfile::TempDir,
    shim: Shim,
    launch: Launch,
    api: Api,
    app: App,
}

impl Studio {
    async fn open(world: &World) -> Result<(Self, Recording)> {
        let scratch = tempfile::tempdir()?;
        let shim = Shim::build(scratch.path())?;
        let (launch, api, app) = crate::campaigns::with_app(world, scratch.path()).await?;
        let recording = Recording {
            app: app.id.parse().map_err(|_| Failure::new("an app's id"))?,
            base: files(&launch.data)?,
            trace: Vec::new(),
            journal: Journal::default(),
        };
        Ok((Self { scratch, shim, launch, api, app }, recording))
    }

    /// Records a server until it has acknowledged so many changes, and kills it.
    async fn killed(&self, launch: Launch, acknowledged: usize, to: &mut Recording) -> Result<()> {
        let trace = self.scratch.path().join("trace");
        let server = self.shim.recording(launch, &trace).start().await?;
        let crew = self.crew(&server.url, "k", &trace);
        crew.reach(acknowledged, PATIENCE).await?;
        server.kill().await?;
        to.add(std::fs::read(&trace)?, crew.finish().await?)
    }

    /// Records a server until it has ended because a sync failed.
    async fn failed(&self, number: usize, failing: Failing, to: &mut Recording) -> Result<()> {
        let trace = self.scratch.path().join("trace");
        let launch = self.shim.recording(self.launch.clone(), &trace);
        let mut server = self.shim.failing(launch, number, failing).start().await?;
        let crew = self.crew(&server.url, "f", &trace);
        let ended = server.ends_within(PATIENCE).await?;
        // It has ended, or is to be ended.
        let _ = server.kill().await;
        match ended {
            Some(_) => to.add(std::fs::read(&trace)?, crew.finish().await?),
            None => Err(Failure(format!("sync {number} failed, and the server did not end"))),
        }
    }

    fn crew(&self, url: &str, label: &str, trace: &Path) -> Crew {
        let silence = OnSilence::CredentialWatch;
        Crew::start_marking(&self.api.at(url), &self.app, label, WRITERS, silence, Some(trace))
    }
}

/// Records a server that was never told that its disk fails; with `is_control` it does not sync each
/// commit.
pub(super) async fn sound(
    world: &World,
    acknowledged: usize,
    is_control: bool,
) -> Result<Recording> {
    let (studio, mut recording) = Studio::open(world).await?;
    let mut launch = studio.launch.clone();
    if is_control {
        launch = launch.set(serve::SYNCHRONOUS, "normal");
    }
    studio.killed(launch, acknowledged, &mut recording).await?;
    Ok(recording)
}

/// Records a server whose sync of this number fails, and the one that is started over its files.
pub(super) async fn after_failed_sync(
    world: &World,
    number: usize,
    failing: Failing,
    acknowledged: usize,
) -> Result<Recording> {
    let (studio, mut recording) = Studio::open(world).await?;
    studio.failed(number, failing, &mut recording).await?;
    studio.killed(studio.launch.clone(), acknowledged, &mut recording).await?;
    Ok(recording)
}

fn files(data: &Path) -> Result<Image> {
    let mut files = Image::default();
    for (bytes, name) in files.iter_mut().zip(FILES) {
        let path = data.join(name);
        if path.exists() {
            *bytes = std::fs::read(path)?;
        }
    }
    Ok(files)
}
