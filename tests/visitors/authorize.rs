//! `/authorize` and `/s/callback`: how a human of the site becomes itself on an app's origin.

use reqwest::Method;
use rookery_domain::{ErrorCode, manifest::Visibility};
use serde_json::json;

use super::world::{HTML, Site, World};
use crate::harness::{Answer, START, TestServer, people::Human};

/// Return paths that lead elsewhere once a browser has read them.
const EVIL: &[&str] = &[
    "//evil.example",
    "/\\evil.example",
    "https://app@evil.example",
    "http:evil",
    "/..//evil",
    "/%2f%2fevil.example",
    "/a\nb",
    "evil",
];

/// The answer of `/authorize` to a signed-in human.
async fn authorize(world: &World, human: &Human, query: &[(&str, &str)]) -> Answer {
    let request = world.server.by(human, Method::GET, "/authorize").query(query);
    Answer::of(request).await
}

/// A grant for `human` in the app `slug`.
pub async fn grant(world: &World, human: &Human, slug: &str) -> String {
    let answer = authorize(world, human, &[("app", slug)]).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let (_, grant) = answer.header("location").split_once("?grant=").expect("a grant");
    grant.split('&').next().expect("a grant").to_owned()
}

/// The answer of `/s/callback`.
pub async fn callback(site: &Site<'_>, grant: &str) -> Answer {
    site.get(&format!("/s/callback?grant={grant}")).await
}

async fn secret(world: &World) -> Site<'_> {
    world.deploy("secret", Visibility::Private, json!({}), HTML, &[]).await
}

#[tokio::test]
async fn the_owner_gets_into_a_private_app_and_is_its_owner_there() {
    let world = World::start().await;
    let site = secret(&world).await;
    let query = [("app", "secret"), ("return_to", "/notes?x=1#y")];
    let answer = authorize(&world, &world.owner, &query).await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("cache-control"), "no-store");
    let location = answer.header("location").to_owned();
    let path = location.strip_prefix(&site.origin()).expect("the app's origin");
    assert!(path.starts_with("/s/callback?grant=rk_sgr_"), "{path}");
    let arrived = site.get(path).await;
    assert_eq!((arrived.status, arrived.header("location")), (303, "/notes?x=1#y"));
    let cookie = arrived.cookie();
    assert_eq!(site.open("/", &cookie).await.status, 200);
    let me = site.get_with("/s/session", &cookie).await.expect(200);
    assert_eq!(me["id"], json!(world.id_of(&world.owner)));
    assert_eq!((&me["kind"], &me["role"]), (&json!("human"), &json!("owner")));
    // Entering again is no way down to a guest.
    let enter = site.request(Method::POST, "/s/session").header("cookie", &cookie);
    let enter = Answer::of(enter.header("origin", site.origin()).json(&json!({}))).await;
    assert_eq!(enter.expect(200)["kind"], "human");
}

#[tokio::test]
async fn signed_out_leads_to_sign_in_and_back() {
    let world = World::start().await;
    let site = secret(&world).await;
    let request = world.server.request(Method::GET, "/authorize");
    let request = request.query(&[("app", "secret"), ("return_to", "/a/b")]);
    let answer = Answer::of(request).await;
    assert_eq!(answer.status, 303);
    let location = answer.header("location").to_owned();
    let (page, query) = location.split_once('?').expect("a query");
    assert_eq!(page, "/sign-in");
    let back: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].0, "redirect_to");
    assert_eq!(world.server.get(&location).await.status, 200);
    // The mailed link leads back, and from there into the app.
    let token = world.server.link_token("owner@example.com", Some(&back[0].1)).await;
    let verified = world.server.get(&format!("/v1/auth/verify?token={token}")).await;
    assert_eq!(verified.header("location"), back[0].1);
    let cookie = verified.cookie();
    let answer = world.server.request(Method::GET, &back[0].1).header("cookie", cookie);
    let answer = Answer::of(answer).await;
    let path = answer.header("location").strip_prefix(&site.origin()).expect("the app").to_owned();
    assert_eq!(site.get(&path).await.header("location"), "/a/b");
    // A session that has ended is none.
    let ended = world.server.request(Method::GET, "/authorize?app=secret");
    let ended = Answer::of(ended.header("cookie", "service_session=rk_sess_gone")).await;
    assert!(ended.header("location").starts_with("/sign-in?"));
}

