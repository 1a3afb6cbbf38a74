//! What a custom domain serves: the app by its `Host`, redirects of aliases, visitors and their
//! sessions; and what becomes of it when the app is closed, deleted, destroyed or handed over.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::Hosted;
use crate::harness::{Answer, START, apps::guestbook};

const HTML: &str = "<!doctype html><title>T</title><h1>Served here</h1>";

#[tokio::test]
async fn the_first_domain_serves_and_the_others_redirect_to_it() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let body = json!({"html": HTML, "visibility": "public"});
    let app = here.server.deploy(&owner, body).await;
    let (first, second) = ("www.example.com", "shop.example.org");
    here.bind(&owner, &app, first).await.expect(201);
    let before = here.visit(first, "/").await;
    assert!(!before.text.contains("Served here"), "it is not proven");
    here.remove(&owner, &app, None).await;
    here.proven(&owner, &app, first).await;
    // Its app is as old as the other, but not its time: the clock stands still here.
    here.server.state().clock.set(START.plus_seconds(1));
    here.proven(&owner, &app, second).await;

    for host in [first, "WWW.Example.com", "www.example.com:8443", "www.example.com."] {
        let page = here.visit(host, "/").await;
        assert_eq!(page.status, 200, "{host}");
        assert!(page.text.contains("Served here") && page.text.contains("/s/sdk.js"));
    }
    assert_eq!(here.visit(first, "/s/sdk.js").await.status, 200);
    // Nothing of the site is there.
    let api = here.server.request(Method::GET, "/v1/apps").header("host", first);
    let api = Answer::of(api.bearer_auth(&owner.key)).await;
    assert!(api.status == 404 && !api.text.contains(&app.id), "{}", api.text);
    let sent = here.visit(second, "/a/b?c=%20d").await;
    assert_eq!(sent.status, 308);
    assert_eq!(sent.header("location"), format!("{}/a/b?c=%20d", here.origin(first)));
    assert_eq!(sent.header("cache-control"), "no-store");
    let sent = here.visit(second, "//evil.example/x").await;
    assert_eq!(sent.header("location"), format!("{}//evil.example/x", here.origin(first)));
    // A page that is open there since before goes on.
    let of_page = |path: &str, mode: &str| {
        let request = here.server.request(Method::GET, path).header("host", second);
        request.header("sec-fetch-site", "same-origin").header("sec-fetch-mode", mode)
    };
    for (path, mode, status) in [
        ("/s/sdk.js", "no-cors", 200),
        ("/s/session", "cors", 200),
        ("/s/session", "navigate", 308),
        ("/", "navigate", 308),
    ] {
        assert_eq!(Answer::of(of_page(path, mode)).await.status, status, "{path} {mode}");
    }
    for stranger in ["sub.www.example.com", "example.com", "www.example.com.evil.example"] {
        assert!(!here.visit(stranger, "/").await.text.contains("Served here"), "{stranger}");
    }
    let own = format!("{}.localhost", app.slug);
    assert_eq!(here.visit(&own, "/").await.status, 200, "its own name serves it too");
    let record = here.server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!((&record["domain"], &record["domain_aliases"]), (&json!(first), &json!([second])));

    // After a restart as before; and when the first goes, the second serves.
    let Hosted { server, outside } = here;
    let here = Hosted { server: server.restart().await, outside };
    assert_eq!(here.visit(first, "/").await.status, 200);
    assert_eq!(here.visit(second, "/").await.status, 308);
    assert_eq!(here.remove(&owner, &app, Some(first)).await.status, 204);
    assert_eq!(here.visit(second, "/").await.status, 200);
    assert!(!here.visit(first, "/").await.text.contains("Served here"));
    assert_eq!(here.outside.hosts(), [second]);
}

