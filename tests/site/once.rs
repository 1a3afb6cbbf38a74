//! Forms that make a secret, sent twice as a browser does that loads their answer anew: the second
//! time nothing is made, and the page says so.

use super::{GET, Owned};
use crate::harness::{Answer, TestServer};

const SAID: &str = "This was done already, and nothing was made a second time.";

/// The token of a page's forms, as a browser sends it along.
fn token(page: &Answer) -> String {
    page.between("name=\"form\" value=\"", "\"")
}

/// Sends a form of the page of sharing twice; what it showed the first time, and the second answer.
async fn twice(owned: &Owned, fields: &[(&str, &str)]) -> (String, Answer) {
    let form = token(&owned.see("/sharing").await);
    let fields = [fields, &[("form", &*form)]].concat();
    let first = owned.submit("/sharing", &fields).await;
    assert_eq!(first.status, 200, "{}", first.text);
    let secret = first.between("id=\"once\">", "<");
    let again = owned.submit("/sharing", &fields).await;
    assert_eq!(again.status, 200, "{}", again.text);
    again.says(SAID).hides(&secret).hides("id=\"once\"");
    assert_ne!(token(&again), form, "the form of the answer is a new one");
    (secret, again)
}

#[tokio::test]
async fn a_grant_link_a_preview_and_a_credential_are_made_once() {
    let owned = Owned::with_role().await;
    let count = async |list: &str| {
        owned.read(&format!("/{list}")).await["items"].as_array().expect("a list").len()
    };
    let grant = [("action", "grant"), ("role", "guest"), ("days", "2")];
    twice(&owned, &grant).await;
    assert_eq!(count("grants").await, 1);
    // The same from a page that was seen anew is wanted.
    twice(&owned, &grant).await;
    assert_eq!(count("grants").await, 2);

    let (_, again) = twice(&owned, &[("action", "preview"), ("days", "1")]).await;
    assert_eq!(count("preview-tokens").await, 1);
    let preview = again.between("name=\"preview\" value=\"", "\"");
    let fields = [("action", "revoke-preview"), ("preview", &*preview)];
    let revoked = owned.submit("/sharing", &fields).await;
    assert_eq!(revoked.led_to(), owned.page("/sharing?done=preview-revoked#notice"));

    let fields = [("action", "credential"), ("mode", "following"), ("operation", "read")];
    let (token, _) = twice(&owned, &fields).await;
    assert_eq!(count("credentials").await, 1);
    let credentials = owned.read("/credentials").await;
    let id = credentials["items"][0]["id"].as_str().expect("an id");
    let (rotated, _) = twice(&owned, &[("action", "rotate-credential"), ("credential", id)]).await;
    for token in [token, rotated] {
        // Both work for a while; a second rotation would have ended the first token.
        let rows = owned.server.request(GET, &owned.app.path("/collections/entries"));
        assert_eq!(Answer::of(rows.bearer_auth(token)).await.status, 200);
    }
}

#[tokio::test]
async fn the_same_form_with_other_values_is_another_wish() {
    let owned = Owned::with_role().await;
    let form = token(&owned.see("/sharing").await);
    for days in ["1", "2"] {
        let fields = [("action", "grant"), ("role", "guest"), ("days", days), ("form", &form)];
        owned.submit("/sharing", &fields).await.says("/s/grant/rk_grant_");
    }
    let fields = [("action", "grant"), ("role", "guest"), ("form", "not one of ours")];
    assert_eq!(owned.submit("/sharing", &fields).await.status, 400);
}

#[tokio::test]
async fn a_key_is_replaced_once_and_a_claim_code_made_once() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let agent = server.agent(&ada).await;
    let form = token(&server.see(&ada, "/agents").await);
    let fields = [("agent", &*agent.id), ("action", "rotate"), ("form", &form)];
    let key = server.submit(&ada, "/agents", &fields).await.between("id=\"new-key\">", "<");
    let again = server.submit(&ada, "/agents", &fields).await;
    again.says(SAID).hides("id=\"new-key\"").hides(&key);
    let works = async || Answer::of(server.call(GET, "/v1/keys", &key)).await.status;
    assert_eq!(works().await, 200, "the key that was shown is still the agent's");

    let fields = [("action", "claim-code"), ("form", &*form)];
    let code = server.submit(&ada, "/agents", &fields).await.between("id=\"claim-code\">", "<");
    let again = server.submit(&ada, "/agents", &fields).await;
    again.says(SAID).hides("id=\"claim-code\"").hides(&code);
    // Of another human the same token is another form.
    let bob = server.human("bob@example.org").await;
    server.submit(&bob, "/agents", &fields).await.says("id=\"claim-code\"");
}

#[tokio::test]
async fn the_first_run_sent_again_says_that_its_agent_is_there() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    assert_eq!(server.submit(&ada, "/first-run", &[]).await.status, 200);
    let again = server.submit(&ada, "/first-run", &[]).await;
    assert_eq!(again.led_to(), "/?done=first-agent-there#notice");
    let home = server.see(&ada, again.led_to()).await;
    home.says("Your first agent is there already.");
}
