//! Secrets (contract part 1): `<prefix>_<43 base62 characters><6 base62 characters of CRC32>`,
//! and the 8-character codes that a human types.
//!
//! The checksum turns a mistyped or truncated secret away before any look-up. What is stored is
//! a [`SecretHash`]; what must be shown again is sealed instead (`sealed`). Nothing in here can
//! be printed by accident.

use std::{fmt, hash};

use rand::{CryptoRng, Rng as _, distr::Alphanumeric};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::text::is_unseen;

/// Random characters of a secret: just over 256 bits.
const RANDOM_LEN: usize = 43;
/// Characters of the checksum.
const CHECKSUM_LEN: usize = 6;
/// Characters behind the type prefix that lists may show.
const LISTED_LEN: usize = 6;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

macro_rules! secret_kinds {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {
        /// What a secret opens; it is part of the text, so one kind never passes for another.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum SecretKind {
            $($(#[$doc])* $name,)*
        }

        impl SecretKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The text before the random characters, with its last underscore.
            #[must_use]
            pub const fn prefix(self) -> &'static str {
                match self { $(Self::$name => $prefix,)* }
            }
        }
    };
}

secret_kinds! {
    /// An agent's API key.
    Agent = "rk_agent_";
    /// A service credential.
    Credential = "rk_cred_";
    /// The credential of a leased agent task.
    Lease = "rk_lease_";
    /// A visitor's token in one app.
    Participant = "rk_part_";
    /// A preview of a private app.
    Preview = "rk_prev_";
    /// A grant link bound to a custom role.
    Grant = "rk_grant_";
    /// An app's share link.
    Share = "rk_share_";
    /// An attachment's capability URL.
    File = "rk_file_";
    /// A human's browser session.
    Session = "rk_sess_";
    /// A mailed sign-in link.
    Link = "rk_link_";
    /// A grant that carries a sign-in to an app's origin, once.
    SessionGrant = "rk_sgr_";
    /// The device code of RFC 8628, which the device polls with.
    Device = "rk_dev_";
    /// State, nonce and verifier of a sign-in at an identity provider.
    IdpFlow = "rk_idp_";
    /// What ties a sign-in to the browser that began it.
    SignIn = "rk_sin_";
    /// A test-session token, redeemed once by a headless client.
    TestSession = "rk_test_";
}

/// A secret in clear, between the request and its hash. Cleared from memory when dropped.
#[derive(Clone)]
pub struct Secret {
    kind: SecretKind,
    text: SecretString,
}

impl Secret {
    /// Draws a new secret.
    #[must_use]
    pub fn generate(kind: SecretKind, rng: &mut impl CryptoRng) -> Self {
        let prefix = kind.prefix();
        let mut text = String::with_capacity(prefix.len() + RANDOM_LEN + CHECKSUM_LEN);
        text.push_str(prefix);
        text.extend(rng.sample_iter(Alphanumeric).take(RANDOM_LEN).map(char::from));
        let checksum = checksum(&text);
        text.extend(checksum.map(char::from));
        Self { kind, text: text.into() }
    }

    /// Reads a secret of one kind; `None` for a wrong length, alphabet, prefix or checksum.
    #[must_use]
    pub fn parse(kind: SecretKind, text: &str) -> Option<Self> {
        let rest = text.strip_prefix(kind.prefix())?;
        if rest.len() != RANDOM_LEN + CHECKSUM_LEN
            || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return None;
        }
        let (signed, check) = text.split_at(text.len() - CHECKSUM_LEN);
        (checksum(signed)[..] == *check.as_bytes()).then(|| Self { kind, text: text.into() })
    }

    /// What it opens.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.kind
    }

    /// The secret itself, for the one answer that shows it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }

    /// What storage holds and look-ups use.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.expose()).into())
    }

    /// What lists show: the type prefix and the next 6 characters (36 of 256 bits).
    #[must_use]
    pub fn prefix(&self) -> String {
        self.expose()[..self.kind.prefix().len() + LISTED_LEN].to_owned()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}..)", self.kind.prefix())
    }
}

fn checksum(signed: &str) -> [u8; CHECKSUM_LEN] {
    let mut rest = crc32fast::hash(signed.as_bytes()) as usize;
    let mut text = [b'0'; CHECKSUM_LEN];
    for byte in text.iter_mut().rev() {
        *byte = BASE62[rest % BASE62.len()];
        rest /= BASE62.len();
    }
    text
}

/// SHA-256 of a secret: a key of look-ups, compared in constant time.
#[derive(Clone, Copy)]
pub struct SecretHash(pub [u8; 32]);

impl SecretHash {
    /// The first half of it.
    #[must_use]
    pub const fn half(self) -> HashHalf {
        let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = self.0;
        HashHalf(first)
    }
}

/// The first half of a secret's SHA-256: it tells the secret from every other one in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashHalf(pub [u8; 16]);

impl fmt::Debug for HashHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashHalf(..)")
    }
}

impl PartialEq for SecretHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

impl hash::Hash for SecretHash {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

/// Consonants of RFC 8628 section 6.1: no two look alike, and no word can form.
const CODE_ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
/// Characters of a code, without its dash.
const CODE_LEN: usize = 8;

/// A claim code or user code, `WDJB-MJHT`: short enough to type, so short-lived and capped in
/// tries. Stored as a keyed hash (`sealed::ServerKey::code_hash`), for it could be guessed from
/// a plain one.
#[derive(Clone, PartialEq, Eq)]
pub struct UserCode([u8; CODE_LEN]);

impl UserCode {
    /// Draws a new code.
    #[must_use]
    pub fn generate(rng: &mut impl CryptoRng) -> Self {
        Self(std::array::from_fn(|_| CODE_ALPHABET[rng.random_range(0..CODE_ALPHABET.len())]))
    }

    /// Reads what a human typed or pasted: any case, with or without dashes, full stops and spaces,
    /// whatever a mail or a chat made of them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut code = [0; CODE_LEN];
        let mut len = 0;
        for typed in text.chars().filter(|&typed| !is_between(typed)) {
            let byte = u8::try_from(typed).ok()?.to_ascii_uppercase();
            *code.get_mut(len)? = byte;
            len += 1;
            if !CODE_ALPHABET.contains(&byte) {
                return None;
            }
        }
        (len == CODE_LEN).then_some(Self(code))
    }

    /// The code as it is shown, two groups of four.
    #[must_use]
    pub fn expose(&self) -> String {
        let mut text: String = self.0.iter().copied().map(char::from).collect();
        text.insert(CODE_LEN / 2, '-');
        text
    }

    /// The 8 characters without the dash, for hashing.
    pub(crate) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Whether a character may stand between and around those of a code.
fn is_between(c: char) -> bool {
    let is_dash = matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}'
    );
    is_dash || c == '.' || is_unseen(c)
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserCode(..)")
    }
}
