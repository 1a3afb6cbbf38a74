//! The page of sharing: members, links, previews, credentials, the offer to somebody else.

use serde_json::json;

use super::{GET, Owned, POST};
use crate::harness::{Answer, apps::open_collection};

#[tokio::test]
async fn members_come_get_a_role_and_go() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    let fields = [("action", "add-member"), ("email", "bob@example.org"), ("custom_role", "guest")];
    let added = owned.submit(page, &fields).await;
    assert_eq!(added.led_to(), owned.page("/sharing?done=member-added#notice"));
    let listed = owned.see(page).await;
    listed.says("bob@example.org").says("Member, Guest of honour").hides("Member, guest");
    listed.says("aria-label=\"Set the role of bob\"");
    assert_eq!(owned.submit(page, &fields).await.status, 409);
    let members = owned.read("/members").await;
    let bob = members["items"][1]["human_id"].as_str().expect("an id").to_owned();
    let fields = [("action", "set-role"), ("member", &*bob), ("custom_role", "")];
    assert_eq!(
        owned.submit(page, &fields).await.led_to(),
        owned.page("/sharing?done=role-set#notice")
    );
    assert!(owned.read("/members").await["items"][1]["custom_role"].is_null());
    let fields = [("action", "remove-member"), ("member", &*bob)];
    owned.submit(page, &fields).await.led_to();
    owned.see(page).await.hides("bob@example.org");
    for evil in ["", "../../../v1/self", "hum_x/../y"] {
        let fields = [("action", "remove-member"), ("member", evil)];
        assert_eq!(owned.submit(page, &fields).await.status, 400, "{evil:?}");
    }
    let wrong = [("action", "add-member"), ("email", "nobody")];
    owned
        .submit(page, &wrong)
        .await
        .says("This is not a valid e-mail address.")
        .says("value=\"nobody\"");
}

#[tokio::test]
async fn links_are_made_shown_once_and_revoked() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    let fields = [("action", "grant"), ("role", "guest"), ("max_uses", "3"), ("days", "2")];
    let made = owned.submit(page, &fields).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let link = made.between("id=\"once\">", "<");
    assert!(link.contains("/s/grant/rk_grant_"), "{link}");
    let listed = owned.see(page).await;
    listed.hides(&link).says("0 of 3 used");
    listed
        .says("<span class=\"name\">Guest of honour</span>")
        .says("the link for Guest of honour,");
    let grants = owned.read("/grants").await;
    let grant = grants["items"][0]["id"].as_str().expect("an id").to_owned();
    let revoked = owned.submit(page, &[("action", "revoke-grant"), ("grant", &grant)]).await;
    assert_eq!(revoked.led_to(), owned.page("/sharing?done=link-revoked#notice"));
    owned.see(page).await.hides("0 of 3 used");
    let wrong = [("action", "grant"), ("role", "guest"), ("max_uses", "many")];
    assert_eq!(owned.submit(page, &wrong).await.status, 400);
    let long = [("action", "grant"), ("role", "guest"), ("days", "366")];
    owned.submit(page, &long).await.says("The time that it is valid must be from 1 to 365 days.");

    let made = owned.submit(page, &[("action", "preview"), ("days", "1")]).await;
    made.says("/s/preview/rk_prev_");
    // Also once that page was left.
    let listed = owned.see(page).await;
    listed.says("Revoke the preview link made").hides("rk_prev_");
    let preview = listed.between("name=\"preview\" value=\"", "\"");
    let revoked = owned.submit(page, &[("action", "revoke-preview"), ("preview", &preview)]).await;
    assert_eq!(revoked.status, 303);

    let fields = [("action", "visibility"), ("visibility", "link")];
    owned.submit("/settings", &fields).await.led_to();
    let before = owned.read("").await["share_url"].as_str().expect("a link").to_owned();
    owned.see(page).await.says(&before);
    owned.submit(page, &[("action", "rotate-link")]).await.led_to();
    owned.see(page).await.hides(&before).says("/s/share/");
}

