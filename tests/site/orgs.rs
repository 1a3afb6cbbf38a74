//! Organizations on the site: made, joined, administered, left; and their apps.

use serde_json::json;

use super::{GET, Owned, POST};
use crate::harness::{Answer, Human, TestServer, apps::guestbook};

/// An organization of `human`, made by the page; the path of its own page.
async fn found(server: &TestServer, human: &Human) -> String {
    let made = server.submit(human, "/orgs", &[("name", "Rooks")]).await;
    let (page, done) = made.led_to().split_once('?').expect("a mark");
    assert_eq!(done, "done=org-created#notice");
    page.to_owned()
}

/// Adds somebody, and tells which member that is.
async fn join(server: &TestServer, ada: &Human, org: &str, email: &str, role: &str) -> String {
    let fields = [("action", "add-member"), ("email", email), ("role", role)];
    let added = server.submit(ada, org, &fields).await;
    assert_eq!(added.led_to(), format!("{org}?done=org-member-added#notice"));
    let listed = Answer::of(server.by(ada, GET, &format!("/v1{org}/members"))).await.expect(200);
    let items = listed["items"].as_array().expect("members");
    let one = items.iter().find(|one| one["email"] == email).expect("the member");
    one["human_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn an_organization_is_made_renamed_and_left() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    server.see(&ada, "/orgs").await.says("You are in none");
    let refused = server.submit(&ada, "/orgs", &[("name", "")]).await;
    assert_eq!(refused.status, 400);
    refused.says("role=\"alert\"");
    let org = found(&server, &ada).await;
    server.see(&ada, "/orgs").await.says("Rooks").says("You are an admin").says("1 person");
    server.see(&ada, &org).await.says("<h1>Rooks</h1>").says("(you)").says("None yet");

    let long = "x".repeat(101);
    let refused = server.submit(&ada, &org, &[("action", "rename"), ("name", &long)]).await;
    assert_eq!(refused.status, 400);
    refused.says("role=\"alert\"").says("<h1>Rooks</h1>");
    let renamed = server.submit(&ada, &org, &[("action", "rename"), ("name", "Ravens")]).await;
    assert_eq!(renamed.led_to(), format!("{org}?done=org-renamed#notice"));
    server.see(&ada, &org).await.says("<h1>Ravens</h1>");

    // The last admin stays, and is told what to do about it.
    let stays = server.submit(&ada, &org, &[("action", "leave")]).await;
    assert_eq!(stays.status, 409);
    stays.says("last admin: make somebody else one first").says("<h1>Ravens</h1>");
    server.human("bob@example.org").await;
    join(&server, &ada, &org, "bob@example.org", "admin").await;
    let left = server.submit(&ada, &org, &[("action", "leave")]).await;
    assert_eq!(left.led_to(), "/orgs?done=org-left#notice");
    server.see(&ada, left.led_to()).await.says("You have left").says("You are in none");
    assert_eq!(server.see(&ada, &org).await.status, 404);
}

#[tokio::test]
async fn members_come_change_their_role_and_go() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let bob = server.human("bob@example.org").await;
    let org = found(&server, &ada).await;
    let id = join(&server, &ada, &org, "bob@example.org", "member").await;
    // Whoever is about to lose their own rights is asked first; for others there is a choice.
    let own = server.see(&ada, &org).await;
    own.says("<summary>Be an admin no more…</summary>").hides("Role of ada");
    own.says("Role of bob");
    let seen = server.see(&bob, &org).await;
    seen.says("You are a member").says("ada@example.org").hides("Add somebody").hides("remove-");
    seen.hides("id=\"apps\"").hides("value=\"leave\"");
    // What the page does not offer, the API does not do either.
    for action in ["rename", "add-member", "set-role", "remove-member", "leave"] {
        let fields = [("action", action), ("member", &*id), ("role", "admin"), ("name", "Mine")];
        let fields = [&fields[..], &[("email", "eve@example.org")]].concat();
        assert_eq!(server.submit(&bob, &org, &fields).await.status, 403, "{action}");
    }
    let again = [("action", "add-member"), ("email", "bob@example.org")];
    assert_eq!(server.submit(&ada, &org, &again).await.status, 409);
    let nobody = [("action", "add-member"), ("email", "nobody@example.org")];
    let refused = server.submit(&ada, &org, &nobody).await;
    assert_eq!(refused.status, 404);
    refused.says("No account has proven this address.").says("value=\"nobody@example.org\"");

    let role = |role: &'static str| {
        let fields = [("action", "set-role"), ("member", &*id), ("role", role)];
        let request = server.form(&ada, &org, &fields);
        async move { Answer::of(request).await }
    };
    assert_eq!(role("admin").await.led_to(), format!("{org}?done=role-set#notice"));
    server.see(&bob, &org).await.says("You are an admin").says("Add somebody");
    assert_eq!(role("king").await.status, 400);
    assert_eq!(role("member").await.status, 303);
    server.see(&bob, &org).await.says("You are a member");

    let fields = [("action", "remove-member"), ("member", &*id)];
    let removed = server.submit(&ada, &org, &fields).await;
    assert_eq!(removed.led_to(), format!("{org}?done=org-member-removed#notice"));
    server.see(&ada, &org).await.hides("bob@example.org");
    assert_eq!(server.see(&bob, &org).await.status, 404);
    for evil in ["", "../../self", "hum_x"] {
        let fields = [("action", "remove-member"), ("member", evil)];
        assert_eq!(server.submit(&ada, &org, &fields).await.status, 400, "{evil:?}");
    }
    assert_eq!(server.submit(&ada, &org, &[("action", "explode")]).await.status, 400);
}

