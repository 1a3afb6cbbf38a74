//! The server's own key and what is derived from it: sealing of texts that must be shown again,
//! signing of cursors, passes and challenges, keyed hashes of network addresses and typed codes.
//!
//! Every purpose has its own sub-key, so nothing made for one passes for another. What is not
//! here: where the key is kept, and what a cursor says (`query`).

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use hmac::{Hmac, Mac as _};
use rand::CryptoRng;
use sha2::Sha256;

use crate::{
    network::Network,
    secret::{SecretHash, UserCode},
};

type HmacSha256 = Hmac<Sha256>;

/// First byte of a sealed text, so that a later format can live beside this one.
const FORMAT: u8 = 1;
const NONCE_LEN: usize = 24;
/// Bytes of a token's signature: HMAC-SHA-256 cut to 128 bits (RFC 2104 section 5).
const SIGNATURE_LEN: usize = 16;
/// Most characters of a token that is looked at.
const TOKEN_CHARS_MAX: usize = 4 << 10;

/// What a signed token is for; part of what is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenPurpose {
    /// The next page of a row list.
    RowPage = 1,
    /// The next page of any other list.
    ListPage = 2,
    /// A position in an app's feed.
    Feed = 3,
    /// The files of an app, for the page of one visitor.
    Files = 4,
    /// That whoever asks to close an app reads the server's key.
    Close = 5,
}

/// 32 secret bytes of this installation. Losing it loses sealed texts, open cursors, the files of
/// open pages in path mode and the day's anonymous budgets; nothing else.
#[derive(Clone)]
pub struct ServerKey {
    cipher: XChaCha20Poly1305,
    tokens: HmacSha256,
    networks: HmacSha256,
    codes: HmacSha256,
    challenges: HmacSha256,
}

impl ServerKey {
    /// The key with these bytes.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        let root = keyed(bytes);
        let derive = |purpose: &str| -> [u8; 32] {
            root.clone().chain_update(purpose).finalize().into_bytes().into()
        };
        Self {
            cipher: XChaCha20Poly1305::new(&derive("rookery seal").into()),
            tokens: keyed(&derive("rookery tokens")),
            networks: keyed(&derive("rookery networks")),
            codes: keyed(&derive("rookery codes")),
            challenges: keyed(&derive("rookery challenges")),
        }
    }

    /// Encrypts `text` for storage. `context` says whose it is ("share app_..."): a sealed text
    /// moved to another place does not open.
    #[must_use]
    pub fn seal(&self, context: &str, text: &str, rng: &mut impl CryptoRng) -> String {
        let mut nonce = [0; NONCE_LEN];
        rng.fill_bytes(&mut nonce);
        let payload = Payload { msg: text.as_bytes(), aad: context.as_bytes() };
        let mut sealed = vec![FORMAT];
        sealed.extend_from_slice(&nonce);
        // Fails only beyond 256 GiB.
        let body = self.cipher.encrypt(&XNonce::from(nonce), payload).unwrap_or_default();
        sealed.extend_from_slice(&body);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Decrypts what [`Self::seal`] made; `None` when it was made with another key or context, or
    /// altered.
    #[must_use]
    pub fn open(&self, context: &str, sealed: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (&FORMAT, rest) = bytes.split_first()? else { return None };
        let (nonce, body) = rest.split_first_chunk::<NONCE_LEN>()?;
        let payload = Payload { msg: body, aad: context.as_bytes() };
        let text = self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()?;
        String::from_utf8(text).ok()
    }

    /// An opaque token that carries `payload`: readable by whoever decodes it, not alterable.
    #[must_use]
    pub fn sign(&self, purpose: TokenPurpose, payload: &[u8]) -> String {
        self.sign_within(purpose, &[], payload)
    }

    /// As [`ServerKey::sign`], for a token that is good in one place only: `place` has a fixed
    /// length for each purpose, and is not part of the token.
    #[must_use]
    pub fn sign_within(&self, purpose: TokenPurpose, place: &[u8], payload: &[u8]) -> String {
        let mut token = Vec::with_capacity(payload.len() + SIGNATURE_LEN);
        token.extend_from_slice(payload);
        let mac = self.token_mac(purpose, place).chain_update(payload);
        token.extend_from_slice(&mac.finalize().into_bytes()[..SIGNATURE_LEN]);
        URL_SAFE_NO_PAD.encode(token)
    }

    /// The payload of a token of this purpose; `None` when it is not one of ours.
    #[must_use]
    pub fn verify(&self, purpose: TokenPurpose, token: &str) -> Option<Vec<u8>> {
        self.verify_within(purpose, &[], token)
    }

    /// The payload of a token that was signed for `place`.
    #[must_use]
    pub fn verify_within(
        &self,
        purpose: TokenPurpose,
        place: &[u8],
        token: &str,
    ) -> Option<Vec<u8>> {
        if token.len() > TOKEN_CHARS_MAX {
            return None;
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let split = bytes.len().checked_sub(SIGNATURE_LEN)?;
        let (payload, signature) = bytes.split_at(split);
        let mac = self.token_mac(purpose, place).chain_update(payload);
        mac.verify_truncated_left(signature).ok()?;
        bytes.truncate(split);
        Some(bytes)
    }

    fn token_mac(&self, purpose: TokenPurpose, place: &[u8]) -> HmacSha256 {
        self.tokens.clone().chain_update([purpose as u8]).chain_update(place)
    }

    /// The keyed hash of a client's network. The address cannot be told from it, and it is the only
    /// trace of an address that storage sees. It is not 0, which is no network's number.
    #[must_use]
    pub fn network(&self, network: impl Into<Network>) -> u64 {
        let network = network.into();
        let family: u8 = match network {
            Network::V4(_) => 4,
            Network::V6(_) => 6,
        };
        let mac = self.networks.clone().chain_update([family]).chain_update(network.as_bytes());
        first_u64(&mac.finalize().into_bytes().into()).max(1)
    }

    /// What storage holds of a claim or user code. Keyed, for 8 characters can be guessed from a
    /// plain hash.
    #[must_use]
    pub fn code_hash(&self, code: &UserCode) -> SecretHash {
        SecretHash(self.codes.clone().chain_update(code.bytes()).finalize().into_bytes().into())
    }

    /// HMAC-SHA-256 over a challenge, as ALTCHA signs it.
    pub(crate) fn challenge_mac(&self, challenge: &[u8]) -> HmacSha256 {
        self.challenges.clone().chain_update(challenge)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

pub(crate) fn keyed(key: &[u8; 32]) -> HmacSha256 {
    HmacSha256::new(&padded(key))
}

/// A 32-byte key filled up to SHA-256's block with zeros, which is what HMAC does to it.
fn padded(key: &[u8; 32]) -> hmac::digest::Key<HmacSha256> {
    let mut block = hmac::digest::Key::<HmacSha256>::default();
    block[..key.len()].copy_from_slice(key);
    block
}

fn first_u64(bytes: &[u8; 32]) -> u64 {
    bytes.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}
