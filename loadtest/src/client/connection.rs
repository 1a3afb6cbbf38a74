//! One keep-alive connection and the exchange of a request for an answer on it.

use std::time::{Duration, Instant};

use bytes::BytesMut;

use super::{
    ClientError,
    stream::Stream,
    wire::{BODY_BYTES_MAX, BodyLength, ChunkDecoder, Head, header, parse_head},
};

/// Bytes of the read buffer at first; it grows with the bodies.
const BUFFER_BYTES: usize = 16 << 10;
/// A connection that idled longer is replaced before use: servers close idle connections, and a
/// request must not run into that.
const IDLE_MAX: Duration = Duration::from_secs(8);

/// A keep-alive connection with at most one request on it.
pub struct Connection {
    stream: Stream,
    buffer: BytesMut,
    /// A body that came in chunks, put together.
    decoded: Vec<u8>,
    chunks: ChunkDecoder,
    used_at: Instant,
    is_open: bool,
}

/// An answer, as long as nothing else is sent on its connection.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The head as it came.
    pub head: &'a [u8],
    /// The body.
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Whether the request did what it was sent for.
    #[must_use]
    pub const fn is_ok(&self) -> bool {
        matches!(self.status, 200..=299 | 304)
    }

    /// The value of a header field.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        header(self.head, name)
    }
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: BytesMut::with_capacity(BUFFER_BYTES),
            decoded: Vec::new(),
            chunks: ChunkDecoder::default(),
            used_at: Instant::now(),
            is_open: true,
        }
    }

    /// Whether a request may be sent on it at `now`.
    #[must_use]
    pub fn is_usable(&self, now: Instant) -> bool {
        self.is_open && now.saturating_duration_since(self.used_at) < IDLE_MAX
    }

    /// Sends a request and reads its answer. After an error, or when dropped halfway, the
    /// connection is not usable any more.
    ///
    /// # Errors
    /// [`ClientError`]; whether the server acted is then unknown.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Answer<'_>, ClientError> {
        let head = self.open(request).await?;
        match head.body {
            BodyLength::Known(length) => {
                if length > BODY_BYTES_MAX {
                    return Err(ClientError::Protocol("a body that large"));
                }
                while self.buffer.len() < head.bytes + length {
                    self.fill().await?;
                }
                self.finish(head);
                let (front, rest) = self.buffer.split_at(head.bytes);
                Ok(Answer { status: head.status, head: front, body: &rest[..length] })
            }
            BodyLength::Chunked => {
                let front = self.buffer.split_to(head.bytes);
                while self.chunk().await? {}
                self.finish(head);
                // The head is kept in front, as for other bodies; this path is not the hot one.
                let end = front.len();
                self.buffer.clear();
                self.buffer.extend_from_slice(&front);
                Ok(Answer { status: head.status, head: &self.buffer[..end], body: &self.decoded })
            }
            BodyLength::UntilClosed => {
                loop {
                    match self.fill().await {
                        Ok(()) if self.buffer.len() > head.bytes + BODY_BYTES_MAX => {
                            return Err(ClientError::Protocol("a body that large"));
                        }
                        Ok(()) => {}
                        Err(ClientError::Closed) => break,
                        Err(error) => return Err(error),
                    }
                }
                let (front, rest) = self.buffer.split_at(head.bytes);
                Ok(Answer { status: head.status, head: front, body: rest })
            }
        }
    }

    /// Sends a request and reads the head of an answer that goes on and on; its status.
    /// [`Connection::next_part`] reads on.
    ///
    /// # Errors
    /// [`ClientError`]; also when the answer is not chunked.
    pub async fn open_stream(&mut self, request: &[u8]) -> Result<u16, ClientError> {
        let head = self.open(request).await?;
        if head.body != BodyLength::Chunked && head.status < 300 {
            return Err(ClientError::Protocol("a stream that is not chunked"));
        }
        let _ = self.buffer.split_to(head.bytes);
        Ok(head.status)
    }

    /// The next bytes of a stream; none at its end.
    ///
    /// # Errors
    /// [`ClientError`].
    pub async fn next_part(&mut self) -> Result<Option<&[u8]>, ClientError> {
        self.decoded.clear();
        while self.decoded.is_empty() {
            if !self.chunk().await? {
                break;
            }
        }
        Ok((!self.decoded.is_empty()).then_some(&self.decoded))
    }

    async fn open(&mut self, request: &[u8]) -> Result<Head, ClientError> {
        // Until the answer is complete the connection is in the middle of something.
        self.is_open = false;
        self.buffer.clear();
        self.decoded.clear();
        self.chunks = ChunkDecoder::default();
        self.stream.write_all(request).await?;
        loop {
            self.fill().await?;
            match parse_head(&self.buffer)? {
                Some(head) if head.status >= 200 => return Ok(head),
                Some(interim) => drop(self.buffer.split_to(interim.bytes)),
                None => {}
            }
        }
    }

    /// Decodes what is there, else reads more; whether more may come.
    async fn chunk(&mut self) -> Result<bool, ClientError> {
        let before = self.decoded.len();
        let used = self.chunks.decode(&self.buffer, &mut self.decoded)?;
        let _ = self.buffer.split_to(used);
        if self.chunks.is_done() {
            return Ok(false);
        }
        if self.decoded.len() > BODY_BYTES_MAX {
            return Err(ClientError::Protocol("a body that large"));
        }
        if self.decoded.len() == before {
            self.fill().await?;
        }
        Ok(true)
    }

    async fn fill(&mut self) -> Result<(), ClientError> {
        match self.stream.read(&mut self.buffer).await? {
            0 => Err(ClientError::Closed),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, head: Head) {
        self.is_open = !head.closes;
        self.used_at = Instant::now();
    }
}
