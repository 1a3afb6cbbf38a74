//! A router, and beside it which path and verb exists, which axum keeps to itself. The table is
//! asked to let "no such route" win over a refusal that comes later in the precedence, and which
//! route an answer is counted and logged under (the path itself may hold a secret).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use http::{HeaderMap, Method, Uri, header};
use matchit::Router;
use rookery_domain::text::quoted;
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use crate::http::{
    edge::figures::{Listener, RouteFigures},
    params::behind_path,
};

/// The routes of one kind of origin.
#[derive(Debug)]
pub struct RouteTable {
    handlers: axum::Router,
    router: Router<Route>,
    figures: Arc<RouteFigures>,
}

/// One path of the table.
#[derive(Debug)]
pub struct Route {
    /// Its place among the templates that answers are counted by.
    pub number: usize,
    methods: Methods,
}

/// The verbs of a path, each with what it takes; `None` for a page, which leaves alone what it does
/// not know.
type Methods = BTreeMap<&'static str, Option<Takes>>;

/// Paths and verbs, before there is a router for them.
#[derive(Debug, Default)]
pub struct KnownRoutes(BTreeMap<String, Methods>);

impl KnownRoutes {
    /// Those of an API's document.
    #[must_use]
    pub fn of(document: &OpenApi) -> Self {
        let paths = document.paths.paths.iter();
        Self(paths.map(|(path, item)| (path.clone(), methods(item))).collect())
    }

    /// Adds a page, which is no part of the document.
    pub fn add_page(&mut self, path: &str, method: &'static str) {
        self.0.entry(path.to_owned()).or_default().insert(method, None);
    }

    /// The pages among them.
    #[must_use]
    pub fn pages(&self) -> Pages {
        let is_page = |methods: &Methods| methods.get("GET").is_some_and(Option::is_none);
        let pages = self.0.iter().filter(|(path, methods)| {
            // Programs ask there, and are told what is wrong with a path.
            is_page(methods) && !path.starts_with("/v1/")
        });
        let mut router = Router::new();
        for (path, _) in pages {
            // As for the whole table.
            let _ = router.insert(path.clone(), ());
        }
        Pages(Arc::new(router))
    }
}

/// The paths of pages, for who types one with a slash behind it.
#[derive(Debug, Clone)]
pub struct Pages(Arc<Router<()>>);

impl Pages {
    /// The page that somebody means by an address at which nothing is: its own, without the slash at
    /// the end.
    #[must_use]
    pub fn meant(&self, method: &Method, uri: &Uri) -> Option<String> {
        let path = uri
            .path()
            .strip_suffix('/')
            .filter(|_| matches!(*method, Method::GET | Method::HEAD))?;
        self.0.at(path).ok()?;
        Some(format!("{path}{}", behind_path(uri.query())))
    }
}

/// What an operation takes beside its path and body.
#[derive(Debug)]
struct Takes {
    /// The parameters of its query.
    query: BTreeSet<String>,
    /// Whether `If-Match` may be a condition of it.
    if_match: bool,
}

impl RouteTable {
    /// The routes of `handlers`, which are `known`, counted as those of `listener`.
    #[must_use]
    pub fn new(listener: Listener, handlers: axum::Router, known: KnownRoutes) -> Self {
        let templates = known.0.keys().cloned().collect();
        let mut router = Router::new();
        for (number, (path, methods)) in known.0.into_iter().enumerate() {
            // The same paths are in axum's router, which has refused what contradicts itself.
            let _ = router.insert(path, Route { number, methods });
        }
        Self { handlers, router, figures: Arc::new(RouteFigures::new(listener, templates)) }
    }

    /// The router, as cheap to clone as a pointer.
    pub fn handlers(&self) -> axum::Router {
        self.handlers.clone()
    }

    /// The route that a path belongs to, if there is one.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Route> {
        self.router.at(path).ok().map(|found| found.value)
    }

    /// What is counted of the routes' answers.
    #[must_use]
    pub const fn figures(&self) -> &Arc<RouteFigures> {
        &self.figures
    }
}

impl Route {
    /// Whether there is a handler for `method`.
    #[must_use]
    pub fn has(&self, method: &Method) -> bool {
        self.methods.contains_key(method.as_str())
    }

    /// What a request brings that `method` does not take here, in words: a parameter of its query, or
    /// among its `headers` a condition of a change, which must not be passed over (RFC 9110, 13.1.1 and
    /// 13.1.2). Those of a read are the boundary's.
    #[must_use]
    pub fn stray(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Box<str>> {
        let query = uri.query().filter(|query| !query.is_empty());
        let condition = |name| !method.is_safe() && headers.contains_key(name);
        let (if_match, if_none_match) =
            (condition(header::IF_MATCH), condition(header::IF_NONE_MATCH));
        if query.is_none() && !if_match && !if_none_match {
            return None;
        }
        let takes = self.methods.get(method.as_str())?.as_ref()?;
        let mut names = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        if let Some((name, _)) = names.find(|(name, _)| !takes.query.contains(&**name)) {
            return Some(format!("query: unknown parameter {}", quoted(&name)).into());
        }
        let unknown = match (if_match && !takes.if_match, if_none_match) {
            (true, _) => "If-Match",
            (false, true) => "If-None-Match",
            (false, false) => return None,
        };
        Some(format!("{unknown}: this route knows no such condition").into())
    }
}

fn methods(item: &PathItem) -> Methods {
    let operations = [
        (&item.get, "GET"),
        // axum answers HEAD wherever there is a GET.
        (item.head.as_ref().map_or(&item.get, |_| &item.head), "HEAD"),
        (&item.post, "POST"),
        (&item.put, "PUT"),
        (&item.patch, "PATCH"),
        (&item.delete, "DELETE"),
    ];
    let there = operations.into_iter().filter_map(|(operation, name)| {
        let operation = operation.as_ref()?;
        let if_match = names(operation, &ParameterIn::Header).contains("If-Match");
        Some((name, Some(Takes { query: names(operation, &ParameterIn::Query), if_match })))
    });
    there.collect()
}

/// The names of an operation's parameters that stand in `place`.
fn names(operation: &Operation, place: &ParameterIn) -> BTreeSet<String> {
    let parameters =
        operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
            // None of ours is described elsewhere.
            RefOr::Ref(_) => None,
            RefOr::T(parameter) => Some(parameter),
        });
    let there = parameters.filter(|parameter| parameter.parameter_in == *place);
    there.map(|parameter| parameter.name.clone()).collect()
}
