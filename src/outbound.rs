//! Requests that the service itself makes: bounded in time and size, without following redirects.
//!
//! What is not here: which addresses may be asked. Those are the operator's settings; what a
//! stranger names goes through `egress`.

pub mod egress;

use std::{sync::Once, time::Duration};

use reqwest::{Client, RequestBuilder, StatusCode, redirect};
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

/// A client for addresses of the settings.
///
/// # Errors
/// When the system has no trust anchors that can be read.
pub fn client() -> reqwest::Result<Client> {
    install_tls();
    Client::builder()
        .timeout(TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
        .user_agent("rookery")
        .build()
}

/// Sends a request and reads its answer whole.
///
/// # Errors
/// `unavailable`, saying that `who` does not answer; the cause, which may hold secrets, is not
/// told.
pub async fn exchange(who: &str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>)> {
    let failed = || Error::unavailable(format!("{who} does not answer"));
    let mut response = request.send().await.map_err(|_| failed())?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| failed())? {
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(failed());
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}