#[tokio::test]
async fn a_grant_works_once_for_a_minute_and_in_its_own_app() {
    let world = World::start().await;
    let site = secret(&world).await;
    let other = world.deploy("other", Visibility::Private, json!({}), HTML, &[]).await;

    let used = grant(&world, &world.owner, "secret").await;
    assert_eq!(callback(&site, &used).await.status, 303);
    callback(&site, &used).await.error(ErrorCode::GrantInvalid);

    // Shown to another app, it opens nothing there and stays good for its own.
    let astray = grant(&world, &world.owner, "secret").await;
    callback(&other, &astray).await.error(ErrorCode::GrantInvalid);
    assert_eq!(callback(&site, &astray).await.status, 303);

    let late = grant(&world, &world.owner, "secret").await;
    world.server.state().clock.set(START.plus_seconds(60));
    callback(&site, &late).await.error(ErrorCode::GrantInvalid);
    world.server.state().clock.set(START);

    site.get("/s/callback").await.error(ErrorCode::GrantInvalid);
    callback(&site, "nonsense").await.error(ErrorCode::GrantInvalid);
    let page = site.open("/s/callback?grant=nonsense", "").await;
    assert_eq!(page.status, 401);
    assert!(page.text.contains("This link does not work"), "{}", page.text);
    let handed_out = site.open("/s/grant/nonsense", "").await;
    assert_eq!(handed_out.status, 401);
    assert!(handed_out.text.contains("Ask whoever gave it to you"), "{}", handed_out.text);
    assert!(!handed_out.text.contains("Sign in"), "{}", handed_out.text);
}

#[tokio::test]
async fn of_many_that_redeem_one_grant_at_once_one_gets_in() {
    let world = World::start().await;
    let site = secret(&world).await;
    for _ in 0..16 {
        let grant = grant(&world, &world.owner, "secret").await;
        let attempts = (0..64).map(|_| callback(&site, &grant));
        let answers = futures::future::join_all(attempts).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 303) {
            answer.error(ErrorCode::GrantInvalid);
        }
    }
}

#[tokio::test]
async fn head_and_a_browser_that_fetches_ahead_spend_nothing() {
    let world = World::start().await;
    let site = secret(&world).await;
    let grant = grant(&world, &world.owner, "secret").await;
    let path = format!("/s/callback?grant={grant}");
    let head = Answer::of(site.request(Method::HEAD, &path)).await;
    assert!(!head.headers.contains_key("set-cookie"));
    let ahead = site.request(Method::GET, &path).header("sec-purpose", "prefetch");
    assert!(!Answer::of(ahead).await.headers.contains_key("set-cookie"));
    assert_eq!(callback(&site, &grant).await.status, 303);
    let head = world.server.by(&world.owner, Method::HEAD, "/authorize?app=secret");
    assert!(!Answer::of(head).await.headers.contains_key("location"));
}

#[tokio::test]
async fn what_a_proxy_asks_a_browser_for_does_not_sign_it_out() {
    let world = World::start().await;
    secret(&world).await;
    let request = world.server.by(&world.owner, Method::GET, "/authorize?app=secret");
    let answer = Answer::of(request.header("authorization", "Basic eDp5")).await;
    assert!(
        answer.header("location").contains("/s/callback?grant="),
        "{}",
        answer.header("location")
    );
}

