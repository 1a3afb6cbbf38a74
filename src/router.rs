//! Every route of the service, in one readable list.
//!
//! An API route is `operation!(its handler, its module's ERRORS)`: path, verb, bodies and
//! credentials of the OpenAPI document come from the handler itself. What a route does is in
//! `routes`.

use axum::{
    Router,
    handler::Handler,
    response::{IntoResponse as _, Redirect},
    routing,
};
use http::{Method, Uri};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::{
    error::ApiError,
    http::edge::{
        figures::Listener,
        route_table::{KnownRoutes, RouteTable},
    },
    openapi::{self, AtOrigin},
    operation,
    routes::{
        account, agents, apps, auth, claim_codes,
        collections::{
            self,
            app_request::Surface,
            callers::{Api, Callers, Origin},
        },
        credentials, device, docs, domains, feed, grants, health, keys, members, ops, org_members,
        orgs, page, preview_tokens, push_subscriptions, register, self_agents, self_apps,
        self_transfers, share_link, site as pages, test_sessions, transfers, usage, visitor,
    },
    state::AppState,
};

/// The routes of one listener.
pub struct Routes {
    router: Router<AppState>,
    known: KnownRoutes,
}

/// The routes of the public listener, and the document of the API's among them; `extra` are put
/// beside them.
#[must_use]
pub fn site(extra: OpenApiRouter<AppState>) -> (Routes, OpenApi) {
    let (routes, document) = Routes::new(api().merge(extra));
    let routes = routes
        .get("/alive", health::alive)
        .get("/ready", health::ready)
        .get("/v1/openapi.json", docs::document(docs::JSON, |all| &all.openapi))
        .get("/docs", docs::document(docs::HTML, |all| &all.docs))
        .get("/docs/style.css", docs::style)
        .get("/reference/api.md", docs::document(docs::MARKDOWN, |all| &all.api_markdown))
        .get("/reference/errors", docs::document(docs::HTML, |all| &all.errors))
        .get("/reference/errors.md", docs::document(docs::MARKDOWN, |all| &all.errors_markdown))
        .get("/reference/manifest", docs::document(docs::HTML, |all| &all.manifest.page))
        .get("/reference/manifest.md", docs::document(docs::MARKDOWN, |all| &all.manifest.markdown))
        .get("/reference/sdk", docs::document(docs::HTML, |all| &all.sdk.page))
        .get("/reference/sdk.md", docs::document(docs::MARKDOWN, |all| &all.sdk.markdown))
        .get("/llms.txt", docs::document(docs::TEXT, |all| &all.llms))
        .get("/", pages::welcome::page)
        .get("/sign-in", pages::sign_in::page)
        .post("/sign-in", pages::sign_in::submit)
        .get("/sign-in/confirm", pages::confirm::page)
        .get("/sign-in/sent", pages::sign_in::sent)
        .get("/device", pages::device::page)
        .post("/device", pages::device::decide)
        .get("/dev/mailbox", pages::mailbox::page)
        .get("/transfers", pages::transfers::page)
        .post("/transfers", pages::transfers::decide)
        .get("/static/{file}", pages::assets::file)
        .get("/push-worker.js", pages::assets::push_worker)
        .post("/sign-out", pages::sign_out::submit)
        .get("/signed-out", pages::sign_out::page)
        .get("/account-deleted", pages::sign_out::account_deleted)
        .get("/first-run", pages::first_run::page)
        .post("/first-run", pages::first_run::start)
        .get("/first-run/steps", pages::first_run::steps)
        .get("/agents", pages::agents::page)
        .post("/agents", pages::agents::act)
        .get("/orgs", pages::orgs::list::page)
        .post("/orgs", pages::orgs::list::create)
        .get("/orgs/{id}", pages::orgs::one::page)
        .post("/orgs/{id}", pages::orgs::one::act)
        .get("/usage", pages::usage::page)
        .get("/trash", pages::trash::page)
        .get("/account", pages::account::page)
        .post("/account", pages::account::act)
        .get("/apps/{id}", pages::app::overview::page)
        .post("/apps/{id}", pages::app::actions::act)
        .get("/apps/{id}/data", pages::app::data::list::first)
        .get("/apps/{id}/data/{collection}", pages::app::data::list::page)
        .get("/apps/{id}/data/{collection}/changes", pages::app::data::changes::wait)
        .get("/apps/{id}/data/{collection}/new", pages::app::data::create::page)
        .post("/apps/{id}/data/{collection}/new", pages::app::data::create::submit)
        .get("/apps/{id}/data/{collection}/trash", pages::app::data::trash::page)
        .get("/apps/{id}/data/{collection}/rows/{key}", pages::app::data::row::page)
        .post("/apps/{id}/data/{collection}/rows/{key}", pages::app::data::row::act)
        .get("/apps/{id}/sharing", pages::app::sharing::page::page)
        .post("/apps/{id}/sharing", pages::app::sharing::actions::act)
        .get("/apps/{id}/analytics", pages::app::analytics::page)
        .get("/apps/{id}/usage", pages::app::usage::page)
        .get("/apps/{id}/settings", pages::app::settings::page)
        .post("/apps/{id}/settings", pages::app::settings::act)
        .get("/apps/{id}/domains", pages::app::domains::page)
        .post("/apps/{id}/domains", pages::app::domains::act)
        .get("/apps/{id}/versions", pages::app::versions::list::page)
        .get("/apps/{id}/versions/{number}", pages::app::versions::one::page)
        .post("/apps/{id}/versions/{number}", pages::app::versions::roll_back::submit)
        .get("/authorize", visitor::authorize::authorize);
    (routes, document)
}

