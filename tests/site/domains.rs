//! The page of an app's own names: added with the records to set, proven, serving, removed.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Owned, TestServer};
use crate::{
    harness::{Answer, Human, apps::App},
    routes::domains::Hosted,
};

/// A server with an edge provider, and an app on it.
struct Named {
    here: Hosted,
    ada: Human,
    key: String,
    app: App,
    page: String,
}

impl Named {
    async fn start() -> Self {
        let here = Hosted::start().await;
        let ada = here.server.human("ada@example.org").await;
        let agent = here.server.agent(&ada).await;
        let app = here.server.deploy(&agent.key, json!({"manifest": {}})).await;
        let page = format!("/apps/{}/domains", app.id);
        Self { here, ada, key: agent.key, app, page }
    }

    async fn see(&self) -> Answer {
        self.here.server.see(&self.ada, &self.page).await
    }

    async fn submit(&self, action: &str, domain: &str) -> Answer {
        let fields = [("action", action), ("domain", domain)];
        self.here.server.submit(&self.ada, &self.page, &fields).await
    }

    /// The domains as the API has them.
    async fn read(&self) -> Value {
        self.here.server.get_as(&self.key, &self.app.path("/domain")).await.expect(200)
    }
}

#[tokio::test]
async fn a_service_without_custom_domains_says_so_kindly() {
    let owned = Owned::with(json!({})).await;
    owned.see("/settings").await.says("Serve it under a name that is yours");
    let page = owned.see("/domains").await;
    assert_eq!(page.status, 200);
    page.says("Custom domains are not set up here").hides("Add a domain");
    let fields = [("action", "add"), ("domain", "www.example.com")];
    let refused = owned.submit("/domains", &fields).await;
    assert_eq!(refused.status, 501);
    refused.says("role=\"alert\"").says("Custom domains are not set up here");
}

#[tokio::test]
async fn a_domain_is_added_with_its_records_proven_and_removed() {
    let named = Named::start().await;
    named.see().await.says("No domain yet");
    let added = named.submit("add", "www.example.com").await;
    assert_eq!(added.led_to(), format!("{}?done=domain-added#notice", named.page));
    let page = named.see().await;
    page.says("Waiting for the TXT record").says("_rookery.www.example.com");
    let items = named.read().await;
    let bound = &items["items"][0];
    let proof = bound["dns_records"][1]["value"].as_str().expect("a value");
    page.says(proof).says("CNAME").hides("Serves the app");

    named.here.publish(bound);
    named
        .see()
        .await
        .says("Proven; requests do not arrive yet")
        .says("The provider says")
        .hides(proof);
    named.here.outside.activate();
    named.see().await.says("Works").says("Serves the app").hides("CNAME");
    let settings = format!("/apps/{}/settings", named.app.id);
    let settings = named.here.server.see(&named.ada, &settings).await;
    settings.says("It is served at <strong>www.example.com</strong>");

    // Another one leads to the first.
    named.submit("add", "shop.example.com").await.led_to();
    let second = named.read().await["items"][1].clone();
    named.here.publish(&second);
    named.see().await.says("Leads to the one that serves");
    named.here.outside.activate();
    named.see().await;
    let removed = named.submit("remove", "www.example.com").await;
    assert_eq!(removed.led_to(), format!("{}?done=domain-removed#notice", named.page));
    assert_eq!(named.read().await["domain"], "shop.example.com");
}

#[tokio::test]
async fn what_is_no_domain_stays_in_the_field_and_removing_names_one() {
    let named = Named::start().await;
    for wrong in ["localhost", "https://example.com", "<b>"] {
        let refused = named.submit("add", wrong).await;
        assert_eq!(refused.status, 400, "{wrong}");
        let typed = wrong.replace('<', "&#60;").replace('>', "&#62;");
        refused.says("role=\"alert\"").says(&format!("value=\"{typed}\""));
    }
    let named_wrong = named.submit("add", "FOO.example.org:80").await;
    named_wrong.says("“FOO.example.org:80” must be a bare DNS name such as app.example.com.");
    named.submit("add", "*.example.org").await.says("A wildcard is no domain.");
    named.submit("add", "www.example.com").await.led_to();
    assert_eq!(named.submit("add", "www.example.com").await.status, 409);
    // A form without a name does not remove them all.
    assert_eq!(named.submit("remove", "").await.status, 400);
    assert_eq!(named.submit("remove", "a&domain=www.example.com").await.status, 400);
    assert_eq!(named.submit("explode", "www.example.com").await.status, 400);
    assert_eq!(named.read().await["items"].as_array().expect("items").len(), 1);
}

#[tokio::test]
async fn a_name_of_another_app_is_told_from_one_that_waits() {
    let named = Named::start().await;
    let server: &TestServer = &named.here.server;
    let eve = server.owner("eve").await;
    let theirs = server.deploy(&eve, json!({})).await;
    named.submit("add", "www.example.com").await.led_to();
    let bound = named.read().await["items"][0].clone();
    named.here.proven(&eve, &theirs, "www.example.com").await;
    named.see().await.says("Waiting for the TXT record");
    named.here.publish(&bound);
    named.see().await.says("Belongs to another app").says("was proven for another app");
    // The page is its owner's alone.
    let bob = server.human("bob@example.org").await;
    assert_eq!(server.see(&bob, &named.page).await.status, 404);
    let member = json!({"email": "bob@example.org"});
    server.send(Method::POST, &named.key, &named.app.path("/members"), &member).await.expect(201);
    assert_eq!(server.see(&bob, &named.page).await.status, 403);
}

#[tokio::test]
async fn a_provider_that_does_not_answer_hides_nothing_that_is_known() {
    let named = Named::start().await;
    named.submit("add", "www.example.com").await.led_to();
    named.here.publish(&named.read().await["items"][0]);
    named.here.outside.fail(Some(500));
    let page = named.see().await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.says("Proven; requests do not arrive yet").says("could not be refreshed");
    let added = named.submit("add", "shop.example.com").await;
    assert_eq!(added.led_to(), format!("{}?done=domain-added#notice", named.page));
    named.see().await.says("shop.example.com").says("Waiting for the TXT record");
    named.here.outside.fail(None);
    named.see().await.hides("could not be refreshed");
}
