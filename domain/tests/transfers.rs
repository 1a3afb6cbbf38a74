//! Whose an offer is.

use rookery_domain::{ErrorCode, orgs::OrgName, transfers::check_addressee};

#[test]
fn an_offer_is_for_the_account_that_has_proven_the_address() {
    let named = "ada@example.org";
    assert_eq!(check_addressee(named, Some(named), true), Ok(()));
    let refused = |address, verified| check_addressee(named, address, verified).unwrap_err().code;
    assert_eq!(refused(Some(named), false), ErrorCode::EmailNotVerified);
    for verified in [true, false] {
        assert_eq!(refused(Some("eve@example.org"), verified), ErrorCode::NotFound);
        assert_eq!(refused(Some("ada@example.org.evil.org"), verified), ErrorCode::NotFound);
        assert_eq!(refused(Some(""), verified), ErrorCode::NotFound);
        assert_eq!(refused(None, verified), ErrorCode::NotFound);
    }
}

#[test]
fn an_organizations_name_is_one_line() {
    assert_eq!(OrgName::parse("  Rooks & Sons ").unwrap().as_str(), "Rooks & Sons");
    assert!(OrgName::parse(&"x".repeat(100)).is_ok());
    for bad in ["", "   ", "a\nb", "a\u{202e}b", &"x".repeat(101)] {
        assert_eq!(OrgName::parse(bad).unwrap_err().code, ErrorCode::InvalidRequest);
    }
}
