//! `apps_mode = "path"`: apps below `/a/<slug>/` of the site, in a sandbox.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::json;

use super::world::{HTML, World};
use crate::{
    harness::{Answer, Builder, TestServer},
    sharing::world::{Site, World as Shared, text},
};

fn builder() -> Builder {
    TestServer::builder().set("ROOKERY__APPS_MODE", "path")
}

async fn world() -> World {
    World::start_with(builder()).await
}

/// A browser that loads a page with a cookie.
async fn open(server: &TestServer, path: &str, cookie: &str) -> Answer {
    let request = server.request(Method::GET, path).header("sec-fetch-mode", "navigate");
    let request = request.header("accept", "text/html").header("accept-encoding", "gzip");
    Answer::of(request.header("cookie", cookie)).await
}

fn base(site: &Site<'_>) -> String {
    format!("/a/{}/", site.app.slug)
}

/// The cookie of whoever follows a link of the app, which leads to `location`.
async fn follow(site: &Site<'_>, path: &str, location: &str) -> String {
    let arrived = site.open(path).await;
    assert_eq!((arrived.status, arrived.header("location")), (303, location), "{}", arrived.text);
    let set = arrived.header("set-cookie");
    let parts: Vec<&str> = set.split("; ").collect();
    let path = format!("Path={}", base(site));
    for part in [path.as_str(), "HttpOnly", "SameSite=Lax"] {
        assert!(parts.contains(&part), "{set}");
    }
    assert!(parts[0].starts_with("service_participant=rk_part_"), "{set}");
    assert!(!set.contains("Secure") && !set.contains("Domain"), "{set}");
    arrived.cookie()
}

/// The cookie of the owner, by signing in.
async fn owner(site: &Site<'_>, return_to: &str) -> String {
    let query = [("app", site.app.slug.as_str()), ("return_to", return_to)];
    let request = site.server.by(&site.world.owner, Method::GET, "/authorize").query(&query);
    let callback = site.below(Answer::of(request).await.header("location"));
    assert!(callback.starts_with(&format!("{}s/callback?grant=", base(site))), "{callback}");
    follow(site, &callback, &format!("{}{}", base(site), &return_to[1..])).await
}

/// The token that the page of the cookie's visitor carries.
fn carried(page: &Answer, cookie: &str) -> String {
    let (_, token) = cookie.split_once('=').expect("a cookie");
    assert_eq!(page.status, 200, "{}", page.text);
    page.says(&format!("<script data-participant=\"{token}\" src=\"/a/"));
    token.to_owned()
}

#[tokio::test]
async fn an_app_is_served_below_its_path_in_a_sandbox() {
    let world = world().await;
    let assets = [("css/site.css", "text/css", "body{}")];
    world.deploy("garden", Visibility::Public, json!({}), HTML, &assets).await;
    let page = world.server.get("/a/garden/").await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains("<script src=\"/a/garden/s/sdk.js\"></script>"));
    let csp = page.header("content-security-policy");
    assert!(csp.contains("sandbox allow-scripts") && !csp.contains("allow-same-origin"), "{csp}");
    let base = format!("{}/a/garden/", world.server.public_url());
    assert!(csp.contains(&format!("connect-src {base}")), "{csp}");
    let css = world.server.get("/a/garden/css/site.css").await;
    assert_eq!((css.status, css.header("access-control-allow-origin")), (200, "*"));
    let sdk = world.server.get("/a/garden/s/sdk.js").await;
    assert_eq!((sdk.status, sdk.header("cross-origin-resource-policy")), (200, "cross-origin"));
    let bare = world.server.get("/a/garden?x=1").await;
    assert_eq!((bare.status, bare.header("location")), (308, "/a/garden/?x=1"));
    let missing = world.server.get("/a/garden/no-such.json").await;
    assert_eq!((missing.status, missing.header("access-control-allow-origin")), (404, "*"));
    assert_eq!(missing.header("cross-origin-resource-policy"), "cross-origin");
    assert_eq!(world.server.get("/a/no-such/").await.status, 404);
    // The site is where it was.
    assert_eq!(world.server.get("/docs").await.status, 200);
}

