//! Every kind of secret that the service hands out, carried through every place that a request has
//! for one, well and badly: none is found again in the log at its most talkative, in the files of
//! the database, or in an error.

use std::{fs::File, path::Path, process::Stdio};

use reqwest::{Method, RequestBuilder, header};
use serde_json::{Value, json};

use crate::harness::{Answer, encoded, forged, process::Process};

/// A server whose log is kept, and what must never be found again.
struct World {
    server: Process,
    cookie: String,
    key: String,
    secrets: Vec<(&'static str, String)>,
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// What follows `mark` in a text, up to the next character that no secret has.
fn after(mark: &str, text: &str) -> String {
    let (_, rest) = text.split_once(mark).unwrap_or_else(|| panic!("no {mark} in {text}"));
    rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().expect("a word").to_owned()
}

impl World {
    async fn start(data: &Path, log: &Path) -> Self {
        let settings = [("ROOKERY__LOG__LEVEL", "trace"), ("ROOKERY__LOG__FORMAT", "json")];
        let stderr = Stdio::from(File::create(log).expect("a file"));
        let server = Process::start_logging_to(data, &settings, stderr);
        let key = server.enroll("canary@example.org").await;
        let cookie = server.sign_in("canary@example.org").await;
        let session = cookie.split_once('=').expect("a cookie").1.to_owned();
        let secrets = vec![("agent key", key.clone()), ("session", session)];
        Self { server, cookie, key, secrets }
    }

    fn keep(&mut self, what: &'static str, secret: String) -> String {
        assert!(secret.len() >= 9, "{what}: {secret:?}");
        self.secrets.push((what, secret.clone()));
        secret
    }

    fn by_human(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.server.client.request(method, format!("{}{path}", self.server.url));
        let request = request.header(header::ORIGIN, &self.server.url);
        request.header(header::COOKIE, &self.cookie)
    }

    async fn tell(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = Answer::of(self.server.request(method, path, &self.key).json(&body)).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
        if answer.text.is_empty() { Value::Null } else { answer.json() }
    }

    /// A request to the origin of the app called `slug`.
    fn at_app(&self, method: Method, slug: &str, path: &str) -> RequestBuilder {
        let origin = self.server.url.replace("localhost", &format!("{slug}.localhost"));
        let request = self.server.client.request(method, format!("{}{path}", self.server.url));
        let host = origin.strip_prefix("http://").expect("an origin").to_owned();
        request.header(header::HOST, host).header(header::ORIGIN, origin)
    }

    async fn app(&self, slug: &str, visibility: &str) -> Value {
        let lists = json!({"read": ["member"], "write": ["member"], "delete": ["owner"]});
        let manifest = json!({
            "collections": {"entries": {"permissions": lists}},
            "roles": {"editor": {"title": "Editor"}},
        });
        let mut body = json!({"html": "<p>x", "visibility": visibility, "manifest": manifest});
        if visibility != "link" {
            body["slug"] = slug.into();
        }
        self.tell(Method::POST, "/v1/apps", body).await
    }

    /// The cookie that an app's origin gives to whoever comes by `path`.
    async fn visit(&self, slug: &str, path: &str) -> String {
        let answer = Answer::of(self.at_app(Method::GET, slug, path)).await;
        after("service_participant=", answer.header("set-cookie"))
    }

    /// Has the service hand out one secret of each kind, and uses each as it is meant.
    async fn collect(&mut self) {
        let code = Answer::of(self.by_human(Method::POST, "/v1/self/claim-codes")).await;
        self.keep("claim code", text(&code.expect(201)["code"]));
        let started = self.tell(Method::POST, "/v1/device/code", json!({})).await;
        self.keep("device code", text(&started["device_code"]));
        self.keep("user code", text(&started["user_code"]));
        let mail = self.server.client.get(format!("{}/dev/mailbox", self.server.url));
        let mail = Answer::of(mail.header("accept", "application/json")).await.expect(200);
        self.keep("sign-in link", after("token=", &text(&mail["items"][0]["text"])));
        let sibling = self.tell(Method::POST, "/v1/keys", json!({})).await;
        self.keep("sibling key", text(&sibling["secret"]));

        let open = self.app("open-canary", "public").await;
        let path = format!("/v1/apps/{}", text(&open["id"]));
        let grant = json!({"role": "editor"});
        let grant = self.tell(Method::POST, &format!("{path}/grants"), grant).await;
        let grant = self.keep("grant link", after("/s/grant/", &text(&grant["url"])));
        let held = self.visit("open-canary", &format!("/s/grant/{grant}")).await;
        self.keep("participant by grant", held);
        let credential = json!({"collections": ["entries"], "operations": ["read"]});
        let credential = self.tell(Method::POST, &format!("{path}/credentials"), credential).await;
        let token = self.keep("credential", text(&credential["token"]));
        let rows = self.server.request(Method::GET, &format!("{path}/collections/entries"), &token);
        Answer::of(rows).await.expect(200);
        let rotate = format!("{path}/credentials/{}/rotate", text(&credential["id"]));
        let rotated = self.tell(Method::POST, &rotate, json!({})).await;
        self.keep("rotated credential", text(&rotated["token"]));
        let test = self.tell(Method::POST, &format!("{path}/test-session-tokens"), json!({})).await;
        let test = self.keep("test session", text(&test["token"]));
        let enter = self.at_app(Method::POST, "open-canary", "/s/session");
        let enter = Answer::of(enter.json(&json!({"token": test}))).await;
        self.keep("participant", after("service_participant=", enter.header("set-cookie")));

        let linked = self.app("", "link").await;
        let share = self.keep("share link", after("/s/share/", &text(&linked["share_url"])));
        let slug = text(&linked["slug"]);
        let shown = self.at_app(Method::GET, &slug, &format!("/s/share/{share}"));
        assert!(Answer::of(shown).await.status < 400);

        let private = self.app("private-canary", "private").await;
        let path = format!("/v1/apps/{}/preview-tokens", text(&private["id"]));
        let preview = self.tell(Method::POST, &path, json!({})).await;
        let preview = self.keep("preview", after("/s/preview/", &text(&preview["url"])));
        let shown = self.at_app(Method::GET, "private-canary", &format!("/s/preview/{preview}"));
        assert!(Answer::of(shown).await.status < 400);
        let way = self.by_human(Method::GET, "/authorize?app=private-canary");
        let way = Answer::of(way).await;
        self.keep("app-session grant", after("grant=", way.header("location")));
    }

    /// Sends `secret` in every place that a request has; the answers.
    async fn present(&self, secret: &str) -> Vec<Answer> {
        let url = |path: String| format!("{}{path}", self.server.url);
        let client = &self.server.client;
        let quoted = encoded(secret);
        let mut requests = vec![
            client.get(url("/v1/keys".into())).bearer_auth(secret),
            client.get(url("/v1/self/profile".into())).header("authorization", secret),
            client
                .get(url("/v1/self/profile".into()))
                .header("authorization", format!("Basic {secret}")),
            client
                .get(url("/v1/self/profile".into()))
                .header("cookie", format!("service_session={secret}")),
            client
                .post(url("/v1/agents/claim".into()))
                .bearer_auth(&self.key)
                .json(&json!({"code": secret})),
            client.post(url("/v1/device/token".into())).json(&json!({"device_code": secret})),
            client.post(url("/v1/device/token".into())).body(secret.to_owned()),
            client.get(url(format!("/v1/auth/verify?token={quoted}"))),
            client.head(url(format!("/v1/auth/verify?token={quoted}"))),
            client.get(url(format!("/v1/auth/idp/callback?state={quoted}&code={quoted}"))),
            client.get(url(format!("/sign-in/confirm?token={quoted}"))),
            client.get(url(format!("/v1/apps/{quoted}"))).bearer_auth(&self.key),
            client.get(url(format!("/v1/apps?cursor={quoted}"))).bearer_auth(&self.key),
            client.get(url(format!("/v1/apps?slug={quoted}"))).bearer_auth(&self.key),
            client.delete(url(format!("/v1/keys/{quoted}"))).bearer_auth(&self.key),
            client.get(url(format!("/v1/{quoted}"))),
            client.get(url(format!("/{quoted}"))).header("referer", url(format!("/?t={quoted}"))),
            client.get(url("/v1/keys".into())).header("x-service-cli-version", secret),
        ];
        for kind in ["grant", "share", "preview"] {
            requests.push(self.at_app(Method::GET, "open-canary", &format!("/s/{kind}/{quoted}")));
        }
        let callback = format!("/s/callback?grant={quoted}");
        requests.push(self.at_app(Method::GET, "open-canary", &callback));
        let session = |method| self.at_app(method, "open-canary", "/s/session");
        requests.push(session(Method::POST).json(&json!({"token": secret})));
        requests.push(session(Method::GET).header("x-service-participant-token", secret));
        requests
            .push(session(Method::GET).header("cookie", format!("service_participant={secret}")));
        // A form gives back what was typed into it, so its page is no answer to look at.
        let form = client.get(url(format!("/device?user_code={quoted}")));
        Answer::of(form.header("cookie", &self.cookie)).await;
        let mut answers = Vec::new();
        for request in requests {
            answers.push(Answer::of(request).await);
        }
        answers
    }
}

/// Every file below `folder`, with its bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).expect("a file")));
        }
    }
}

