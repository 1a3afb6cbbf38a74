//! A right that is taken away is gone on the very next request, and for whoever waits already: an
//! open poll and an open stream end at once.

use reqwest::{Method, RequestBuilder};
use rookery_domain::ErrorCode;
use serde_json::json;

use super::world::{Events, Site, World, text, token_of};
use crate::harness::Answer;

/// The feed of the app, for a visitor.
fn feed(site: &Site<'_>, token: &str, query: &str) -> RequestBuilder {
    site.by(token, Method::GET, &format!("/s/feed{query}"))
}

/// Has a poll and a stream wait, takes the right away, and reads how both end.
async fn ends(
    site: &Site<'_>,
    follow: impl Fn(&str) -> RequestBuilder,
    take_away: impl AsyncFnOnce(),
    codes: &[ErrorCode],
) {
    let since = text(&Answer::of(follow("?wait=0")).await.expect(200), "cursor");
    let query = format!("?since={since}&wait=60");
    let poll = Answer::of(follow(&query));
    let stream = async {
        let events = Events::open(follow(&format!("?since={since}"))).await;
        events.rest().await
    };
    let take_away = async {
        site.until_followed().await;
        take_away().await;
    };
    let (poll, stream, ()) = tokio::join!(poll, stream, take_away);
    let code = poll.json()["error"]["code"].clone();
    assert!(codes.iter().any(|one| code == one.as_str()), "{}", poll.text);
    let last = stream.rsplit("event: error").next().expect("an error");
    assert!(codes.iter().any(|code| last.contains(code.as_str())), "{stream}");
}

#[tokio::test]
async fn a_removed_member_hears_nothing_more() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (human, id, token) = site.member("ada@example.com", None).await;
    let gone = [ErrorCode::ParticipantTokenInvalid];
    ends(
        &site,
        |query| feed(&site, &token, query),
        async || assert_eq!(site.delete(&format!("/members/{id}")).await.status, 204),
        &gone,
    )
    .await;
    site.see(&token, "/s/feed?wait=0").await.error(ErrorCode::ParticipantTokenInvalid);
    site.see(&token, "/s/collections/club").await.error(ErrorCode::ParticipantTokenInvalid);
    let api = world.server.by(&human, Method::GET, &site.path("/usage"));
    Answer::of(api).await.error(ErrorCode::AppNotFound);
}

#[tokio::test]
async fn a_removed_member_whose_poll_ends_has_no_session_any_more() {
    let world = World::start().await;
    for visibility in ["private", "public"] {
        let site = world.site(visibility).await;
        let (_, id, token) = site.member(&format!("{visibility}@example.com"), None).await;
        let since = text(&Answer::of(feed(&site, &token, "?wait=0")).await.expect(200), "cursor");
        let follow = async {
            Answer::of(feed(&site, &token, &format!("?since={since}&wait=60"))).await;
            // Whatever the owner has been answered by now.
            site.see(&token, "/s/session").await.error(ErrorCode::ParticipantTokenInvalid);
        };
        let remove = async {
            site.until_followed().await;
            assert_eq!(site.delete(&format!("/members/{id}")).await.status, 204);
        };
        tokio::join!(follow, remove);
    }
}

#[tokio::test]
async fn a_role_that_changes_makes_who_waits_list_again() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (_, id, token) = site.member("ada@example.com", Some("editor")).await;
    let clear = async || {
        let body = json!({"custom_role": null});
        site.patch(&format!("/members/{id}"), body).await.expect(200);
    };
    ends(&site, |query| feed(&site, &token, query), clear, &[ErrorCode::ResyncRequired]).await;
    site.see(&token, "/s/feed?wait=0").await.expect(200);
}

#[tokio::test]
async fn a_revoked_grant_link_ends_its_holders_feeds() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, token) = site.holder("editor").await;
    let take = async || assert_eq!(site.delete(&format!("/grants/{id}")).await.status, 204);
    let ended = [ErrorCode::ParticipantTokenInvalid];
    ends(&site, |query| feed(&site, &token, query), take, &ended).await;
}

