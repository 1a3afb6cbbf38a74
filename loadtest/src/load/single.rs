//! Requests one after the other on one connection, each a case of its own: what a caller of just this
//! one waits.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::{GeneratorUse, Recorder, Recording, recorder::Sample};
use crate::{
    client::{ClientError, Endpoint},
    failure::Result,
};

/// Sends each of `requests` when the one before was answered or given up.
///
/// # Errors
/// When no connection can be opened.
pub async fn one_by_one(
    endpoint: &Endpoint,
    requests: impl Iterator<Item = Vec<u8>>,
    time_each: Duration,
) -> Result<Recording> {
    let mut connection = endpoint.connect().await?;
    let mut recorder = Recorder::new(1, false);
    let start = Instant::now();
    for request in requests {
        if !connection.is_usable(Instant::now()) {
            connection = endpoint.connect().await?;
        }
        let sent = start.elapsed();
        let answered = timeout(time_each, connection.exchange(&request)).await;
        let error = match answered.unwrap_or(Err(ClientError::Timeout)) {
            Ok(answer) if answer.is_ok() => None,
            Ok(answer) => Some(format!("http_{}", answer.status)),
            Err(error) => Some(error.name().to_owned()),
        };
        let (lane, intended, done) = (0, sent, start.elapsed());
        recorder.record(Sample { lane, intended, sent, done, error: error.as_deref() });
    }
    let elapsed = start.elapsed().max(Duration::from_nanos(1));
    let generator = GeneratorUse { threads: 1, ..Default::default() };
    Ok(Recording { recorder, elapsed, generator })
}
