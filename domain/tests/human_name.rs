//! What is a name, and which names a mail program could make a link of.

use proptest::prelude::*;
use rookery_domain::{agent_name::AgentName, human_name::may_become_link, text::is_unseen};

proptest! {
    #[test]
    fn a_name_shows_something(name in "\\PC{1,9}|[\u{ad}\u{200b}\u{2800}\u{3164}\u{e0020} ]{1,9}") {
        let is_name = AgentName::parse(&name).is_ok();
        prop_assert!(!is_name || !name.chars().all(is_unseen), "{name:?}");
        // One character that is seen makes a name of it, also where an emoji needs those that are not.
        let joined = format!("\u{1f469}\u{200d}\u{1f52c}{}", name.trim_end());
        let turns = name.chars().any(rookery_domain::text::turns_direction);
        prop_assert_eq!(AgentName::parse(&joined).is_ok(), !turns);
    }
}

#[test]
fn a_name_that_holds_an_address_may_become_a_link() {
    for name in ["evil.example", "See HTTPS://x", "WWW. evil", "Ada (evil2.com)", "ä.ö", "ann@home"]
    {
        assert!(may_become_link(name), "{name}");
    }
    for name in
        ["evil\u{3002}example", "evil\u{ff0e}example", "evil\u{ff61}example", "ann\u{ff20}home"]
    {
        assert!(may_become_link(name), "browsers lead there: {name}");
    }
    for name in ["evil.\u{2060}com", "evil\u{200b}.\u{200b}com", "evil\u{2024}com", "w\u{ad}ww.x"] {
        assert!(may_become_link(name), "readers see an address: {name:?}");
    }
    for name in ["cafe\u{301}.com", "i\u{2764}.ws", "\u{1f4a9}.la"] {
        assert!(may_become_link(name), "mail programs make links of it: {name}");
    }
    assert!(may_become_link("=?utf-8?B?ZXZpbC5leGFtcGxl?="), "mail programs decode it");
    for name in
        ["Ada Lovelace", "A. Lovelace", "Dr. Ada L.", "Ada ... Lovelace", "http:/", "a=b?", ""]
    {
        assert!(!may_become_link(name), "{name}");
    }
}
