//! Slugs: the name of an app in its address (contract part 4). Whether one is taken is the
//! directory's to say, not this room's.

use rand::{Rng, RngCore, distr::slice::Choose};

use crate::{Error, Result, text::quoted};

/// Characters of a slug; at most those of a DNS label.
pub const LEN: std::ops::RangeInclusive<usize> = 3..=63;

/// Names that paths, hosts or readers need for something else, sorted.
pub const RESERVED: [&str; 60] = [
    "about",
    "abuse",
    "account",
    "accounts",
    "admin",
    "advisories",
    "agents",
    "alive",
    "api",
    "app",
    "apps",
    "assets",
    "auth",
    "authorize",
    "billing",
    "blog",
    "cdn",
    "community",
    "console",
    "contact",
    "dashboard",
    "demo",
    "dev",
    "device",
    "docs",
    "download",
    "feed",
    "files",
    "ftp",
    "health",
    "help",
    "host",
    "imap",
    "internal",
    "legal",
    "localhost",
    "login",
    "logout",
    "mail",
    "metrics",
    "oauth",
    "openapi",
    "ops",
    "pop",
    "privacy",
    "ready",
    "root",
    "security",
    "self",
    "settings",
    "sign-in",
    "sign-out",
    "signup",
    "smtp",
    "static",
    "status",
    "support",
    "system",
    "terms",
    "www",
];

/// Checks a slug that a caller chose.
///
/// # Errors
/// `invalid_request` with the rule it breaks.
pub fn check(slug: &str) -> Result<()> {
    check_form(slug)?;
    if is_reserved(slug) {
        return Err(Error::invalid(format!("the slug `{slug}` is reserved")));
    }
    Ok(())
}

/// Whether some app could have this slug, a reserved one included.
#[must_use]
pub fn is_well_formed(slug: &str) -> bool {
    check_form(slug).is_ok()
}

fn check_form(slug: &str) -> Result<()> {
    let refuse = |rule: &str| Err(Error::invalid(format!("`slug` {rule}: {}", quoted(slug))));
    if !LEN.contains(&slug.len()) {
        return refuse("must have 3 to 63 characters");
    }
    if !slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        return refuse("may hold lowercase letters, digits and '-' only");
    }
    if slug.starts_with('-') || slug.ends_with('-') {
        return refuse("must not start or end with '-'");
    }
    // A label with hyphens there is an encoded international name (RFC 5891 section 4.2.3.1),
    // which browsers show as something else.
    if slug.as_bytes()[2..].starts_with(b"--") {
        return refuse("must not have '--' as its third and fourth character");
    }
    Ok(())
}

/// Whether `slug` is kept back. What is shorter than a slug (`s`, `a`, `v1`) needs no entry.
#[must_use]
pub fn is_reserved(slug: &str) -> bool {
    RESERVED.binary_search(&slug).is_ok()
}

const FIRST: [&str; 32] = [
    "amber", "brave", "bright", "calm", "clear", "coral", "crisp", "dapper", "eager", "early",
    "fair", "gentle", "golden", "happy", "hazel", "jolly", "keen", "kind", "lively", "lucky",
    "mellow", "misty", "noble", "quiet", "rapid", "silver", "snowy", "sunny", "swift", "tidy",
    "vivid", "warm",
];
const SECOND: [&str; 32] = [
    "alpine", "autumn", "cedar", "clover", "copper", "cosmic", "cotton", "desert", "forest",
    "garden", "harbor", "island", "ivory", "lunar", "maple", "marble", "meadow", "ocean", "olive",
    "orchard", "pebble", "pine", "prairie", "river", "rocky", "spring", "summer", "timber",
    "valley", "velvet", "willow", "winter",
];
const THIRD: [&str; 32] = [
    "badger", "beacon", "bridge", "brook", "canyon", "comet", "crane", "falcon", "fern", "field",
    "finch", "grove", "heron", "kettle", "lantern", "lark", "lynx", "magpie", "nest", "otter",
    "owl", "puffin", "raven", "reef", "robin", "rook", "sparrow", "spruce", "stone", "swan",
    "thrush", "wren",
];

/// Draws a slug that can be said, for the `attempt`-th time (from 0): three words,
/// `calm-maple-rook`, of which there are 32,768. One that is taken hints that many are, so every
/// further one ends in four random characters (20 bits), `calm-maple-rook-7k2q`.
#[must_use]
pub fn generate_words(attempt: usize, rng: &mut impl RngCore) -> String {
    let mut word = |words: &'static [&'static str; 32]| match Choose::new(words) {
        Ok(words) => *rng.sample(words),
        Err(_) => "rook",
    };
    let mut slug = format!("{}-{}-{}", word(&FIRST), word(&SECOND), word(&THIRD));
    if attempt > 0 {
        slug.push('-');
        slug.extend((0..4).map(|_| random_character(rng)));
    }
    slug
}

/// Draws a slug of 16 random characters (80 bits): unguessable, as `visibility: link` needs it.
#[must_use]
pub fn generate_random(rng: &mut impl RngCore) -> String {
    // A leading letter, for a host label of digits alone reads like an address.
    let mut slug = String::from("r");
    slug.extend((0..16).map(|_| random_character(rng)));
    slug
}

/// One of 32 that are not taken for each other.
fn random_character(rng: &mut impl RngCore) -> char {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    char::from(ALPHABET[rng.random_range(0..32)])
}
