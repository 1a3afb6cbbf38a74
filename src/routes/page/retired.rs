//! What takes a service worker out of browsers that an app has left behind: with the file of its script
//! it would stay there for good, and show whoever comes to the origin what its author wanted, whatever the
//! app, its owner or the visitor's permissions are by now.
//!
//! A browser looks whether the script has changed at each visit, past the worker itself. What it finds here
//! in the place of one that is there no more takes the worker's place and leaves.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::{http::reply::NO_STORE, pages::policy::base_headers};

/// How a browser says that it looks for the script of a service worker (Service Workers, the algorithm Update).
const SERVICE_WORKER: HeaderName = HeaderName::from_static("service-worker");

/// Takes over at once, leaves, and has the pages that it took over loaded from the server.
const SCRIPT: &str = "\
// The app has no service worker at this address any more: this one takes its place and leaves.
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil((async () => {
  await registration.unregister();
  for (const page of await clients.matchAll({ type: 'window' })) page.navigate(page.url);
})()));
";

/// Whether a browser looks for the script of a service worker.
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.get(&SERVICE_WORKER).is_some_and(|value| value == "script")
}

/// The worker that leaves.
pub(super) fn worker() -> Response {
    let mut response = Response::new(SCRIPT.into());
    let headers = response.headers_mut();
    base_headers(headers);
    headers
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/javascript; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    response
}
