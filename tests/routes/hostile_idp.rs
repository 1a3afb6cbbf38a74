//! A provider, or somebody in its place, whose word is not to be believed. What a provider that
//! follows the rules gets is in `idp`.

use std::collections::HashMap;

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};
use url::Url;

use crate::harness::{Answer, Human, TestServer, encoded, services::Service};

const BEGIN: &str = "/v1/auth/idp";
const CALLBACK: &str = "/v1/auth/idp/callback";

/// A provider that says what it is told to, and a server that trusts it.
struct World {
    server: TestServer,
    provider: Service,
}

impl World {
    async fn start() -> Option<Self> {
        let file = "tests/routes/hostile_idp.rs";
        let provider = Service::start(file, "hostile_idp.mjs", &[]).await?;
        let server = TestServer::builder()
            .set("ROOKERY__IDP__ISSUER", &provider.address)
            .set("ROOKERY__IDP__CLIENT_ID", "rookery")
            .set("ROOKERY__IDP__CLIENT_SECRET", "a secret of the tests")
            .start()
            .await;
        Some(Self { server, provider })
    }

    /// Chooses what the provider says next.
    async fn say(&self, how: &str, nonce: &str) {
        let query = format!("how={}&nonce={}", encoded(how), encoded(nonce));
        reqwest::get(format!("{}/say?{query}", self.provider.address)).await.expect("said");
    }

    /// A sign-in in which the provider says what `how` names; `more` is added to the callback.
    async fn sign_in(&self, how: &str, more: &str) -> Answer {
        let left = self.server.get(BEGIN).await;
        assert_eq!(left.status, 303, "{}", left.text);
        let url: Url = left.header("location").parse().expect("an address");
        let sent: HashMap<_, _> = url.query_pairs().into_owned().collect();
        self.say(how, &sent["nonce"]).await;
        let path = format!("{CALLBACK}?code=x&state={}{more}", sent["state"]);
        let cookie = left.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        Answer::of(self.server.request(Method::GET, &path).header("cookie", cookie)).await
    }

    /// The account that a sign-in led to.
    async fn profile(&self, answer: &Answer) -> Value {
        let cookie = answer.session().expect("a session");
        let human = Human { email: String::new(), cookie };
        Answer::of(self.server.by(&human, Method::GET, "/v1/self/profile")).await.expect(200)
    }
}

#[tokio::test]
async fn a_token_that_is_wrong_in_one_thing_signs_nobody_in() {
    let Some(world) = World::start().await else { return };
    let honest = world.sign_in("honest", "").await;
    assert_eq!(honest.status, 303, "{}", honest.text);
    let victim = world.profile(&honest).await;
    assert_eq!(victim["email"], "victim@example.org");
    for lie in [
        "another issuer",
        "an issuer with a slash",
        "no issuer",
        "another audience",
        "two audiences",
        "another party",
        "no audience",
        "expired",
        "no end",
        "not yet",
        "another nonce",
        "no nonce",
        "no subject",
        "an empty subject",
        "a subject without end",
        "a subject with a zero",
        "somebody else's address",
        "unsigned",
        "unsigned in capitals",
        "signed in a way that has to be understood",
        "without its signature",
        "signed with the shared secret",
        "signed with the public key",
        "signed by another key",
        "signed by an unknown key",
        "signed by a key that it brings",
        "signed as by another family",
        "changed",
        "none at all",
        "no token",
        "a refusal",
    ] {
        let answer = world.sign_in(lie, "").await;
        let error = answer.error(ErrorCode::Unauthorized);
        assert_eq!(answer.session(), None, "{lie}");
        let message = error["message"].as_str().unwrap();
        assert!(!message.contains("victim") && !message.contains("secret"), "{lie}: {message}");
    }
    for failure in ["a failure", "a failure of who it is", "without end"] {
        let answer = world.sign_in(failure, "").await;
        answer.error(ErrorCode::Unavailable);
        assert_eq!(answer.session(), None, "{failure}");
    }
    // Another provider's answer, mixed in (RFC 9207).
    let mixed = world.sign_in("honest", "&iss=https%3A%2F%2Faccounts.example.org").await;
    mixed.error(ErrorCode::Unauthorized);
    let own = format!("&iss={}", encoded(&world.provider.address));
    let honest = world.sign_in("honest", &own).await;
    assert_eq!(world.profile(&honest).await["id"], victim["id"]);
}