#[tokio::test]
async fn credentials_do_what_was_ticked_until_they_are_stopped() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    let fields = [
        ("action", "credential"),
        ("name", "nightly"),
        ("mode", "explicit"),
        ("collection", "entries"),
        ("operation", "read"),
        ("operation", "create"),
    ];
    let made = owned.submit(page, &fields).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let token = made.between("id=\"once\">", "<");
    let listed = owned.see(page).await;
    listed.says("nightly").says("entries: read, create").hides(&token);
    listed.says("aria-label=\"Pause nightly\"").says("The old one works for a while yet");
    let try_it = |collection: &'static str, token: String| {
        let request =
            owned.server.request(GET, &owned.app.path(&format!("/collections/{collection}")));
        Answer::of(request.bearer_auth(token))
    };
    assert_eq!(try_it("entries", token.clone()).await.status, 200);
    assert_eq!(try_it("notes", token.clone()).await.status, 403);
    let listed = owned.read("/credentials").await;
    let id = listed["items"][0]["id"].as_str().expect("an id").to_owned();
    let press = |action: &'static str| {
        let (owned, id) = (&owned, id.clone());
        async move { owned.submit(page, &[("action", action), ("credential", &id)]).await }
    };
    press("pause-credential").await.led_to();
    assert_eq!(try_it("entries", token.clone()).await.status, 401);
    press("resume-credential").await.led_to();
    assert_eq!(try_it("entries", token).await.status, 200);
    let rotated = press("rotate-credential").await.between("id=\"once\">", "<");
    assert_eq!(try_it("entries", rotated.clone()).await.status, 200);
    press("revoke-credential").await.led_to();
    assert_eq!(try_it("entries", rotated).await.status, 401);
    assert_eq!(press("dance").await.status, 400);

    // What is refused is still in the form, which stands open.
    let fields = [("action", "credential"), ("name", "later"), ("mode", "explicit")];
    let refused = owned.submit(page, &fields).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    refused.says("<details class=\"card\" open>").says("value=\"later\"").hides("`operations`");
    assert!(!refused.text.contains("value=\"read\" checked"), "only what was ticked is ticked");
}

#[tokio::test]
async fn what_a_form_does_to_an_app_is_done_at_that_address_alone() {
    let owned = Owned::with_role().await;
    let id = &owned.app.id;
    owned.submit("/sharing", &[("action", "offer"), ("email", "bob@example.org")]).await;
    let before = owned.read("").await;
    let mut pages = Vec::new();
    for odd in [format!("{id}%23"), format!("{id}%3Fx=1"), format!("{id}%2F"), format!("{id}%2f..")]
    {
        let acts: &[(&str, &[(&str, &str)])] = &[
            ("", &[("action", "delete")]),
            ("/sharing", &[("action", "withdraw")]),
            ("/settings", &[("action", "migration"), ("on", "true"), ("minutes", "5")]),
            ("/domains", &[("action", "remove"), ("domain", "a.example.com")]),
            ("/versions/1", &[("force", "true")]),
            ("/data/entries/new", &[]),
            ("/data/entries/rows/k", &[("action", "delete")]),
        ];
        for (below, form) in acts {
            let path = format!("/apps/{odd}{below}");
            let answer = owned.server.submit(&owned.ada, &path, form).await;
            assert_eq!(answer.status, 404, "POST {path}: {}", answer.text);
        }
        pages.extend(acts.iter().map(|(below, _)| format!("/apps/{odd}{below}")));
        pages.extend(
            ["/data", "/usage", "/analytics", "/data/entries", "/data/entries/trash"]
                .map(|below| format!("/apps/{odd}{below}")),
        );
    }
    for path in pages {
        let answer = owned.server.see(&owned.ada, &path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
    }
    assert_eq!(owned.read("").await, before);
    owned.read("/transfer").await;
    let by_slug = format!("/apps/{}/sharing", owned.app.slug);
    assert_eq!(owned.server.see(&owned.ada, &by_slug).await.status, 200);
}

#[tokio::test]
async fn an_app_is_offered_and_the_offer_withdrawn() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    let bob = owned.server.human("bob@example.org").await;
    let offered = owned.submit(page, &[("action", "offer"), ("email", "bob@example.org")]).await;
    assert_eq!(offered.led_to(), owned.page("/sharing?done=offered#notice"));
    owned.see(page).await.says("Offered to <strong>bob@example.org</strong>");
    owned.server.see(&bob, "/").await.says("An app is offered to you");
    let withdrawn = owned.submit(page, &[("action", "withdraw")]).await;
    assert_eq!(withdrawn.led_to(), owned.page("/sharing?done=withdrawn#notice"));
    owned.server.see(&bob, "/").await.hides("offered to you");
}

