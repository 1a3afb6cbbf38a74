//! Reading HTTP/1.1 answers from bytes: the head (RFC 9112, 4 and 5) and the chunked coding (7.1).
//! No sockets here.

use super::ClientError;

/// Bytes of an answer's head.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of an answer's body.
pub const BODY_BYTES_MAX: usize = 64 << 20;
/// Header fields of an answer.
const FIELDS_MAX: usize = 64;
/// Bytes of a chunk's size line.
const CHUNK_LINE_MAX: usize = 256;

/// What the client needs from an answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Bytes of the head, blank line included.
    pub bytes: usize,
    /// How the body ends.
    pub body: BodyLength,
    /// Whether the server closes the connection after it.
    pub closes: bool,
}

/// How long a body is (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// So many bytes.
    Known(usize),
    /// Chunks tell.
    Chunked,
    /// Until the connection ends.
    UntilClosed,
}

/// Reads the head at the front of `bytes`; `None` while it is incomplete.
///
/// # Errors
/// [`ClientError::Protocol`].
pub fn parse_head(bytes: &[u8]) -> Result<Option<Head>, ClientError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response.parse(bytes).map_err(|_| ClientError::Protocol("its head"))?;
    let httparse::Status::Complete(length) = parsed else {
        return if bytes.len() > HEAD_BYTES_MAX {
            Err(ClientError::Protocol("a head without an end"))
        } else {
            Ok(None)
        };
    };
    let status = response.code.unwrap_or_default();
    let mut closes = response.version == Some(0);
    let mut body = None;
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let text = std::str::from_utf8(field.value).unwrap_or_default().trim();
            let bytes = text.parse().map_err(|_| ClientError::Protocol("its content-length"))?;
            body = body.or(Some(BodyLength::Known(bytes)));
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            body = Some(BodyLength::Chunked);
        } else if field.name.eq_ignore_ascii_case("connection") {
            closes |= field.value.eq_ignore_ascii_case(b"close");
        }
    }
    let body = match (status, body) {
        (100..=199 | 204 | 304, _) => BodyLength::Known(0),
        (_, Some(body)) => body,
        (_, None) => BodyLength::UntilClosed,
    };
    closes |= body == BodyLength::UntilClosed;
    Ok(Some(Head { status, bytes: length, body, closes }))
}

/// The value of a header field in an answer's head.
#[must_use]
pub fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(head).ok()?;
    text.split("\r\n").skip(1).find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Takes the chunked coding off a body, however its bytes arrive.
#[derive(Debug, Default)]
pub struct ChunkDecoder {
    state: ChunkState,
}

#[derive(Debug, Default)]
enum ChunkState {
    #[default]
    Size,
    Data(usize),
    DataEnd,
    Trailer,
    Done,
}

impl ChunkDecoder {
    /// Whether the last chunk was read.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, ChunkState::Done)
    }

    /// Decodes from `input` to `out` as far as it goes; the number of bytes that were used up.
    ///
    /// # Errors
    /// [`ClientError::Protocol`].
    pub fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, ClientError> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            match self.state {
                ChunkState::Done => return Ok(used),
                ChunkState::Data(0) => self.state = ChunkState::DataEnd,
                ChunkState::Data(left) => {
                    if rest.is_empty() {
                        return Ok(used);
                    }
                    let taken = left.min(rest.len());
                    out.extend_from_slice(&rest[..taken]);
                    used += taken;
                    self.state = ChunkState::Data(left - taken);
                }
                ChunkState::Size | ChunkState::DataEnd | ChunkState::Trailer => {
                    let Some(end) = rest.windows(2).position(|two| two == b"\r\n") else {
                        if rest.len() > CHUNK_LINE_MAX {
                            return Err(ClientError::Protocol("a chunk's size"));
                        }
                        return Ok(used);
                    };
                    used += end + 2;
                    self.line(&rest[..end])?;
                }
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), ClientError> {
        self.state = match self.state {
            ChunkState::Size => match chunk_size(line)? {
                0 => ChunkState::Trailer,
                bytes => ChunkState::Data(bytes),
            },
            ChunkState::DataEnd if line.is_empty() => ChunkState::Size,
            ChunkState::DataEnd => return Err(ClientError::Protocol("a chunk's end")),
            _ if line.is_empty() => ChunkState::Done,
            _ => ChunkState::Trailer,
        };
        Ok(())
    }
}

fn chunk_size(line: &[u8]) -> Result<usize, ClientError> {
    let text = std::str::from_utf8(line).unwrap_or_default();
    let digits = text.split(';').next().unwrap_or_default().trim();
    match usize::from_str_radix(digits, 16) {
        Ok(bytes) if bytes <= BODY_BYTES_MAX => Ok(bytes),
        _ => Err(ClientError::Protocol("a chunk's size")),
    }
}