#[tokio::test]
async fn its_admins_find_its_apps_there_and_act_as_their_owner() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada) = (&owned.server, &owned.ada);
    let bob = server.human("bob@example.org").await;
    let eve = server.human("eve@example.org").await;
    let org = found(server, ada).await;
    server.submit(ada, "/account", &[("action", "rename"), ("name", "Ada L.")]).await.led_to();
    join(server, ada, &org, "bob@example.org", "admin").await;
    join(server, ada, &org, "eve@example.org", "member").await;
    server.see(&bob, &org).await.hides(&owned.app.slug);
    let id = org.strip_prefix("/orgs/").expect("an id");
    owned.submit("/settings", &[("action", "organization"), ("org_id", id)]).await.led_to();

    server
        .see(&bob, &org)
        .await
        .says(&owned.app.slug)
        .says("owned by Ada L.")
        .says("billed to Ada L.");
    server.see(&eve, &org).await.hides(&owned.app.slug);
    assert_eq!(server.see(&bob, &owned.page("/settings")).await.status, 200);
    assert_eq!(server.see(&eve, &owned.page("")).await.status, 404);
    let fields = [("action", "timezone"), ("timezone", "Europe/Oslo")];
    server.submit(&bob, &owned.page("/settings"), &fields).await.led_to();
    assert_eq!(owned.read("").await["timezone"], "Europe/Oslo");
    // Who takes it out of there and does not own it sees it no more.
    let fields = [("action", "organization"), ("org_id", "")];
    let done = server.submit(&bob, &owned.page("/settings"), &fields).await;
    let next = server.see(&bob, done.led_to()).await;
    assert_eq!(next.status, 200);
    next.says("Saved.").hides(&owned.app.slug);
}

