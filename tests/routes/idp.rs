//! Sign-in by an identity provider, against a certified implementation run locally.

use futures::future::join_all;
use reqwest::{Client, Method};
use rookery_domain::ErrorCode;
use serde_json::Value;
use url::Url;

use crate::{
    harness::{Answer, Human, START, TestServer, encoded, services::Service},
    outage::Log,
};

/// Where the provider sends browsers back to; the tests read it and knock at the server's port.
const SITE: &str = "http://localhost:7";
const BEGIN: &str = "/v1/auth/idp";
const CALLBACK: &str = "/v1/auth/idp/callback";
/// Callbacks that race for one state.
const RACERS: usize = 64;

/// A provider, and a server that trusts it.
struct World {
    server: TestServer,
    issuer: String,
    _provider: Service,
}

/// A browser that came back from the provider.
struct Back {
    /// The path and query that the provider sent it to.
    path: String,
    /// The cookie that it has held since it left.
    cookie: String,
}

impl World {
    async fn start() -> Option<Self> {
        Self::with_secret("a secret of the tests").await
    }

    /// A server that says it is the client with this secret.
    async fn with_secret(secret: &str) -> Option<Self> {
        let redirect_uri = format!("{SITE}{CALLBACK}");
        let provider = Service::start("tests/routes/idp.rs", "idp.mjs", &[&redirect_uri]).await?;
        let issuer = provider.address.clone();
        let server = TestServer::builder()
            .set("ROOKERY__SERVER__PUBLIC_URL", SITE)
            .set("ROOKERY__IDP__ISSUER", &issuer)
            .set("ROOKERY__IDP__CLIENT_ID", "rookery")
            .set("ROOKERY__IDP__CLIENT_SECRET", secret)
            .start()
            .await;
        Some(Self { server, issuer, _provider: provider })
    }

    async fn begin(&self, query: &str) -> (Url, String) {
        let left = self.server.get(&format!("{BEGIN}{query}")).await;
        assert_eq!(left.status, 303, "{}", left.text);
        let cookie = left.header("set-cookie").split(';').next().unwrap().to_owned();
        (left.header("location").parse().unwrap(), cookie)
    }

    /// Signs `who` in at the provider, which sends the browser back.
    async fn visit(&self, url: Url, who: &str) -> String {
        let browser = Client::builder()
            .cookie_store(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        browser.get(format!("{}/as?who={who}", self.issuer)).send().await.unwrap();
        let mut next = url;
        for _ in 0..10 {
            let answer = browser.get(next.clone()).send().await.unwrap();
            let location = answer.headers().get("location");
            let Some(location) = location.map(|it| it.to_str().unwrap().to_owned()) else {
                panic!("the provider stopped: {}", answer.text().await.unwrap());
            };
            if let Some(path) = location.strip_prefix(SITE) {
                return path.to_owned();
            }
            next = next.join(&location).unwrap();
        }
        panic!("the provider leads in circles");
    }

    async fn leave_and_return(&self, query: &str, who: &str) -> Back {
        let (url, cookie) = self.begin(query).await;
        Back { path: self.visit(url, who).await, cookie }
    }

    async fn arrive(&self, back: &Back) -> Answer {
        let request = self.server.request(Method::GET, &back.path);
        Answer::of(request.header("cookie", &back.cookie)).await
    }

    /// Signs `who` in.
    async fn human(&self, who: &str) -> Human {
        let back = self.leave_and_return("", who).await;
        let answer = self.arrive(&back).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        Human { email: who.to_owned(), cookie: answer.session().expect("a session") }
    }

    async fn profile(&self, human: &Human) -> Value {
        Answer::of(self.server.by(human, Method::GET, "/v1/self/profile")).await.expect(200)
    }
}

#[tokio::test]
async fn without_a_provider_the_routes_say_so() {
    let server = TestServer::start().await;
    for path in [BEGIN, CALLBACK] {
        server.get(path).await.error(ErrorCode::NotImplemented);
    }
}

#[tokio::test]
async fn a_provider_signs_in_and_leads_on() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let status = server.get("/v1/auth/status").await.expect(200);
    assert_eq!(status["idp"], true);
    let (url, cookie) = world.begin("?redirect_to=/device").await;
    let pairs: std::collections::HashMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(pairs["code_challenge_method"], "S256");
    assert!(pairs["nonce"] != pairs["state"] && !pairs["code_challenge"].is_empty());
    assert!(cookie.starts_with("service_idp_"), "{cookie}");
    assert!(cookie.ends_with(&format!("={}", pairs["state"])), "{cookie}");