#[tokio::test]
async fn no_secret_of_any_kind_is_found_in_a_log_a_file_or_an_error() {
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = logs.path().join("log");
    let mut world = World::start(data.path(), &log).await;
    world.collect().await;
    let kinds = world.secrets.clone();
    assert!(kinds.len() >= 16, "{}", kinds.len());
    let mut looked_for = kinds.clone();
    for (what, secret) in &kinds {
        let wrong = forged(secret);
        looked_for.push((*what, wrong.clone()));
        for secret in [secret, &wrong] {
            for answer in world.present(secret).await {
                let quotes = answer.status >= 400 && answer.text.contains(secret.as_str());
                assert!(!quotes, "{what}: {}", answer.text);
                assert_ne!(answer.status, 500, "{what}: {}", answer.text);
            }
        }
    }
    // While it runs, so that what only memory and the write-ahead log hold is looked at too.
    let mut found = Vec::new();
    files(data.path(), &mut found);
    world.server.terminate();
    files(data.path(), &mut found);
    files(logs.path(), &mut found);
    assert!(found.iter().any(|(name, bytes)| name.ends_with("log") && !bytes.is_empty()));
    for (name, bytes) in &found {
        let text = String::from_utf8_lossy(bytes);
        for (what, secret) in &looked_for {
            let before = text.split_once(secret.as_str()).map(|(before, _)| before);
            let line = before.map(|before| before.lines().next_back().unwrap_or_default());
            assert_eq!(line, None, "{what} in {name}");
        }
    }
}
