//! Binding, proving, showing and removing.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{
    Hosted,
    outside::{TARGET, TOKEN},
};
use crate::harness::{Answer, TestServer, apps::Owner, encoded};

#[tokio::test]
async fn without_an_edge_provider_there_are_none_whatever_is_asked() {
    let server = TestServer::start().await;
    let (owner, other) = (server.owner("ann").await, server.owner("eve").await);
    let app = server.deploy(&owner, json!({})).await;
    let path = app.path("/domain");
    for body in [json!({"domain": "www.example.com"}), json!({"domain": "*"}), json!({"x": 1})] {
        let answer = server.send(Method::POST, &owner, &path, &body).await;
        answer.error(ErrorCode::CustomDomainsNotEnabled);
    }
    server.get_as(&owner, &path).await.error(ErrorCode::CustomDomainsNotEnabled);
    let removed = Answer::of(server.call(Method::DELETE, &path, &owner)).await;
    removed.error(ErrorCode::CustomDomainsNotEnabled);
    server.get_as(&other, &path).await.error(ErrorCode::AppNotFound);
    server.get(&path).await.error(ErrorCode::Unauthorized);
    assert_eq!(app.record["domain"], Value::Null);
    assert_eq!(app.record["domain_aliases"], json!([]));
}

#[tokio::test]
async fn they_are_the_owners_business() {
    let here = Hosted::start().await;
    let server = &here.server;
    let (owner, other) = (server.owner("ann").await, server.owner("eve").await);
    let app = server.deploy(&owner, json!({})).await;
    let path = app.path("/domain");
    let body = json!({"domain": "www.example.com"});
    let added = json!({"email": "eve@example.org"});
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let stranger = server.send(method.clone(), &other, &path, &body).await;
        stranger.error(ErrorCode::AppNotFound);
        let nobody = server.request(method.clone(), &path).json(&body);
        Answer::of(nobody).await.error(ErrorCode::Unauthorized);
    }
    server.send(Method::POST, &owner, &app.path("/members"), &added).await.expect(201);
    let session = |method, who: &Owner, origin: &str| {
        let request = server.request(method, &path).json(&body).header("origin", origin);
        request.header("cookie", format!("service_session={}", who.session))
    };
    let site = server.public_url();
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let member = Answer::of(session(method, &other, site)).await;
        member.error(ErrorCode::Forbidden);
    }
    let foreign = session(Method::POST, &owner, "https://evil.example");
    Answer::of(foreign).await.error(ErrorCode::CsrfOriginMismatch);
    let none = here.read(&owner, &app).await.error_of_its_own(ErrorCode::DomainNotFound);
    // It leads on, and not to the very call that was made.
    let hint = none["hint"].as_str().unwrap();
    assert!(hint.starts_with("Bind one with POST") && !hint.contains("GET"), "{hint}");
    Answer::of(session(Method::POST, &owner, site)).await.expect(201);
    here.read(&owner, &app).await.expect(200);
}

#[tokio::test]
async fn only_bare_names_of_others_are_domains() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    for name in [
        "",
        "example",
        "localhost",
        "shop.localhost",
        "*.example.com",
        "https://example.com",
        "example.com/",
        "example.com:8080",
        "127.0.0.1",
        "[::1]",
        "169.254.169.254",
        "printer.local",
        "x.internal",
        "a_b.example.com",
        "-a.example.com",
        TARGET,
    ] {
        let refused = here.bind(&owner, &app, name).await;
        let error = refused.error(ErrorCode::DomainInvalid);
        assert!(error["message"].as_str().expect("a message").contains("domain"), "{error}");
    }
    let below = format!("x.{TARGET}");
    here.bind(&owner, &app, &below).await.error(ErrorCode::DomainInvalid);
    for body in [json!({}), json!({"domain": 1}), json!({"domain": "a.example.com", "x": 1})] {
        let path = app.path("/domain");
        let refused = here.server.send(Method::POST, &owner, &path, &body).await;
        refused.error(ErrorCode::InvalidRequest);
    }
    here.remove(&owner, &app, Some("no%20name")).await.error(ErrorCode::DomainInvalid);
    here.read(&owner, &app).await.error_of_its_own(ErrorCode::DomainNotFound);
    let made = here.bind(&owner, &app, "B\u{fc}cher.Example.com").await.expect(201);
    assert_eq!(made["domain"], "xn--bcher-kva.example.com");
}