    let back = Back { path: world.visit(url, "ada").await, cookie };
    let head = server.request(Method::HEAD, &back.path).header("cookie", &back.cookie);
    assert_eq!(Answer::of(head).await.status, 204);
    let prefetch = server.request(Method::GET, &back.path).header("cookie", &back.cookie);
    assert_eq!(Answer::of(prefetch.header("sec-purpose", "prefetch")).await.status, 204);
    let answer = world.arrive(&back).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/device"), "{}", answer.text);
    let ada = Human { email: "ada@example.org".into(), cookie: answer.session().unwrap() };
    let profile = world.profile(&ada).await;
    assert_eq!(profile["email"], "ada@example.org");
    assert_eq!(profile["email_verified"], true);
    // The same identity is the same account, and a verified address the same human.
    let again = world.human("ada").await;
    assert_eq!(world.profile(&again).await["id"], profile["id"]);
    let by_mail = server.human("ada@example.org").await;
    assert_eq!(world.profile(&by_mail).await["id"], profile["id"]);
}

#[tokio::test]
async fn operators_are_told_of_a_provider_that_refuses_the_service() {
    let log = Log::default();
    let _guards = log.listen(tracing::Level::ERROR);
    let Some(world) = World::with_secret("of somebody else").await else { return };
    let back = world.leave_and_return("", "ada").await;
    world.arrive(&back).await.error(ErrorCode::Unauthorized);
    let told = log.said_by("rookery::idp");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["code"], "invalid_client");
    assert!(told[0]["message"].as_str().unwrap().contains("idp.client_secret"), "{told:?}");
}

#[tokio::test]
async fn an_unverified_address_joins_nobody() {
    let Some(world) = World::start().await else { return };
    let ada = world.server.human("ada@example.org").await;
    let ada = world.profile(&ada).await;
    let mallory = world.human("mallory").await;
    let profile = world.profile(&mallory).await;
    assert_ne!(profile["id"], ada["id"]);
    assert_eq!(
        (&profile["email"], profile["email_verified"].as_bool()),
        (&ada["email"], Some(false))
    );
    let again = world.human("mallory").await;
    assert_eq!(world.profile(&again).await["id"], profile["id"]);
    let nameless = world.profile(&world.human("nameless").await).await;
    assert_eq!((&nameless["email"], &nameless["email_verified"]), (&Value::Null, &false.into()));
    let (id, shown) =
        (nameless["id"].as_str().unwrap(), nameless["display_name"].as_str().unwrap());
    assert_eq!(shown, format!("human {}", &id[id.len() - 6..]), "nobody's name is empty");
    // Nor does it keep the address from its owner, whoever came first.
    let back = world.server.human("ada@example.org").await;
    assert_eq!(world.profile(&back).await["id"], ada["id"]);
}