#[tokio::test]
async fn a_visitor_lives_on_the_domain_as_on_the_apps_own_name() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let body = json!({"manifest": guestbook(), "visibility": "public"});
    let app = here.server.deploy(&owner, body).await;
    let domain = "www.example.com";
    here.proven(&owner, &app, domain).await;
    let post = |path: &str, origin: &str| {
        let request = here.server.request(Method::POST, path).header("host", domain);
        request.header("origin", origin)
    };
    let origin = here.origin(domain);
    let own = here.server.state().origins.app_origin(&app.slug);
    for foreign in [own.as_str(), "https://evil.example", here.server.public_url()] {
        let request = post("/s/session", foreign).json(&json!({}));
        Answer::of(request).await.error(ErrorCode::CsrfOriginMismatch);
    }
    let made = Answer::of(post("/s/session", &origin).json(&json!({}))).await;
    made.expect(201);
    let cookie = made.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    assert!(!made.header("set-cookie").to_lowercase().contains("domain="));
    let write = |from: &str| {
        let request = post("/s/collections/entries", from).header("cookie", &cookie);
        request.json(&json!({"data": {}}))
    };
    Answer::of(write(&own)).await.error(ErrorCode::CsrfOriginMismatch);
    Answer::of(write(&origin)).await.expect(201);
}

#[tokio::test]
async fn a_human_signs_in_to_an_app_on_its_domain() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let app = here.server.deploy(&owner, json!({"html": HTML})).await;
    let domain = "www.example.com";
    here.proven(&owner, &app, domain).await;
    let sent = here.visit(domain, "/notes").await;
    assert!(!sent.text.contains("Served here"), "it is private");
    let sent = here.visit(domain, "/s/sign-in?return_to=/notes").await;
    let there = sent.header("location").strip_prefix(here.server.public_url()).expect("the site");
    assert!(there.starts_with("/authorize?"), "{there}");
    let request = here.server.request(Method::GET, there);
    let request = request.header("cookie", format!("service_session={}", owner.session));
    // A page leads on: the policy of the site's forms does not name foreign hosts.
    let page = Answer::of(request).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    let start = format!("{}/s/callback?", here.origin(domain));
    let (_, rest) = page.text.split_once(&format!("url={start}")).expect("the way on");
    let query = rest.split('"').next().expect("a query");
    let query = query.replace("&amp;", "&").replace("&#38;", "&");
    let arrived = here.visit(domain, &format!("/s/callback?{query}")).await;
    assert_eq!((arrived.status, arrived.header("location")), (303, "/notes"));
    let cookie = arrived.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let request = here.server.request(Method::GET, "/").header("host", domain);
    let page = Answer::of(request.header("cookie", &cookie)).await;
    assert!(page.status == 200 && page.text.contains("Served here"), "{}", page.text);
    let spent = here.visit(domain, &format!("/s/callback?{query}")).await;
    assert_ne!(spent.status, 303, "a grant is good once");
}

#[tokio::test]
async fn a_domain_stays_with_its_app_until_that_is_destroyed() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let body = json!({"html": HTML, "visibility": "public"});
    let app = here.server.deploy(&owner, body.clone()).await;
    let domain = "www.example.com";
    here.proven(&owner, &app, domain).await;
    let delete = || here.server.call(Method::DELETE, &app.path(""), &owner);
    assert_eq!(Answer::of(delete()).await.status, 204);
    assert_eq!(here.visit(domain, "/").await.status, 410);
    here.bind(&owner, &app, "b.example.com").await.error(ErrorCode::SoftDeleted);
    here.read(&owner, &app).await.error(ErrorCode::SoftDeleted);
    here.server.send(Method::POST, &owner, &app.path("/restore"), &json!({})).await.expect(200);
    assert_eq!(here.visit(domain, "/").await.status, 200);
    assert_eq!(Answer::of(delete()).await.status, 204);
    let purge = here.server.send(Method::POST, &owner, &app.path("/purge"), &json!({})).await;
    assert_eq!(purge.status, 204, "{}", purge.text);
    assert!(!here.visit(domain, "/").await.text.contains("Served here"));
    assert_eq!(here.server.state().rooms.domains().at(domain), None);
    // The provider is told later, and only of what nobody else has bound meanwhile.
    assert_eq!(here.outside.hosts(), [domain]);
    let custom = here.server.state().custom_domains.clone().expect("an edge provider");
    let domains = here.server.state().rooms.domains();
    here.outside.fail(Some(500));
    let last = custom.clean_up(domains, "").await.expect("storage answers");
    assert_eq!(last, "", "there are no others");
    assert_eq!(here.outside.hosts(), [domain]);
    here.outside.fail(None);
    let last = custom.clean_up(domains, "").await.expect("storage answers");
    assert_eq!(last, "", "there are no others");
    assert!(here.outside.hosts().is_empty());
    // Free for others, who prove it anew.
    let other = here.server.owner("eve").await;
    let theirs = here.server.deploy(&other, body).await;
    here.proven(&other, &theirs, domain).await;
    assert!(here.visit(domain, "/").await.text.contains("Served here"));
}

