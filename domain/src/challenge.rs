//! Proof-of-work challenges after the ALTCHA protocol (contract part 5): a task that costs a
//! visitor's machine a second of hashing, bound to one app and collection.
//!
//! The server keeps nothing to check an answer: the task is signed, and its salt says for what
//! and until when. That an answer is taken once only is remembered elsewhere, under
//! [`Solved::id`] until [`Solved::expires_at`]. Answers of another provider come in judged
//! ([`ChallengeAnswer`]).

use base64::Engine as _;
use hmac::Mac as _;
use rand::{CryptoRng, Rng as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    Error, ErrorCode, Result, Timestamp,
    id::AppId,
    json,
    sealed::ServerKey,
    text::{BASE64_LENIENT, hex, unhex},
};

/// Seconds in which a task can be answered.
pub const LIFETIME_S: i64 = 10 * 60;
/// The secret number lies in `0..=MAX_NUMBER_DEFAULT`: 50,000 hashes on average, about half a
/// second in a browser's worker.
pub const MAX_NUMBER_DEFAULT: u64 = 100_000;
/// Most characters of an answer that is looked at.
const ANSWER_CHARS_MAX: usize = 1_024;

const ALGORITHM: &str = "SHA-256";
const SALT_BYTES: usize = 12;

/// A task as the client gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Challenge {
    /// `SHA-256`.
    pub algorithm: &'static str,
    /// The hash to reach, in hexadecimal: `SHA-256(salt + number)`.
    pub challenge: String,
    /// The largest number worth trying.
    pub maxnumber: u64,
    /// Random characters and, behind `?`, expiry, app and collection.
    pub salt: String,
    /// HMAC-SHA-256 of `challenge`, in hexadecimal.
    pub signature: String,
}

impl Challenge {
    /// Makes a task for one create or upsert in `collection` of `app`.
    #[must_use]
    pub fn new(
        key: &ServerKey,
        app: AppId,
        collection: &str,
        now: Timestamp,
        max_number: u64,
        rng: &mut impl CryptoRng,
    ) -> Self {
        let mut random = [0; SALT_BYTES];
        rng.fill_bytes(&mut random);
        let expires = now.plus_seconds(LIFETIME_S).0.div_euclid(crate::time::MICROS_PER_SECOND);
        // The last `&` parts the salt from the number: without it, digits could move from one to
        // the other and postpone the expiry.
        let salt = format!("{}?expires={expires}&app={app}&collection={collection}&", hex(&random));
        let number = rng.random_range(0..=max_number);
        let challenge = hex(&solution(&salt, number));
        let signature = hex(&key.challenge_mac(challenge.as_bytes()).finalize().into_bytes());
        Self { algorithm: ALGORITHM, challenge, maxnumber: max_number, salt, signature }
    }

    /// Finds the number, as a client does, and gives the answer's text; `None` when no number up
    /// to `maxnumber` fits.
    #[must_use]
    pub fn solve(&self) -> Option<String> {
        let number =
            (0..=self.maxnumber).find(|n| hex(&solution(&self.salt, *n)) == self.challenge)?;
        let answer = serde_json::json!({
            "algorithm": self.algorithm,
            "challenge": self.challenge,
            "number": number,
            "salt": self.salt,
            "signature": self.signature,
        });
        Some(BASE64_LENIENT.encode(answer.to_string()))
    }
}

/// What came with a write as the answer to a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeAnswer {
    /// The answer to a proof of work, not looked at yet.
    Work(Box<str>),
    /// A provider's token, which the provider has found good.
    Vouched(Solved),
    /// A provider's token that is not good, and what is wrong with it.
    Refused(&'static str),
}

impl ChallengeAnswer {
    /// A token that its provider found good at `now`. The provider takes it once; it is remembered
    /// here as well, for as long as an answer of our own.
    #[must_use]
    pub fn vouched(token: &str, now: Timestamp) -> Self {
        let id = Sha256::new().chain_update("siteverify ").chain_update(token).finalize().into();
        Self::Vouched(Solved { id, expires_at: now.plus_seconds(LIFETIME_S) })
    }
}

