//! When something that is made shall end, as whoever makes it says. How long each kind of thing may
//! last is with that thing.

use crate::{Error, Result, Timestamp, time::DAY_S};

/// An end that is asked for. It is measured against the present only where the thing is made, so
/// that the same request, repeated later, is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// `expires_at`: then.
    At(Timestamp),
    /// `expires_in_s`: so many seconds after it was made.
    In(u32),
}

impl Expiry {
    /// What a request says; `None` when it says nothing.
    ///
    /// # Errors
    /// `invalid_request`, when it says both.
    pub fn of(expires_at: Option<Timestamp>, expires_in_s: Option<u32>) -> Result<Option<Self>> {
        match (expires_at, expires_in_s) {
            (None, None) => Ok(None),
            (Some(at), None) => Ok(Some(Self::At(at))),
            (None, Some(seconds)) => Ok(Some(Self::In(seconds))),
            (Some(_), Some(_)) => {
                Err(Error::invalid("`expires_in_s`: means the same as `expires_at`"))
            }
        }
    }

    /// The end of what is made `now` and may last `max_s` seconds.
    ///
    /// # Errors
    /// `invalid_request`, for an end that is in the past or too far away.
    pub fn resolve(self, now: Timestamp, max_s: i64) -> Result<Timestamp> {
        let (member, end) = match self {
            Self::At(at) => ("expires_at", at),
            Self::In(seconds) => ("expires_in_s", now.plus_seconds(seconds.into())),
        };
        if end <= now {
            return Err(Error::invalid(format!("`{member}`: is in the past")));
        }
        if end > now.plus_seconds(max_s) {
            let days = max_s / DAY_S;
            return Err(Error::invalid(format!("`{member}`: is more than {days} days from now")));
        }
        Ok(end)
    }
}