#[tokio::test]
async fn whoever_cannot_be_led_back_is_led_to_the_start() {
    let world = World::start().await;
    let site = secret(&world).await;
    let sign_in = "/sign-in?redirect_to=%2Fauthorize%3Fapp%3Dsecret%26return_to%3D%252F";
    for (path, is_start) in
        [("/x?q=".to_owned() + &"%22".repeat(430), true), ("/x?q=1".to_owned(), false)]
    {
        let ask = world.server.request(Method::GET, "/authorize");
        let ask = Answer::of(ask.query(&[("app", "secret"), ("return_to", &*path)])).await;
        assert_eq!(
            (ask.status, ask.header("location") == sign_in),
            (303, is_start),
            "{}",
            ask.text
        );
    }
    let long = format!("/x?{}", "y".repeat(3_000));
    for (shown, leads) in [
        ("/x?q=C:\\dir#a\\b", "%2Fx%3Fq%3DC%3A%255Cdir%23a%255Cb"),
        ("/100%25", "%2F100%2525"),
        (&*long, "%2F"),
    ] {
        let asked = site.request(Method::GET, "/s/sign-in").query(&[("return_to", shown)]);
        let asked = Answer::of(asked).await;
        let leads = format!("&return_to={leads}");
        assert!(
            asked.header("location").ends_with(&leads),
            "{shown}: {}",
            asked.header("location")
        );
    }
    let evil =
        site.request(Method::GET, "/s/sign-in").query(&[("return_to", "/s/callback?grant=x")]);
    Answer::of(evil).await.error(ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_return_path_that_leads_elsewhere_is_refused_at_the_start_and_at_the_end() {
    let world = World::start().await;
    let site = secret(&world).await;
    for evil in EVIL {
        let query = [("app", "secret"), ("return_to", *evil)];
        let start = authorize(&world, &world.owner, &query).await;
        start.error(ErrorCode::InvalidRequest);
        let grant = grant(&world, &world.owner, "secret").await;
        let end = site.request(Method::GET, "/s/callback");
        let end = Answer::of(end.query(&[("grant", grant.as_str()), ("return_to", *evil)])).await;
        end.error(ErrorCode::InvalidRequest);
        assert!(!end.headers.contains_key("set-cookie"), "{evil}");
    }
    let unknown = authorize(&world, &world.owner, &[("app", "no-such")]).await;
    unknown.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn signing_out_of_the_site_ends_every_visit_and_every_grant() {
    let world = World::start().await;
    let site = secret(&world).await;
    let cookie = callback(&site, &grant(&world, &world.owner, "secret").await).await.cookie();
    let unspent = grant(&world, &world.owner, "secret").await;
    assert_eq!(site.open("/", &cookie).await.status, 200);
    let out = world.server.by(&world.owner, Method::POST, "/v1/auth/logout");
    let out = Answer::of(out).await;
    assert!(out.status < 400, "{}", out.text);
    assert_eq!(site.open("/", &cookie).await.status, 401);
    let session = site.get_with("/s/session", &cookie).await;
    session.error(ErrorCode::ParticipantTokenInvalid);
    callback(&site, &unspent).await.error(ErrorCode::GrantInvalid);
}

#[tokio::test]
async fn a_visit_lasts_for_thirty_days_since_it_was_last_used() {
    const DAY_S: i64 = 86_400;
    let world = World::start().await;
    let site = secret(&world).await;
    let entered = callback(&site, &grant(&world, &world.owner, "secret").await).await;
    let cookie = entered.cookie();
    let until = |days: i64| json!(START.plus_seconds(days * DAY_S));
    let on_day = |day: i64| world.server.state().clock.set(START.plus_seconds(day * DAY_S));
    let session = async || site.get_with("/s/session", &cookie).await;
    assert_eq!(session().await.expect(200)["expires_at"], until(30));
    for day in [20, 40, 60] {
        on_day(day);
        let read = Answer::of(site.request(Method::GET, "/").header("cookie", &cookie)).await;
        assert_eq!(read.status, 200, "day {day}");
        let me = session().await;
        assert_eq!(me.expect(200)["expires_at"], until(day + 30), "any use of it counts");
        let again = me.header("set-cookie").to_owned();
        assert!(again.starts_with(&format!("{cookie}; ")), "the browser keeps it as long: {again}");
        assert!(again.contains("Max-Age=2592000"), "{again}");
        // Storage is told as well.
        world.server.state().rooms.directory.flush().await;
    }
    on_day(90);
    session().await.error(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn a_stranger_that_signs_in_is_still_outside_of_a_private_app() {
    let world = World::start().await;
    let site = secret(&world).await;
    let stranger = world.server.human("stranger@example.com").await;
    let cookie = callback(&site, &grant(&world, &stranger, "secret").await).await.cookie();
    site.get_with("/s/session", &cookie).await.error_of_its_own(ErrorCode::Unauthorized);
    // Signing in again would lead back here: it is told so, and offered another account.
    let another = "/sign-in?redirect_to=%2Fauthorize%3Fapp%3Dsecret%26return_to%3D%252Fpath";
    for (visibility, why) in [
        (Visibility::Private, "This app is private"),
        (Visibility::Link, "This app is shared by a link"),
    ] {
        site.set_visibility(visibility).await;
        let page = site.open("/path", &cookie).await;
        assert_eq!(page.status, 401);
        page.says(why).says("your account has not been let in").says(another);
        // Who it is, no script of the app's origin may read.
        page.hides("stranger@example.com");
    }
}

#[tokio::test]
async fn nobody_is_led_into_another_account_without_being_asked() {
    let world = World::start().await;
    let site = world.public("open", json!({})).await;
    let (bob, carol) = (
        world.server.human("bob@example.com").await,
        world.server.human("carol@example.com").await,
    );
    let cookie = callback(&site, &grant(&world, &bob, "open").await).await.cookie();
    let led = async |human: &Human, from: &str| {
        let path = format!("/s/callback?grant={}", grant(&world, human, "open").await);
        let request = site.request(Method::GET, &path).header("cookie", &cookie);
        (Answer::of(request.header("sec-fetch-site", from)).await, path)
    };
    let (asked, path) = led(&carol, "cross-site").await;
    assert_eq!((asked.status, asked.headers.contains_key("set-cookie")), (200, false));
    asked.says("Change to another account?").says(&path).hides("class=\"mark\"");
    // Going on, or coming as oneself, is no longer led.
    let request = site.request(Method::GET, &path).header("cookie", &cookie);
    let changed = Answer::of(request.header("sec-fetch-site", "same-origin")).await;
    let me = site.get_with("/s/session", &changed.cookie()).await.expect(200);
    assert_eq!(me["id"], json!(world.id_of(&carol)));
    let cookie = callback(&site, &grant(&world, &bob, "open").await).await.cookie();
    let path = format!("/s/callback?grant={}", grant(&world, &bob, "open").await);
    let request = site.request(Method::GET, &path).header("cookie", &cookie);
    let same = Answer::of(request.header("sec-fetch-site", "cross-site")).await;
    assert_eq!(same.status, 303);
}

/// What a browser gets that another origin leads to `path`.
async fn led(site: &Site<'_>, path: &str, cookie: &str) -> Answer {
    let request = site.request(Method::GET, path).header("sec-fetch-mode", "navigate");
    let request = request.header("sec-fetch-site", "same-site").header("cookie", cookie);
    Answer::of(request).await
}

#[tokio::test]
async fn nobody_is_led_into_an_account_without_being_asked() {
    let world = World::start().await;
    let site = world.public("open", json!({})).await;
    let mallory = world.server.human("mallory@example.com").await;
    let guest = format!("service_participant={}", site.guest().await.token);
    let here = site.get("/s/sign-in").await.cookie();
    let (_, state) = here.split_once('=').expect("a cookie");
    let other = site.get("/s/sign-in").await.cookie();
    let (_, others) = other.split_once('=').expect("a cookie");
    // Nobody yet, an anonymous visitor, one that began another sign-in, one whom a state is given alone.
    for (cookie, given) in [
        ("", None),
        (guest.as_str(), None),
        (here.as_str(), None),
        (here.as_str(), Some(others)),
        ("", Some(state)),
        ("service_sign_in=", Some("")),
    ] {
        let grant = grant(&world, &mallory, "open").await;
        let given = given.map(|state| format!("&state={state}")).unwrap_or_default();
        let path = format!("/s/callback?grant={grant}{given}");
        let asked = led(&site, &path, cookie).await;
        assert_eq!((asked.status, asked.headers.contains_key("set-cookie")), (200, false));
        asked.says("Sign in to this app?").says(path.split('&').next().expect("a path"));
        // Nothing is spent; going on, and a program, are not led.
        let goes_on = site.request(Method::GET, &path).header("sec-fetch-site", "same-origin");
        let goes_on = Answer::of(goes_on.header("cookie", cookie)).await;
        assert_eq!(goes_on.status, 303, "{}", goes_on.text);
        let me = site.get_with("/s/session", &goes_on.cookie()).await.expect(200);
        assert_eq!(me["id"], json!(world.id_of(&mallory)));
    }
    let path = format!("/s/callback?grant={}", grant(&world, &mallory, "open").await);
    // What was typed looks as what came in a mail or a chat.
    let sent = site.request(Method::GET, &path).header("sec-fetch-site", "none");
    let sent = Answer::of(sent.header("sec-fetch-mode", "navigate")).await;
    assert_eq!((sent.status, sent.headers.contains_key("set-cookie")), (200, false));
    sent.says("Sign in to this app?");
    assert_eq!(callback(&site, &grant(&world, &mallory, "open").await).await.status, 303);
}

#[tokio::test]
async fn a_browser_that_begins_at_the_app_or_at_the_site_comes_in_unasked() {
    let world = World::start().await;
    let site = secret(&world).await;
    let open = async |path: &str| {
        let request = world.server.by(&world.owner, Method::GET, path);
        Answer::of(request.header("sec-fetch-mode", "navigate")).await
    };
    let on_app = |answer: &Answer| {
        let location = answer.header("location");
        location.strip_prefix(&site.origin()).expect("the app's origin").to_owned()
    };
    // A link of the site, or of a mail: the app is where it begins.
    let to_app = open("/authorize?app=secret&return_to=%2Fnotes").await;
    assert_eq!((to_app.status, on_app(&to_app).as_str()), (303, "/s/sign-in?return_to=%2Fnotes"));
    let began = led(&site, &on_app(&to_app), "").await;
    let cookie = began.cookie();
    let set = began.header("set-cookie").to_owned();
    for part in ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=600"] {
        assert!(set.split("; ").any(|one| one == part), "{set}");
    }
    let to_site =
        began.header("location").strip_prefix(world.server.public_url()).expect("the site");
    let back = open(to_site).await;
    let arrived = led(&site, &on_app(&back), &cookie).await;
    assert_eq!((arrived.status, arrived.header("location")), (303, "/notes"));
    let me = site.get_with("/s/session", &arrived.cookie()).await.expect(200);
    assert_eq!(me["role"], "owner");
    // Sign-ins beside each other are one browser's: it keeps what it holds.
    assert_eq!(led(&site, "/s/sign-in", &cookie).await.cookie(), cookie);
    // Over https no other host can plant it.
    let https = TestServer::builder().set("ROOKERY__SERVER__PUBLIC_URL", "https://localhost:8443");
    let world = World::start_with(https).await;
    let site = world.public("garden", json!({})).await;
    let set = site.get("/s/sign-in").await.header("set-cookie").to_owned();
    assert!(
        set.starts_with("__Host-service_sign_in=rk_sin_") && set.ends_with("; Secure"),
        "{set}"
    );
}

#[tokio::test]
async fn signing_in_takes_no_role_away_that_a_link_gave() {
    let world = World::start().await;
    let site = world.public("open", json!({"roles": {"vip": {}}})).await;
    let path = format!("/v1/apps/{}/grants", site.app.id());
    let made = world.server.by(&world.owner, Method::POST, &path).json(&json!({"role": "vip"}));
    let url = Answer::of(made).await.expect(201)["url"].as_str().expect("an address").to_owned();
    let path = url.strip_prefix(&site.origin()).expect("the app's origin");
    let cookie = site.get(path).await.cookie();
    let back = async |human: &Human| {
        let grant = grant(&world, human, "open").await;
        site.get_with(&format!("/s/callback?grant={grant}"), &cookie).await
    };
    let somebody = world.server.human("somebody@example.com").await;
    let stays = back(&somebody).await;
    assert_eq!((stays.status, stays.headers.contains_key("set-cookie")), (303, false));
    assert_eq!(site.get_with("/s/session", &cookie).await.expect(200)["custom_role"], "vip");
    // Whoever has a right of its own is itself.
    let owner = back(&world.owner).await.cookie();
    assert_eq!(site.get_with("/s/session", &owner).await.expect(200)["role"], "owner");
}
