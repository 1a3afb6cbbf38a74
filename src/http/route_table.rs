//! A router, and beside it which path and verb exists, which axum keeps to itself. The table is
//! asked only on the side roads: to let "no such route" win over a refusal that comes later in the precedence, and
//! to name the route in a log line (the path itself may hold a secret).

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use matchit::Router;
use utoipa::openapi::{OpenApi, PathItem};

/// The routes of one kind of origin.
#[derive(Debug)]
pub struct RouteTable {
    handlers: axum::Router,
    router: Router<Route>,
}

#[derive(Debug)]
struct Route {
    template: String,
    methods: BTreeSet<&'static str>,
}

impl RouteTable {
    /// The routes of `handlers`: those of the API's `document`, and `pages` (path and verb), which
    /// are no part of it.
    #[must_use]
    pub fn new(
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
        let mut router = Router::new();
        for (path, methods) in routes {
            // The same paths are in axum's router, which has refused what contradicts itself.
            let _ = router.insert(path, Route { template: path.to_owned(), methods });
        }
        Self { handlers, router }
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

    /// The route's template (`/v1/apps/{id}`), if the path belongs to one.
    #[must_use]
    pub fn template(&self, path: &str) -> Option<&str> {
        self.router.at(path).ok().map(|found| found.value.template.as_str())
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
