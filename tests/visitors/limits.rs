//! What bounds anonymous writes: budgets per network and per app, and challenges.

use futures::future::join_all;
use reqwest::Method;
use rookery_domain::{ErrorCode, challenge::LIFETIME_S};
use serde_json::{Value, json};

use super::world::{Guest, Site, World};
use crate::harness::{Answer, START, TestServer, rounds};

/// Days of the race for a budget.
const BUDGET_DAYS: usize = 4;

fn budget(budget: Value) -> Value {
    json!({"collections": {"entries": {"anonWriteBudget": budget, "permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"], "delete": ["owner"],
    }}}})
}

fn challenged() -> Value {
    let open = json!({"antiAbuse": "challenge", "permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"], "delete": ["owner"],
    }});
    json!({"collections": {"entries": open, "others": open}})
}

async fn write_from(site: &Site<'_>, guest: &Guest, address: &str) -> Answer {
    let request = site.by(guest, Method::POST, "/s/collections/entries");
    Answer::of(request.header("x-forwarded-for", address).json(&json!({"data": {}}))).await
}

#[tokio::test]
async fn a_network_writes_exactly_its_budget_whatever_it_says_of_itself() {
    let world = World::start().await;
    let site = world.public("guestbook", budget(json!({"perIpPerDay": 10}))).await;
    let mut written = 0;
    let mut guest = site.guest().await;
    for n in 0..32 {
        if n % 5 == 0 {
            guest = site.guest().await;
        }
        let answer = write_from(&site, &guest, &format!("203.0.113.{n}")).await;
        if answer.status == 201 {
            written += 1;
        } else {
            answer.error(ErrorCode::CollectionWriteBudgetExceeded);
        }
    }
    assert_eq!(written, 10);
    // The next day begins with a whole budget.
    world.server.state().clock.set(START.plus_seconds(86_400));
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
}

#[tokio::test]
async fn sixty_four_writes_at_once_spend_exactly_the_budget_of_each_day() {
    let world = World::start_with(TestServer::builder().set("MAX_ROWS_PER_APP", "100000")).await;
    let site = world.public("guestbook", budget(json!({"perIpPerDay": 10}))).await;
    for day in 0..rounds(BUDGET_DAYS) {
        world.server.state().clock.set(START.plus_seconds(86_400 * day as i64));
        let guest = site.guest().await;
        let addresses: Vec<_> = (0..64).map(|n| format!("203.0.113.{n}")).collect();
        let writes = addresses.iter().map(|address| write_from(&site, &guest, address));
        let answers = join_all(writes).await;
        let written = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(written, 10, "on day {day}");
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            refused.error(ErrorCode::CollectionWriteBudgetExceeded);
        }
    }
}

#[tokio::test]
async fn what_was_written_today_counts_after_a_restart_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let world = World::start_with(TestServer::builder().in_folder(folder.path())).await;
    let both = budget(json!({"perIpPerDay": 3, "perAppDay": 5}));
    let site = world.public("guestbook", both).await;
    let guest = site.guest().await;
    for _ in 0..2 {
        assert_eq!(write_from(&site, &guest, "").await.status, 201);
    }
    let World { server, owner } = world;
    let world = World { server: server.restart().await, owner };
    let site = world.site("guestbook").await;
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
    let refused = write_from(&site, &guest, "").await;
    let error = refused.error(ErrorCode::CollectionWriteBudgetExceeded);
    assert_eq!(error["details"]["scope"], "perIpPerDay");
}

#[tokio::test]
async fn writes_at_once_do_not_get_past_the_budget_either() {
    let world = World::start().await;
    let site = world.public("guestbook", budget(json!({"perIpPerDay": 10}))).await;
    let guest = site.guest().await;
    let writes = (0..64).map(|_| write_from(&site, &guest, "203.0.113.9"));
    let answers = futures::future::join_all(writes).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 10);
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        refused.error(ErrorCode::CollectionWriteBudgetExceeded);
    }
    let batch = json!({"rows": [{"data": {}}]});
    let batch = site.by(&guest, Method::POST, "/s/collections/entries/batch").json(&batch);
    let batch = Answer::of(batch).await.expect(200);
    let code = &batch["results"][0]["error"]["code"];
    assert_eq!(code, ErrorCode::CollectionWriteBudgetExceeded.as_str());
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_network_has_its_own_budget_and_the_app_one_for_all() {
    let proxied = TestServer::builder().set("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1/32");
    let world = World::start_with(proxied).await;
    let both = budget(json!({"perIpPerDay": 2, "perAppDay": 5}));
    let site = world.public("guestbook", both).await;
    let guest = site.guest().await;
    for (address, status) in [
        ("203.0.113.1", 201),
        ("203.0.113.1", 201),
        ("203.0.113.1", 409),
        ("203.0.113.2", 201),
        ("2001:db8::1", 201),
        // The same /64 is the same network.
        ("2001:db8::2", 201),
        ("203.0.113.3", 409),
    ] {
        let answer = write_from(&site, &guest, address).await;
        assert_eq!(answer.status, status, "{address}: {}", answer.text);
    }
}

