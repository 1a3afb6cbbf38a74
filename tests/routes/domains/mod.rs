//! Custom domains (part 4.2): who may bind one, how control is proven, what it serves, and how it
//! goes.

mod binding;
mod outside;
mod serving;

use reqwest::Method;
use serde_json::{Value, json};

use self::outside::{Outside, TARGET, TOKEN};
use crate::harness::{
    Answer, Builder, TestServer,
    apps::{App, Owner},
};

/// A server with its counterparts.
pub struct Hosted {
    pub server: TestServer,
    pub outside: Outside,
}

impl Hosted {
    pub async fn start() -> Self {
        Self::start_with(TestServer::builder()).await
    }

    pub async fn start_with(builder: Builder) -> Self {
        let outside = Outside::start().await;
        let builder = builder
            .set("ROOKERY__DOMAINS__API_TOKEN", TOKEN)
            .set("ROOKERY__DOMAINS__ZONE_ID", "zone1")
            .set("ROOKERY__DOMAINS__CNAME_TARGET", TARGET)
            .set("ROOKERY__DOMAINS__API_URL", &outside.api)
            .set("ROOKERY__DOMAINS__RESOLVER", &outside.dns.to_string());
        Self { server: builder.start().await, outside }
    }

    async fn bind(&self, owner: &Owner, app: &App, domain: &str) -> Answer {
        let body = json!({"domain": domain});
        self.server.send(Method::POST, owner, &app.path("/domain"), &body).await
    }

    async fn read(&self, owner: &Owner, app: &App) -> Answer {
        self.server.get_as(owner, &app.path("/domain")).await
    }

    async fn remove(&self, owner: &Owner, app: &App, domain: Option<&str>) -> Answer {
        let query = domain.map(|domain| format!("?domain={domain}")).unwrap_or_default();
        let path = app.path(&format!("/domain{query}"));
        Answer::of(self.server.call(Method::DELETE, &path, owner)).await
    }

    /// Sets the TXT record that a binding asks for.
    pub fn publish(&self, binding: &Value) {
        let records = binding["dns_records"].as_array().expect("records");
        let wanted = records.iter().find(|record| record["purpose"] == "verification");
        let wanted = wanted.expect("a record for the proof");
        assert_eq!(wanted["type"], "TXT");
        let text = |name: &str| wanted[name].as_str().expect("text");
        self.outside.set_txt(text("name"), text("value"));
    }

    /// Binds a domain and proves control over it; the edge provider is not ready yet.
    pub async fn proven_only(&self, owner: &Owner, app: &App, domain: &str) {
        self.publish(&self.bind(owner, app, domain).await.expect(201));
        self.read(owner, app).await.expect(200);
    }

    /// Binds a domain, proves control over it and sees it work.
    pub async fn proven(&self, owner: &Owner, app: &App, domain: &str) {
        self.proven_only(owner, app, domain).await;
        self.outside.activate();
        self.read(owner, app).await.expect(200);
    }

    /// The answer of a host to a browser.
    async fn visit(&self, host: &str, path: &str) -> Answer {
        let request = self.server.request(Method::GET, path).header("host", host);
        Answer::of(request.header("sec-fetch-mode", "navigate")).await
    }

    /// The origin of a custom domain here.
    pub fn origin(&self, domain: &str) -> String {
        self.server.state().origins.domain_origin(domain)
    }
}
