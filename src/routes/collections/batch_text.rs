//! The text of a batch's results, made piece by piece as its reader takes it: a short request may name
//! many large rows, and its reader may be slow. What was not sent yet waits as references to rows.

use std::sync::Arc;

use rookery_actors::app::{
    message::{Renderer, Reply, RowFate, RowReply},
    page::PIECE_BYTES,
    render,
};
use rookery_domain::{Result, idempotency::StoredResponse};

use crate::{error::Envelope, http::reply::to_json, state::AppState};

/// What a result takes beside the row's data: a guess, so that a piece seldom grows while it is written.
const RESULT_BYTES: usize = 400;

/// `{"results": [{"index", "status", "row" | "error"}]}` in pieces, with `"existed": true` where the key of
/// a create was taken and nothing was written.
pub(super) struct BatchText {
    state: AppState,
    results: Vec<Result<RowReply>>,
    /// The result that the next piece begins with; beyond all of them once the last piece was taken.
    next: usize,
}

impl BatchText {
    pub(super) const fn new(state: AppState, results: Vec<Result<RowReply>>) -> Self {
        Self { state, results, next: 0 }
    }

    /// Whether the last piece has been taken.
    pub(super) const fn is_done(&self) -> bool {
        self.next > self.results.len()
    }
}

impl Iterator for BatchText {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.is_done() {
            return None;
        }
        let (piece, next) = piece(&self.state.envelope, &self.results, self.next, PIECE_BYTES);
        self.next = next;
        Some(piece)
    }
}

/// Renders the results of a batch to be kept for an idempotency key.
pub(super) fn batch_renderer(state: AppState) -> Renderer {
    Renderer(Arc::new(move |reply, _| {
        let results = match reply {
            Reply::Batch(results) => results.as_slice(),
            _ => &[],
        };
        let (body, _) = piece(&state.envelope, results, 0, usize::MAX);
        StoredResponse { status: 200, location: None, body }
    }))
}

/// The text from the result `from` on, until it has `bytes` or all is told, and where the next piece
/// begins.
fn piece(
    envelope: &Envelope,
    results: &[Result<RowReply>],
    from: usize,
    bytes: usize,
) -> (String, usize) {
    let mut piece = String::with_capacity(room(&results[from..], bytes));
    if from == 0 {
        piece.push_str("{\"results\":[");
    }
    for (index, result) in results.iter().enumerate().skip(from) {
        if index > 0 {
            piece.push(',');
        }
        write(envelope, index, result, &mut piece);
        if piece.len() >= bytes {
            return (piece, index + 1);
        }
    }
    piece.push_str("]}");
    (piece, results.len() + 1)
}

/// About the most bytes that a piece of these will have: what waits for its reader holds no more than it
/// needs.
fn room(results: &[Result<RowReply>], bytes: usize) -> usize {
    let mut room = RESULT_BYTES;
    for result in results {
        room += match result {
            Ok(reply) => reply.row.data().len() + RESULT_BYTES,
            Err(_) => 2 * RESULT_BYTES,
        };
        if room > bytes {
            break;
        }
    }
    room
}

fn write(envelope: &Envelope, index: usize, result: &Result<RowReply>, out: &mut String) {
    out.push_str("{\"index\":");
    out.push_str(&index.to_string());
    out.push_str(",\"status\":");
    match result {
        Ok(reply) => {
            out.push_str(match reply.fate {
                RowFate::Created => "201",
                RowFate::Existed => "200,\"existed\":true",
                RowFate::Updated | RowFate::Deleted(_) | RowFate::Restored => "200",
            });
            out.push_str(",\"row\":");
            render::write_row(reply, out);
        }
        Err(error) => {
            out.push_str(&error.code.status().to_string());
            out.push_str(",\"error\":");
            out.push_str(&to_json(&envelope.body(error, None)));
        }
    }
    out.push('}');
}
