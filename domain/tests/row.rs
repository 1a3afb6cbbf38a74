//! The row record as JSON, alone and among others.

use proptest::prelude::*;
use rookery_domain::{
    Principal, PrincipalKind, Timestamp,
    row::{Row, RowText},
};
use serde_json::{Value, from_str, json};
use uuid::Uuid;

prop_compose! {
    fn principal()(kind in prop::sample::select(PrincipalKind::ALL), id in 0..3u128) -> Principal {
        Principal::new(kind, Uuid::from_u128(id))
    }
}

prop_compose! {
    fn row()(
        key in "[ -~é\"\\\\]{1,40}",
        version in prop_oneof![1..20u32, any::<u32>()],
        creator in principal(),
        editor in principal(),
        created_at in 0..4_000_000_000_000_000i64,
        later in prop_oneof![Just(0), 0..4_000_000_000i64],
    ) -> Row {
        Row {
            text: RowText::new(&key, r#"{"a":1}"#),
            version,
            creator,
            editor,
            created_at: Timestamp(created_at),
            updated_at: Timestamp(created_at + later),
        }
    }
}

proptest! {
    #[test]
    fn a_record_says_what_the_row_holds(row in row()) {
        let record: Value = from_str(&row.to_json()).unwrap();
        prop_assert_eq!(record, json!({
            "key": row.key(),
            "version": row.version,
            "creator": row.creator,
            "editor": row.editor,
            "created_at": row.created_at,
            "updated_at": row.updated_at,
            "data": {"a": 1},
        }));
    }

    #[test]
    fn rows_written_after_each_other_are_what_each_is_alone(rows in prop::collection::vec(row(), 1..20)) {
        let (mut named, mut page) = (None, String::from("["));
        for row in &rows {
            row.write_json_after(&mut named, None, &mut page);
        }
        let alone: String = rows.iter().map(Row::to_json).collect();
        prop_assert_eq!(page, format!("[{alone}"));
    }
}