#[tokio::test]
async fn a_domain_is_bound_then_proven_then_ready() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    let answer = here.bind(&owner, &app, "www.example.com").await;
    assert_eq!(answer.header("location"), app.path("/domain"));
    let made = answer.expect(201);
    assert!(made["id"].as_str().expect("an id").starts_with("dom_"));
    assert_eq!(
        (&made["role"], &made["status"]),
        (&json!("pending"), &json!("pending_verification"))
    );
    assert_eq!(made["verified_at"], Value::Null);
    let cname = json!({"type": "CNAME", "name": "www.example.com", "value": TARGET,
        "purpose": "serving"});
    let records = made["dns_records"].as_array().expect("records");
    assert_eq!((records.len(), &records[0]), (2, &cname));
    assert_eq!(records[1]["name"], "_rookery.www.example.com");
    let value = records[1]["value"].as_str().expect("a value").to_owned();
    assert!(value.starts_with("rookery-verify=") && value.len() > 40, "{value}");

    // Nothing, and something else, prove nothing: the provider hears nothing either.
    for txt in ["", "rookery-verify=", "rookery-verify=made-up"] {
        here.outside.set_txt("_rookery.www.example.com", txt);
        let shown = here.read(&owner, &app).await.expect(200);
        assert_eq!((&shown["domain"], &shown["aliases"]), (&Value::Null, &json!([])));
        assert_eq!(shown["items"], json!([made]));
        assert!(here.outside.hosts().is_empty());
    }
    here.publish(&made);
    let shown = here.read(&owner, &app).await.expect(200);
    assert_eq!(shown["domain"], Value::Null, "requests do not arrive there yet");
    let item = &shown["items"][0];
    assert_eq!((&item["role"], &item["status"]), (&json!("pending"), &json!("pending_edge")));
    assert_eq!(item["errors"], json!(["no CNAME yet"]));
    assert_eq!(item["certificate_status"], "pending");
    assert_eq!(item["verified_at"], "2026-01-31T12:00:00.000Z");
    let purposes: Vec<_> =
        item["dns_records"].as_array().expect("records").iter().map(|it| &it["purpose"]).collect();
    assert_eq!(purposes, ["serving", "edge"]);
    assert_eq!(here.outside.hosts(), ["www.example.com"]);

    here.outside.activate();
    let shown = here.read(&owner, &app).await.expect(200);
    assert_eq!(shown["items"][0]["status"], "active");
    assert_eq!(shown["items"][0]["dns_records"], json!([cname]));
    let record = here.server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(record["domain"], "www.example.com");
    assert_eq!(record["url"], format!("{}/", here.origin("www.example.com")));

    // A change that the provider spreads takes nothing away.
    here.outside.world.lock().expect("the world").redeploys = true;
    assert_eq!(here.read(&owner, &app).await.expect(200), shown);
    here.outside.world.lock().expect("the world").redeploys = false;

    // What the provider has lost is made known again.
    here.outside.world.lock().expect("the world").hosts.clear();
    let shown = here.read(&owner, &app).await.expect(200);
    assert_eq!(shown["items"][0]["status"], "pending_edge");
    assert_eq!(here.outside.hosts(), ["www.example.com"]);
}

#[tokio::test]
async fn the_same_domain_twice_is_refused_and_a_key_replays_the_first_answer() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    let send = async |key: &str, domain: &str| {
        let request = here.server.call(Method::POST, &app.path("/domain"), &owner);
        let request = request.header("idempotency-key", key).json(&json!({"domain": domain}));
        Answer::of(request).await
    };
    let first = send("one", "www.example.com").await;
    let again = send("one", "www.example.com").await;
    assert_eq!(again.expect(201), first.expect(201));
    assert_eq!(again.header("idempotent-replayed"), "true");
    send("one", "other.example.com").await.error(ErrorCode::Conflict);
    here.bind(&owner, &app, "www.example.com").await.error(ErrorCode::DomainExists);
    here.bind(&owner, &app, "WWW.example.com").await.error(ErrorCode::DomainExists);
    here.publish(&first.json());
    here.read(&owner, &app).await.expect(200);
    here.bind(&owner, &app, "www.example.com").await.error(ErrorCode::DomainExists);
}

