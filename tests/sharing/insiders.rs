//! Who is in the app already, and opens a link that would make a guest of them.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::json;

use super::world::{Site, World, text, token_of};
use crate::harness::{Answer, forged};

/// What a browser that holds this participant token is shown at `path`.
async fn browse(site: &Site<'_>, token: &str, path: &str) -> Answer {
    let request = site.visit(Method::GET, path).header("accept", "text/html");
    let request = request.header("sec-fetch-mode", "navigate").header("sec-fetch-site", "none");
    Answer::of(request.header("cookie", format!("service_participant={token}"))).await
}

/// What it is answered to the form of the page at `path`, sent by a page of `origin`.
async fn press(site: &Site<'_>, token: &str, path: &str, origin: Option<&str>) -> Answer {
    let request = site.visit(Method::POST, path).header("accept", "text/html");
    let request = request.header("cookie", format!("service_participant={token}"));
    let request = origin.into_iter().fold(request, |it, origin| it.header("origin", origin));
    Answer::of(request.form(&[("", "")][..0])).await
}

/// That the page asks, and has changed nothing.
#[track_caller]
fn asks(page: &Answer, who: &str, path: &str) {
    assert_eq!((page.status, page.headers.contains_key("set-cookie")), (200, false));
    page.says(who).says("href=\"/\">Stay</a>").says("Use the link as a guest");
    page.says(&format!("<form method=\"post\" action=\"{path}\">"));
    // Who it is, no script of the app's origin may read.
    page.hides("@example.com");
}

#[tokio::test]
async fn the_owner_and_a_member_stay_who_they_are_unless_they_say_otherwise() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, link) = site.grant(json!({"role": "editor", "max_uses": 1})).await;
    let owner = site.enter(&world.owner).await;
    let (_, _, member) = site.member("member@example.com", Some("editor")).await;
    for (token, who, tier) in
        [(&owner, "as its owner", "owner"), (&member, "as a member", "member")]
    {
        asks(&browse(&site, token, &link).await, who, &link);
        // Something that a page shows is nothing that anybody follows.
        let image = site.visit(Method::GET, &link).header("sec-fetch-mode", "no-cors");
        let image = image.header("cookie", format!("service_participant={token}"));
        let image = Answer::of(image).await;
        image.error(ErrorCode::Forbidden);
        assert!(!image.headers.contains_key("set-cookie"));
        for origin in [None, Some("null"), Some("https://evil.example")] {
            let refused = press(&site, token, &link, origin).await;
            assert_eq!((refused.status, refused.headers.contains_key("set-cookie")), (403, false));
        }
        assert_eq!(site.see(token, "/s/session").await.expect(200)["role"], tier);
    }
    assert_eq!(site.get("/grants").await.expect(200)["items"][0]["uses"], 0);
    // Another site's form comes without the cookie, and lets nobody in either.
    let bare = site.visit(Method::POST, &link).header("origin", "https://evil.example");
    Answer::of(bare).await.error(ErrorCode::CsrfOriginMismatch);

    let guest = press(&site, &member, &link, Some(&site.origin())).await;
    assert_eq!(guest.header("location"), "/");
    let me = site.see(&token_of(&guest), "/s/session").await.expect(200);
    assert_eq!((&me["kind"], &me["custom_role"]), (&json!("grant"), &json!("editor")));
    site.see(&member, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
    // Pressing twice is no second visitor; a link that is over says so, and whoever is in stays in.
    let again = press(&site, &token_of(&guest), &link, Some(&site.origin())).await;
    assert!(again.status == 303 && !again.headers.contains_key("set-cookie"));
    for dead in [&link, &forged(&link)] {
        let over = browse(&site, &owner, dead).await;
        assert_eq!((over.status, over.headers.contains_key("set-cookie")), (401, false));
        over.says("This link does not work").hides("Use the link");
        let over = press(&site, &owner, dead, Some(&site.origin())).await;
        assert_eq!(over.status, 401);
        over.says("Ask whoever gave it to you.");
    }
    site.see(&owner, "/s/session").await.expect(200);
}

#[tokio::test]
async fn a_program_that_follows_a_link_means_it() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, link) = site.grant(json!({"role": "editor"})).await;
    let owner = site.enter(&world.owner).await;
    let by_header = site.see(&owner, &link).await;
    site.see(&token_of(&by_header), "/s/collections/desk").await.expect(200);
    site.see(&owner, "/s/session").await.expect(200);
    let by_cookie = site.visit(Method::GET, &link).header("accept", "application/json");
    let by_cookie = by_cookie.header("cookie", format!("service_participant={owner}"));
    token_of(&Answer::of(by_cookie).await);
}

#[tokio::test]
async fn whoever_has_no_right_of_their_own_is_not_asked() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, link) = site.grant(json!({"role": "editor"})).await;
    let stranger = world.server.human("stranger@example.com").await;
    let stranger = site.enter(&stranger).await;
    token_of(&browse(&site, &stranger, &link).await);
    let (_, other) = site.holder("reviewer").await;
    token_of(&browse(&site, &other, &link).await);
}

#[tokio::test]
async fn a_preview_asks_whoever_may_do_more_than_look() {
    let world = World::start().await;
    let site = world.site("private").await;
    let preview = site.post("/preview-tokens", json!({})).await.expect(201);
    let path = site.below(&text(&preview, "url"));
    let owner = site.enter(&world.owner).await;
    let (_, _, member) = site.member("member@example.com", None).await;
    let (_, holder) = site.holder("editor").await;
    for (token, who) in
        [(&owner, "as its owner"), (&member, "as a member"), (&holder, "with the role of a link")]
    {
        asks(&browse(&site, token, &path).await, who, &path);
        let elsewhere = press(&site, token, &path, Some("https://evil.example")).await;
        assert_eq!(elsewhere.status, 403);
        site.see(token, "/s/session").await.expect(200);
    }
    let looks = token_of(&press(&site, &owner, &path, Some(&site.origin())).await);
    let me = site.see(&looks, "/s/session").await.expect(200);
    assert_eq!((&me["kind"], &me["role"]), (&json!("anonymous"), &json!("anyone")));
    let (_, other) = site.looker().await;
    token_of(&browse(&site, &other, &path).await);
    let gone = press(&site, &looks, "/s/preview/nonsense", Some(&site.origin())).await;
    assert_eq!(gone.status, 401);
    gone.says("Ask whoever gave it to you.");
}
