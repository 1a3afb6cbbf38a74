//! Every route of the service, in one readable list.
//!
//! An API route is `operation!(its handler, its module's ERRORS)`: path, verb, bodies and
//! credentials of the OpenAPI document come from the handler itself. What a route does is in
//! `routes`.

use axum::{Router, handler::Handler, routing};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    error::ApiError,
    http::route_table::RouteTable,
    openapi, operation,
    routes::{apps, docs, health, ops},
    state::AppState,
};

/// The routes of one listener.
pub struct Routes {
    router: Router<AppState>,
    /// Path and verb of what is no part of the document.
    pages: Vec<(&'static str, &'static str)>,
    /// The document of the API's routes among them.
    pub document: OpenApi,
}

/// The routes of the public listener; `extra` are put beside them.
#[must_use]
pub fn site(extra: OpenApiRouter<AppState>) -> Routes {
    Routes::new(api().merge(extra))
        .get("/alive", health::alive)
        .get("/ready", health::ready)
        .get("/v1/openapi.json", docs::openapi)
        .get("/docs", docs::api)
        .get("/docs/style.css", docs::style)
        .get("/reference/errors", docs::errors)
        .get("/llms.txt", docs::llms)
}

/// The routes of apps' own origins; `extra` are put beside them. None of the site's is there: an
/// app's page is hostile to the site.
#[must_use]
pub fn apps(extra: OpenApiRouter<AppState>) -> Routes {
    Routes::new(extra)
}

/// The routes of the operator's listener.
#[must_use]
pub fn ops() -> Routes {
    Routes::new(OpenApiRouter::new())
        .get("/alive", health::alive)
        .get("/ready", health::ready)
        .post("/ops/apps/{id}/close", ops::close::close)
}

/// The OpenAPI document of the service's own routes.
#[must_use]
pub fn document() -> OpenApi {
    site(OpenApiRouter::new()).document
}

fn api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::skeleton()).merge(app_routes())
}

fn app_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(operation!(apps::list::list, apps::list::ERRORS))
        .routes(operation!(apps::create::create, apps::create::ERRORS))
        .routes(operation!(apps::advisories::advisories, apps::advisories::ERRORS))
        .routes(operation!(apps::get::get, apps::get::ERRORS))
        .routes(operation!(apps::update::update, apps::update::ERRORS))
        .routes(operation!(apps::delete::delete, apps::delete::ERRORS))
        .routes(operation!(apps::restore::restore, apps::restore::ERRORS))
        .routes(operation!(apps::purge::purge, apps::purge::ERRORS))
        .routes(operation!(apps::versions::deploy, apps::versions::ERRORS))
        .routes(operation!(apps::document::document, apps::document::ERRORS))
        .routes(operation!(apps::wake::wake, apps::wake::ERRORS))
        .routes(operation!(apps::migration_mode::migration_mode, apps::migration_mode::ERRORS))
        .routes(operation!(apps::disclosure::disclosure, apps::disclosure::ERRORS))
        .routes(operation!(apps::roles::roles, apps::roles::ERRORS))
}

impl Routes {
    fn new(api: OpenApiRouter<AppState>) -> Self {
        let (router, document) = api.split_for_parts();
        Self { router, pages: Vec::new(), document }
    }

    /// Adds a GET (and HEAD) that is no part of the API's document: a page.
    fn get<H, T>(mut self, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.router = self.router.route(path, routing::get(handler));
        self.pages.extend([(path, "GET"), (path, "HEAD")]);
        self
    }

    /// Adds a POST that is no part of the API's document: the operator's.
    fn post<H, T>(mut self, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.router = self.router.route(path, routing::post(handler));
        self.pages.push((path, "POST"));
        self
    }

    /// The router with its state, and the table of what it knows.
    #[must_use]
    pub fn into_table(self, state: &AppState) -> RouteTable {
        let pages = self.pages;
        let router = self
            .router
            .fallback(|| async { ApiError::unknown_path() })
            .method_not_allowed_fallback(|| async { ApiError::unknown_verb() })
            .with_state(state.clone());
        RouteTable::new(router, &self.document, &pages)
    }
}