/// The routes of apps' own origins, and the document of the API's among them; `extra` are put beside
/// them. None of the site's is there: an app's page is hostile to the site.
#[must_use]
pub fn apps(extra: OpenApiRouter<AppState>) -> (Routes, OpenApi) {
    let (routes, document) = Routes::new(participant_api().merge(extra));
    let routes = routes
        .otherwise("/s", page::reserved)
        .otherwise("/s/", page::reserved)
        .otherwise("/s/{*path}", page::reserved)
        .get("/", page::page)
        .get("/{*path}", page::page)
        .get("/s/sdk.js", page::sdk)
        .get("/s/solver.js", page::solver)
        .get("/s/sdk.d.ts", page::types)
        .get("/s/sign-in", visitor::sign_in::sign_in)
        .get("/s/callback", visitor::callback::callback)
        .get("/s/share/{token}", visitor::share::share)
        .get("/s/grant/{token}", visitor::grant::grant)
        .post("/s/grant/{token}", visitor::grant::accept)
        .get("/s/preview/{token}", visitor::preview::preview)
        .post("/s/preview/{token}", visitor::preview::accept);
    (routes, document)
}

/// The routes of the operator's listener, and the document of the API's among them.
#[must_use]
pub fn ops() -> (Routes, OpenApi) {
    let (routes, document) = Routes::new(operators_api());
    let routes = routes
        .get("/alive", health::alive)
        .get("/ready", health::ready)
        .get("/metrics", ops::overview::prometheus)
        .get("/", ops::pages::start)
        .get("/ops", ops::pages::overview)
        .get("/ops/tree", ops::pages::tree)
        .get("/ops/hot", ops::pages::hot)
        .get("/ops/restarts", ops::pages::restarts)
        .get("/ops/apps/{id}", ops::pages::app)
        .post("/ops/apps/{id}", ops::pages::act)
        .get("/ops/live", ops::pages::live)
        .get("/ops/console.js", ops::pages::script)
        .get("/ops/console.css", ops::pages::style)
        .get("/ops/api/openapi.json", ops::document::document)
        .post("/ops/apps/{id}/close", ops::close::close);
    (routes, document)
}

/// The OpenAPI document of the service's own routes.
#[must_use]
pub fn document() -> OpenApi {
    whole_document(site(OpenApiRouter::new()).1, apps(OpenApiRouter::new()).1)
}

/// One document of both kinds of origin: each path of an app's origin names its server.
#[must_use]
pub fn whole_document(mut site: OpenApi, mut apps: OpenApi) -> OpenApi {
    openapi::serve_from_app_origin(&mut apps);
    site.merge(apps);
    openapi::share_items(&mut site);
    openapi::list_aliases(&mut site);
    openapi::rules::write(&mut site);
    site
}

fn api() -> OpenApiRouter<AppState> {
    let api = OpenApiRouter::with_openapi(openapi::skeleton());
    rows(accounts(api))
        .merge(account_routes())
        .merge(push())
        .merge(app_routes())
        .merge(sharing())
        .merge(ownership())
}

