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
    routes::{collections, docs, feed, health},
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
    Routes::new(OpenApiRouter::new()).get("/alive", health::alive).get("/ready", health::ready)
}

/// The OpenAPI document of the service's own routes.
#[must_use]
pub fn document() -> OpenApi {
    site(OpenApiRouter::new()).document
}

fn api() -> OpenApiRouter<AppState> {
    rows(OpenApiRouter::with_openapi(openapi::skeleton()))
}

/// Rows and the feed: parts 4.3 and 6.
fn rows(api: OpenApiRouter<AppState>) -> OpenApiRouter<AppState> {
    api.routes(operation!(collections::list::list_rows, collections::list::ERRORS))
        .routes(operation!(collections::create::create_row, collections::create::ERRORS))
        .routes(operation!(collections::get::get_row, collections::get::ERRORS))
        .routes(operation!(collections::update::update_row, collections::update::ERRORS))
        .routes(operation!(collections::delete::delete_row, collections::delete::ERRORS))
        .routes(operation!(collections::purge::purge_row, collections::purge::ERRORS))
        .routes(operation!(collections::restore::restore_row, collections::restore::ERRORS))
        .routes(operation!(collections::batch_write::write_batch, collections::batch_write::ERRORS))
        .routes(operation!(
            collections::batch_delete::delete_batch,
            collections::batch_delete::ERRORS
        ))
        .routes(operation!(collections::count::count_rows, collections::count::ERRORS))
        .routes(operation!(collections::deleted::list_deleted_rows, collections::deleted::ERRORS))
        .routes(operation!(collections::retention::get_retention, collections::retention::ERRORS))
        .routes(operation!(collections::retention::set_retention, collections::retention::ERRORS))
        .routes(operation!(feed::follow::follow_feed, feed::follow::ERRORS))
        .routes(operation!(feed::emit::send_event, feed::emit::ERRORS))
        .routes(operation!(feed::challenge::get_challenge, feed::challenge::ERRORS))
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
