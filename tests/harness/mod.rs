//! Starts servers on free ports and speaks HTTP to them. What is expected of an answer is said in
//! the tests.

mod answer;
pub mod apps;
pub mod database;
pub mod directory;
pub mod people;
pub mod probes;
pub mod process;
mod raw;
pub mod services;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use answer::{Answer, forged, keys, kinds, redact, won};
pub use directory::TestDirectory;
pub use people::{Agent, Human, encoded};
pub use raw::RawConnection;
use reqwest::{Client, Method, RequestBuilder};
use rookery::{
    Hooks, Server,
    config::{self, Config, Environment},
    routes::ops::close,
    state::AppState,
};
use rookery_actors::WorkerKind;
use rookery_domain::{ErrorCode, Timestamp, time::Clock};
use rookery_storage::faults::Faults;
use rookery_testkit::{Database, until, until_async};
use tempfile::TempDir;
use utoipa_axum::router::OpenApiRouter;

/// Where a test's clock begins: 2026-01-31T12:00:00Z.
pub const START: Timestamp = Timestamp(1_769_860_800_000_000);

/// How often a race is run: `shipped` times, or as often as `ROOKERY_ROUNDS` says. What shows only
/// now and then needs its chance; every run of the tests gives it a small one.
pub fn rounds(shipped: usize) -> usize {
    std::env::var("ROOKERY_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(shipped)
}

/// Turns that a restart waits for the data folder.
const RESTART_TURNS_MAX: usize = 1_000;

/// A server of its own, with its own data folder.
pub struct TestServer {
    /// Who has a credential on a server with probes; on any other the service's own directory
    /// knows that.
    pub directory: Arc<TestDirectory>,
    client: Client,
    server: Server,
    config: Config,
    data: Option<TempDir>,
    probes: bool,
    database: Option<Database>,
}

/// What a test wants to be different.
pub struct Builder {
    settings: Vec<(String, String)>,
    probes: bool,
    routes: OpenApiRouter<AppState>,
    data_dir: Option<PathBuf>,
    sqlite: bool,
    database: Option<Database>,
    faults: Faults,
    timed_rounds: bool,
}

impl TestServer {
    /// A server with the defaults, but a rate limit that no test reaches by accident, and rounds of
    /// workers that come when a test asks for them: however long it takes, none comes between.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Has a worker do its round now; how much it did.
    pub async fn round(&self, worker: WorkerKind) -> u64 {
        self.state().rooms.runtime.workers().run(worker).await.expect("a round")
    }

    /// A server to be changed first.
    pub fn builder() -> Builder {
        let quiet = [
            ("ROOKERY__SERVER__LISTEN", "127.0.0.1:0"),
            ("ROOKERY__OPS__LISTEN", "127.0.0.1:0"),
            ("ROOKERY__RATE_LIMIT__PER_MINUTE", "1000000"),
            ("ROOKERY__RATE_LIMIT__BURST", "1000000"),
            ("ROOKERY__LOG__LEVEL", "error"),
        ];
        let settings = quiet.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Builder {
            settings: settings.into(),
            probes: false,
            routes: OpenApiRouter::new(),
            data_dir: None,
            sqlite: false,
            database: None,
            faults: Faults::default(),
            timed_rounds: false,
        }
    }

    /// The PostgreSQL database that it runs on, if it does.
    pub fn database(&self) -> Option<&Database> {
        self.database.as_ref()
    }

    /// The address of the public listener, for URLs.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.site_address())
    }

    /// The origin that links begin with.
    pub fn public_url(&self) -> &str {
        &self.server.state().public_url
    }

    /// A request to the public listener.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.url(path))
    }

    /// A request to the operator's listener.
    pub fn ops(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.server.ops_address()))
    }

    /// What `rookery app close` asks of the operator's listener.
    pub fn close_app(&self, app: &str) -> RequestBuilder {
        let proof = close::proof(&self.state().rooms.key, app);
        let request = self.ops(Method::POST, &format!("/ops/apps/{app}/close"));
        request.header(close::PROOF_HEADER, proof)
    }

    /// The answer to a GET.
    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// Waits until `/ready` agrees. Where a disk stands still for seconds it says so for a while; nothing
    /// else may keep it from agreeing at once.
    pub async fn until_ready(&self) {
        until_async("the server is ready", async || {
            let answer = self.get("/ready").await;
            if answer.status == 200 {
                assert_eq!(answer.json()["status"], "ready");
                return true;
            }
            let error = answer.error(ErrorCode::Unavailable);
            assert_eq!(error["message"], "a commit takes too long");
            false
        })
        .await;
    }

    /// The answer to a POST of `body`, by the holder of `bearer`.
    pub async fn post(&self, path: &str, bearer: &str, body: &str) -> Answer {
        let request = self.request(Method::POST, path).bearer_auth(bearer);
        let request = request.header("content-type", "application/json");
        Answer::of(request.body(body.to_owned())).await
    }

    /// A connection below HTTP, to the public listener.
    pub async fn raw(&self) -> RawConnection {
        RawConnection::open(self.server.site_address()).await
    }

    /// The same, by a client that takes a few KiB before it reads.
    pub async fn raw_small(&self) -> RawConnection {
        RawConnection::open_small(self.server.site_address()).await
    }

    /// What the server's handlers share; its clock stands at [`START`] until a test sets it.
    pub fn state(&self) -> &AppState {
        self.server.state()
    }

    /// Drains the server and starts another one on the same data, at the same time of its clock.
    pub async fn restart(self) -> Self {
        self.restart_with(|_| {}).await
    }

    /// As [`Self::restart`], with settings that were changed meanwhile.
    pub async fn restart_with(self, change: impl FnOnce(&mut Config)) -> Self {
        let Self { directory, client, server, mut config, data, probes, database } = self;
        change(&mut config);
        let clock = server.state().clock.clone();
        server.stop().await;
        // It holds the first server's apps; who was known with probes is known again.
        let directory = Arc::new(directory.successor());
        // The last tasks of the first server let go of the folder a few turns after it stopped.
        let mut turns = 0;
        let server = loop {
            let hooks = Hooks {
                clock: clock.clone(),
                authenticator: probes.then(|| Arc::clone(&directory) as _),
                timed_rounds: false,
                ..Hooks::default()
            };
            match rookery::start(config.clone(), hooks).await {
                Ok(server) => break server,
                Err(error) => assert!(turns < RESTART_TURNS_MAX, "{error}"),
            }
            turns += 1;
            tokio::task::yield_now().await;
        };
        // Set once, here.
        let _ = directory.apps.set(server.state().rooms.apps().clone());
        Self { directory, client, server, config, data, probes, database }
    }

    /// The folder of the server's data.
    pub fn data_dir(&self) -> &Path {
        &self.config.data_dir
    }

    /// The address of the operator's listener.
    pub fn ops_address(&self) -> String {
        self.server.ops_address().to_string()
    }

    /// Drains and ends the server.
    pub async fn stop(self) {
        self.server.stop().await;
    }

    /// Completes when so many requests follow a feed.
    pub async fn open_polls(&self, count: usize) {
        until("that many open polls", || self.state().feed_waiters.count() == count).await;
    }
}

