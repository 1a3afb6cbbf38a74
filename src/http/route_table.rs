//! A router, and beside it which path and verb exists, which axum keeps to itself. The table is
//! asked to let "no such route" win over a refusal that comes later in the precedence, and which
//! route an answer is counted and logged under (the path itself may hold a secret).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use http::Method;
use matchit::Router;
use utoipa::openapi::{
    OpenApi, PathItem, RefOr,
    path::{Operation, ParameterIn},
};

use super::figures::RouteFigures;

/// The routes of one kind of origin.
#[derive(Debug)]
pub struct RouteTable {
    handlers: axum::Router,
    router: Router<Route>,
    figures: Arc<RouteFigures>,
}

#[derive(Debug)]
struct Route {
    /// Its place among the templates that answers are counted by.
    number: usize,
    methods: Methods,
}

/// The verbs of a path, each with the parameters of its query; `None` for a page, which takes any.
type Methods = BTreeMap<&'static str, Option<BTreeSet<String>>>;

impl RouteTable {
    /// The routes of `handlers`, counted under `name`: those of the API's `document`, and `pages` (path and verb), which
    /// are no part of it.
    #[must_use]
    pub fn new(
        name: &'static str,
        handlers: axum::Router,
        document: &OpenApi,
        pages: &[(&'static str, &'static str)],
    ) -> Self {
        let mut routes = BTreeMap::<&str, Methods>::new();
        for (path, item) in &document.paths.paths {
            routes.entry(path).or_default().extend(methods(item));
        }
        for (path, method) in pages {
            routes.entry(path).or_default().insert(method, None);
        }
        let templates = routes.keys().map(|path| (*path).to_owned()).collect();
        let mut router = Router::new();
        for (number, (path, methods)) in routes.into_iter().enumerate() {
            // The same paths are in axum's router, which has refused what contradicts itself.
            let _ = router.insert(path, Route { number, methods });
        }
        Self { handlers, router, figures: Arc::new(RouteFigures::new(name, templates)) }
    }

    /// The router, as cheap to clone as a pointer.
    pub fn handlers(&self) -> axum::Router {
        self.handlers.clone()
    }

    /// Whether `method` on `path` leads to a handler.
    #[must_use]
    pub fn has(&self, method: &Method, path: &str) -> bool {
        self.router.at(path).is_ok_and(|found| found.value.methods.contains_key(method.as_str()))
    }

    /// The first parameter in `query` that `method` on `path` does not take.
    #[must_use]
    pub fn stray(&self, method: &Method, path: &str, query: &str) -> Option<Box<str>> {
        let found = self.router.at(path).ok()?;
        let known = found.value.methods.get(method.as_str())?.as_ref()?;
        let mut names = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        names.find(|name| !known.contains(&**name)).map(|name| name.into())
    }

    /// The number of the route (`/v1/apps/{id}`) that the path belongs to, if there is one.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<usize> {
        self.router.at(path).ok().map(|found| found.value.number)
    }

    /// What is counted of the routes' answers.
    #[must_use]
    pub const fn figures(&self) -> &Arc<RouteFigures> {
        &self.figures
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
        operation.as_ref().map(|operation| (name, Some(query_of(operation))))
    });
    there.collect()
}

/// The parameters of an operation's query.
fn query_of(operation: &Operation) -> BTreeSet<String> {
    let parameters =
        operation.parameters.iter().flatten().filter_map(|parameter| match parameter {
            // None of ours is described elsewhere.
            RefOr::Ref(_) => None,
            RefOr::T(parameter) => Some(parameter),
        });
    let query = parameters.filter(|parameter| parameter.parameter_in == ParameterIn::Query);
    query.map(|parameter| parameter.name.clone()).collect()
}