#[tokio::test]
async fn a_closed_apps_domain_says_so_and_stays() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let body = json!({"html": HTML, "visibility": "public"});
    let app = here.server.deploy(&owner, body).await;
    let domain = "www.example.com";
    here.proven(&owner, &app, domain).await;
    here.server.state().rooms.close_app(&app.id).await.expect("it closes");
    let page = here.visit(domain, "/").await;
    assert!(page.status == 410 && !page.text.contains("Served here"), "{}", page.text);
    here.bind(&owner, &app, "b.example.com").await.error(ErrorCode::AppClosed);
    assert_eq!(here.read(&owner, &app).await.expect(200)["domain"], domain);
    here.remove(&owner, &app, None).await.error(ErrorCode::AppClosed);
    assert_eq!(here.read(&owner, &app).await.expect(200)["domain"], domain);

    // Until somebody proves the name for an app that is not.
    let next = here.server.owner("bob").await;
    let theirs = here.server.deploy(&next, json!({"html": HTML, "visibility": "public"})).await;
    here.bind(&next, &theirs, domain).await.expect(201);
    assert_eq!(here.visit(domain, "/").await.status, 410, "asking for it takes nothing away");
    here.remove(&next, &theirs, Some(domain)).await;
    here.proven(&next, &theirs, domain).await;
    assert!(here.visit(domain, "/").await.text.contains("Served here"));
    here.read(&owner, &app).await.error_of_its_own(ErrorCode::DomainNotFound);
}

#[tokio::test]
async fn a_domain_goes_over_with_its_app() {
    let here = Hosted::start().await;
    let (owner, next) = (here.server.owner("ann").await, here.server.owner("bob").await);
    let body = json!({"html": HTML, "visibility": "public"});
    let app = here.server.deploy(&owner, body).await;
    let domain = "www.example.com";
    here.proven(&owner, &app, domain).await;
    let offer = json!({"email": "bob@example.org"});
    let offered = here.server.send(Method::POST, &owner, &app.path("/transfer"), &offer).await;
    let id = offered.expect(201)["id"].as_str().expect("an id").to_owned();
    let accept = here.server.request(Method::POST, &format!("/v1/self/transfers/{id}/accept"));
    let accept = accept.header("origin", here.server.public_url());
    let accept = accept.header("cookie", format!("service_session={}", next.session));
    Answer::of(accept).await.expect(200);
    here.read(&owner, &app).await.error(ErrorCode::AppNotFound);
    assert_eq!(here.read(&next, &app).await.expect(200)["domain"], domain);
    assert_eq!(here.visit(domain, "/").await.status, 200);
    assert_eq!(here.remove(&next, &app, None).await.status, 204);
}

