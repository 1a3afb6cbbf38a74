//! Batches: many single decisions, with a result for each, or all of them or none.

use rookery_domain::{Error, ErrorCode, Result};
use serde_json::{Map, Value};

use super::Decision;
use crate::app::{
    aside::Limit,
    message::{RowReply, WriteRow},
};

/// Bytes of details after which the refusals of one batch tell no more of them: a conflict quotes the
/// whole row, and the same few bytes could ask for it 500 times.
const TOLD_BYTES_MAX: usize = 1 << 20;
/// Bytes of rows by which the answer to a batch may exceed what the batch brought. Without a bound a
/// small request could have the largest rows merged, kept for the feed and quoted 500 times.
const GAIN_BYTES_MAX: usize = 1 << 20;

/// What to do about entries whose turn did not come, while others stand: the same request again would do
/// those twice, or be told the same under its key.
const SEND_THE_REST: &str = "Send the entries that were refused so in another batch, under another \
                             Idempotency-Key where there is one. The others stand.";

impl Decision<'_> {
    /// Creates or upserts each row, within the bound of a batch's answer.
    pub(super) fn batch_write(
        &mut self,
        ix: usize,
        rows: Vec<WriteRow>,
        atomic: bool,
    ) -> Result<Vec<Result<RowReply>>> {
        let mut gain = 0_usize;
        self.batch(rows, atomic, |decision, row| {
            if gain > GAIN_BYTES_MAX {
                return Err(turned_away(gained_too_much(), atomic));
            }
            let brought = row.data().text().len();
            let reply = match row {
                WriteRow::Create(row) => decision.create(ix, row),
                WriteRow::Upsert(row) => decision.upsert(ix, row),
            }?;
            gain += reply.row.data().len().saturating_sub(brought);
            Ok(reply)
        })
    }

    /// Decides each item as the single call would. `atomic`: the first refusal is the answer, with
    /// its index in `details.index`, and nothing is left of the rest. Entries whose turn does not
    /// come in time are refused. Beyond [`TOLD_BYTES_MAX`] refusals tell no details.
    pub(super) fn batch<T>(
        &mut self,
        items: Vec<T>,
        atomic: bool,
        mut one: impl FnMut(&mut Self, T) -> Result<RowReply>,
    ) -> Result<Vec<Result<RowReply>>> {
        let mark = atomic.then(|| self.working.mark());
        let limit = Limit::of_batch();
        let mut results = Vec::with_capacity(items.len());
        let mut refused = None;
        let mut told = 0_usize;
        for (index, item) in items.into_iter().enumerate() {
            let in_time = limit.check().map_err(|late| turned_away(late, atomic));
            match (in_time.and_then(|()| one(self, item)), &mark) {
                (Err(error), Some(_)) => {
                    refused = Some(at_index(error, index));
                    break;
                }
                (Err(error), None) if told > TOLD_BYTES_MAX => {
                    results.push(Err(error.without_details()));
                }
                (Err(error), None) => {
                    told += error.details_json().map_or(0, |details| details.len());
                    results.push(Err(error));
                }
                (result, _) => results.push(result),
            }
        }
        match (refused, mark) {
            (Some(error), Some(mark)) => {
                self.working.return_to(mark);
                Err(error)
            }
            _ => Ok(results),
        }
    }
}

fn gained_too_much() -> Error {
    let message = format!(
        "the rows of this batch so far weigh {GAIN_BYTES_MAX} bytes more than it brought for them"
    );
    Error::new(ErrorCode::PayloadTooLarge, message)
}

/// What an entry is told whose turn did not come: in an atomic batch no other stands.
fn turned_away(why: Error, atomic: bool) -> Error {
    if atomic { why } else { why.with_hint(SEND_THE_REST) }
}

fn at_index(mut error: Error, index: usize) -> Error {
    let mut details = match error.details.take().map(|details| *details) {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    details.insert("index".into(), index.into());
    error.message = format!("item {index}: {}", error.message);
    error.with_details(Value::Object(details))
}