/// Enrollment, sign-in and the human's agents: parts 4.1, 4.7 and 4.8.
fn accounts(api: OpenApiRouter<AppState>) -> OpenApiRouter<AppState> {
    api.routes(operation!(register::register, register::ERRORS))
        .routes(operation!(agents::claim::claim, agents::claim::ERRORS))
        .routes(operation!(device::code::code, device::code::ERRORS))
        .routes(operation!(device::token::token, device::token::ERRORS))
        .routes(operation!(keys::list::list, keys::list::ERRORS))
        .routes(operation!(keys::create::create, keys::create::ERRORS))
        .routes(operation!(keys::delete::delete, keys::delete::ERRORS))
        .routes(operation!(auth::request_link::request_link, auth::request_link::ERRORS))
        .routes(operation!(auth::verify::verify, auth::verify::ERRORS))
        .routes(operation!(auth::logout::logout, auth::logout::ERRORS))
        .routes(operation!(auth::status::status, auth::status::ERRORS))
        .routes(operation!(auth::idp::begin_idp, auth::idp::ERRORS))
        .routes(operation!(auth::idp_callback::finish_idp, auth::idp_callback::ERRORS))
        .routes(operation!(claim_codes::create::create, claim_codes::create::ERRORS))
        .routes(operation!(self_agents::list::list, self_agents::list::ERRORS))
        .routes(operation!(self_agents::rename::rename, self_agents::rename::ERRORS))
        .routes(operation!(self_agents::pause::pause, self_agents::pause::ERRORS))
        .routes(operation!(self_agents::pause::resume, self_agents::pause::ERRORS))
        .routes(operation!(self_agents::revoke_key::revoke_key, self_agents::revoke_key::ERRORS))
        .routes(operation!(self_agents::rotate_key::rotate_key, self_agents::rotate_key::ERRORS))
        .routes(operation!(usage::account::own_usage, usage::account::ERRORS))
        .routes(operation!(usage::series::series, usage::series::ERRORS))
}

/// The account of a signed-in human: the rest of part 4.7, and its sessions.
fn account_routes() -> OpenApiRouter<AppState> {
    use account::{delete, marketing_consent as consent, profile, sessions, signup_source};
    use self_apps::{deleted, favorite, list, recent, view};
    OpenApiRouter::new()
        .routes(operation!(delete::delete_account, delete::ERRORS))
        .routes(operation!(profile::read_profile, profile::READ_ERRORS))
        .routes(operation!(profile::update_profile, profile::UPDATE_ERRORS))
        .routes(operation!(consent::set_marketing_consent, consent::ERRORS))
        .routes(operation!(signup_source::record_signup_source, signup_source::ERRORS))
        .routes(operation!(sessions::list_sessions, sessions::LIST_ERRORS))
        .routes(operation!(sessions::end_session, sessions::END_ERRORS))
        .routes(operation!(sessions::end_sessions, sessions::END_ALL_ERRORS))
        .routes(operation!(list::list_own_apps, list::ERRORS))
        .routes(operation!(deleted::list_deleted_apps, deleted::ERRORS))
        .routes(operation!(recent::list_recent_apps, recent::ERRORS))
        .routes(operation!(favorite::add_favorite, favorite::ADD_ERRORS))
        .routes(operation!(favorite::remove_favorite, favorite::REMOVE_ERRORS))
        .routes(operation!(view::view, view::ERRORS))
}

/// The browsers in which a human is told things: of part 4.7.
fn push() -> OpenApiRouter<AppState> {
    use push_subscriptions::{delete, save, vapid_public_key as key};
    OpenApiRouter::new()
        .routes(operation!(key::read_vapid_public_key, key::ERRORS))
        .routes(operation!(save::save_push_subscription, save::ERRORS))
        .routes(operation!(delete::delete_push_subscription, delete::ERRORS))
}

/// By which an app's page speaks to its app.
fn participant_api() -> OpenApiRouter<AppState> {
    use visitor::{access, challenge, session};
    OpenApiRouter::new()
        .routes(operation!(session::read, session::READ_ERRORS))
        .routes(operation!(session::create, session::CREATE_ERRORS))
        .routes(operation!(session::delete, session::DELETE_ERRORS))
        .routes(operation!(access::access, access::ERRORS))
        .routes(operation!(challenge::get_challenge, feed::challenge::ERRORS))
        .merge(rows_and_feed::<Origin>())
}

/// Rows and the feed, and what of them only the API has.
fn rows(api: OpenApiRouter<AppState>) -> OpenApiRouter<AppState> {
    api.routes(operation!(collections::retention::get_retention, collections::retention::ERRORS))
        .routes(operation!(collections::retention::set_retention, collections::retention::ERRORS))
        .routes(operation!(feed::challenge::get_challenge, feed::challenge::ERRORS))
        .merge(rows_and_feed::<Api>())
}

