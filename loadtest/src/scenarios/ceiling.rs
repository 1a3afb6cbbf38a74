//! `GET /alive`: an answer and nothing else. What the machine, the kernel and the server's HTTP
//! layer can do at most; every other figure is read as a share of it.

use std::sync::Arc;

use crate::{api::Api, context::Context, failure::Result, load::traffic::Constant};

/// The request.
#[must_use]
pub fn workload(api: &Api) -> Constant {
    let mut request = Vec::new();
    Api::new(api.endpoint()).head().bodiless(&mut request, "GET", "/alive");
    Constant { request }
}

/// Measures it.
///
/// # Errors
/// When a phase cannot be carried out.
pub async fn run(context: &mut Context) -> Result<()> {
    let workload = Arc::new(workload(&context.target.api));
    context.measure_all("ceiling", workload).await
}
