//! Why there are no rows on a page of rows.

use serde_json::json;

use super::{Owned, POST};

#[tokio::test]
async fn rows_that_a_version_does_not_take_are_told_of_where_they_would_be() {
    let manifest = |schema: serde_json::Value| {
        let owner = ["owner"];
        let permissions = json!({"read": owner, "write": owner, "update": owner, "delete": owner});
        let notes = json!({"schema": {"$ref": "#/$defs/Note"}, "permissions": permissions});
        json!({"collections": {"notes": notes}, "$defs": {"Note": schema}})
    };
    let owned = Owned::with(manifest(json!({"type": "object"}))).await;
    owned.see("/data/notes").await.says("None here yet.");
    for key in ["a", "b"] {
        let row = json!({"key": key, "data": {"n": 1}});
        owned.agent(POST, "/collections/notes", row).await.expect(201);
    }
    let narrower = manifest(json!({"type": "object", "properties": {"n": {"type": "string"}}}));
    let version = json!({"html": "<p>", "manifest": narrower, "force": true});
    owned.agent(POST, "/versions", version).await.expect(201);
    owned.see("/data/notes").await.says("2 rows are set aside").hides("None here yet.");
}
