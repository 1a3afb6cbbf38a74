//! The real binary as a process of its own, for what only a process can show: that it is killed.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::Answer;

/// A running server process.
pub struct Process {
    child: Child,
    /// Its origin, without a slash at the end.
    pub url: String,
    pub client: Client,
}

impl Process {
    /// Starts the binary on free ports over `data`, with room for many rows; ready on return.
    pub fn start(data: &Path, settings: &[(&str, &str)]) -> Self {
        Self::start_logging_to(data, settings, Stdio::inherit())
    }

    /// The same, with its log lines going elsewhere.
    pub fn start_logging_to(data: &Path, settings: &[(&str, &str)], log: Stdio) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rookery"))
            .env_clear()
            .env("ROOKERY__DATA_DIR", data)
            .env("ROOKERY__SERVER__LISTEN", "127.0.0.1:0")
            .env("ROOKERY__OPS__LISTEN", "127.0.0.1:0")
            .env("ROOKERY__RATE_LIMIT__ENABLED", "false")
            .env("ROOKERY__LOG__LEVEL", "error")
            .env("MAX_ROWS_PER_APP", "1000000")
            .env("MAX_ROWS_PER_ACCOUNT", "10000000")
            .envs(settings.iter().copied())
            .current_dir(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary starts");
        let stdout = child.stdout.take().expect("its output");
        let line = BufReader::new(stdout).lines().next().expect("a line").expect("text");
        let address = line.strip_prefix("Rookery listens on http://").expect("where it listens");
        let (_, port) = address.split(' ').next().and_then(|a| a.rsplit_once(':')).expect("a port");
        rookery::outbound::install_tls();
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        let url = format!("http://localhost:{port}");
        Self { child, url, client: client.expect("an HTTP client") }
    }

    /// Ends it at once, whatever it is doing.
    pub fn kill(mut self) {
        // SIGKILL on Unix.
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// A request with this bearer.
    pub fn request(&self, method: Method, path: &str, key: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(key)
    }

    /// Ends it in order.
    pub fn terminate(self) {
        assert_eq!(self.end(), Some(0));
    }

    /// Has it end, unless it does so by itself; its exit code.
    pub fn end(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        self.child.wait().expect("it ends").code()
    }

    /// Waits until it has ended by itself; its exit code.
    pub fn ended(mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// The session cookie of a human that signs in.
    pub async fn sign_in(&self, email: &str) -> String {
        let url = |path: &str| format!("{}{path}", self.url);
        let link = self.client.post(url("/v1/auth/request-link")).json(&json!({"email": email}));
        Answer::of(link).await.expect(202);
        let mailbox = self.client.get(url(&format!("/dev/mailbox?to={email}")));
        let mail = Answer::of(mailbox.header("accept", "application/json")).await.expect(200);
        let text = mail["items"][0]["text"].as_str().expect("a mail").to_owned();
        let token = text.split_once("token=").expect("a link").1;
        let token = token.split_whitespace().next().expect("a token");
        let verified =
            Answer::of(self.client.get(url(&format!("/v1/auth/verify?token={token}")))).await;
        verified.cookie()
    }

    /// The key of an agent that a new human has claimed.
    pub async fn enroll(&self, email: &str) -> String {
        let url = |path: &str| format!("{}{path}", self.url);
        let cookie = self.sign_in(email).await;
        let registered = self.client.post(url("/v1/register")).json(&json!({"name": "robot"}));
        let agent = Answer::of(registered).await.expect(201);
        let key = agent["key"]["secret"].as_str().expect("a key").to_owned();
        let code = self.client.post(url("/v1/self/claim-codes"));
        let code = code.header("cookie", cookie).header("origin", &self.url);
        let code = Answer::of(code).await.expect(201);
        let claim = self.request(Method::POST, "/v1/agents/claim", &key);
        Answer::of(claim.json(&json!({"code": code["code"]}))).await.expect(200);
        key
    }

    /// Deploys an app and returns its id.
    pub async fn deploy(&self, key: &str, manifest: &Value) -> String {
        let body = json!({"html": "<p>app</p>", "manifest": manifest});
        let request = self.request(Method::POST, "/v1/apps", key).json(&body);
        let app = Answer::of(request).await.expect(201);
        app["id"].as_str().expect("an id").to_owned()
    }

    /// The body of a GET that succeeds.
    pub async fn get(&self, path: &str, key: &str) -> Value {
        Answer::of(self.request(Method::GET, path, key)).await.expect(200)
    }
}

/// How often a test kills its server: as `ROOKERY_KILLS` says, or else so often.
#[must_use]
pub fn kills_or(default: usize) -> usize {
    std::env::var("ROOKERY_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(default)
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