#[tokio::test]
async fn each_binding_is_proven_anew() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    let first = here.bind(&owner, &app, "www.example.com").await.expect(201);
    here.publish(&first);
    here.read(&owner, &app).await.expect(200);
    assert_eq!(here.remove(&owner, &app, Some("www.example.com")).await.status, 204);
    assert!(here.outside.hosts().is_empty());
    // The record of the first binding still stands in the DNS: it proves nothing any more, for
    // the same app or another.
    let other = here.server.owner("eve").await;
    let theirs = here.server.deploy(&other, json!({})).await;
    let second = here.bind(&owner, &app, "www.example.com").await.expect(201);
    let third = here.bind(&other, &theirs, "www.example.com").await.expect(201);
    let token = |made: &Value| made["dns_records"][1]["value"].clone();
    assert!(token(&first) != token(&second) && token(&second) != token(&third));
    for (who, app) in [(&owner, &app), (&other, &theirs)] {
        let shown = here.read(who, app).await.expect(200);
        assert_eq!(shown["items"][0]["status"], "pending_verification");
    }
    here.publish(&third);
    let shown = here.read(&other, &theirs).await.expect(200);
    assert_eq!(shown["items"][0]["status"], "pending_edge");
}

#[tokio::test]
async fn of_many_apps_that_prove_a_name_at_once_one_has_it() {
    let here = Hosted::start().await;
    let name = "www.example.com";
    let mut values = vec!["v=spf1 -all".to_owned()];
    let mut apps = Vec::new();
    for n in 0..8 {
        let owner = here.server.owner(&format!("o{n}")).await;
        let app = here.server.deploy(&owner, json!({})).await;
        let made = here.bind(&owner, &app, name).await.expect(201);
        values.push(made["dns_records"][1]["value"].as_str().expect("a value").to_owned());
        apps.push((owner, app));
    }
    let record = format!("_rookery.{name}");
    here.outside.world.lock().expect("the world").txt.insert(record, values);
    let reads = apps.iter().map(|(owner, app)| here.read(owner, app));
    let shown: Vec<_> =
        futures::future::join_all(reads).await.iter().map(|answer| answer.expect(200)).collect();
    let has_it = |shown: &Value| shown["items"][0]["status"] == "pending_edge";
    assert_eq!(shown.iter().filter(|one| has_it(one)).count(), 1, "{shown:?}");
    let taken = shown.iter().filter(|one| one["items"][0]["status"] == "taken").count();
    assert_eq!(taken, 7, "{shown:?}");
    assert_eq!(here.outside.hosts(), [name]);
    let winner = shown.iter().position(has_it).expect("a winner");
    let (late, late_app) = &apps[(winner + 1) % 8];
    let another = here.server.deploy(late, json!({})).await;
    let refused = here.bind(late, &another, name).await.error(ErrorCode::DomainTaken);
    assert!(refused.get("details").is_none(), "whose it is, is no business of others: {refused}");
    // Whoever has it hears which of its apps that is.
    let (owner, app) = &apps[winner];
    let beside = here.server.deploy(owner, json!({})).await;
    let refused = here.bind(owner, &beside, name).await.error(ErrorCode::DomainTaken);
    assert_eq!(refused["details"], json!({"app": {"id": app.id, "slug": app.slug}}));
    let message = refused["message"].as_str().expect("text");
    assert!(message.ends_with(&format!("that of your app {}", app.slug)), "{message}");
    // When it goes, the next may have it.
    let (owner, app) = &apps[winner];
    assert_eq!(here.remove(owner, app, None).await.status, 204);
    assert!(has_it(&here.read(late, late_app).await.expect(200)));
}

#[tokio::test]
async fn an_account_has_so_many_and_removing_one_makes_room() {
    let builder = TestServer::builder().set("MAX_DOMAINS_PER_ACCOUNT", "2");
    let here = Hosted::start_with(builder).await;
    let owner = here.server.owner("ann").await;
    let one = here.server.deploy(&owner, json!({})).await;
    let two = here.server.deploy(&owner, json!({})).await;
    here.bind(&owner, &one, "a.example.com").await.expect(201);
    here.bind(&owner, &two, "b.example.com").await.expect(201);
    let full = here.bind(&owner, &two, "c.example.com").await;
    let error = full.error(ErrorCode::AccountQuotaExceeded);
    assert_eq!(error["details"], json!({"dimension": "domains", "limit": 2}));
    let missing = here.remove(&owner, &two, Some("a.example.com")).await;
    missing.error(ErrorCode::DomainNotFound);
    assert_eq!(here.remove(&owner, &one, None).await.status, 204);
    let none = here.remove(&owner, &one, None).await;
    let none = none.error_of_its_own(ErrorCode::DomainNotFound);
    assert!(none["hint"].as_str().unwrap().starts_with("Bind one with POST"), "{none}");
    here.bind(&owner, &two, "c.example.com").await.expect(201);
}