#[tokio::test]
async fn a_callback_signs_in_once_however_often_it_comes() {
    let Some(world) = World::start().await else { return };
    let back = world.leave_and_return("", "ada").await;
    let answers = join_all((0..RACERS).map(|_| world.arrive(&back))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 1);
    for late in answers.iter().filter(|answer| answer.status != 303) {
        late.error(ErrorCode::Unauthorized);
        assert_eq!(late.session(), None);
    }
    world.arrive(&back).await.error(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn a_callback_that_was_bent_signs_nobody_in() {
    let Some(world) = World::start().await else { return };
    // Of another browser, or of none.
    let back = world.leave_and_return("", "ada").await;
    world.server.get(&back.path).await.error(ErrorCode::Unauthorized);
    let other = world.leave_and_return("", "mallory").await;
    let crossed = Back { path: back.path.clone(), cookie: other.cookie.clone() };
    world.arrive(&crossed).await.error(ErrorCode::Unauthorized);
    // With the code of another sign-in: its verifier and nonce are others.
    let code = |path: &str| {
        let url = Url::parse(SITE).unwrap().join(path).unwrap();
        url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
    };
    let swapped = back.path.replace(&code(&back.path), &code(&other.path));
    world.arrive(&Back { path: swapped, cookie: back.cookie }).await.error(ErrorCode::Unauthorized);
    // With a nonce that was replaced on the way out.
    let (url, cookie) = world.begin("").await;
    let mut bent = url.clone();
    bent.query_pairs_mut().clear().extend_pairs(url.query_pairs().map(|(name, value)| {
        let value = if name == "nonce" { "another".into() } else { value };
        (name, value)
    }));
    let path = world.visit(bent, "ada").await;
    world.arrive(&Back { path, cookie }).await.error(ErrorCode::Unauthorized);
    // Refused there; forged; too late.
    let (url, cookie) = world.begin("").await;
    let state = url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    let path = format!("{CALLBACK}?error=access_denied&state={state}");
    world.arrive(&Back { path, cookie }).await.error(ErrorCode::Unauthorized);
    let path = format!("{CALLBACK}?code=x&state=forged");
    let forged = Back { path, cookie: "service_idp_x=forged".into() };
    world.arrive(&forged).await.error(ErrorCode::Unauthorized);
    let late = world.leave_and_return("", "ada").await;
    world.server.state().clock.set(START.plus_seconds(601));
    world.arrive(&late).await.error(ErrorCode::Unauthorized);
}

#[tokio::test]
async fn a_return_path_of_a_provider_sign_in_stays_on_the_site() {
    let Some(world) = World::start().await else { return };
    for bad in ["//evil.example", "/\\evil.example", "https://app@evil.example", "evil", "/a//b"] {
        let path = format!("{BEGIN}?redirect_to={}", encoded(bad));
        world.server.get(&path).await.error(ErrorCode::InvalidRequest);
    }
    // An empty one is none.
    let back = world.leave_and_return("?redirect_to=", "ada").await;
    assert_eq!(world.arrive(&back).await.header("location"), "/");
    // A parameter of the callback leads nowhere.
    let back = world.leave_and_return("?redirect_to=/device", "ada").await;
    let path = format!("{}&redirect_to=https://evil.example", back.path);
    let answer = world.arrive(&Back { path, cookie: back.cookie }).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/device"));
}

#[tokio::test]
async fn each_tab_of_a_browser_finishes_its_own_sign_in() {
    let Some(world) = World::start().await else { return };
    let first = world.leave_and_return("?redirect_to=/device", "ada").await;
    let second = world.leave_and_return("?redirect_to=/orgs", "ada").await;
    let both = format!("{}; {}", first.cookie, second.cookie);
    for (back, leads_to) in [(&first, "/device"), (&second, "/orgs")] {
        let answer = world.arrive(&Back { path: back.path.clone(), cookie: both.clone() }).await;
        assert_eq!((answer.status, answer.header("location")), (303, leads_to), "{}", answer.text);
        // It takes back its own cookie, and no other.
        let name = back.cookie.split_once('=').expect("a cookie").0;
        let cleared: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
        let cleared = cleared.iter().filter_map(|it| it.to_str().ok());
        let cleared: Vec<_> = cleared.filter(|it| it.starts_with("service_idp")).collect();
        assert_eq!(cleared.len(), 1);
        assert!(cleared[0].starts_with(&format!("{name}=;")), "{cleared:?}");
    }
}

#[tokio::test]
async fn a_browser_holds_so_many_sign_ins_that_it_has_begun() {
    let Some(world) = World::start().await else { return };
    let mut held: Vec<String> = Vec::new();
    for n in 0..8 {
        let request = world.server.request(Method::GET, BEGIN);
        let left = Answer::of(request.header("cookie", held.join("; "))).await;
        let set = left.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap());
        for cookie in set {
            let pair = cookie.split(';').next().unwrap();
            let name = pair.split_once('=').unwrap().0;
            held.retain(|it| it.split_once('=').unwrap().0 != name);
            if !cookie.contains("Max-Age=0") {
                held.push(pair.to_owned());
            }
        }
        assert_eq!(held.len(), (n + 1).min(5), "{held:?}");
    }
    // The newest is among them.
    let (url, cookie) = world.begin("").await;
    let path = world.visit(url, "ada").await;
    let cookie = format!("{}; {cookie}", held[1..].join("; "));
    assert_eq!(world.arrive(&Back { path, cookie }).await.status, 303);
}

#[tokio::test]
async fn whoever_cancels_at_the_provider_is_led_on_by_the_next_try() {
    let Some(world) = World::start().await else { return };
    let (url, cookie) = world.begin("?redirect_to=/authorize?app=garden").await;
    let state = url.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    let path = format!("{CALLBACK}?error=access_denied&state={state}");
    let request = world.server.request(Method::GET, &path).header("accept", "text/html");
    let page = Answer::of(request.header("cookie", &cookie)).await;
    assert_eq!(page.status, 401, "{}", page.text);
    assert!(page.text.contains("value=\"/authorize?app=garden\""), "{}", page.text);
    assert!(page.text.contains("redirect_to=%2Fauthorize%3Fapp%3Dgarden"), "{}", page.text);
    assert!(page.header("set-cookie").contains("Max-Age=0"), "the state is spent");
}

#[tokio::test]
async fn no_mail_names_an_address_that_nobody_has_proven() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let mallory = world.human("mallory").await;
    let agent = server.agent(&mallory).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
    for name in [Value::Null, "Mallory".into()] {
        if !name.is_null() {
            let body = serde_json::json!({"name": name});
            let named = server.by(&mallory, Method::PATCH, "/v1/self/profile").json(&body);
            Answer::of(named).await.expect(200);
        }
        let tag = name.as_str().unwrap_or("none").to_lowercase();
        for below in ["members", "transfer"] {
            let email = format!("{below}.{tag}@example.org");
            let body = serde_json::json!({"email": email}).to_string();
            let made = server.post(&format!("{path}/{below}"), &agent.key, &body).await.expect(201);
            let mail = &server.mails(&email).await[0];
            for part in ["subject", "text", "html"] {
                let part = mail[part].as_str().expect("text");
                assert!(!part.contains("ada@"), "{part}");
            }
            let text = mail["text"].as_str().unwrap();
            assert!(text.contains("without a verified address"), "{text}");
            if below == "transfer" {
                assert_eq!(made["offered_by"]["email"], Value::Null);
            }
        }
        let withdrawn = server.by_agent(&agent, Method::DELETE, &format!("{path}/transfer"));
        assert_eq!(Answer::of(withdrawn).await.status, 204);
    }
}
