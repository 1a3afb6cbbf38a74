//! For how long migration mode is on.

use std::time::Duration;

use rookery_domain::{ErrorCode, app::migration_ttl};

#[test]
fn migration_mode_is_on_for_an_hour_or_as_long_as_is_asked_up_to_a_day() {
    let minutes = |minutes: u64| Some(Duration::from_secs(minutes * 60));
    for (on, asked, ttl) in [
        (true, None, minutes(60)),
        (true, Some(1), minutes(1)),
        (true, Some(1_440), minutes(1_440)),
        (false, None, None),
        (false, Some(5), None),
    ] {
        assert_eq!(migration_ttl(on, asked).unwrap(), ttl, "{on}, {asked:?}");
    }
    for on in [true, false] {
        for asked in [0, 1_441, u32::MAX] {
            let error = migration_ttl(on, Some(asked)).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidRequest, "{on}, {asked}");
        }
    }
}