#[tokio::test]
async fn a_sandboxed_page_speaks_to_its_app_by_header_and_never_by_cookie() {
    let world = world().await;
    world.deploy("garden", Visibility::Public, json!({}), HTML, &[]).await;
    let preflight = world.server.request(Method::OPTIONS, "/a/garden/s/session");
    let preflight = Answer::of(preflight.header("origin", "null")).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), "*");
    for sent in ["x-service-participant-token", "if-none-match", "last-event-id"] {
        assert!(preflight.header("access-control-allow-headers").contains(sent), "{sent}");
    }
    assert!(!preflight.headers.contains_key("access-control-allow-credentials"));
    let enter = world.server.request(Method::POST, "/a/garden/s/session").header("origin", "null");
    let enter = Answer::of(enter.json(&json!({}))).await;
    let made = enter.expect(201);
    assert!(!enter.headers.contains_key("set-cookie"));
    assert_eq!(enter.header("access-control-allow-origin"), "*");
    assert_eq!(enter.header("location"), "/a/garden/s/session");
    for read in ["idempotent-replayed", "ratelimit", "ratelimit-policy", "row-existed"] {
        let exposed = enter.header("access-control-expose-headers");
        assert!(exposed.split(", ").any(|one| one == read), "{read}");
    }
    let token = made["token"].as_str().expect("a token");
    let me = world.server.request(Method::GET, "/a/garden/s/session");
    let by_header = Answer::of(me.header("x-service-participant-token", token)).await;
    assert_eq!(by_header.expect(200)["id"], made["id"]);
    let me = world.server.request(Method::GET, "/a/garden/s/session");
    let by_cookie = Answer::of(me.header("cookie", format!("service_participant={token}"))).await;
    assert_eq!(by_cookie.expect(200)["id"], json!(null));
    let error = world.server.get("/a/garden/s/nothing").await;
    error.error(ErrorCode::NotFound);
    assert_eq!(error.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn whoever_follows_a_link_is_let_in_and_stays_who_it_is() {
    let world = Shared::start_with(builder()).await;
    let (linked, private) = (world.site("link").await, world.site("private").await);
    let share = linked.below(&text(&linked.get("").await.expect(200), "share_url"));
    let (_, grant) = private.grant(json!({"role": "editor"})).await;
    let preview = private.post("/preview-tokens", json!({})).await.expect(201);
    let preview = private.below(&text(&preview, "url"));
    for (site, link, kind, role) in [
        (&linked, share, "anonymous", json!(null)),
        (&private, grant, "grant", json!("editor")),
        (&private, preview, "anonymous", json!(null)),
    ] {
        let base = base(site);
        assert!(link.starts_with(&format!("{base}s/")), "{link}");
        assert_eq!(open(site.server, &base, "").await.status, 401);
        let cookie = follow(site, &link, &base).await;
        let token = carried(&open(site.server, &base, &cookie).await, &cookie);
        let me = site.see(&token, &format!("{base}s/session")).await.expect(200);
        assert_eq!((&me["kind"], &me["custom_role"]), (&json!(kind), &role), "{link}");
        site.see(&token, &format!("{base}s/collections/board")).await.expect(200);
        let again = open(site.server, &link, &cookie).await;
        assert!(again.status == 303 && !again.headers.contains_key("set-cookie"), "{link}");
    }
}

#[tokio::test]
async fn the_owner_signs_in_to_a_private_app_and_comes_back_to_where_it_was() {
    let world = Shared::start_with(builder()).await;
    let site = world.site("private").await;
    let base = base(&site);
    let shut = open(site.server, &format!("{base}notes?x=1"), "").await;
    assert_eq!(shut.status, 401);
    let authorize = format!("/authorize?app={}&#38;return_to=%2Fnotes%3Fx%3D1", site.app.slug);
    shut.says("This app is private").says(&authorize);
    let cookie = owner(&site, "/notes?x=1").await;
    let token = carried(&open(site.server, &format!("{base}notes?x=1"), &cookie).await, &cookie);
    let me = site.see(&token, &format!("{base}s/session")).await.expect(200);
    assert_eq!((&me["kind"], &me["role"]), (&json!("human"), &json!("owner")));
    site.see(&token, &format!("{base}s/collections/safe")).await.expect(200);
    // A page names its own path as the browser shows it, or as it would anywhere else.
    for path in [format!("{base}inbox"), "/inbox".to_owned()] {
        let query = format!("{base}s/sign-in?return_to={path}");
        let leads = site.open(&query).await;
        assert_eq!(leads.status, 303);
        let location = leads.header("location");
        assert!(location.ends_with("&return_to=%2Finbox"), "{location}");
    }
}

#[tokio::test]
async fn the_owner_who_opens_a_link_is_asked_first() {
    let world = Shared::start_with(builder()).await;
    let site = world.site("private").await;
    let (_, link) = site.grant(json!({"role": "editor"})).await;
    let cookie = owner(&site, "/").await;
    let asked = open(site.server, &link, &cookie).await;
    assert_eq!((asked.status, asked.headers.contains_key("set-cookie")), (200, false));
    asked.says("as its owner").says(&format!("<form method=\"post\" action=\"{link}\">"));
    let press = async |origin: &str| {
        let request = site.visit(Method::POST, &link).header("cookie", &cookie);
        Answer::of(request.header("origin", origin)).await
    };
    // An app's own page is in a sandbox, which has no origin.
    press("null").await.error(ErrorCode::CsrfOriginMismatch);
    let entered = press(world.server.public_url()).await;
    assert_eq!((entered.status, entered.header("location")), (303, &*base(&site)));
    assert!(entered.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn a_page_that_carries_a_token_is_kept_and_read_by_nobody_else() {
    let world = Shared::start_with(builder()).await;
    let site = world.site("public").await;
    let base = base(&site);
    let bare = open(site.server, &base, "").await;
    assert!(bare.header("cache-control").starts_with("public"));
    let cookie = owner(&site, "/").await;
    let known = |method| {
        let request = site.visit(method, &base).header("cookie", &cookie);
        request.header("if-none-match", "*").header("range", "bytes=0-9")
    };
    for method in [Method::GET, Method::HEAD] {
        let page = Answer::of(known(method)).await;
        assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
        assert_eq!(page.header("cross-origin-resource-policy"), "same-origin");
        assert!(page.header("content-security-policy").contains("sandbox"));
        let absent = ["etag", "content-encoding", "access-control-allow-origin", "accept-ranges"];
        for name in absent {
            assert!(!page.headers.contains_key(name), "{name}");
        }
    }
    // A visitor whose cookie is nobody's gets what everybody gets.
    let stale = open(site.server, &base, "service_participant=rk_part_x").await;
    assert_eq!((stale.status, &stale.text), (200, &bare.text));
    assert_eq!(stale.header("etag"), bare.header("etag"));
    assert_eq!(stale.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn the_cookie_opens_pages_of_its_own_app_and_nothing_else() {
    let world = Shared::start_with(builder()).await;
    let (site, other) = (world.site("private").await, world.site("private").await);
    let open_to_all = world.site("public").await;
    let cookie = owner(&site, "/").await;
    assert_eq!(open(site.server, &base(&other), &cookie).await.status, 401);
    let page = open(site.server, &base(&open_to_all), &cookie).await;
    assert_eq!(page.status, 200);
    page.hides("data-participant");
    let origin = site.server.public_url().to_owned();
    let below = |path: &str| format!("{}s/{path}", base(&site));
    let by_cookie = |method, path: &str| {
        let request = site.visit(method, &below(path)).header("cookie", &cookie);
        request.header("origin", &origin)
    };
    for path in ["session", "collections/safe", "collections/board", "feed?wait=0", "access"] {
        let refused = Answer::of(by_cookie(Method::GET, path)).await;
        refused.error_of_its_own(ErrorCode::Unauthorized);
    }
    let row = json!({"data": {}});
    let written = by_cookie(Method::POST, "collections/safe").json(&row);
    Answer::of(written).await.error(ErrorCode::Unauthorized);
    let left = Answer::of(by_cookie(Method::DELETE, "session")).await;
    assert_eq!(left.status, 204);
    assert_eq!(open(site.server, &base(&site), &cookie).await.status, 200, "nobody has left");
}

#[tokio::test]
async fn a_sandboxed_page_is_told_by_which_protocol_its_calls_came() {
    let world = world().await;
    world.public("garden", json!({})).await;
    let answer = world.server.get("/a/garden/s/collections/nothing").await;
    assert_eq!(answer.header("timing-allow-origin"), "*");
}

#[tokio::test]
async fn whoever_signs_out_is_a_stranger_again() {
    let world = Shared::start_with(builder()).await;
    for (visibility, then) in [("private", 401), ("public", 200)] {
        let site = world.site(visibility).await;
        let base = base(&site);
        let cookie = owner(&site, "/").await;
        let token = carried(&open(site.server, &base, &cookie).await, &cookie);
        let left = Answer::of(site.by(&token, Method::DELETE, &format!("{base}s/session"))).await;
        assert_eq!(left.status, 204);
        let page = open(site.server, &base, &cookie).await;
        assert_eq!(page.status, then);
        page.hides("data-participant");
        if then == 401 {
            page.says("This app is private").says("/authorize?app=");
        }
        // It may come in again.
        let cookie = owner(&site, "/").await;
        carried(&open(site.server, &base, &cookie).await, &cookie);
    }
}

#[tokio::test]
async fn files_of_a_private_app_are_the_browsers_own() {
    let world = world().await;
    let assets = [("notes.txt", "text/plain", "mine")];
    world.deploy("secret", Visibility::Private, json!({}), HTML, &assets).await;
    let query = [("app", "secret")];
    let request = world.server.by(&world.owner, Method::GET, "/authorize").query(&query);
    let location = Answer::of(request).await.header("location").to_owned();
    let callback = location.strip_prefix(world.server.public_url()).expect("the site's origin");
    let cookie = world.server.get(callback).await.cookie();
    let file = open(&world.server, "/a/secret/notes.txt", &cookie).await;
    assert_eq!((file.status, file.text.as_str()), (200, "mine"));
    assert_eq!(file.header("cross-origin-resource-policy"), "same-origin");
    assert!(!file.headers.contains_key("access-control-allow-origin"));
    assert_eq!(world.server.get("/a/secret/notes.txt").await.status, 401);
}

#[tokio::test]
async fn over_https_the_cookie_is_secure_and_says_so_in_its_name() {
    let https = builder().set("ROOKERY__SERVER__PUBLIC_URL", "https://localhost:8443");
    let world = Shared::start_with(https).await;
    let site = world.site("link").await;
    let share = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let arrived = site.open(&share).await;
    let set = arrived.header("set-cookie");
    assert!(set.starts_with("__Secure-service_participant=rk_part_"), "{set}");
    assert!(
        set.contains(&format!("; Path={};", base(&site))) && set.ends_with("; Secure"),
        "{set}"
    );
    let cookie = arrived.cookie();
    carried(&open(site.server, &base(&site), &cookie).await, &cookie);
    let planted = cookie.trim_start_matches("__Secure-");
    assert_eq!(open(site.server, &base(&site), planted).await.status, 401);
}

/// The address below which the page has its files.
fn files_of(page: &Answer) -> &str {
    let (_, base) = page.text.split_once("<base href=\"").expect("a base");
    base.split_once('"').expect("its end").0
}

#[tokio::test]
async fn the_files_of_an_app_that_is_not_public_come_by_a_pass_of_the_visit() {
    let world = world().await;
    let assets = [("css/site.css", "text/css", "body{}"), ("about.html", "text/html", "<p>us")];
    for (slug, visibility) in [("diary", Visibility::Private), ("other", Visibility::Private)] {
        world.deploy(slug, visibility, json!({}), HTML, &assets).await;
    }
    let server = &world.server;
    let enter = async |slug: &str| {
        let request = server.by(&world.owner, Method::GET, "/authorize").query(&[("app", slug)]);
        let location = Answer::of(request).await.header("location").to_owned();
        let callback = location.strip_prefix(server.public_url()).expect("the site's origin");
        server.get(callback).await.cookie()
    };
    let cookie = enter("diary").await;
    let page = open(server, "/a/diary/", &cookie).await;
    let files = files_of(&page);
    let pass = files.strip_prefix("/a/diary/s/as/").and_then(|rest| rest.strip_suffix('/'));
    let pass = pass.expect("an address below the app's");
    assert!(page.text.contains(&format!("<base href=\"{files}\"><script data-participant=")));
    assert_eq!(files_of(&open(server, "/a/diary/x", &cookie).await), files, "it is kept");

    let css = server.get(&format!("{files}css/site.css")).await;
    assert_eq!((css.status, css.text.as_str()), (200, "body{}"));
    assert_eq!(css.header("access-control-allow-origin"), "*");
    assert_eq!(css.header("cross-origin-resource-policy"), "cross-origin");
    assert!(css.header("cache-control").starts_with("private"), "{}", css.header("cache-control"));
    assert_eq!(server.get(&format!("{files}css/none.css")).await.status, 404);
    let document = server.get(files).await;
    assert_eq!(document.status, 200);
    document.hides("data-participant").hides("<base");

    // It opens files, and nothing that the token opens.
    for path in ["session", "collections/safe", "access"] {
        server.get(&format!("{files}s/{path}")).await.error_of_its_own(ErrorCode::Unauthorized);
    }
    // Whoever follows a link there is sent to the app's own address.
    for (below, location) in
        [("", ""), ("about.html?x=1", "about.html?x=1"), ("/evil.example", "evil.example")]
    {
        let followed = open(server, &format!("{files}{below}"), &cookie).await;
        assert_eq!(followed.status, 307);
        assert_eq!(followed.header("location"), format!("/a/diary/{location}"));
    }
    // It is good for its own app, as it was made.
    let mut forged = pass.to_owned();
    forged.replace_range(..1, if pass.starts_with('A') { "B" } else { "A" });
    for address in [
        format!("/a/other/s/as/{pass}/css/site.css"),
        format!("/a/diary/s/as/{forged}/css/site.css"),
        "/a/diary/s/as//css/site.css".to_owned(),
        "/a/diary/css/site.css".to_owned(),
    ] {
        assert_eq!(server.get(&address).await.status, 401, "{address}");
    }
    assert_eq!(server.get(&format!("/a/diary/s/as/{pass}")).await.status, 404);
    // It ends with the visit.
    let (_, token) = cookie.split_once('=').expect("a cookie");
    let leave = server.request(Method::DELETE, "/a/diary/s/session");
    let left = Answer::of(leave.header("x-service-participant-token", token)).await;
    assert_eq!(left.status, 204);
    assert_eq!(server.get(&format!("{files}css/site.css")).await.status, 401);
}

#[tokio::test]
async fn a_public_page_has_its_files_where_everybody_has_them() {
    let world = Shared::start_with(builder()).await;
    let site = world.site("public").await;
    let cookie = owner(&site, "/").await;
    let page = open(site.server, &base(&site), &cookie).await;
    carried(&page, &cookie);
    page.hides("<base");
}

#[tokio::test]
async fn what_is_made_is_found_where_its_answer_says() {
    let world = world().await;
    let anyone =
        json!({"read": ["anyone"], "write": ["anyone"], "update": [], "delete": ["owner"]});
    let manifest =
        json!({"collections": {"notes": {"permissions": anyone}}, "events": {"wave": {}}});
    world.deploy("garden", Visibility::Public, manifest, HTML, &[]).await;
    let send = |path: &str| world.server.request(Method::POST, path);
    let made = Answer::of(send("/a/garden/s/session").json(&json!({}))).await.expect(201);
    let token = text(&made, "token");
    let header = "x-service-participant-token";
    let row = || {
        let body = json!({"key": "k", "data": {}});
        let request = send("/a/garden/s/collections/notes").header(header, &token);
        Answer::of(request.header("idempotency-key", "once").json(&body))
    };
    let (first, again) = (row().await, row().await);
    assert_eq!(again.header("idempotent-replayed"), "true");
    for created in [first, again] {
        created.expect(201);
        assert_eq!(created.header("location"), "/a/garden/s/collections/notes/k");
    }
    world.server.get("/a/garden/s/collections/notes/k").await.expect(200);
    let wave = send("/a/garden/s/events").header(header, &token);
    let wave = Answer::of(wave.json(&json!({"type": "wave", "data": {}}))).await;
    assert_eq!((wave.status, wave.header("location")), (201, "/a/garden/s/feed"));
}
