//! Lists that are longer than a page: turned onward and back without script, each on its own.

use serde_json::{Value, json};

use super::{Owned, POST};
use crate::harness::{Answer, encoded};

/// Items of a list on a page.
const ITEMS: usize = 25;

/// The address behind a link of a page; none where the page has no such link.
fn link<'a>(page: &'a Answer, list: &str, words: &str) -> Option<&'a str> {
    let label = format!("aria-label=\"Pages of {list}\"");
    let (_, pager) = page.text.split_once(&label)?;
    let (pager, _) = pager.split_once("</nav>")?;
    let (before, _) = pager.split_once(&format!(">{words}<"))?;
    let (_, href) = before.rsplit_once("href=\"")?;
    Some(href.split_once('"')?.0)
}

impl Owned {
    /// The page behind a link of another page.
    async fn turn(&self, page: &Answer, list: &str, words: &str) -> Answer {
        let href = link(page, list, words).unwrap_or_else(|| panic!("no {words:?} of {list}"));
        // In a page `&` stands as an entity, and the browser keeps the fragment to itself.
        let href = href.replace("&#38;", "&").replace("&amp;", "&");
        let path = href.split('#').next().expect("a path").to_owned();
        let answer = self.server.see(&self.ada, &path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer
    }

    async fn grants(&self, count: usize) {
        for uses in 1..=count {
            let grant = json!({"role": "guest", "max_uses": uses});
            self.agent(POST, "/grants", grant).await.expect(201);
        }
    }
}

/// How many visitors the links of a page let in, in the page's order.
fn uses(page: &Answer) -> Vec<usize> {
    let (_, grants) = page.text.split_once("id=\"grants\"").expect("the links");
    let parts = grants.split("<span>0 of ").skip(1);
    parts.map(|rest| rest.split(' ').next().expect("a number").parse().expect("one")).collect()
}

#[tokio::test]
async fn a_long_list_is_turned_onward_and_back() {
    let owned = Owned::with_role().await;
    owned.grants(2 * ITEMS + 3).await;
    let all: Vec<usize> = (1..=2 * ITEMS + 3).rev().collect();
    let first = owned.see("/sharing").await;
    assert_eq!(uses(&first), all[..ITEMS]);
    for words in ["First page", "Previous page"] {
        assert_eq!(link(&first, "grant links", words), None);
    }
    let second = owned.turn(&first, "grant links", "Next page").await;
    assert_eq!(uses(&second), all[ITEMS..2 * ITEMS]);
    assert_eq!(link(&second, "grant links", "First page"), None, "the previous one is it");
    let third = owned.turn(&second, "grant links", "Next page").await;
    assert_eq!(uses(&third), all[2 * ITEMS..]);
    assert_eq!(link(&third, "grant links", "Next page"), None);
    let back = owned.turn(&third, "grant links", "Previous page").await;
    assert_eq!(uses(&back), uses(&second));
    assert_eq!(uses(&owned.turn(&back, "grant links", "Previous page").await), uses(&first));
    assert_eq!(uses(&owned.turn(&third, "grant links", "First page").await), uses(&first));
}

#[tokio::test]
async fn turning_one_list_leaves_the_others_and_an_action_leaves_them_all() {
    let owned = Owned::with_role().await;
    owned.grants(ITEMS + 2).await;
    for n in 0..=ITEMS {
        let name = format!("import-{n:02}");
        let credential = json!({"name": name, "collections": ["entries"], "operations": ["read"]});
        owned.agent(POST, "/credentials", credential).await.expect(201);
    }
    let grants = owned.turn(&owned.see("/sharing").await, "grant links", "Next page").await;
    grants.says("import-01").hides("import-00");
    let both = owned.turn(&grants, "credentials", "Next page").await;
    assert_eq!(uses(&both), [2, 1]);
    both.says("import-00").hides("import-01");

    // What is done on a later page is answered by that page.
    let there = link(&both, "credentials", "Previous page").expect("a way back").to_owned();
    let there = there.replace("&#38;", "&");
    let (path, _) = there.split_once('#').expect("the list's place");
    let page = owned.server.see(&owned.ada, path).await;
    assert_eq!(uses(&page), [2, 1]);
    let (_, rest) = page.text.split_once("0 of 2 used").expect("the link");
    let (_, rest) = rest.split_once("name=\"grant\" value=\"").expect("its form");
    let id = rest.split('"').next().expect("its id").to_owned();
    let fields = [("action", "revoke-grant"), ("grant", &*id)];
    let revoked = owned.server.submit(&owned.ada, path, &fields).await;
    assert_eq!(revoked.led_to(), format!("{path}&done=link-revoked#notice"));
    let after = owned.server.see(&owned.ada, revoked.led_to()).await;
    assert_eq!(uses(after.says("The link is revoked")), [1]);
    // Turning on does not say it again.
    let next = link(&after, "credentials", "Next page").expect("a next page");
    assert!(!next.contains("done="), "{next}");
}

#[tokio::test]
async fn an_address_keeps_a_bounded_way_back() {
    let owned = Owned::with_role().await;
    owned.grants(2 * ITEMS + 1).await;
    let listed = owned.read(&format!("/grants?limit={ITEMS}")).await;
    let cursor = encoded(listed["next_cursor"].as_str().expect("a cursor"));
    // As if forty pages had been turned.
    let turned = format!("grants={cursor}");
    let path = owned.page(&format!("/sharing?{}", vec![turned.as_str(); 40].join("&")));
    let page = owned.server.see(&owned.ada, &path).await;
    let next = link(&page, "grant links", "Next page").expect("a next page");
    assert_eq!(next.matches("grants=").count(), 21, "twenty, and a mark for those left out");
    assert!(next.contains("?grants=&#38;"), "{next}");
    let cut = owned.page(&format!("/sharing?grants=&{turned}"));
    let page = owned.server.see(&owned.ada, &cut).await;
    assert_eq!(link(&page, "grant links", "Previous page"), None, "it is not known any more");
    assert_eq!(
        link(&page, "grant links", "First page"),
        Some(&*owned.page("/sharing#grants")),
        "the start always is"
    );
}

#[tokio::test]
async fn a_cursor_of_another_list_is_refused_by_the_page_too() {
    let owned = Owned::with_role().await;
    owned.grants(2).await;
    let listed = owned.read("/grants?limit=1").await;
    let cursor = encoded(listed["next_cursor"].as_str().expect("a cursor"));
    for query in [format!("members={cursor}"), "grants=made-up".to_owned()] {
        let page = owned.see(&format!("/sharing?{query}")).await;
        assert_eq!(page.status, 400, "{query}");
        page.says("leads to a page that does not belong to this list").hides("uery parameter");
    }
}

#[tokio::test]
async fn members_sessions_agents_and_deleted_rows_turn_as_well() {
    let owned = Owned::with_role().await;
    for n in 0..ITEMS {
        let member = json!({"email": format!("friend{n}@example.org")});
        owned.agent(POST, "/members", member).await.expect(201);
        owned.server.agent(&owned.ada).await;
        owned.server.human(&owned.ada.email).await;
        let row = json!({"key": format!("k{n:02}"), "data": {}});
        owned.agent(POST, "/collections/entries", row).await.expect(201);
        let row = format!("/collections/entries/k{n:02}");
        owned.agent(reqwest::Method::DELETE, &row, Value::Null).await.expect(200);
    }
    let row = json!({"key": "last", "data": {}});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    let last = "/collections/entries/last";
    owned.agent(reqwest::Method::DELETE, last, Value::Null).await.expect(200);

    for (path, list) in [
        (owned.page("/sharing"), "members"),
        ("/account".to_owned(), "sessions"),
        ("/agents".to_owned(), "agents"),
        (owned.page("/data/entries/trash"), "deleted rows"),
    ] {
        let first = owned.server.see(&owned.ada, &path).await;
        let second = owned.turn(&first, list, "Next page").await;
        assert_eq!(link(&second, list, "Next page"), None, "{list}");
        assert_ne!(first.text, second.text);
        let back = owned.turn(&second, list, "Previous page").await;
        assert_eq!(back.text.matches("<li").count(), first.text.matches("<li").count(), "{list}");
    }
}

#[tokio::test]
async fn rows_turn_with_their_filter_and_order() {
    let owned = Owned::with_role().await;
    let rows: Vec<_> = (0..2 * ITEMS + 2)
        .map(|n| json!({"key": format!("k{n:02}"), "data": {"n": n, "odd": n % 2 == 1}}))
        .collect();
    for row in rows {
        owned.agent(POST, "/collections/entries", row).await.expect(201);
    }
    let query = "/data/entries?field=odd&op=eq&value=true&sort=-n";
    let first = owned.see(query).await;
    first.says("row-k51").says("row-k03").hides("row-k01").hides("row-k50");
    let second = owned.turn(&first, "rows", "Next page").await;
    second.says("row-k01").hides("row-k03").says("value=\"-n\"");
    let back = owned.turn(&second, "rows", "Previous page").await;
    back.says("row-k51").says("row-k03").hides("row-k01");
}
