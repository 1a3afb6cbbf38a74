//! Ids on the wire.

use rookery_domain::id::{AgentId, AppId};

#[test]
fn an_id_survives_the_wire_and_keeps_its_kind() {
    let id = AppId::new();
    let text = id.to_string();
    assert_eq!(text.len(), "app_".len() + 26);
    assert_eq!(text.parse::<AppId>(), Ok(id));
    assert!(text.parse::<AgentId>().is_err());
}

#[test]
fn a_malformed_id_is_refused() {
    let most = "app_7zzzzzzzzzzzzzzzzzzzzzzzzz";
    assert_eq!(most.parse::<AppId>().expect("128 bits").to_string(), most);
    for text in ["", "app_", "app_8zzzzzzzzzzzzzzzzzzzzzzzzz", "app_0000000000000000000000000i"] {
        assert!(text.parse::<AppId>().is_err(), "{text}");
    }
}
