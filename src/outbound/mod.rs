//! Requests that the service itself makes: bounded in time and size, without following redirects.
//!
//! What is not here: which addresses may be asked. Those are the operator's settings; what a
//! stranger names goes through `egress`.

pub mod egress;

use std::{sync::Once, time::Duration};

use reqwest::{Client, ClientBuilder, RequestBuilder, StatusCode, redirect};
use rookery_domain::{Error, Result};

/// For one whole request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// For the connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// Chooses the cryptography of TLS, once for the process. Every client needs it.
pub fn install_tls() {
    static DONE: Once = Once::new();
    // Whoever came before chose for the process; that is as good.
    DONE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// Builds a client; where the system has no trust anchors that can be read, one that trusts no server: it
/// speaks plain http, and https to nobody.
///
/// # Errors
/// When that fails too.
pub fn with_or_without_anchors(build: impl Fn() -> ClientBuilder) -> reqwest::Result<Client> {
    static SAID: Once = Once::new();
    install_tls();
    build().build().or_else(|error| {
        SAID.call_once(|| {
            tracing::warn!(
                error = chain(&error),
                "this system has no trust anchors: nothing can be asked over https; install its package \
                 of them, often called ca-certificates"
            );
        });
        build().tls_certs_only([]).build()
    })
}

/// A client for an address of the settings, which is the operator's to choose: with trust anchors, unless
/// it is asked over plain http.
///
/// # Errors
/// When the system has no trust anchors that can be read, and the address needs them.
pub fn client(address: &str) -> reqwest::Result<Client> {
    if address.starts_with("http://") {
        return with_or_without_anchors(bounded);
    }
    install_tls();
    bounded().build()
}

/// What every client of the service has in common.
fn bounded() -> ClientBuilder {
    Client::builder()
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
        .user_agent("rookery")
}

/// `unavailable`: `who` does not answer, or with nothing that helps.
#[must_use]
pub fn unanswered(who: &str) -> Error {
    Error::unavailable(format!("{who} does not answer"))
}

/// Sends a request and reads its answer whole.
///
/// # Errors
/// [`unanswered`], also for a status of 5xx. The log has the cause, without the address, which may hold
/// secrets.
pub async fn exchange(who: &str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>)> {
    let broken = |error: reqwest::Error| unanswered(who).caused_by(chain(&error.without_url()));
    let mut response = request.send().await.map_err(broken)?;
    let status = response.status();
    if status.is_server_error() {
        return Err(unanswered(who).caused_by(format!("it answers {status}")));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(unanswered(who).caused_by("its answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((status, body))
}

/// An error with what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}
