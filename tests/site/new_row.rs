//! The page of a new row, where none can be added from it.

use serde_json::json;

use super::Owned;

#[tokio::test]
async fn where_nobody_may_add_a_row_here_the_page_says_why() {
    let lists = |write: &[&str]| json!({"read": ["owner"], "write": write, "delete": ["owner"]});
    let guarded = json!({"permissions": lists(&["owner"]), "antiAbuse": "challenge"});
    let dropped = json!({"permissions": {"read": [], "write": ["owner"], "delete": ["owner"]}});
    let theirs = json!({"permissions": lists(&["editor"])});
    let owned = Owned::with(json!({
        "collections": {"guarded": guarded, "theirs": theirs, "dropped": dropped},
        "roles": {"editor": {"title": "Editor"}},
    }))
    .await;
    let page = owned.see("/data/guarded/new").await;
    page.says("You cannot add a row here.").says("challenge").hides("<textarea");
    owned.see("/data/theirs/new").await.says("You cannot add a row here.").hides("<textarea");
    // Who may add a row and not read it is led to the list.
    let added = owned.submit("/data/dropped/new", &[("data", "{\"n\": 1}")]).await;
    assert_eq!(added.led_to(), owned.page("/data/dropped?done=row-created#notice"));
    let list = owned.see("/data/dropped?done=row-created").await;
    list.says("The row is created.").says("Nobody may read rows of “dropped”");
    // What was typed before that was so stays in the editor.
    let typed = owned.submit("/data/guarded/new", &[("data", "{\"n\": 1}")]).await;
    assert_eq!(typed.status, 403);
    typed.says("<textarea").says("&#34;n&#34;");
}