impl Builder {
    /// Sets a variable of the environment.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Keeps its data in a folder that outlives it.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.data_dir = Some(folder.to_path_buf());
        self
    }

    /// Adds the routes of [`probes`], which do nothing but show what extractors let through.
    pub fn with_probes(mut self) -> Self {
        self.routes = probes::routes();
        self.probes = true;
        self
    }

    /// On SQLite, whatever the suite runs on: for what concerns its file.
    pub fn on_sqlite(mut self) -> Self {
        self.sqlite = true;
        self
    }

    /// On this database, whatever the suite runs on.
    pub fn on(mut self, database: Database) -> Self {
        self.database = Some(database);
        self
    }

    /// Has workers do their rounds at their times, as long as it is not restarted.
    pub fn with_timed_rounds(mut self) -> Self {
        self.timed_rounds = true;
        self
    }

    /// Has these things go wrong in commits.
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// The settings that the server would get.
    pub fn config(&self) -> Config {
        let environment: Environment = self.settings.iter().cloned().collect();
        config::load(None, &environment).expect("the test's settings are right")
    }

    /// Starts it.
    pub async fn start(self) -> TestServer {
        let mut config = self.config();
        let data = match self.data_dir {
            Some(folder) => {
                config.data_dir = folder;
                None
            }
            None => {
                let data = tempfile::tempdir().expect("a temporary folder");
                config.data_dir = data.path().to_path_buf();
                Some(data)
            }
        };
        let database = match self.database {
            None if !self.sqlite => database::postgres().await,
            given => given,
        };
        if let Some(database) = &database {
            config.storage.database_url = database.url.clone().into();
        }
        let directory = Arc::new(TestDirectory::default());
        let hooks = Hooks {
            clock: Clock::manual(START),
            authenticator: self.probes.then(|| Arc::clone(&directory) as _),
            faults: self.faults,
            timed_rounds: self.timed_rounds,
            routes: self.routes,
            app_routes: OpenApiRouter::new(),
        };
        let server = rookery::start(config.clone(), hooks).await.expect("the server starts");
        // Set once, here.
        let _ = directory.apps.set(server.state().rooms.apps().clone());
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        let client = client.expect("an HTTP client");
        let probes = self.probes;
        TestServer { directory, client, server, config, data, probes, database }
    }
}
