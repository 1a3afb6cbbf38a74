//! Documents, assets and status pages of apps.

use reqwest::Method;
use rookery_actors::app::message::AppOp;
use rookery_domain::{ErrorCode, app::AppStatus, manifest::Visibility};
use serde_json::json;

use super::world::{HTML, Site, World};
use crate::harness::{Answer, TestServer};

const ASSETS: &[(&str, &str, &str)] = &[
    ("css/site.css", "text/css", "body{}"),
    ("data.bin", "application/octet-stream", "0123456789"),
];

async fn with_assets(world: &World) -> Site<'_> {
    world.deploy("garden", Visibility::Public, json!({}), HTML, ASSETS).await
}

#[tokio::test]
async fn a_page_begins_with_the_sdk_and_does_not_wake_its_app() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let page = site.get("/").await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let head = "<!doctype html><html><head><script src=\"/s/sdk.js\"></script><title>App</title>";
    assert!(page.text.starts_with(head), "{}", page.text);
    let sdk = site.get("/s/sdk.js").await;
    assert_eq!(sdk.header("content-type"), "text/javascript; charset=utf-8");
    assert!(sdk.text.contains("window"), "the SDK");
    assert!(site.app.peek().is_none(), "it sleeps");
}

#[tokio::test]
async fn whatever_an_app_answers_has_the_rails_of_every_answer() {
    let answers = ["/", "/s/sdk.js", "/s/session", "/missing.css"];
    let https = TestServer::builder().set("ROOKERY__SERVER__PUBLIC_URL", "https://localhost:8443");
    let world = World::start_with(https).await;
    let site = world.public("garden", json!({})).await;
    for path in answers {
        let answer = site.get(path).await;
        assert_eq!(answer.header("strict-transport-security"), "max-age=63072000", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    for path in answers {
        let answer = site.get(path).await;
        assert!(!answer.headers.contains_key("strict-transport-security"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
}

#[tokio::test]
async fn the_policy_of_a_page_is_what_its_manifest_discloses() {
    let world = World::start().await;
    let manifest = json!({
        "externalHosts": ["https://api.example.com"], "embeds": ["https://video.example.com"],
        "capabilities": ["camera"], "cdn": true,
    });
    let open = world.public("open-app", manifest).await;
    let page = open.get("/").await;
    let csp = page.header("content-security-policy");
    assert!(csp.contains("connect-src 'self' https://api.example.com;"), "{csp}");
    assert!(csp.contains("frame-src https://video.example.com;"), "{csp}");
    assert!(csp.contains("https://cdn.jsdelivr.net"), "{csp}");
    assert!(csp.contains("frame-ancestors 'none'"), "{csp}");
    assert!(page.header("permissions-policy").contains("camera=(self)"));
    assert_eq!(page.header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(page.header("x-content-type-options"), "nosniff");

    let closed = world.public("closed-app", json!({})).await.get("/").await;
    let csp = closed.header("content-security-policy");
    assert!(csp.contains("connect-src 'self';") && csp.contains("frame-src 'none'"), "{csp}");
    assert!(closed.header("permissions-policy").contains("camera=()"));
    assert!(!closed.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn assets_are_sent_with_their_type_in_parts_and_not_twice() {
    let world = World::start().await;
    let site = with_assets(&world).await;
    let css = site.get("/css/site.css").await;
    assert_eq!((css.status, css.text.as_str()), (200, "body{}"));
    assert_eq!(css.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(css.header("cache-control"), "public, no-cache");
    let again = site.request(Method::GET, "/css/site.css");
    let again = Answer::of(again.header("if-none-match", css.header("etag"))).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    for path in ["/css/site.css", "/"] {
        let ask = |tag: &str| Answer::of(site.request(Method::GET, path).header("if-match", tag));
        let tag = site.get(path).await.header("etag").to_owned();
        let other = ask("\"other\"").await;
        assert_eq!((other.status, other.text.as_str()), (412, ""), "{path}");
        assert_eq!(ask(&tag).await.status, 200, "{path}");
    }
    let part = site.request(Method::GET, "/data.bin").header("range", "bytes=2-4");
    let part = Answer::of(part).await;
    assert_eq!((part.status, part.text.as_str()), (206, "234"));
    assert_eq!(part.header("content-range"), "bytes 2-4/10");
    let head = Answer::of(site.request(Method::HEAD, "/data.bin")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), "10");
}

#[tokio::test]
async fn a_document_is_sent_again_only_when_it_has_changed_and_head_has_no_body() {
    let world = World::start().await;
    let site = with_assets(&world).await;
    let page = site.get("/").await;
    let again = site.request(Method::GET, "/").header("if-none-match", page.header("etag"));
    let again = Answer::of(again).await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let head = Answer::of(site.request(Method::HEAD, "/")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-length"), page.text.len().to_string());
    assert_eq!(head.header("etag"), page.header("etag"));
    let again = site.request(Method::HEAD, "/").header("if-none-match", page.header("etag"));
    let again = Answer::of(again).await;
    assert_eq!(again.status, 304);
    assert!(!again.headers.contains_key("content-length"), "{:?}", again.headers);
    let (missing, head) = (site.get("/nope").await, site.request(Method::HEAD, "/nope"));
    let head = Answer::of(head).await;
    assert_eq!((head.status, head.text.as_str()), (404, ""));
    assert_eq!(head.header("content-length"), missing.text.len().to_string());
}

#[tokio::test]
async fn a_file_that_gets_another_type_is_another_one_to_a_browser() {
    let world = World::start().await;
    let deploy = async |slug, kind| {
        let assets = [("a.js", kind, "let a;")];
        world.deploy(slug, Visibility::Public, json!({}), HTML, &assets).await
    };
    let wrong = deploy("wrong", "text/plain").await.get("/a.js").await;
    let site = deploy("right", "text/javascript").await;
    let again = site.request(Method::GET, "/a.js").header("if-none-match", wrong.header("etag"));
    let again = Answer::of(again).await;
    assert_eq!(
        (again.status, again.header("content-type")),
        (200, "text/javascript; charset=utf-8")
    );
}

#[tokio::test]
async fn each_file_is_found_whatever_its_name_and_however_the_database_sorts() {
    let world = World::start().await;
    let names = ["App.js", "Logo.svg", "_z.js", "a/b.css", "about.html", "index.css", "main.js"];
    let assets = names.map(|name| (name, "text/plain", name));
    let site = world.deploy("garden", Visibility::Public, json!({}), HTML, &assets).await;
    for name in names {
        let file = site.get(&format!("/{name}")).await;
        assert_eq!((file.status, &*file.text), (200, name));
    }
}

#[tokio::test]
async fn a_path_of_the_apps_own_router_is_its_document_and_a_missing_file_is_not() {
    let world = World::start().await;
    let site = with_assets(&world).await;
    assert_eq!(site.open("/items/7", "").await.status, 200);
    for (accept, status) in [
        ("TEXT/HTML", 200),
        ("text/html;q=0, application/json", 404),
        ("text/html;q=0.2, application/json", 404),
        ("text/html, */*;q=0.8", 200),
    ] {
        let answer =
            Answer::of(site.request(Method::GET, "/items/7").header("accept", accept)).await;
        assert_eq!(answer.status, status, "{accept}");
        let vary: Vec<_> = answer.headers.get_all("vary").iter().collect();
        assert!(vary.iter().any(|names| *names == "accept, sec-fetch-mode"), "{accept}: {vary:?}");
    }
    // What has an address of its own is not chosen.
    assert_eq!(site.get("/css/site.css").await.headers.get_all("vary").iter().count(), 1);
    for missing in ["/items/7", "/nothing.css", "/../etc/passwd", "/css%2Fsite.css", "/%00"] {
        site.get(missing).await.error_of_its_own(ErrorCode::NotFound);
    }
    assert!(site.open("/nothing.css", "").await.text.contains("Nothing is here"));
    // Browsers ask for it by themselves.
    let icon = site.get("/favicon.ico").await;
    assert_eq!((icon.status, &*icon.text), (204, ""));
    assert_eq!(icon.header("cache-control"), "private, max-age=60");
    let head = Answer::of(site.request(Method::HEAD, "/favicon.ico")).await;
    assert_eq!((head.status, head.headers.get("content-length")), (icon.status, None));
    assert_eq!(site.open("/favicon.ico", "").await.status, 404);
    site.open("/s/nothing", "").await.error(ErrorCode::NotFound);
    let post = Answer::of(site.request(Method::POST, "/")).await;
    post.error(ErrorCode::MethodNotAllowed);
}

#[tokio::test]
async fn no_app_a_deleted_one_and_a_closed_one_say_so() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let nowhere = Site { server: &world.server, app: site.app.clone(), slug: "no-such".into() };
    let page = nowhere.open("/", "").await;
    assert_eq!(page.status, 404);
    assert!(page.text.contains("No such app"));
    nowhere.get("/s/session").await.error(ErrorCode::AppNotFound);
    // A link that leads there is followed by people, too.
    for link in ["/s/share/x", "/s/grant/x", "/s/preview/x", "/s/callback?grant=x&state=y"] {
        let page = nowhere.open(link, "").await;
        assert_eq!(page.status, 404, "{link}");
        assert!(page.text.contains("No such app"), "{link}: {}", page.text);
        nowhere.get(link).await.error(ErrorCode::AppNotFound);
    }
    let misled = site.open("/s/sign-in?return_to=//evil.example", "").await;
    assert_eq!((misled.status, misled.header("content-type")), (400, "text/html; charset=utf-8"));
    site.get("/s/sign-in?return_to=//evil.example").await.error(ErrorCode::InvalidRequest);

    let guest = site.guest().await;
    site.as_owner(AppOp::Delete).await;
    assert_eq!(site.app.record().status, AppStatus::Deleted);
    let page = site.open("/", "").await;
    assert_eq!(page.status, 410, "{}", page.text);
    let session = site.by(&guest, Method::GET, "/s/session");
    Answer::of(session).await.error(ErrorCode::SoftDeleted);

    let site = world.public("forest", json!({})).await;
    let guest = site.guest().await;
    site.as_owner(AppOp::Close).await;
    let page = site.open("/", "").await;
    assert_eq!(page.status, 410);
    assert!(page.text.contains("closed"));
    let session = site.by(&guest, Method::GET, "/s/session");
    Answer::of(session).await.error(ErrorCode::AppClosed);
}

#[tokio::test]
async fn a_program_is_told_in_the_envelope_why_it_gets_no_page() {
    let world = World::start().await;
    let site = with_assets(&world).await;
    let nowhere = Site { server: &world.server, app: site.app.clone(), slug: "no-such".into() };
    nowhere.get("/").await.error(ErrorCode::AppNotFound);
    // A file that a page misses is no page either.
    let image = site.request(Method::GET, "/nope.png").header("accept", "text/html");
    let image = Answer::of(image.header("sec-fetch-mode", "no-cors")).await;
    image.error_of_its_own(ErrorCode::NotFound);
    assert!(image.headers.get_all("vary").iter().any(|names| *names == "accept, sec-fetch-mode"));
    assert_eq!(image.header("cache-control"), "no-store");
    let token = site.set_visibility(Visibility::Link).await.expect("a token");
    site.get("/").await.error(ErrorCode::Unauthorized);
    let dead = site.get(&format!("/s/share/{}x", &token[..12])).await;
    let hint = dead.error_of_its_own(ErrorCode::Unauthorized)["hint"].to_string();
    assert!(hint.contains("share_url") && !hint.contains("Bearer"), "{hint}");
    site.set_visibility(Visibility::Private).await;
    site.get("/css/site.css").await.error(ErrorCode::Unauthorized);
    site.as_owner(AppOp::Delete).await;
    site.get("/").await.error(ErrorCode::SoftDeleted);
}

#[tokio::test]
async fn pages_of_the_site_are_not_on_an_app_and_the_other_way_round() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    for path in ["/v1/openapi.json", "/docs", "/sign-in", "/authorize?app=garden"] {
        assert_eq!(site.get(path).await.status, 404, "{path}");
    }
    world.server.get("/s/session").await.error(ErrorCode::NotFound);
    world.server.get("/s/sdk.js").await.error(ErrorCode::NotFound);
    // The owner's session of the site opens nothing on an app's origin.
    let private = world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await;
    let page = private.open("/", &world.owner.cookie).await;
    assert_eq!(page.status, 401);
    assert_eq!(page.header("www-authenticate"), "Bearer realm=\"rookery\"");
}

#[tokio::test]
async fn who_sees_a_page_is_its_visibility_at_this_moment() {
    let world = World::start().await;
    let site = world.public("garden", json!({})).await;
    let link_cookie = {
        let token = site.set_visibility(Visibility::Link).await.expect("a token");
        site.get(&format!("/s/share/{token}")).await.cookie()
    };
    let needs_link = site.open("/", "").await;
    assert_eq!(needs_link.status, 401);
    assert!(needs_link.text.contains("shared by a link"));
    let shared = site.open("/", &link_cookie).await;
    assert_eq!(shared.status, 200);
    assert_eq!(shared.header("cache-control"), "private, no-cache");

    site.set_visibility(Visibility::Private).await;
    let private = site.open("/path?x=1", &link_cookie).await;
    assert_eq!(private.status, 401);
    assert!(private.text.contains("This app is private"));
    let expected =
        format!("{}/authorize?app=garden&#38;return_to=%2Fpath%3Fx%3D1", world.server.public_url());
    assert!(private.text.contains(&expected), "{}", private.text);
    assert!(!private.text.contains("<title>App"), "nothing of the app");

    site.set_visibility(Visibility::Public).await;
    assert_eq!(site.open("/", "").await.status, 200);
    assert_eq!(site.open("/", "service_participant=nonsense").await.status, 200);
}

#[tokio::test]
async fn a_service_worker_that_an_app_has_left_behind_leaves() {
    let world = World::start().await;
    let worker = ("sw.js", "text/javascript", "addEventListener('fetch', () => {})");
    let site = world.deploy("garden", Visibility::Public, json!({}), HTML, &[worker]).await;
    let looks = async |path: &str| {
        let request = site.request(Method::GET, path).header("service-worker", "script");
        Answer::of(request).await
    };
    let own = looks("/sw.js").await;
    assert!(own.text.contains("'fetch'"), "the one that the app has: {}", own.text);
    let retired = async |path: &str| {
        let gone = looks(path).await;
        assert_eq!(gone.status, 200, "{}", gone.text);
        assert_eq!(gone.header("content-type"), "text/javascript; charset=utf-8");
        assert_eq!(gone.header("cache-control"), "no-store");
        assert!(gone.text.contains("registration.unregister()"), "{}", gone.text);
    };
    // One of an earlier version, or of a former owner of the name.
    retired("/former.js").await;
    site.get("/former.js").await.error_of_its_own(ErrorCode::NotFound);
    site.as_owner(AppOp::Delete).await;
    retired("/sw.js").await;
    site.get("/sw.js").await.error(ErrorCode::SoftDeleted);
}