#[tokio::test]
async fn a_revoked_preview_ends_its_holders_feeds() {
    let world = World::start().await;
    let site = world.site("private").await;
    let (id, token) = site.looker().await;
    let take = async || {
        assert_eq!(site.delete(&format!("/preview-tokens/{id}")).await.status, 204);
    };
    let ended = [ErrorCode::ParticipantTokenInvalid];
    ends(&site, |query| feed(&site, &token, query), take, &ended).await;
}

#[tokio::test]
async fn a_credential_that_stops_ends_its_feeds() {
    let world = World::start().await;
    let site = world.site("private").await;
    let ended = [ErrorCode::Unauthorized];
    for what in ["pause", "revoke", "rotate"] {
        let body = json!({"collections": ["safe"], "operations": ["read"]});
        let (id, token) = site.credential(body).await;
        let follow = |query: &str| site.with(&token, Method::GET, &format!("/feed{query}"));
        let path = format!("/credentials/{id}");
        let take = async || match what {
            "pause" => {
                site.post(&format!("{path}/pause"), json!({})).await.expect(200);
            }
            "rotate" => {
                let body = json!({"overlap_s": 0});
                site.post(&format!("{path}/rotate"), body).await.expect(200);
            }
            _ => assert_eq!(site.delete(&path).await.status, 204),
        };
        ends(&site, follow, take, &ended).await;
    }
}

#[tokio::test]
async fn a_rotated_share_link_ends_the_feeds_of_who_came_by_the_old_one() {
    let world = World::start().await;
    let site = world.site("link").await;
    let link = site.below(&text(&site.get("").await.expect(200), "share_url"));
    let token = token_of(&site.open(&link).await);
    let take = async || {
        site.post("/share-link/rotate", json!({})).await.expect(200);
    };
    let ended = [ErrorCode::ParticipantTokenInvalid, ErrorCode::Unauthorized];
    ends(&site, |query| feed(&site, &token, query), take, &ended).await;
    site.see(&token, "/s/feed?wait=0").await.error_of_its_own(ErrorCode::ParticipantTokenInvalid);
}

#[tokio::test]
async fn a_key_that_is_stopped_takes_its_feeds_with_it() {
    let world = World::start().await;
    let site = world.site("private").await;
    for verb in ["pause", "revoke-key", "rotate-key", "delete"] {
        let agent = world.server.agent(&world.owner).await;
        let follow = |query: &str| {
            world.server.call(Method::GET, &site.path(&format!("/feed{query}")), &agent.key)
        };
        let take = async || {
            let stopped = match verb {
                "delete" => {
                    let path = format!("/v1/keys/{}", agent.key_id);
                    world.server.by_agent(&agent, Method::DELETE, &path)
                }
                verb => {
                    let path = format!("/v1/self/agents/{}/{verb}", agent.id);
                    world.server.by(&world.owner, Method::POST, &path)
                }
            };
            let stopped = Answer::of(stopped).await;
            assert!(stopped.status < 300, "{verb}: {}", stopped.text);
        };
        ends(&site, follow, take, &[ErrorCode::Unauthorized]).await;
    }
}

#[tokio::test]
async fn a_poll_outlives_the_end_of_a_sibling_key() {
    let world = World::start().await;
    let site = world.site("private").await;
    let agent = world.server.agent(&world.owner).await;
    let sibling = Answer::of(world.server.by_agent(&agent, Method::POST, "/v1/keys")).await;
    let sibling = text(&sibling.expect(201), "secret");
    let follow = |query: &str| {
        Answer::of(world.server.call(Method::GET, &site.path(&format!("/feed{query}")), &sibling))
    };
    let since = text(&follow("?wait=0").await.expect(200), "cursor");
    let stop = async {
        site.until_followed().await;
        let path = format!("/v1/keys/{}", agent.key_id);
        let stopped = Answer::of(world.server.by_agent(&agent, Method::DELETE, &path)).await;
        assert_eq!(stopped.status, 204);
        site.row("board", "after").await;
    };
    let query = format!("?since={since}&wait=60");
    let (poll, ()) = tokio::join!(follow(&query), stop);
    assert_eq!(poll.expect(200)["events"][0]["key"], "after");
}