/// Registers a handler of rows or the feed for the callers of one interface. On apps' own origins the
/// document refers to the API, adds the note, and says what differs.
macro_rules! shared {
    ($callers:ident, $module:ident::$handler:ident, $note:expr) => {{
        use $module::*;
        let $handler = $handler::<$callers>;
        let mut routes = utoipa_axum::routes!($handler);
        if $callers::SURFACE == Surface::Origin {
            openapi::serve_at_origin(&mut routes.1, $note.into());
        }
        openapi::describe(&$handler, stringify!($handler), ERRORS, routes)
    }};
}

/// Rows and the feed, parts 4.3 and 6: the same for the callers of either interface.
fn rows_and_feed<C: Callers>() -> OpenApiRouter<AppState> {
    use collections::{
        batch_delete, batch_write, count, create, delete, deleted, get, list, purge, restore,
        update,
    };
    use feed::{emit, follow};
    let budget = "; visitors with no right but that of `anyone`, signed in\nor not, write within the \
                  collection's `anonWriteBudget`";
    let trash = AtOrigin {
        note: ": for the owner",
        summary: Some("Lists the rows in the trash"),
        id: None,
    };
    let followed = AtOrigin {
        note: ", as JSON or as an event stream. It ends when the visitor leaves,\nsigns out, or is no \
               longer let in",
        summary: Some("Follows the app"),
        id: Some("participant_feed"),
    };
    OpenApiRouter::new()
        .routes(shared!(C, list::list_rows, ", as far as this visitor may read"))
        .routes(shared!(C, create::create_row, budget))
        .routes(shared!(C, get::get_row, ""))
        .routes(shared!(C, update::update_row, ""))
        .routes(shared!(C, delete::delete_row, ""))
        .routes(shared!(C, purge::purge_row, ": for the owner"))
        .routes(shared!(C, restore::restore_row, ": for the owner"))
        .routes(shared!(C, batch_write::write_batch, "; each row spends the budget"))
        .routes(shared!(C, batch_delete::delete_batch, ""))
        .routes(shared!(C, count::count_rows, ""))
        .routes(shared!(C, deleted::list_deleted_rows, trash))
        .routes(shared!(C, follow::follow_feed, followed))
        .routes(shared!(C, emit::send_event, ""))
}

/// What operators see and do.
fn operators_api() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::operators())
        .routes(operation!(ops::overview::overview, ops::overview::ERRORS))
        .routes(operation!(ops::tree::tree, ops::tree::ERRORS))
        .routes(operation!(ops::hot::hot, ops::hot::ERRORS))
        .routes(operation!(ops::restarts::restarts, ops::restarts::ERRORS))
        .routes(operation!(ops::app::app, ops::app::ERRORS))
        .routes(operation!(ops::act::act, ops::act::ERRORS))
        .routes(operation!(ops::act::actions, ops::act::LIST_ERRORS))
}

/// Apps: part 4.2 and what 4.4 shows of a manifest.
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
        .routes(operation!(apps::manifest::manifest, apps::manifest::ERRORS))
        .routes(operation!(apps::wake::wake, apps::wake::ERRORS))
        .routes(operation!(apps::unrestricted::unrestricted, apps::unrestricted::ERRORS))
        .routes(operation!(apps::migration_mode::migration_mode, apps::migration_mode::ERRORS))
        .routes(operation!(apps::disclosure::disclosure, apps::disclosure::ERRORS))
        .routes(operation!(apps::roles::roles, apps::roles::ERRORS))
        .routes(operation!(apps::screenshot::screenshot, apps::screenshot::ERRORS))
        .routes(operation!(apps::types::types, apps::types::ERRORS))
        .routes(operation!(domains::bind::bind, domains::bind::ERRORS))
        .routes(operation!(domains::read::read, domains::read::ERRORS))
        .routes(operation!(domains::remove::remove, domains::remove::ERRORS))
        .routes(operation!(usage::analytics::analytics, usage::analytics::ERRORS))
        .routes(operation!(usage::app::app_usage, usage::app::ERRORS))
}