#[tokio::test]
async fn a_manifest_that_is_sent_does_not_name_the_apps_domains() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let domain = "www.example.com";
    let naming = |member: &str, entry: &str| json!({"html": HTML, "manifest": {member: [entry]}});
    let app = here.server.deploy(&owner, naming("embeds", domain)).await;
    here.bind(&owner, &app, "not.example.org").await.expect(201);
    here.proven(&owner, &app, domain).await;
    here.server.state().clock.set(START.plus_seconds(1));
    here.proven(&owner, &app, "alias.example.net").await;
    let deploy = async |query: &str, body: Value| {
        let path = app.path(&format!("/versions{query}"));
        here.server.send(Method::POST, &owner, &path, &body).await
    };
    for query in ["", "?dry_run=true"] {
        for entry in [domain, "https://www.example.com", "*.example.com", "alias.example.net"] {
            let body = naming("externalHosts", entry);
            deploy(query, body).await.error(ErrorCode::ExternalHostInvalid);
            deploy(query, naming("embeds", entry)).await.error(ErrorCode::EmbedInvalid);
        }
    }
    // What was deployed before goes on; another's name, or one that is not proven, is no matter.
    deploy("", json!({"html": HTML})).await.expect(201);
    for entry in ["example.com", "not.example.org"] {
        deploy("?dry_run=true", naming("externalHosts", entry)).await.expect(200);
    }
}

#[tokio::test]
async fn an_app_is_told_to_be_at_a_domain_only_while_that_works() {
    let here = Hosted::start().await;
    let owner = here.server.owner("ann").await;
    let body = json!({"html": HTML});
    let app = here.server.deploy(&owner, body).await;
    let own = app.record["url"].as_str().expect("an address").to_owned();
    let (first, second) = ("www.example.com", "shop.example.org");
    let record = async || here.server.get_as(&owner, &app.path("")).await.expect(200);
    let signs_in_at = async || {
        let path = format!("/authorize?app={}", app.slug);
        let request = here.server.request(Method::GET, &path);
        let request = request.header("cookie", format!("service_session={}", owner.session));
        let page = Answer::of(request).await;
        format!("{} {:?} {}", page.status, page.headers.get("location"), page.text)
    };
    here.proven_only(&owner, &app, first).await;
    let shown = record().await;
    assert_eq!((&shown["url"], &shown["domain"]), (&json!(own), &Value::Null));
    assert_eq!(shown["domain_aliases"], json!([]));
    let way = signs_in_at().await;
    assert!(way.contains(&own) && !way.contains(first), "{way}");
    assert_eq!(here.visit(first, "/s/sdk.js").await.status, 200, "what arrives is served");

    // Requests are handed on, but browsers would be shown no certificate yet.
    here.outside.activate();
    let certificate = |state| {
        here.outside.world.lock().expect("the world").certificate = state;
    };
    certificate(Some("pending_validation"));
    here.read(&owner, &app).await.expect(200);
    assert_eq!(record().await["domain"], Value::Null);
    certificate(None);
    here.read(&owner, &app).await.expect(200);
    assert_eq!(record().await["domain"], first);
    // One that is renewed takes nothing away.
    certificate(Some("pending_validation"));
    here.read(&owner, &app).await.expect(200);
    assert_eq!(record().await["domain"], first);
    certificate(None);
    assert!(signs_in_at().await.contains(first));
    here.server.state().clock.set(START.plus_seconds(1));
    here.proven(&owner, &app, second).await;
    assert_eq!(record().await["domain_aliases"], json!([second]));

    // Known not to work any more: the next that works is the address, then the app's own name.
    for (id, (name, is_active)) in &mut here.outside.world.lock().expect("the world").hosts {
        assert!(id.starts_with("host"));
        *is_active = name != first;
    }
    here.read(&owner, &app).await.expect(200);
    let shown = record().await;
    assert_eq!((&shown["domain"], &shown["domain_aliases"]), (&json!(second), &json!([first])));
    here.outside.deactivate();
    here.read(&owner, &app).await.expect(200);
    assert_eq!(record().await["url"], own);
    // And after a restart as before.
    let Hosted { server, outside } = here;
    outside.activate();
    let here = Hosted { server: server.restart().await, outside };
    let record = here.server.get_as(&owner, &app.path("")).await.expect(200);
    assert_eq!(record["domain"], Value::Null, "nobody has looked");
}
