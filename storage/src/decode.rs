//! From columns back to typed values, with suspicion: what this build would not have written is
//! [`StorageError::Corrupt`], never a panic.

use uuid::Uuid;

use crate::error::{Result, StorageError};

/// An id that is stored as its 16 bytes.
pub(crate) trait StoredId: Sized {
    fn from_uuid(uuid: Uuid) -> Self;
}

pub(crate) fn id<T: StoredId>(what: &'static str, bytes: &[u8]) -> Result<T> {
    Uuid::from_slice(bytes).map(T::from_uuid).map_err(|error| StorageError::corrupt(what, error))
}

pub(crate) fn id_opt<T: StoredId>(what: &'static str, bytes: Option<&[u8]>) -> Result<Option<T>> {
    bytes.map(|bytes| id(what, bytes)).transpose()
}

/// A SHA-256 or another value of fixed length.
pub(crate) fn fixed<const N: usize>(what: &'static str, bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| {
        StorageError::corrupt(what, format_args!("{} bytes instead of {N}", bytes.len()))
    })
}

pub(crate) fn fixed_opt<const N: usize>(
    what: &'static str,
    bytes: Option<&[u8]>,
) -> Result<Option<[u8; N]>> {
    bytes.map(|bytes| fixed(what, bytes)).transpose()
}

/// A count or number that is never negative.
pub(crate) fn number<T: TryFrom<i64>>(what: &'static str, value: i64) -> Result<T> {
    T::try_from(value).map_err(|_| StorageError::corrupt(what, format_args!("{value}")))
}