async fn task(site: &Site<'_>, collection: &str) -> rookery_domain::challenge::Challenge {
    let task = site.get(&format!("/s/challenge?collection={collection}")).await.expect(200);
    let text = |name: &str| task[name].as_str().expect("text").to_owned();
    rookery_domain::challenge::Challenge {
        algorithm: "SHA-256",
        challenge: text("challenge"),
        maxnumber: task["maxnumber"].as_u64().expect("a number"),
        salt: text("salt"),
        signature: text("signature"),
    }
}

async fn answered(site: &Site<'_>, guest: &Guest, collection: &str, answer: &str) -> Answer {
    let request = site.by(guest, Method::POST, &format!("/s/collections/{collection}"));
    let request = request.header("x-service-challenge-token", answer);
    Answer::of(request.json(&json!({"data": {}}))).await
}

#[tokio::test]
async fn a_challenge_is_solved_for_one_write_in_time_in_its_own_collection_and_app() {
    let world = World::start().await;
    let site = world.public("guestbook", challenged()).await;
    let other = world.public("forest", challenged()).await;
    let guest = site.guest().await;
    let bare = site.by(&guest, Method::POST, "/s/collections/entries").json(&json!({"data": {}}));
    Answer::of(bare).await.error(ErrorCode::ChallengeRequired);

    let solved = task(&site, "entries").await.solve().expect("a solution");
    answered(&site, &guest, "entries", &solved).await.expect(201);
    let again = answered(&site, &guest, "entries", &solved).await;
    again.error(ErrorCode::ChallengeVerificationFailed);

    let solved = task(&site, "entries").await.solve().expect("a solution");
    let elsewhere = answered(&site, &guest, "others", &solved).await;
    elsewhere.error(ErrorCode::ChallengeVerificationFailed);
    let stranger = other.guest().await;
    let abroad = answered(&other, &stranger, "entries", &solved).await;
    abroad.error(ErrorCode::ChallengeVerificationFailed);
    world.server.state().clock.set(START.plus_seconds(LIFETIME_S + 1));
    let late = answered(&site, &guest, "entries", &solved).await;
    late.error(ErrorCode::ChallengeVerificationFailed);
    let nonsense = answered(&site, &guest, "entries", "bm9uc2Vuc2U=").await;
    nonsense.error(ErrorCode::ChallengeVerificationFailed);
    site.get("/s/challenge?collection=nothing").await.error(ErrorCode::CollectionNotFound);
}

#[tokio::test]
async fn a_budget_that_was_spent_while_the_clock_was_ahead_is_free_again_the_next_day() {
    let world = World::start().await;
    let site = world.public("guestbook", budget(json!({"perIpPerDay": 1}))).await;
    let guest = site.guest().await;
    let clock = &world.server.state().clock;
    clock.set(START.plus_seconds(5 * 86_400));
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
    clock.set(START);
    let refused = write_from(&site, &guest, "").await;
    let error = refused.error(ErrorCode::CollectionWriteBudgetExceeded);
    assert_eq!(error["details"]["resets_at"], "2026-02-01T00:00:00.000Z");
    clock.set(START.plus_seconds(86_400 / 2));
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
}

#[tokio::test]
async fn a_budget_that_is_spent_resets_at_the_midnight_of_the_present_timezone() {
    let world = World::start().await;
    let site = world.public("guestbook", budget(json!({"perIpPerDay": 1}))).await;
    let move_to = async |site: &Site<'_>, zone: &str| {
        let path = format!("/v1/apps/{}", site.slug);
        let request = site.server.by(&world.owner, Method::PATCH, &path);
        Answer::of(request.json(&json!({"timezone": zone}))).await.expect(200);
    };
    move_to(&site, "Pacific/Kiritimati").await;
    let guest = site.guest().await;
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
    move_to(&site, "Pacific/Honolulu").await;
    for _ in 0..2 {
        let refused = write_from(&site, &guest, "").await;
        let error = refused.error(ErrorCode::CollectionWriteBudgetExceeded);
        // It is the morning of the 31st there.
        assert_eq!(error["details"]["resets_at"], "2026-02-01T10:00:00.000Z");
    }
    // What is stored says so too: a day later nothing of it counts.
    let World { server, owner } = world;
    let world = World { server: server.restart().await, owner };
    let site = world.site("guestbook").await;
    write_from(&site, &guest, "").await.error(ErrorCode::CollectionWriteBudgetExceeded);
    world.server.state().clock.set(START.plus_seconds(86_400));
    assert_eq!(write_from(&site, &guest, "").await.status, 201);
}
