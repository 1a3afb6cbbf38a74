//! Which names a mail program could make a link of.

use rookery_domain::human_name::may_become_link;

#[test]
fn a_name_that_holds_an_address_may_become_a_link() {
    for name in ["evil.example", "See HTTPS://x", "WWW. evil", "Ada (evil2.com)", "ä.ö", "ann@home"]
    {
        assert!(may_become_link(name), "{name}");
    }
    for name in ["Ada Lovelace", "A. Lovelace", "Dr. Ada L.", "Ada ... Lovelace", "http:/", ""] {
        assert!(!may_become_link(name), "{name}");
    }
}