#[tokio::test]
async fn an_app_says_that_the_admins_of_its_organization_act_as_its_owner() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada) = (&owned.server, &owned.ada);
    let (bob, eve) = (server.human("bob@example.org").await, server.human("eve@example.org").await);
    let org = found(server, ada).await;
    join(server, ada, &org, "bob@example.org", "admin").await;
    let member = [("action", "add-member"), ("email", "eve@example.org")];
    owned.submit("/sharing", &member).await.led_to();
    let private = [("action", "visibility"), ("visibility", "private")];
    owned.submit("/settings", &private).await.led_to();
    for page in ["", "/sharing", "/settings"] {
        owned.see(page).await.hides("admins of");
    }
    let id = org.strip_prefix("/orgs/").expect("an id");
    owned.submit("/settings", &[("action", "organization"), ("org_id", id)]).await.led_to();

    let admins = format!("the admins of <a href=\"{org}\">Rooks</a>");
    owned.see("").await.says(&format!("Its owner, {admins} and those who were invited"));
    owned.see("").await.says("Rooks</a>, whose admins act as the app’s owner");
    owned.see("/sharing").await.says(&format!("Beside them, {admins} act as the app’s owner."));
    owned.see("/settings").await.says(&format!("and those you invite, and {admins}"));
    let declared = owned.server.get_as(&owned.agent.key, &owned.app.path("/disclosure")).await;
    declared.says("The admins of the organization “Rooks” act as its owner.");
    // A member from outside learns that there are such people, and not of which organization.
    let outside = server.see(&eve, &owned.page("")).await;
    outside.says("Its owner, the admins of its organization and those who were invited");
    outside.hides("Rooks").hides(id).hides("<dt>Organization</dt>");
    // Among an admin's apps, those of others name their owner.
    server.see(&bob, "/").await.says("My apps").says("by ada (ada@example.org)");
    server.see(ada, "/").await.says(&owned.app.slug).hides("by ada");
}

#[tokio::test]
async fn strangers_and_other_sites_have_no_part_in_it() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let eve = server.human("eve@example.org").await;
    let org = found(&server, &ada).await;
    for path in [&*org, "/orgs/none", "/orgs/org_01jjyq5x3ne8h9v2m7c4k6r0st"] {
        assert_eq!(server.see(&eve, path).await.status, 404, "{path}");
        let act = [("action", "rename"), ("name", "Mine")];
        assert_eq!(server.submit(&eve, path, &act).await.status, 404, "{path}");
    }
    let away = server.get(&org).await;
    assert!(away.led_to().starts_with("/sign-in?redirect_to=%2Forgs%2F"), "{}", away.led_to());
    for path in ["/orgs", &*org] {
        let forged = server.request(POST, path).header("cookie", &ada.cookie);
        let forged = forged.header("origin", "https://evil.example");
        let answer = Answer::of(forged.form(&[("name", "x"), ("action", "leave")])).await;
        assert_eq!(answer.status, 403, "{path}");
    }
    let listed = Answer::of(server.by(&ada, GET, "/v1/orgs")).await.expect(200);
    assert_eq!(listed["items"].as_array().expect("items").len(), 1);
    assert_eq!(listed["items"][0]["name"], json!("Rooks"));
}

#[tokio::test]
async fn the_admins_see_when_an_app_ends_whose_owner_has_left() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    let (app, own) = (server.app_with_rows(&ada, 0).await, server.app_with_rows(&ada, 0).await);
    let moved = serde_json::json!({"org_id": org.rsplit_once('/').expect("a path").1});
    let record = server.ask(&ada, reqwest::Method::PATCH, &app, moved).await.expect(200);
    let slug = record["slug"].as_str().expect("a slug");
    let slug = format!(">{slug}</a>");
    let own = server.ask(&ada, GET, &own, serde_json::Value::Null).await.expect(200);
    let own = format!(">{}</a>", own["slug"].as_str().expect("a slug"));
    let page = server.see(&ada.human, "/account").await;
    page.says("These are in organizations").says(&slug).hides(&own);
    server.see(&bob.human, "/account").await.hides("These are in organizations");
    // It stays there when its owner leaves.
    let leave = [("action", "leave")];
    server.submit(&ada.human, &org.replace("/v1", ""), &leave).await.led_to();
    let page = server.see(&ada.human, "/account").await;
    page.says("These are in organizations").says(&slug).hides(&own);

    let close = [("action", "close"), ("confirm_email", "ada@example.org")];
    server.submit(&ada.human, "/account", &close).await.led_to();
    let page = app.replace("/v1", "");
    let seen = server.see(&bob.human, &page).await;
    seen.says("account was deleted").says("this service destroys the app with all its data");
    let record = server.ask(&bob, GET, &app, serde_json::Value::Null).await.expect(200);
    let end = format!("datetime=\"{}\"", record["purge_at"].as_str().expect("a time"));
    seen.says(&end);
    let page = server.see(&bob.human, &org.replace("/v1", "")).await;
    page.says("destroyed with its data on").says(&end);
}
