//! Typed ids: TypeIDs, `<prefix>_<26 base32 characters of a UUIDv7>`.
//!
//! One newtype per resource, from one list, so an agent's id can never be passed where an app's
//! is meant. In memory and in storage an id is its 16 bytes; the prefix exists on the wire only.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// Crockford's base32 alphabet in lower case, as the TypeID specification (0.3) fixes it.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Length of the suffix behind the underscore.
const SUFFIX_LEN: usize = 26;

/// Why a text is no id of the wanted kind. Routes answer it as an unknown id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id of this kind")]
pub struct ParseIdError;

/// Writes the 26 characters of `uuid` to `out`.
pub(crate) fn encode_suffix(uuid: Uuid, out: &mut impl fmt::Write) -> fmt::Result {
    let (high, low) = uuid.as_u64_pair();
    // Twelve characters of the lower half, two of both, twelve of the upper: 60, 10 and 58 bits.
    let middle = high << 4 | low >> 60;
    let mut text = [0u8; SUFFIX_LEN];
    let parts = [(high >> 6, 0..12), (middle, 12..14), (low, 14..26)];
    for (mut bits, range) in parts {
        for byte in text[range].iter_mut().rev() {
            *byte = ALPHABET[(bits & 31) as usize];
            bits >>= 5;
        }
    }
    // The alphabet is ASCII, so this never fails.
    out.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
}

/// Reads the 26 characters behind an id's prefix.
///
/// # Errors
/// [`ParseIdError`] for another length, a character outside the alphabet, or more than 128 bits.
fn decode_suffix(text: &str) -> Result<Uuid, ParseIdError> {
    let bytes = text.as_bytes();
    if bytes.len() != SUFFIX_LEN || bytes[0] > b'7' {
        return Err(ParseIdError);
    }
    let mut value = 0u128;
    for byte in bytes {
        let digit = ALPHABET.iter().position(|c| c == byte).ok_or(ParseIdError)?;
        value = value << 5 | digit as u128;
    }
    Ok(Uuid::from_u128(value))
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// The prefix of this kind of id on the wire.
            pub const PREFIX: &'static str = $prefix;

            /// A new id, ordered by the time it was made.
            #[must_use]
            #[expect(clippy::new_without_default, reason = "an id is drawn, it has no default")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }

            /// The id with these 16 bytes, as storage holds it.
            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The 16 bytes of this id.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($prefix, "_"))?;
                encode_suffix(self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let suffix = text.strip_prefix(concat!($prefix, "_")).ok_or(ParseIdError)?;
                decode_suffix(suffix).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

typed_ids! {
    /// An app.
    AppId = "app";
    /// A programmatic agent, which may hold several keys.
    AgentId = "agt";
    /// A human account.
    HumanId = "hum";
    /// One API key of an agent.
    KeyId = "key";
    /// A browser session of a human on the site.
    SessionId = "ses";
    /// A pending device authorization (RFC 8628).
    DeviceId = "dev";
    /// A visitor of an app, told apart by its participant token.
    ParticipantId = "ptc";
    /// A scoped service credential of an app.
    CredentialId = "crd";
    /// A grant link bound to a custom role.
    GrantId = "grl";
    /// An anonymous preview token.
    PreviewId = "pvt";
    /// An organization.
    OrgId = "org";
    /// An offer of an app's ownership.
    TransferId = "trf";
    /// A custom domain's binding to an app.
    DomainId = "dom";
    /// A generated row key.
    RowId = "row";
    /// A request, where the caller brought no `X-Request-Id`.
    RequestId = "req";
    /// The history of one app's feed: a purged and re-created app never continues an old cursor.
    HistoryId = "his";
}

impl AppId {
    /// Which of so many parts the app belongs to: apps are spread over them by chance, because the
    /// last byte of an id is drawn.
    ///
    /// # Panics
    /// Where there are no parts.
    #[must_use]
    pub const fn part_of(self, parts: usize) -> usize {
        self.0.as_bytes()[15] as usize % parts
    }
}
