//! Batches: many single decisions, with a result for each, or all of them or none.

use rookery_domain::{Error, Result};
use serde_json::{Map, Value};

use super::Decision;
use crate::app::message::RowReply;

impl Decision<'_> {
    /// Decides each item as the single call would. `atomic`: the first refusal is the answer,
    /// with its index in `details.index`, and nothing is left of the rest.
    pub(super) fn batch<T>(
        &mut self,
        items: Vec<T>,
        atomic: bool,
        mut one: impl FnMut(&mut Self, T) -> Result<RowReply>,
    ) -> Result<Vec<Result<RowReply>>> {
        let mark = atomic.then(|| self.working.mark());
        let mut results = Vec::with_capacity(items.len());
        let mut refused = None;
        for (index, item) in items.into_iter().enumerate() {
            match (one(self, item), &mark) {
                (Err(error), Some(_)) => {
                    refused = Some(at_index(error, index));
                    break;
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

fn at_index(mut error: Error, index: usize) -> Error {
    let mut details = match error.details.take().map(|details| *details) {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    details.insert("index".into(), index.into());
    error.message = format!("item {index}: {}", error.message);
    error.with_details(Value::Object(details))
}
