//! A server with an owner, and the apps that tests put on it.

use reqwest::{Method, RequestBuilder};
use rookery_actors::{
    AppHandle,
    app::message::{AppOp, Op},
    control::{Bundle, CreateApp},
};
use rookery_domain::{
    app::ShareToken,
    field_patch::FieldPatch,
    id::HumanId,
    manifest::Visibility,
    principal::Caller,
    secret::{Secret, SecretKind},
};
use rookery_storage::versions::{Asset, VersionAsset};
use serde_json::{Value, json};

use crate::harness::{Answer, Builder, TestServer, people::Human};

/// The document of apps whose own does not matter.
pub const HTML: &str = "<!doctype html><html><head><title>App</title></head><body></body></html>";

/// A server and the human that owns its apps.
pub struct World {
    pub server: TestServer,
    pub owner: Human,
}

/// An app on its own origin.
pub struct Site<'a> {
    pub server: &'a TestServer,
    pub app: AppHandle,
    pub slug: String,
}

/// An anonymous participant.
pub struct Guest {
    pub id: String,
    pub token: String,
}

impl World {
    pub async fn start() -> Self {
        Self::start_with(TestServer::builder()).await
    }

    pub async fn start_with(builder: Builder) -> Self {
        let server = builder.start().await;
        let owner = server.human("owner@example.com").await;
        Self { server, owner }
    }

    /// The human behind a session.
    pub fn id_of(&self, human: &Human) -> HumanId {
        let (_, secret) = human.cookie.split_once('=').expect("a cookie");
        let holder = self.server.state().rooms.directory.session(secret).expect("the directory");
        holder.expect("an open session").human
    }

    /// A public app with this manifest.
    pub async fn public(&self, slug: &str, manifest: Value) -> Site<'_> {
        self.deploy(slug, Visibility::Public, manifest, HTML, &[]).await
    }

    /// An app that is there already.
    pub async fn site(&self, slug: &str) -> Site<'_> {
        let app = self.server.state().rooms.apps().find(slug).await.expect("the app is there");
        Site { server: &self.server, app, slug: slug.to_owned() }
    }

    /// Deploys an app for the owner.
    pub async fn deploy(
        &self,
        slug: &str,
        visibility: Visibility,
        manifest: Value,
        html: &str,
        assets: &[(&str, &str, &str)],
    ) -> Site<'_> {
        let owner = self.id_of(&self.owner);
        let assets = assets.iter().map(|(path, content_type, content)| {
            let content = content.as_bytes().into();
            VersionAsset::New(Asset::new((*path).into(), (*content_type).into(), content))
        });
        let bundle = Bundle {
            html: html.into(),
            manifest: Some(manifest.to_string()),
            assets: Some(assets.collect()),
            // A link app draws its own slug.
            visibility: Some(visibility).filter(|one| *one != Visibility::Link),
            ..Bundle::default()
        };
        let request = CreateApp {
            owner,
            org: None,
            agent: None,
            by: Caller::human(owner).principal(),
            bundle,
            slug: Some(slug.to_owned()),
            input_data: Default::default(),
            dry_run: false,
            idempotency: None,
        };
        let rooms = &self.server.state().rooms;
        rooms.control().create(request).await.expect("the app deploys");
        let app = rooms.apps().find(slug).await.expect("the app is there");
        Site { server: &self.server, app, slug: slug.to_owned() }
    }
}

impl Site<'_> {
    /// `<slug>.localhost:port`.
    pub fn host(&self) -> String {
        self.origin().split_once("://").expect("an origin").1.to_owned()
    }

    pub fn origin(&self) -> String {
        self.server.state().origins.app_origin(&self.slug)
    }

    /// A request to the app's origin.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.server.request(method, path).header("host", self.host())
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// A GET with a cookie of this app.
    pub async fn get_with(&self, path: &str, cookie: &str) -> Answer {
        Answer::of(self.request(Method::GET, path).header("cookie", cookie)).await
    }

    /// A browser's navigation.
    pub async fn open(&self, path: &str, cookie: &str) -> Answer {
        let request = self.request(Method::GET, path).header("sec-fetch-mode", "navigate");
        Answer::of(request.header("accept", "text/html").header("cookie", cookie)).await
    }

    /// Becomes an anonymous participant.
    pub async fn guest(&self) -> Guest {
        let request = self.request(Method::POST, "/s/session").json(&json!({}));
        let made = Answer::of(request).await.expect(201);
        let text = |name: &str| made[name].as_str().expect("text").to_owned();
        Guest { id: text("id"), token: text("token") }
    }

    /// A request of a participant, by its header.
    pub fn by(&self, guest: &Guest, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).header("x-service-participant-token", &guest.token)
    }

    /// Changes who reaches the app, as its owner; a new share token where it becomes `link`.
    pub async fn set_visibility(&self, visibility: Visibility) -> Option<String> {
        let token = Secret::generate(SecretKind::Share, &mut rand::rng());
        let op = AppOp::Settings {
            visibility: Some(visibility),
            share: Some(ShareToken { hash: token.hash(), sealed: "sealed".into() }),
            timezone: None,
            org: FieldPatch::Keep,
        };
        self.as_owner(op).await;
        (visibility == Visibility::Link).then(|| token.expose().to_owned())
    }

    /// An operation on the app by its owner.
    pub async fn as_owner(&self, op: AppOp) {
        let caller = Caller::human(self.app.record().owner);
        self.app.apply(caller, Op::App(op)).await.expect("the owner may");
    }
}