#[tokio::test]
async fn an_answer_without_a_name_is_not_believed_of_a_provider_that_always_says_it() {
    let Some(world) = World::start().await else { return };
    // What it announces is read at the first sign-in.
    world.say("who answers", "").await;
    let nameless = world.sign_in("honest", "").await;
    nameless.error(ErrorCode::Unauthorized);
    assert_eq!(nameless.session(), None);
    let own = format!("&iss={}", encoded(&world.provider.address));
    let honest = world.sign_in("honest", &own).await;
    assert!(honest.session().is_some(), "{}", honest.text);
}

#[tokio::test]
async fn an_address_that_the_provider_does_not_vouch_for_is_nobodys() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let victim = server.human("victim@example.org").await;
    let profile = Answer::of(server.by(&victim, Method::GET, "/v1/self/profile")).await;
    let profile = profile.expect(200);
    for how in [
        "an unverified address",
        "an address without a word",
        "an address with another word",
        "an address whose word is text",
    ] {
        let answer = world.sign_in(how, "").await;
        let mallory = world.profile(&answer).await;
        assert_ne!(mallory["id"], profile["id"], "{how}");
        assert_eq!(mallory["email_verified"], false, "{how}");
    }
    let vouched = world.sign_in("a verified address in text", "").await;
    assert_eq!(world.profile(&vouched).await["id"], profile["id"]);
    // The account that came first under the address does not get the human who proves it later.
    let fresh = World::start().await.expect("as before");
    let squatter = fresh.profile(&fresh.sign_in("an unverified address", "").await).await;
    let owner = fresh.server.human("victim@example.org").await;
    let owner = Answer::of(fresh.server.by(&owner, Method::GET, "/v1/self/profile")).await;
    assert_ne!(owner.expect(200)["id"], squatter["id"]);
}

#[tokio::test]
async fn an_address_that_nobody_has_proven_is_shown_to_nobody_and_ends_nothing() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let answer = world.sign_in("an unverified address", "").await;
    let cookie = answer.session().expect("a session");
    let mallory = Human { email: "victim@example.org".to_owned(), cookie };
    let ada = server.human("ada@example.org").await;
    let ask = async |who: &Human, method, path: &str, body: Value| {
        Answer::of(server.by(who, method, path).json(&body)).await
    };
    let org = ask(&mallory, Method::POST, "/v1/orgs", json!({"name": "Bank"})).await.expect(201);
    let org = org["id"].as_str().unwrap();
    let members = format!("/v1/orgs/{org}/members");
    let admin = json!({"email": "ada@example.org", "role": "admin"});
    ask(&mallory, Method::POST, &members, admin).await.expect(201);
    let agent = server.agent(&mallory).await;
    let app = json!({"html": "<p>hi", "org_id": org}).to_string();
    let app = server.post("/v1/apps", &agent.key, &app).await.expect(201);
    let of_app = format!("/v1/apps/{}/members", app["id"].as_str().unwrap());
    for path in [&members, &of_app] {
        let shown = Answer::of(server.by(&ada, Method::GET, path)).await;
        let list = shown.expect(200);
        assert_eq!(list["items"][0]["email"], Value::Null, "{path}");
        assert!(!shown.text.contains("victim"), "{}", shown.text);
    }

    // Closing the account leaves the links that wait for whoever has the address.
    let token = server.link_token("victim@example.org", None).await;
    let close = json!({"confirm_email": "victim@example.org"});
    let closed = ask(&mallory, Method::DELETE, "/v1/self", close).await;
    assert_eq!(closed.status, 204, "{}", closed.text);
    assert_eq!(server.get(&format!("/v1/auth/verify?token={token}")).await.status, 303);
}

