//! Reads what `shim/shim.c` wrote down.

use crate::failure::{Failure, Result};

/// Bytes of a record before those that were written.
const HEADER_BYTES: usize = 16;

/// One thing that was done to a file; `file` is its place in [`super::FILES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'t> {
    /// Bytes were written.
    Write {
        /// The file.
        file: usize,
        /// Where.
        offset: usize,
        /// What.
        bytes: &'t [u8],
    },
    /// A file was cut or extended.
    Truncate {
        /// The file.
        file: usize,
        /// To this length.
        bytes: usize,
    },
    /// A sync began.
    SyncBegins {
        /// Its number.
        number: u64,
    },
    /// A sync succeeded: what was written before it began is durable.
    SyncEnded {
        /// The file.
        file: usize,
        /// Its number.
        number: u64,
    },
    /// A sync failed: the system takes what was written before it began for written.
    SyncFailed {
        /// The file.
        file: usize,
        /// Its number.
        number: u64,
    },
}

/// A recorded history.
#[derive(Debug)]
pub struct Trace<'t> {
    /// Each record, and the length of the trace after it.
    pub records: Vec<(u64, Record<'t>)>,
}

impl<'t> Trace<'t> {
    /// Reads a trace. An incomplete last record is left out: the process was killed.
    ///
    /// # Errors
    /// When it is no trace.
    pub fn read(bytes: &'t [u8]) -> Result<Self> {
        let mut records = Vec::new();
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + HEADER_BYTES) {
            let length = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]) as usize;
            let number = u64::from_ne_bytes(header[8..].try_into().unwrap_or_default());
            let place = usize::try_from(number).unwrap_or(usize::MAX);
            let start = at + HEADER_BYTES;
            let Some(written) = bytes.get(start..start + length) else { break };
            at = start + length;
            let file = usize::from(header[1]).wrapping_sub(1);
            if file >= super::FILES.len() {
                return Err(Failure(format!("no trace: file {file} before {at}")));
            }
            let record = match header[0] {
                1 => Record::Write { file, offset: place, bytes: written },
                2 => Record::Truncate { file, bytes: place },
                3 => Record::SyncBegins { number },
                4 => Record::SyncEnded { file, number },
                5 => Record::SyncFailed { file, number },
                other => return Err(Failure(format!("no trace: kind {other} before {at}"))),
            };
            records.push((at as u64, record));
        }
        Ok(Self { records })
    }
}
