//! A router, and beside it which path and verb exists, which axum keeps to itself. The table is
//! asked to let "no such route" win over a refusal that comes later in the precedence, and which
//! route an answer is counted and logged under (the path itself may hold a secret).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use http::Method;
use matchit::Router;
use utoipa::openapi::{OpenApi, PathItem};

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
    methods: BTreeSet<&'static str>,
}

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
        let mut routes = BTreeMap::<&str, BTreeSet<&'static str>>::new();
        for (path, item) in &document.paths.paths {
            routes.entry(path).or_default().extend(methods(item));
        }
        for (path, method) in pages {
            routes.entry(path).or_default().insert(method);
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
        self.router.at(path).is_ok_and(|found| found.value.methods.contains(method.as_str()))
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

fn methods(item: &PathItem) -> BTreeSet<&'static str> {
    let operations = [
        (item.get.is_some(), "GET"),
        // axum answers HEAD wherever there is a GET.
        (item.get.is_some() || item.head.is_some(), "HEAD"),
        (item.post.is_some(), "POST"),
        (item.put.is_some(), "PUT"),
        (item.patch.is_some(), "PATCH"),
        (item.delete.is_some(), "DELETE"),
    ];
    operations.into_iter().filter_map(|(there, name)| there.then_some(name)).collect()
}