/// Organizations and the transfer of ownership: of part 4.4.
fn ownership() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(operation!(orgs::list::list, orgs::list::ERRORS))
        .routes(operation!(orgs::create::create, orgs::create::ERRORS))
        .routes(operation!(orgs::get::get, orgs::get::ERRORS))
        .routes(operation!(orgs::update::update, orgs::update::ERRORS))
        .routes(operation!(org_members::list::list, org_members::list::ERRORS))
        .routes(operation!(org_members::add::add, org_members::add::ERRORS))
        .routes(operation!(org_members::update::update, org_members::update::ERRORS))
        .routes(operation!(org_members::remove::remove, org_members::remove::ERRORS))
        .routes(operation!(transfers::get::get, transfers::get::ERRORS))
        .routes(operation!(transfers::create::create, transfers::create::ERRORS))
        .routes(operation!(transfers::withdraw::withdraw, transfers::withdraw::ERRORS))
        .routes(operation!(self_transfers::list::list, self_transfers::list::ERRORS))
        .routes(operation!(self_transfers::accept::accept, self_transfers::accept::ERRORS))
        .routes(operation!(self_transfers::decline::decline, self_transfers::decline::ERRORS))
}

/// Members, grant links, previews, credentials, share links and test sessions: of part 4.4.
fn sharing() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(operation!(members::list::list, members::list::ERRORS))
        .routes(operation!(members::add::add, members::add::ERRORS))
        .routes(operation!(members::update::update, members::update::ERRORS))
        .routes(operation!(members::remove::remove, members::remove::ERRORS))
        .routes(operation!(grants::list::list, grants::list::ERRORS))
        .routes(operation!(grants::create::create, grants::create::ERRORS))
        .routes(operation!(grants::revoke::revoke, grants::revoke::ERRORS))
        .routes(operation!(preview_tokens::list::list, preview_tokens::list::ERRORS))
        .routes(operation!(preview_tokens::create::create, preview_tokens::create::ERRORS))
        .routes(operation!(preview_tokens::revoke::revoke, preview_tokens::revoke::ERRORS))
        .routes(operation!(credentials::list::list, credentials::list::ERRORS))
        .routes(operation!(credentials::create::create, credentials::create::ERRORS))
        .routes(operation!(credentials::revoke::revoke, credentials::revoke::ERRORS))
        .routes(operation!(credentials::pause::pause, credentials::pause::ERRORS))
        .routes(operation!(credentials::pause::resume, credentials::pause::ERRORS))
        .routes(operation!(credentials::rotate::rotate, credentials::rotate::ERRORS))
        .routes(operation!(share_link::rotate::rotate, share_link::rotate::ERRORS))
        .routes(operation!(test_sessions::create::create, test_sessions::create::ERRORS))
}

impl Routes {
    fn new(api: OpenApiRouter<AppState>) -> (Self, OpenApi) {
        let (router, document) = api.split_for_parts();
        (Self { router, known: KnownRoutes::of(&document) }, document)
    }

    /// Adds a GET (and HEAD) that is no part of the API's document: a page.
    fn get<H, T>(mut self, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.router = self.router.route(path, routing::get(handler));
        self.known.add_page(path, "GET");
        self.known.add_page(path, "HEAD");
        self
    }

    /// Adds a POST that is no part of the API's document: a page's form, or the operator's.
    fn post<H, T>(mut self, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.router = self.router.route(path, routing::post(handler));
        self.known.add_page(path, "POST");
        self
    }

    /// Has `handler` answer where none of the routes does, whatever the verb: the service has nothing
    /// at such a path, so the table does not know it.
    fn otherwise<H, T>(mut self, path: &'static str, handler: H) -> Self
    where
        H: Handler<T, AppState>,
        T: 'static,
    {
        self.router = self.router.route(path, routing::any(handler));
        self
    }

    /// The router, to which whoever has a request answered by it gives its state.
    pub fn handlers(&self) -> Router<AppState> {
        let pages = self.known.pages();
        let nothing_here = async move |method: Method, uri: Uri| match pages.meant(&method, &uri) {
            Some(page) => Redirect::permanent(&page).into_response(),
            None => ApiError::unknown_path().into_response(),
        };
        let router = self.router.clone().fallback(nothing_here);
        router.method_not_allowed_fallback(|| async { ApiError::unknown_verb() })
    }

    /// The router with its state, and the table of what it knows; answers are counted
    /// as those of `listener`.
    #[must_use]
    pub fn into_table(self, listener: Listener, state: &AppState) -> RouteTable {
        RouteTable::new(listener, self.handlers().with_state(state.clone()), self.known)
    }
}
