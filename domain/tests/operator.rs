//! The reason that an operator gives.

use rookery_domain::operator::{REASON_CHARS_MAX, reason};

#[test]
fn a_reason_is_there_and_can_be_read_at_a_glance() {
    assert_eq!(reason(" to see\n").unwrap(), "to see");
    assert!(reason(&"ü".repeat(REASON_CHARS_MAX)).is_ok());
    for wrong in ["", " \t", &"ü".repeat(REASON_CHARS_MAX + 1)] {
        assert!(reason(wrong).unwrap_err().message.contains("1 to 500"), "{wrong:?}");
    }
}
