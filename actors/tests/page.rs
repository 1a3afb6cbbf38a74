//! The text of a page: whole when its pieces are put together, however long it is.

use rookery_actors::app::read::ListQuery;
use rookery_domain::query::{PageLimit, RowQuery};

use crate::support::{Bench, create, paused};

/// Bytes that a piece has about at most, beside those of its last row.
const PIECE_BYTES: usize = 64 << 10;

#[test]
fn a_long_page_is_pieces_of_bounded_length_and_a_short_one_is_one() {
    paused().block_on(async {
        let bench = Bench::start().await;
        let app = bench.app().await;
        let data = format!("{{\"text\":\"{}\"}}", "x".repeat(3_000));
        for n in 0..100 {
            let op = create(&format!("k{n:02}"), &data);
            app.apply(bench.caller.clone(), op).await.unwrap();
        }
        for (limit, pieces_expected) in [(100, 5), (20, 1)] {
            let query = ListQuery {
                rows: RowQuery::parse(None, None).unwrap(),
                limit: PageLimit::parse(Some(&limit.to_string())).unwrap(),
                cursor: None,
                include_deleted: false,
            };
            let page = app.rows(&bench.caller, "entries", query).await.unwrap();
            let pieces: Vec<String> = page.body.collect();
            assert_eq!(pieces.len(), pieces_expected);
            let longest = pieces.iter().map(String::len).max();
            assert!(longest < Some(PIECE_BYTES + 4_000), "{longest:?}");
            let whole: serde_json::Value = serde_json::from_str(&pieces.concat()).unwrap();
            let items = whole["items"].as_array().unwrap();
            assert_eq!(items.len(), limit);
            for (n, row) in items.iter().enumerate() {
                assert_eq!(row["key"], format!("k{n:02}"));
            }
            assert_eq!(whole["next_cursor"].is_null(), limit == 100);
        }
    });
}
