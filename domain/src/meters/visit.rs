//! What a page view tells: whether it is one, who came (as a hash that means nothing tomorrow),
//! from which country and from which other site.
//!
//! No cookie, no address and no user agent is kept. A visitor is a keyed hash of app, client
//! network and user agent; the key is drawn for one day and destroyed after it. What is not here:
//! how a country is looked up.

use std::fmt;

use hmac::Mac as _;
use url::Url;

use crate::id::AppId;

/// Bytes of a day's salt.
pub const SALT_BYTES: usize = 32;
/// The country of a visitor where none is known.
pub const UNKNOWN_COUNTRY: &str = "unknown";
/// The referrer of a view that names none, or its own app.
pub const DIRECT: &str = "direct";
/// What stands for everything beyond a list's bound.
pub const OTHER: &str = "other";
/// Bytes of a host that is kept (RFC 1035).
const HOST_BYTES_MAX: usize = 253;
/// Words by which programs that read pages on their own declare themselves.
const BOT_WORDS: [&str; 4] = ["bot", "crawl", "spider", "preview"];

/// A make of phones whose name ends as those of bots do.
const PHONE: &str = "cubot";

/// An ISO 3166-1 alpha-2 code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Country([u8; 2]);

impl Country {
    /// Reads two letters, in any case. `XX`, which proxies send for unknown, is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let code: [u8; 2] = text.trim().to_ascii_uppercase().as_bytes().try_into().ok()?;
        (code.iter().all(u8::is_ascii_uppercase) && code != *b"XX").then_some(Self(code))
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

/// What a request says about itself, for [`is_view`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Signs<'a> {
    /// `Sec-Purpose`, or the older `Purpose`.
    pub purpose: Option<&'a str>,
    /// `Sec-Fetch-Dest`.
    pub destination: Option<&'a str>,
    /// `User-Agent`.
    pub user_agent: Option<&'a str>,
}

/// Whether a GET that was answered with a page shows it to somebody: not when the browser fetches
/// ahead (prefetch or prerender), not when a script of the page fetches its own document, and not
/// when the client says that it is a bot.
#[must_use]
pub fn is_view(signs: Signs<'_>) -> bool {
    let ahead =
        signs.purpose.is_some_and(|purpose| purpose.to_ascii_lowercase().contains("prefetch"));
    let shown = signs
        .destination
        .is_none_or(|destination| matches!(destination, "document" | "iframe" | "frame"));
    let bot = signs.user_agent.is_some_and(|agent| {
        let agent = agent.to_ascii_lowercase().replace(PHONE, "");
        BOT_WORDS.iter().any(|word| agent.contains(word))
    });
    shown && !ahead && !bot
}

/// The host of a `Referer`, unless it is the app's own; a port does not make another host.
#[must_use]
pub fn referrer_host(referrer: &str, own_host: Option<&str>) -> Option<Box<str>> {
    let url = Url::parse(referrer).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str().filter(|host| host.len() <= HOST_BYTES_MAX)?;
    let own = own_host.is_some_and(|own| own.eq_ignore_ascii_case(host));
    (!own).then(|| host.into())
}

/// Tells visitors of one app on one day apart.
#[must_use]
pub fn visitor(salt: &[u8; SALT_BYTES], app: AppId, network: &[u8], user_agent: &[u8]) -> u64 {
    let mac = crate::sealed::keyed(salt).chain_update(app.uuid().as_bytes());
    // Lengths first, so that no two pairs run together to the same bytes.
    let mac = mac.chain_update([network.len() as u8]).chain_update(network);
    let digest = mac.chain_update(user_agent).finalize().into_bytes();
    let mut hash = [0; 8];
    hash.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(hash)
}