#[tokio::test]
async fn of_many_bound_at_once_no_more_than_the_account_may_have() {
    let builder = TestServer::builder().set("MAX_DOMAINS_PER_ACCOUNT", "6");
    let here = Hosted::start_with(builder).await;
    let owner = here.server.owner("ann").await;
    let mut apps = Vec::new();
    for _ in 0..2 {
        apps.push(here.server.deploy(&owner, json!({})).await);
    }
    let refusals = |answers: Vec<Answer>, code: ErrorCode| {
        let (bound, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 201);
        refused.iter().for_each(|answer| drop(answer.error(code)));
        bound.len()
    };
    let same = (0..16).map(|_| here.bind(&owner, &apps[0], "www.example.com"));
    assert_eq!(refusals(join_all(same).await, ErrorCode::DomainExists), 1);
    let names: Vec<_> = (0..32).map(|n| format!("d{n}.example.com")).collect();
    let others = names.iter().enumerate().map(|(n, name)| here.bind(&owner, &apps[n % 2], name));
    assert_eq!(refusals(join_all(others).await, ErrorCode::AccountQuotaExceeded), 5);
    let mut listed = 0;
    for app in &apps {
        let answer = here.read(&owner, app).await;
        listed += answer.json()["items"].as_array().map_or(0, Vec::len);
    }
    assert_eq!(listed, 6);
}

#[tokio::test]
async fn an_app_has_so_many() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    for n in 0..20 {
        here.bind(&owner, &app, &format!("d{n}.example.com")).await.expect(201);
    }
    here.bind(&owner, &app, "more.example.com").await.error(ErrorCode::Conflict);
    let shown = here.read(&owner, &app).await.expect(200);
    assert_eq!(shown["items"].as_array().expect("items").len(), 20);
}

#[tokio::test]
async fn whoever_looks_all_the_time_is_told_what_is_stored() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    here.proven(&owner, &app, "www.example.com").await;
    let mut stale = None;
    for _ in 0..130 {
        let shown = here.read(&owner, &app).await.expect(200);
        if shown["items"][0]["refreshed"] == false {
            stale = Some(shown);
            break;
        }
    }
    let stale = stale.expect("the provider is asked no more");
    assert_eq!(stale["domain"], "www.example.com");
    // Another app's are looked at all the same.
    let other = here.server.deploy(&owner, json!({})).await;
    let shown = here.bind(&owner, &other, "b.example.com").await.expect(201);
    here.publish(&shown);
    assert_eq!(here.read(&owner, &other).await.expect(200)["items"][0]["refreshed"], true);
}

#[tokio::test]
async fn a_provider_that_fails_changes_nothing_and_its_token_stays_here() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({})).await;
    let made = here.bind(&owner, &app, "www.example.com").await.expect(201);
    here.publish(&made);
    assert_eq!(made["refreshed"], true, "nobody had to be asked");
    for status in [500, 403, 401, 429] {
        here.outside.fail(Some(status));
        let stored = here.read(&owner, &app).await;
        let item = &stored.expect(200)["items"][0];
        assert_eq!((&item["status"], &item["refreshed"]), (&json!("pending_edge"), &json!(false)));
        assert!(
            !stored.text.contains(TOKEN) && !stored.text.contains("/zones/"),
            "{}",
            stored.text
        );
    }
    here.outside.fail(None);
    here.read(&owner, &app).await.expect(200);
    here.outside.activate();
    assert_eq!(here.read(&owner, &app).await.expect(200)["domain"], "www.example.com");
    here.outside.fail(Some(500));
    here.remove(&owner, &app, None).await.error(ErrorCode::Unavailable);
    let stored = here.read(&owner, &app).await.expect(200);
    let item = &stored["items"][0];
    assert_eq!((&item["status"], &item["refreshed"]), (&json!("active"), &json!(false)));
    assert_eq!(stored["domain"], "www.example.com", "what serves goes on");
    here.outside.fail(None);
    assert_eq!(here.read(&owner, &app).await.expect(200)["domain"], "www.example.com");
    assert_eq!(here.remove(&owner, &app, Some(&encoded("www.example.com"))).await.status, 204);
}
