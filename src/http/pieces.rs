//! A body of several pieces, each of which others may hold as well: nothing is copied, however many
//! answers wait for clients that do not read.

use std::{
    convert::Infallible,
    iter::FusedIterator,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// What is left to be sent.
#[derive(Debug)]
pub struct Pieces<I>(I);

impl<I: FusedIterator<Item = Bytes> + Clone> Pieces<I> {
    /// A body of `pieces`, one behind the other.
    pub fn new(pieces: impl IntoIterator<IntoIter = I>) -> Self {
        Self(pieces.into_iter())
    }
}

impl<I: FusedIterator<Item = Bytes> + Clone + Unpin> Body for Pieces<I> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.find(|piece| !piece.is_empty()).map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.clone().map(|piece| piece.len() as u64).sum())
    }
}