#[tokio::test]
async fn what_needs_a_verified_address_says_so_to_an_account_without_one() {
    let Some(world) = World::start().await else { return };
    let server = &world.server;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let offer = format!("/v1/apps/{}/transfer", app["id"].as_str().unwrap());
    let body = r#"{"email": "victim@example.org"}"#;
    let offer = server.post(&offer, &agent.key, body).await.expect(201);
    let answer = world.sign_in("an unverified address", "").await;
    let cookie = answer.session().expect("a session");
    let mallory = Human { email: "victim@example.org".to_owned(), cookie };
    let list = Answer::of(server.by(&mallory, Method::GET, "/v1/self/transfers")).await;
    assert!(!list.text.contains(app["slug"].as_str().unwrap()), "{}", list.text);
    for verb in ["accept", "decline"] {
        let path = format!("/v1/self/transfers/{}/{verb}", offer["id"].as_str().unwrap());
        let answer = Answer::of(server.by(&mallory, Method::POST, &path)).await;
        answer.error(ErrorCode::EmailNotVerified);
    }
    // An agent of such an account deploys; it is no operator by its address (`tests/http`).
    let own = server.agent(&mallory).await;
    server.post("/v1/apps", &own.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    // An invitation to the address is for whoever proves it.
    let members = format!("/v1/apps/{}/members", app["id"].as_str().unwrap());
    let member = server.post(&members, &agent.key, body).await.expect(201);
    let profile = Answer::of(server.by(&mallory, Method::GET, "/v1/self/profile")).await;
    assert_ne!(member["human_id"], profile.expect(200)["id"]);
    let list = Answer::of(server.by(&mallory, Method::GET, "/v1/self/apps")).await;
    assert!(!list.text.contains(app["slug"].as_str().unwrap()), "{}", list.text);
    let owner = server.human("victim@example.org").await;
    let profile = Answer::of(server.by(&owner, Method::GET, "/v1/self/profile")).await;
    assert_eq!(member["human_id"], profile.expect(200)["id"]);
    // Nor can it be added to an organization as who it says it is.
    let org = server.post("/v1/orgs", &agent.key, r#"{"name": "Choir"}"#).await.expect(201);
    let members = format!("/v1/orgs/{}/members", org["id"].as_str().unwrap());
    let added = server.post(&members, &agent.key, body).await.expect(201);
    assert_eq!(added["human_id"], member["human_id"]);
    let orgs = Answer::of(server.by(&mallory, Method::GET, "/v1/orgs")).await.expect(200);
    assert_eq!(orgs["items"], serde_json::json!([]));
}

#[tokio::test]
async fn a_provider_that_is_down_or_another_one_is_unavailable() {
    let Some(world) = World::start().await else { return };
    for how in ["of another name", "with keys elsewhere"] {
        world.say(how, "").await;
        world.server.get(BEGIN).await.error(ErrorCode::Unavailable);
    }
    // A browser is shown so, on the page that has the other way in, and where to go stays the same.
    let browser = |path: &str| {
        world.server.request(Method::GET, path).header("accept", "text/html,*/*;q=0.8")
    };
    let page = Answer::of(browser(&format!("{BEGIN}?redirect_to=/authorize?app=garden"))).await;
    assert_eq!((page.status, page.header("retry-after")), (503, "1"), "{}", page.text);
    assert!(page.text.contains("The identity provider is not the one of the settings."));
    assert!(page.text.contains("value=\"/authorize?app=garden\""), "{}", page.text);
    world.say("honest", "").await;
    assert_eq!(world.server.get(BEGIN).await.status, 303);

    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let server = TestServer::builder()
        .set("ROOKERY__IDP__ISSUER", &address)
        .set("ROOKERY__IDP__CLIENT_ID", "rookery")
        .start()
        .await;
    let answer = server.get(BEGIN).await;
    answer.error(ErrorCode::Unavailable);
    assert!(!answer.headers.contains_key("set-cookie"));
}