/// A right answer that has still to be found unspent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solved {
    /// Names the task: the same for every answer to it.
    pub id: [u8; 32],
    /// When it need not be remembered any longer.
    pub expires_at: Timestamp,
}

/// What a client sends back, base64 over JSON. The protocol's own clients add members of their
/// own (`took`), so unknown ones pass here.
#[derive(Deserialize)]
struct Answer {
    algorithm: String,
    challenge: String,
    number: u64,
    salt: String,
    signature: String,
}

/// Checks the answer that came with a write; `None` when the write carried none.
///
/// # Errors
/// `challenge_required` without an answer; `challenge_verification_failed` for one that is
/// malformed, wrong, expired, forged, or made for another app or collection.
pub fn verify(
    key: &ServerKey,
    app: AppId,
    collection: &str,
    now: Timestamp,
    answer: Option<&ChallengeAnswer>,
) -> Result<Solved> {
    let Some(answer) = answer else { return Err(required(collection)) };
    let solved = match answer {
        ChallengeAnswer::Work(answer) => check(key, app, collection, now, answer),
        ChallengeAnswer::Vouched(solved) => Ok(*solved),
        ChallengeAnswer::Refused(reason) => Err(*reason),
    };
    solved.map_err(|reason| {
        Error::new(
            ErrorCode::ChallengeVerificationFailed,
            format!("the challenge answer for `{collection}` {reason}"),
        )
    })
}

/// The refusal of a write without an answer.
#[must_use]
pub fn required(collection: &str) -> Error {
    Error::new(
        ErrorCode::ChallengeRequired,
        format!("writes to `{collection}` need the answer to a challenge"),
    )
}

/// The refusal of an answer that was right and has been used before.
#[must_use]
pub fn spent(collection: &str) -> Error {
    Error::new(
        ErrorCode::ChallengeVerificationFailed,
        format!("the challenge answer for `{collection}` has already been used"),
    )
}

fn check(
    key: &ServerKey,
    app: AppId,
    collection: &str,
    now: Timestamp,
    answer: &str,
) -> Result<Solved, &'static str> {
    const MALFORMED: &str = "is malformed";
    if answer.len() > ANSWER_CHARS_MAX {
        return Err(MALFORMED);
    }
    let text = BASE64_LENIENT.decode(answer).map_err(|_| MALFORMED)?;
    let answer: Answer = json::from_slice(&text).map_err(|_| MALFORMED)?;
    if answer.algorithm != ALGORITHM {
        return Err("uses another algorithm than SHA-256");
    }
    // The signature first: everything behind it was written by this server.
    let signature: [u8; 32] = unhex(&answer.signature).ok_or(MALFORMED)?;
    key.challenge_mac(answer.challenge.as_bytes())
        .verify(&signature.into())
        .map_err(|_| "was not issued here")?;
    let id: [u8; 32] = unhex(&answer.challenge).ok_or(MALFORMED)?;
    if solution(&answer.salt, answer.number) != id {
        return Err("does not solve its challenge");
    }
    let (_, query) = answer.salt.split_once('?').ok_or(MALFORMED)?;
    let parameter =
        |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    if parameter("app") != Some(&app.to_string()) || parameter("collection") != Some(collection) {
        return Err("was made for another app or collection");
    }
    let expires = parameter("expires").and_then(|text| text.parse().ok()).ok_or(MALFORMED)?;
    let expires_at = Timestamp(0).plus_seconds(expires);
    if expires_at <= now {
        return Err("has expired");
    }
    Ok(Solved { id, expires_at })
}

fn solution(salt: &str, number: u64) -> [u8; 32] {
    Sha256::new().chain_update(salt).chain_update(number.to_string()).finalize().into()
}
