//! An app's rows on the site: seen, filtered, edited with a check of their version, deleted,
//! restored, destroyed; with their history.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Owned, POST};
use crate::harness::apps::{guestbook, open_collection};

/// An app with three rows, `k1` to `k3`.
async fn with_rows() -> Owned {
    let owned = Owned::with(guestbook()).await;
    for (key, name, n) in [("k1", "Ada", 1), ("k2", "Grace", 2), ("k3", "Linus", 3)] {
        let row = json!({"key": key, "data": {"name": name, "n": n, "note": "x"}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    owned
}

/// The hidden fields of the editor, as a browser would send them back.
async fn editor(owned: &Owned, key: &str) -> (String, String) {
    let page = owned.see(&format!("/data/entries/rows/{key}")).await;
    let field = |name: &str| {
        let value = page.between(&format!("name=\"{name}\" value=\""), "\"");
        value.replace("&#34;", "\"").replace("&#60;", "<").replace("&#38;", "&")
    };
    (field("version"), field("base"))
}

async fn save(
    owned: &Owned,
    key: &str,
    data: &str,
    at: &(String, String),
) -> crate::harness::Answer {
    let fields = [("action", "save"), ("data", data), ("version", &at.0), ("base", &at.1)];
    owned.submit(&format!("/data/entries/rows/{key}"), &fields).await
}

#[tokio::test]
async fn rows_are_listed_filtered_and_sorted() {
    let owned = with_rows().await;
    let to = owned.see("/data").await;
    assert_eq!(to.led_to(), owned.page("/data/entries"));
    owned.see("/data/entries").await.says("Ada").says("Grace").says("Linus").says("k2");
    let one = owned.see("/data/entries?field=name&op=eq&value=Grace").await;
    one.says("Grace").hides(">Ada<").hides(">Linus<");
    owned.see("/data/entries?field=n&op=gte&value=2").await.says(">Linus<").hides(">Ada<");
    owned.see("/data/entries?field=name&op=in&value=Ada,Linus").await.says("Ada").hides(">Grace<");
    owned.see("/data/entries?filter=%7B%22n%22%3A1%7D").await.says("Ada").hides(">Grace<");
    let sorted = owned.see("/data/entries?sort=-n").await;
    let at = |name: &str| sorted.text.find(&format!(">{name}<")).expect("a row");
    assert!(at("Linus") < at("Grace") && at("Grace") < at("Ada"));
    sorted.says("aria-sort=\"descending\"");
    let wrong = owned.see("/data/entries?filter=%7Bbroken").await;
    assert_eq!(wrong.status, 400);
    wrong.says("role=\"alert\"").says("value=\"{broken\"");
    let nowhere = owned.see("/data/entries?field=&op=eq&value=Ada&sort=-n").await;
    assert_eq!(nowhere.status, 400);
    nowhere.says("Choose a field.").says("value=\"Ada\"").says("value=\"-n\"");
    assert_eq!(owned.see("/data/nothing").await.status, 404);
    assert_eq!(owned.see("/data/nothing/new").await.status, 404);
}

#[tokio::test]
async fn a_value_fits_as_a_number_and_as_the_text_that_it_is() {
    let owned = Owned::with(guestbook()).await;
    for (key, title) in [
        ("a", json!("42")),
        ("b", json!(42)),
        ("c", json!("true")),
        ("d", json!(true)),
        ("7", json!("43")),
        ("f", json!(null)),
        ("g", json!(50)),
    ] {
        let row = json!({"key": key, "data": {"title": title}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let found = async |condition: &str| {
        let page = owned.see(&format!("/data/entries?{condition}")).await;
        assert_eq!(page.status, 200, "{condition}: {}", page.text);
        let mut keys: Vec<_> =
            page.text.split("id=\"row-").skip(1).map(|key| key[..1].to_owned()).collect();
        keys.sort_unstable();
        keys.concat()
    };
    for (condition, keys) in [
        ("field=title&op=eq&value=42", "ab"),
        ("field=title&op=eq&value=%2242%22", "a"),
        ("field=title&op=eq&value=true", "cd"),
        ("field=title&op=ne&value=42", "7cdfg"),
        ("field=title&op=in&value=42,43", "7ab"),
        ("field=title&op=gte&value=43", "7cg"),
        ("field=title&op=gt&value=true", ""),
        ("field=title&op=eq&value=null", "f"),
        ("field=key&op=eq&value=7", "7"),
        ("field=key&op=in&value=7,a", "7a"),
        ("field=version&op=eq&value=1", "7abcdfg"),
        ("field=title&op=exists&value=false", ""),
    ] {
        assert_eq!(found(condition).await, keys, "{condition}");
    }
}

#[tokio::test]
async fn a_column_that_no_sort_names_has_a_plain_heading() {
    let owned = Owned::with(json!({"collections": {"free": {"permissions": {
        "read": ["owner"], "write": ["owner"], "delete": ["owner"]}}}}))
    .await;
    let data = json!({"": 1, "a.b": 2, "-z": 3, "version": 4, "plain": 5});
    owned.agent(POST, "/collections/free", json!({"data": data})).await.expect(201);
    let list = owned.see("/data/free").await;
    list.says("<th scope=\"col\">&#34;&#34;</th>").says("<th scope=\"col\">a.b</th>");
    list.says("<th scope=\"col\">-z</th>").says("<th scope=\"col\">version</th>");
    list.says(">plain</a></th>");
}

#[tokio::test]
async fn what_nobody_sees_and_what_turns_text_around_is_shown_by_its_number() {
    let owned = Owned::with(guestbook()).await;
    for key in [" ", "\u{202e}dcba"] {
        let row = json!({"key": key, "data": {"name": "\u{202e}evil\u{1}"}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let list = owned.see("/data/entries").await;
    list.says(">\\u202edcba</a>").says("\\u202eevil\\u0001<").says(">&#34; &#34;</a>");
    let row = "/data/entries/rows/%E2%80%AEdcba";
    owned.see(row).await.says(">\\u202edcba</h2>");
    // The members that a change names are as strangers chose them, too.
    let patch = json!({"data": {"\u{202e}note\u{7f}": "x"}});
    owned.agent(Method::PATCH, "/collections/entries/%E2%80%AEdcba", patch).await.expect(200);
    owned.see(row).await.says("<dt>\\u202enote\\u007f</dt>");
    owned.agent(Method::DELETE, "/collections/entries/%20", json!({})).await.expect(200);
    owned.see("/data/entries/trash").await.says(">&#34; &#34;</a>");
}

#[tokio::test]
async fn an_edit_is_written_as_it_is_typed() {
    let owned = with_rows().await;
    let at = editor(&owned, "k1").await;
    let text = r#"{"name": "Ada", "n": 10000000000000000000, "f": 1.50, "a": [1, {"b": "<c>"}]}"#;
    let saved = save(&owned, "k1", text, &at).await;
    assert_eq!(saved.led_to(), owned.page("/data/entries/rows/k1?done=saved#notice"));
    let page = owned.see("/data/entries/rows/k1").await;
    page.says("&#34;n&#34;: 10000000000000000000").says("&#34;f&#34;: 1.50").says("&#60;c&#62;");
    // Members that the text leaves out are gone: it is the whole content.
    let row = owned.read("/collections/entries/k1").await;
    assert!(row["data"].get("note").is_none());
    let wrong = save(&owned, "k1", "{\"name\": ", &editor(&owned, "k1").await).await;
    assert_eq!(wrong.status, 400);
    wrong.says("This is not JSON").says("{&#34;name&#34;: ");
}

#[tokio::test]
async fn a_number_is_the_one_that_is_written_wherever_it_stands() {
    let owned = with_rows().await;
    // Read as numbers of 64 bits, both are the same one.
    let large = r#"{"name": "Ada", "n": 12345678901234567890123, "f": 1.50}"#;
    assert_eq!(save(&owned, "k1", large, &editor(&owned, "k1").await).await.status, 303);
    owned.see("/data/entries").await.says(">12345678901234567890123<").says(">1.50<");
    let at = editor(&owned, "k1").await;
    let theirs = large.replace("Ada", "Ada Lovelace");
    assert_eq!(save(&owned, "k1", &theirs, &at).await.status, 303);
    let late = save(&owned, "k1", &large.replace("0123,", "0124,"), &at).await;
    assert_eq!(late.status, 409);
    late.says("<td>12345678901234567890123</td><td>12345678901234567890124</td>");
    let proposal = late.between("rows=\"12\">", "</textarea>");
    assert!(proposal.contains(": 12345678901234567890124,"), "{proposal}");
    assert!(proposal.contains("Ada Lovelace"), "{proposal}");
}

#[tokio::test]
async fn where_two_changed_the_end_of_a_long_text_both_ends_are_shown() {
    let owned = with_rows().await;
    let text = |end: &str| json!({"name": format!("{}{end}", "word ".repeat(40))}).to_string();
    assert_eq!(save(&owned, "k1", &text("old"), &editor(&owned, "k1").await).await.status, 303);
    let at = editor(&owned, "k1").await;
    assert_eq!(save(&owned, "k1", &text("theirs"), &at).await.status, 303);
    let late = save(&owned, "k1", &text("mine"), &at).await;
    assert_eq!(late.status, 409);
    late.says("name <small>(changed by both)</small>");
    for end in ["old", "mine", "theirs"] {
        late.says(&format!("word {end}</td>"));
    }
    // What each of the two did, where they did it in different places.
    let at = editor(&owned, "k1").await;
    assert_eq!(save(&owned, "k1", &text("last"), &at).await.status, 303);
    let late = save(&owned, "k1", &text("theirs").replacen("word", "first", 1), &at).await;
    late.says("<td>first word word").says("word last</td>");
}

#[tokio::test]
async fn an_edit_in_a_collection_that_is_declared_no_more_is_not_lost() {
    let owned = with_rows().await;
    let at = editor(&owned, "k1").await;
    let deploy = json!({"html": "<p>again", "manifest": {}, "force": true});
    owned.agent(POST, "/versions", deploy).await.expect(201);
    let late = save(&owned, "k1", r#"{"name": "Ada Lovelace"}"#, &at).await;
    assert_eq!(late.status, 404);
    late.says("The manifest declares no collection");
    late.says("value=\"k1\"").says("{&#34;name&#34;: &#34;Ada Lovelace&#34;}</textarea>");
}

#[tokio::test]
async fn only_what_is_cut_has_more_to_say() {
    let owned = Owned::with(guestbook()).await;
    for (key, name) in [("a", "and so on…".to_owned()), ("b", "x".repeat(81))] {
        let row = json!({"key": key, "data": {"name": name}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let list = owned.see("/data/entries").await;
    list.says(">and so on…<").hides("title=\"and so on…\"");
    list.says(&format!("title=\"{}\"", "x".repeat(81)));
}

#[tokio::test]
async fn an_edit_that_came_too_late_shows_both_and_loses_nothing() {
    let owned = with_rows().await;
    let at = editor(&owned, "k1").await;
    let patch = json!({"data": {"n": 100, "note": "by the agent"}});
    owned.agent(Method::PATCH, "/collections/entries/k1", patch).await.expect(200);
    let mine = r#"{"name": "Ada Lovelace", "n": 7, "note": "x"}"#;
    let late = save(&owned, "k1", mine, &at).await;
    assert_eq!(late.status, 409);
    // Both are there; what only one touched is kept of that one.
    late.says("Somebody changed this row while you edited it");
    late.says("Ada Lovelace").says("<td>1</td><td>7</td><td>100</td>");
    late.says("<td>x</td><td>x</td><td>by the agent</td>");
    let unwritten = owned.read("/collections/entries/k1").await;
    assert_eq!(unwritten["data"], json!({"name": "Ada", "n": 100, "note": "by the agent"}));
    let proposal = late.between("rows=\"12\">", "</textarea>").replace("&#34;", "\"");
    let merged: Value = serde_json::from_str(&proposal).expect("JSON");
    assert_eq!(merged, json!({"name": "Ada Lovelace", "n": 7, "note": "by the agent"}));

    // The next try is against what is there now; if that moved on as well, it is said again.
    let version = late.between("name=\"version\" value=\"", "\"");
    let base = late.between("name=\"base\" value=\"", "\"").replace("&#34;", "\"");
    let again = save(&owned, "k1", &proposal, &(version, base)).await;
    assert_eq!(again.status, 303);
    assert_eq!(owned.read("/collections/entries/k1").await["data"], merged);
    assert_eq!(save(&owned, "k1", mine, &at).await.status, 409);

    // A row that was deleted meanwhile gives back what was written.
    owned.agent(Method::DELETE, "/collections/entries/k1", json!({})).await.expect(200);
    let gone = save(&owned, "k1", mine, &at).await;
    assert_eq!(gone.status, 404);
    gone.says("Ada Lovelace").says("Create the row");
}

#[tokio::test]
async fn a_row_is_made_deleted_restored_and_destroyed() {
    let owned = with_rows().await;
    let fields = [("key", "a/b c"), ("data", "{\"name\": \"new\"}")];
    let made = owned.submit("/data/entries/new", &fields).await;
    assert_eq!(made.led_to(), owned.page("/data/entries/rows/a%2Fb%20c?done=row-created#notice"));
    let page = owned.see("/data/entries/rows/a%2Fb%20c").await;
    page.says("a/b c").says("Created").says("by you");

    let fields = [("key", "a/b c"), ("data", "{\"name\": \"other\"}")];
    let taken = owned.submit("/data/entries/new", &fields).await;
    assert_eq!(taken.status, 409);
    taken.says("There is already a row with this key.").says("value=\"a/b c\"");
    taken.says("&#34;other&#34;").says(&owned.page("/data/entries/rows/a%2Fb%20c"));

    let row = "/data/entries/rows/k2";
    let stale = owned.submit(row, &[("action", "delete"), ("version", "9")]).await;
    assert_eq!(stale.status, 409);
    stale.says("Somebody changed this row meanwhile.").hides("if_match");
    let deleted = owned.submit(row, &[("action", "delete"), ("version", "1")]).await;
    assert_eq!(deleted.led_to(), owned.page("/data/entries?done=row-deleted#notice"));
    owned.see("/data/entries").await.hides(">k2<").says("Trash (1)");
    owned.see("/data/entries/trash").await.says("k2").says("Grace");
    owned.see(row).await.says("This row is in the trash");
    let restored = owned.submit(row, &[("action", "restore")]).await;
    assert_eq!(restored.led_to(), owned.page("/data/entries/rows/k2?done=row-restored#notice"));
    owned
        .see(row)
        .await
        .says("Restored")
        .says("Deleted")
        .says("Created")
        .says("by your agent “robot”");

    // What was written since the page was shown is not destroyed unseen.
    let seen = owned.see(row).await.between("name=\"version\" value=\"", "\"").to_owned();
    let older = (seen.parse::<u32>().expect("a version") - 1).to_string();
    let stale = owned.submit(row, &[("action", "purge"), ("version", &older)]).await;
    assert_eq!(stale.status, 409, "{}", stale.text);
    let purged = owned.submit(row, &[("action", "purge"), ("version", &seen)]).await;
    assert_eq!(purged.led_to(), owned.page("/data/entries?done=row-purged#notice"));
    assert_eq!(owned.see(row).await.status, 404);
}

#[tokio::test]
async fn a_row_that_its_reader_may_not_change_is_shown_without_an_editor() {
    let entries = json!({"permissions": {
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"], "delete": ["creator"],
    }});
    let mut log = open_collection();
    log["appendOnly"] = true.into();
    let owned = Owned::with(json!({"collections": {"entries": entries, "log": log}})).await;
    for all in ["/collections/entries", "/collections/log"] {
        let row = json!({"key": "k1", "data": {"name": "Ada"}});
        owned.agent(POST, all, row).await.expect(201);
    }
    let page = owned.see("/data/entries/rows/k1").await;
    page.says("Ada")
        .says("only by whoever created the row")
        .hides("<textarea")
        .hides("Move to the trash");
    let page = owned.see("/data/log/rows/k1").await;
    page.says("Ada")
        .says("can be added, but not changed")
        .hides("<textarea")
        .hides("Move to the trash");
    // What its reader made is its reader's to change.
    let fields = [("key", "k2"), ("data", "{}")];
    owned.submit("/data/entries/new", &fields).await.led_to();
    owned.see("/data/entries/rows/k2").await.says("<textarea").says("Move to the trash");
    // An edit that is refused for another reason stays in the editor.
    let fields = [("action", "save"), ("data", "{\"n\": 1}"), ("version", "1"), ("base", "{}")];
    let refused = owned.submit("/data/entries/rows/k1", &fields).await;
    assert_eq!(refused.status, 403);
    refused.says("&#34;n&#34;: 1");
}

#[tokio::test]
async fn a_list_says_why_it_is_empty() {
    let mut own = open_collection();
    own["permissions"]["read"] = json!(["creator"]);
    let mut closed = open_collection();
    closed["permissions"]["read"] = json!([]);
    let collections = json!({"own": own, "closed": closed, "none": open_collection()});
    let owned = Owned::with(json!({"collections": collections})).await;
    for all in ["/collections/own", "/collections/closed"] {
        owned.agent(POST, all, json!({"data": {"n": 1}})).await.expect(201);
    }
    owned.see("/data/none").await.says("None here yet");
    owned.see("/data/none?field=n&value=2").await.says("None that fits");
    owned.see("/data/own").await.says("does not let you read the one here").hides("None here yet");
    let refused = owned.see("/data/closed").await;
    assert_eq!(refused.status, 403);
    refused.hides("No rows");
}

#[tokio::test]
async fn what_a_schema_refuses_is_said_beside_the_text() {
    let manifest = json!({
        "collections": {"entries": {"schema": {"$ref": "#/$defs/E"}, "permissions":
            open_collection()["permissions"]}},
        "$defs": {"E": {"type": "object", "required": ["name"], "properties":
            {"name": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}}}},
    });
    let owned = Owned::with(manifest).await;
    let typed = "{\"name\": \"far too long\", \"n\": 1.5}";
    let refused = owned.submit("/data/entries/new", &[("data", typed)]).await;
    assert_eq!(refused.status, 422);
    refused.says("does not fit what its collection holds: “").says("“n” is not of type");
    refused.says("“name” is longer than 5 characters");
    refused.says("far too long").hides("/name");
    let huge = owned.submit("/data/entries/new", &[("data", &*"x".repeat(970 << 10))]).await;
    assert_eq!(huge.status, 413);
    huge.says("it holds 968 KiB at most").says("Nothing was saved").hides("991232");
}

#[tokio::test]
async fn a_page_of_rows_hears_of_a_change() {
    let owned = with_rows().await;
    let page = owned.see("/data/entries").await;
    let path = page
        .between("id=\"live\" class=\"small\" role=\"status\" data-hx-get=\"", "\"")
        .replace("&#38;", "&");
    let (server, ada) = (&owned.server, &owned.ada);
    let here = owned.page("/data/entries");
    let waiting = server.part(ada, &path, &here);
    let writing = async {
        let row = json!({"key": "k9", "data": {"name": "Edsger"}});
        owned.agent(POST, "/collections/entries", row).await.expect(201)
    };
    let (heard, _) = tokio::join!(waiting, writing);
    assert_eq!(heard.header("hx-trigger"), "rows-changed");
    heard.says("id=\"live\"").says("data-hx-get=");
}

#[tokio::test]
async fn rows_are_nobody_elses_to_see() {
    let owned = with_rows().await;
    let bob = owned.server.human("bob@example.org").await;
    for below in [
        "",
        "/data",
        "/data/entries",
        "/data/entries/rows/k1",
        "/data/entries/trash",
        "/versions",
        "/sharing",
        "/settings",
        "/analytics",
        "/usage",
    ] {
        let answer = owned.server.see(&bob, &owned.page(below)).await;
        assert_eq!(answer.status, 404, "{below}");
        answer.hides("Ada").hides(&owned.app.slug);
    }
}

#[tokio::test]
async fn what_is_wrong_with_typed_json_is_said_by_its_own_lines_and_depth() {
    let owned = with_rows().await;
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    for (data, says) in [
        ("{\"a\":1,\"a\":2}".to_owned(), "“a” occurs twice at line 1 column 10"),
        ("{\n\"a\": \"\\u0000\"}".to_owned(), "NUL (\\u0000) at line 2 column 13"),
        (nested(64), "The content nests deeper than 63 levels."),
        ("[".repeat(90) + &"]".repeat(90), "The content nests deeper than 63 levels."),
    ] {
        let made = owned.submit("/data/entries/new", &[("key", ""), ("data", &data)]).await;
        assert_eq!(made.status, 400, "{}", made.text);
        made.says(says);
        let at = editor(&owned, "k1").await;
        save(&owned, "k1", &data, &at).await.says(says);
    }
    owned.submit("/data/entries/new", &[("key", "deep"), ("data", &nested(63))]).await.led_to();
}

#[tokio::test]
async fn a_row_that_the_service_cannot_take_now_is_kept_and_sent_again() {
    let owned = with_rows().await;
    let at = editor(&owned, "k1").await;
    assert_eq!(owned.agent(Method::DELETE, "", json!(null)).await.status, 204);
    let page = "/data/entries/new?back=x";
    let typed = "{\"text\": \"<typed> & kept\"}";
    let away = owned.submit(page, &[("key", "late"), ("data", typed)]).await;
    assert_eq!(away.status, 410);
    let kept = "name=\"data\" value=\"{&#34;text&#34;: &#34;&#60;typed&#62; &#38; kept&#34;}\"";
    away.says("This app is in the trash").says("Send it again").says(kept);
    // Its links, those of the frame too, leave it open; what is sent again replaces it.
    away.says("<base target=\"_blank\">").says(" target=\"_self\"><p role=\"alert\">");
    away.says(&format!("action=\"{}\"", owned.page(page))).says("name=\"made_for\"");
    let saved = save(&owned, "k1", typed, &at).await;
    assert_eq!(saved.status, 410);
    saved.says(kept).says("name=\"action\" value=\"save\"").says("name=\"base\"");
    // What was only asked for has nothing to keep.
    owned.see(page).await.says("This app is in the trash").hides("Send it again").hides("<base");
    owned.agent(POST, "/restore", json!({})).await.expect(200);
    owned.submit(page, &[("key", "late"), ("data", typed)]).await.led_to();
}

#[tokio::test]
async fn what_strangers_wrote_keeps_its_direction_to_itself() {
    let owned = with_rows().await;
    let at = editor(&owned, "k1").await;
    save(&owned, "k1", "{\"name\":\"שלום\",\"n\":1,\"note\":\"x\"}", &at).await.led_to();
    let row = owned.see("/data/entries/rows/k1").await;
    row.says("<bdi>Ada</bdi> → <bdi>שלום</bdi>").says(" by <bdi>");
    owned.see("/data/entries").await.says("<span class=\"clip\" dir=\"auto\">שלום</span>");
}

#[tokio::test]
async fn the_list_says_how_many_fields_it_leaves_out() {
    let owned = with_rows().await;
    owned.see("/data/entries").await.hides("which the page of a row shows");
    let six = json!({"name": "x", "n": 1, "note": "x", "a": 1, "b": 1, "c": 1});
    for (key, more, says) in [
        ("six", json!({}), None),
        ("seven", json!({"d": 1}), Some("And 1 more field, which the page of a row shows.")),
        (
            "nine",
            json!({"e": 1, "f": 1}),
            Some("And 3 more fields, which the page of a row shows."),
        ),
    ] {
        let mut data = six.clone();
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let row = json!({"key": key, "data": data});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
        let list = owned.see("/data/entries").await;
        match says {
            Some(says) => list.says(says),
            None => list.hides("which the page of a row shows"),
        };
    }
}

#[tokio::test]
async fn no_back_tick_of_the_api_stands_in_a_page() {
    let owned = with_rows().await;
    let refused = owned.see("/data/entries?field=title&op=exists&value=perhaps").await;
    assert_eq!(refused.status, 400);
    refused.says("“exists” takes true or false.");
    assert!(!refused.between("role=\"alert\">", "</p>").contains('`'));
}