#[tokio::test]
async fn a_role_that_is_declared_no_more_is_said_and_no_other_one_chosen() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    let fields = [("action", "add-member"), ("email", "bob@example.org"), ("custom_role", "guest")];
    owned.submit(page, &fields).await.led_to();
    owned.submit(page, &[("action", "grant"), ("role", "guest")]).await;
    owned.see(page).await.says("In force").hides("not declared");
    for roles in [json!({"other": {}}), json!({})] {
        let manifest = json!({"collections": {"entries": open_collection(),
            "notes": open_collection()}, "roles": roles});
        let body = json!({"html": "<p>hi", "manifest": manifest});
        owned.agent(POST, "/versions", body).await.expect(201);
        let seen = owned.see(page).await;
        seen.says("Member, guest (not declared any more: the role gives nothing)");
        seen.says("Opens nothing: the role is not declared any more").hides("In force");
        // Still the one that they have; sending the form as it is takes nothing away.
        seen.says("<option value=\"guest\" selected>guest (not declared)</option>");
    }
    // Going back from a version that declares it is told of before.
    let body = json!({"html": "<p>hi", "manifest": {"roles": {"guest": {}}}, "force": true});
    owned.agent(POST, "/versions", body).await.expect(201);
    let back = owned.see("/versions/3").await;
    back.says("is not declared any more: 1 member and 1 grant link have it. Until a version");
    let shown = [("version", "4"), ("visibility", "private"), ("force", "yes")];
    owned.submit("/versions/3", &shown).await.led_to();
    let members = owned.read("/members").await;
    let bob = members["items"][1]["human_id"].as_str().expect("an id").to_owned();
    let same = [("action", "set-role"), ("member", &*bob), ("custom_role", "guest")];
    assert_eq!(owned.submit(page, &same).await.status, 400);
    assert_eq!(owned.read("/members").await["items"][1]["custom_role"], "guest");
}

#[tokio::test]
async fn each_link_and_credential_says_who_made_it() {
    let owned = Owned::with_role().await;
    let page = "/sharing";
    owned.submit(page, &[("action", "grant"), ("role", "guest")]).await;
    let made = json!({"collections": ["entries"], "operations": ["read"]});
    owned.agent(POST, "/credentials", made).await.expect(201);
    let seen = owned.see(page).await;
    seen.says("</time> by you</span>").says("</time> by your agent “robot”</span>");

    // An admin of the organization made something, and left it.
    let bob = owned.server.human("bob@example.org").await;
    let robot = owned.server.agent(&bob).await;
    let org = owned.server.submit(&owned.ada, "/orgs", &[("name", "Rooks")]).await;
    let org = org.led_to().split_once('?').expect("a mark").0.to_owned();
    let admin = [("action", "add-member"), ("email", "bob@example.org"), ("role", "admin")];
    owned.server.submit(&owned.ada, &org, &admin).await.led_to();
    let id = org.strip_prefix("/orgs/").expect("an id");
    owned.submit("/settings", &[("action", "organization"), ("org_id", id)]).await.led_to();
    let path = owned.page(page);
    owned.server.submit(&bob, &path, &[("action", "preview"), ("days", "1")]).await;
    let credential = json!({"collections": ["notes"], "operations": ["read"]});
    let path = owned.app.path("/credentials");
    owned.server.send(POST, &robot.key, &path, &credential).await.expect(201);
    let asked = owned.server.see(&owned.ada, &org).await;
    asked.says("made there stay in force: each app’s Sharing page says who made them");
    owned.server.submit(&bob, &org, &[("action", "leave")]).await.led_to();
    let seen = owned.see(page).await;
    seen.says("</time> by bob</span>").says("</time> by the agent “robot” of bob</span>");
}
