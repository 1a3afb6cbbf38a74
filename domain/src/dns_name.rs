//! DNS names as people write them, as the DNS has them. What a name is good for is with its use.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use url::Host;

/// The name in lower-case ASCII (UTS 46), its labels of letters, digits and inner hyphens, of the
/// lengths that the DNS allows; `None` for what is no DNS name. Two hyphens may stand
/// anywhere within a label, as in names that content networks generate.
pub(crate) fn to_ascii(name: &str) -> Option<String> {
    let (deny, hyphens) = (AsciiDenyList::STD3, Hyphens::CheckFirstLast);
    let ascii = Uts46::new().to_ascii(name.as_bytes(), deny, hyphens, DnsLength::Verify);
    ascii.ok().map(std::borrow::Cow::into_owned)
}

/// Whether a browser takes such a name for one: what ends in a number is an IP address to it, in whichever
/// spelling (decimal, octal, hexadecimal, shortened), or nothing (WHATWG URL, "host parsing").
pub(crate) fn is_name(ascii: &str) -> bool {
    matches!(Host::parse(ascii), Ok(Host::Domain(_)))
}
