//! An app's settings, its reports, and its overview.

use serde_json::json;

use super::{Owned, POST};
use crate::harness::apps::{guestbook, open_collection};

#[tokio::test]
async fn settings_are_those_of_the_api() {
    let owned = Owned::with(guestbook()).await;
    let page = "/settings";
    for visibility in ["public", "link", "private"] {
        let fields = [("action", "visibility"), ("visibility", visibility)];
        assert_eq!(
            owned.submit(page, &fields).await.led_to(),
            owned.page("/settings?done=saved#notice")
        );
        assert_eq!(owned.read("").await["visibility"], visibility);
    }
    owned.submit(page, &[("action", "timezone"), ("timezone", "Europe/Vienna")]).await.led_to();
    assert_eq!(owned.read("").await["timezone"], "Europe/Vienna");
    let wrong = owned.submit(page, &[("action", "timezone"), ("timezone", "Mars/Base")]).await;
    assert_eq!(wrong.status, 400);
    wrong.says("role=\"alert\"").says("Mars/Base");

    owned.submit(page, &[("action", "migration"), ("on", "true"), ("minutes", "5")]).await.led_to();
    assert_eq!(owned.read("").await["migration_mode"]["on"], true);
    owned.see(page).await.says("Turn it off");
    owned.submit(page, &[("action", "migration"), ("on", "false")]).await.led_to();
    assert_eq!(owned.read("").await["migration_mode"]["on"], false);

    // The owner in person lifts what its page may reach; not while the app is public.
    let lift = |on: &'static str| [("action", "unrestricted"), ("on", on)];
    owned.submit(page, &[("action", "visibility"), ("visibility", "public")]).await.led_to();
    let refused = owned.submit(page, &lift("true")).await;
    assert_eq!(refused.status, 409);
    refused.says("role=\"alert\"").hides("Let it reach anything");
    for form in owned.see(page).await.text.split("<form").skip(1) {
        let form = form.split("</form>").next().unwrap_or_default();
        assert!(form.contains("type=\"submit\""), "a form that nothing sends: {form}");
    }
    owned.submit(page, &[("action", "visibility"), ("visibility", "private")]).await.led_to();
    owned.submit(page, &lift("true")).await.led_to();
    assert_eq!(owned.read("").await["unrestricted"], true);
    owned.see(page).await.says("Any address on the internet");
    owned.submit(page, &lift("false")).await.led_to();
    assert_eq!(owned.read("").await["unrestricted"], false);

    let bounds = [
        ("action", "retention"),
        ("collection", "entries"),
        ("max_age_days", "9"),
        ("max_rows", ""),
    ];
    owned.submit(page, &bounds).await.led_to();
    let kept = owned.read("/collections/entries/retention").await;
    assert_eq!(kept["effective"], json!({"max_age_days": 9, "max_rows": null}));
    owned.see(page).await.says("name=\"max_age_days\" type=\"number\" min=\"1\" value=\"9\"");
    let bounds = [
        ("action", "retention"),
        ("collection", "entries"),
        ("max_age_days", "soon"),
        ("max_rows", ""),
    ];
    let refused = owned.submit(page, &bounds).await;
    assert_eq!(refused.status, 400);
    refused.says("The number of days must be").hides("`max_age_days`").says("value=\"soon\"");
    assert_eq!(owned.submit(page, &[("action", "explode")]).await.status, 400);
}

#[tokio::test]
async fn a_form_of_bounds_changes_what_was_changed_in_it() {
    let owned = Owned::with(guestbook()).await;
    let sent = async |days: &str, rows: &str| {
        // Both pages were opened before either form was sent.
        let fields = [
            ("action", "retention"),
            ("collection", "entries"),
            ("max_age_days", days),
            ("max_age_days_was", ""),
            ("max_rows", rows),
            ("max_rows_was", ""),
        ];
        let sent = owned.submit("/settings", &fields).await;
        assert_eq!(sent.led_to(), owned.page("/settings?done=retention-set#notice"));
        owned.read("/collections/entries/retention").await["override"].clone()
    };
    assert_eq!(sent("60", "").await, json!({"max_age_days": 60, "max_rows": null}));
    assert_eq!(sent("", "5").await, json!({"max_age_days": 60, "max_rows": 5}));
    let page = owned.see("/settings").await;
    page.says("name=\"max_age_days_was\" value=\"60\"").says("name=\"max_rows_was\" value=\"5\"");
    let fields = [
        ("action", "retention"),
        ("collection", "entries"),
        ("max_age_days", ""),
        ("max_age_days_was", "60"),
        ("max_rows", "none"),
        ("max_rows_was", "5"),
    ];
    // A form that was refused holds what it held, and still knows what its page showed.
    let refused = owned.submit("/settings", &fields).await;
    assert_eq!(refused.status, 400);
    refused
        .says("name=\"max_age_days_was\" value=\"60\"")
        .says("name=\"max_rows_was\" value=\"5\"");
    refused.says("name=\"max_age_days\" type=\"number\" min=\"1\" value=\"\"");
    let fields = [&fields[..4], &[("max_rows", "5"), ("max_rows_was", "5")]].concat();
    owned.submit("/settings", &fields).await.led_to();
    let kept = owned.read("/collections/entries/retention").await;
    assert_eq!(kept["override"], json!({"max_age_days": null, "max_rows": 5}));
}

#[tokio::test]
async fn bounds_by_which_rows_go_are_rehearsed_first() {
    let owned = Owned::with(guestbook()).await;
    for n in 0..8 {
        owned.agent(POST, "/collections/entries", json!({"data": {"n": n}})).await.expect(201);
    }
    let fields = |rows: &'static str, was: &'static str| {
        [
            ("action", "retention"),
            ("collection", "entries"),
            ("max_age_days", ""),
            ("max_age_days_was", ""),
            ("max_rows", rows),
            ("max_rows_was", was),
        ]
    };
    let bounds = async || owned.read("/collections/entries/retention").await;
    // All of them stay, so nobody is asked.
    owned.submit("/settings", &fields("8", "")).await.led_to();
    let asked = owned.submit("/settings", &fields("3", "8")).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    asked
        .says("Nothing is changed yet")
        .says("5 rows go to the trash")
        .hides("max_rows_was\" value=\"3");
    assert_eq!(bounds().await["effective"]["max_rows"], 8);
    // Its form is sent as it stands on the page.
    let hidden = asked.text.split("<input type=\"hidden\" name=\"").skip(1);
    let mut again: Vec<_> = hidden
        .map(|input| {
            let (name, rest) = input.split_once("\" value=\"").expect("a value");
            (name, rest.split('"').next().expect("its end"))
        })
        .filter(|(name, _)| fields("", "").iter().any(|(field, _)| field == name))
        .collect();
    assert_eq!(again.len(), 6, "{again:?}");
    again.push(("agreed", "yes"));
    let agreed = owned.submit("/settings", &again).await;
    assert_eq!(agreed.led_to(), owned.page("/settings?done=retention-set#notice"));
    assert_eq!(bounds().await["effective"]["max_rows"], 3);
    owned.see("/settings").await.says("5 rows will go");
    // What goes anyway is not asked about again.
    owned.submit("/settings", &fields("4", "3")).await.led_to();
}

#[tokio::test]
async fn an_app_joins_an_organization_of_its_owner() {
    let owned = Owned::with(guestbook()).await;
    owned.see("/settings").await.hides("name=\"org_id\"");
    let made = owned.server.by(&owned.ada, POST, "/v1/orgs").json(&json!({"name": "Guild"}));
    let org = crate::harness::Answer::of(made).await.expect(201);
    let id = org["id"].as_str().expect("an id");
    owned.see("/settings").await.says("Guild");
    owned.submit("/settings", &[("action", "organization"), ("org_id", id)]).await.led_to();
    assert_eq!(owned.read("").await["org_id"], id);
    owned.submit("/settings", &[("action", "organization"), ("org_id", "")]).await.led_to();
    assert!(owned.read("").await["org_id"].is_null());
}

#[tokio::test]
async fn overview_and_reports_show_the_app() {
    let owned = Owned::with(guestbook()).await;
    let row = json!({"key": "k1", "data": {"name": "Ada"}});
    owned.agent(POST, "/collections/entries", row).await.expect(201);
    let overview = owned.see("").await;
    overview
        .says(&owned.app.slug)
        .says("entries")
        .says("1 row")
        .says("<strong>1</strong> of 1,000");
    owned.see("/analytics").await.says("Page views").says("2026-01-31").says("Nobody came yet");
    owned.see("/usage?days=7").await.says("Rows written").says("2026-01-25").hides("2026-01-24");
    // By its slug the same pages.
    let by_slug = format!("/apps/{}/usage", owned.app.slug);
    assert_eq!(owned.server.see(&owned.ada, &by_slug).await.status, 200);
    owned.submit("", &[("action", "delete")]).await.led_to();
    let deleted = owned.see("").await;
    assert_eq!(deleted.status, 200);
    deleted.says("This app is in the trash").says("Restore it");
    let data = owned.see("/data").await;
    assert_eq!(data.status, 410);
    data.says("href=\"/trash\">Open the trash");
}

#[tokio::test]
async fn an_app_names_the_organization_that_its_owner_left() {
    let owned = Owned::with(guestbook()).await;
    let (server, ada) = (&owned.server, &owned.ada);
    let bob = server.human("bob@example.org").await;
    let eve = server.human("eve@example.org").await;
    let org = server.submit(ada, "/orgs", &[("name", "Rooks")]).await;
    let org = org.led_to().split_once('?').expect("a mark").0.to_owned();
    let id = org.strip_prefix("/orgs/").expect("an id");
    let add = [("action", "add-member"), ("email", "bob@example.org"), ("role", "admin")];
    server.submit(ada, &org, &add).await.led_to();
    owned.submit("/settings", &[("action", "organization"), ("org_id", id)]).await.led_to();
    owned.submit("/sharing", &[("action", "add-member"), ("email", &eve.email)]).await.led_to();
    let link = format!("<a href=\"{org}\">Rooks</a>");
    owned.see("").await.says(&link);

    server.submit(ada, &org, &[("action", "leave")]).await.led_to();
    owned.see("").await.says("<dd>Rooks, whose admins").hides(&link);
    let chosen = format!("<option value=\"{id}\" selected>Rooks</option>");
    owned.see("/settings").await.says(&chosen);
    // Whoever is no more than a member of the app is not told which it is.
    server.see(&eve, &owned.page("")).await.hides(id).hides("Rooks");

    // An admin may have more than one, and move the app to one that its owner never knew.
    let other = server.submit(&bob, "/orgs", &[("name", "Ravens")]).await;
    let other = other.led_to().split_once('?').expect("a mark").0.to_owned();
    let other = other.strip_prefix("/orgs/").expect("an id");
    let settings = owned.page("/settings");
    let fields = [("action", "organization"), ("org_id", other)];
    server.submit(&bob, &settings, &fields).await.led_to();
    owned.see("").await.says("<dd>Ravens, whose admins");
    let chosen = format!("<option value=\"{other}\" selected>Ravens</option>");
    owned.see("/settings").await.says(&chosen).says("<option value=\"\">None</option>");
    // Saved as it stands, it stays there; and the owner takes it out.
    let fields = [("action", "organization"), ("org_id", other)];
    owned.submit("/settings", &fields).await.led_to();
    assert_eq!(owned.read("").await["org_id"], other);
    let fields = [("action", "organization"), ("org_id", "")];
    owned.submit("/settings", &fields).await.led_to();
    assert!(owned.read("").await["org_id"].is_null());
    owned.see("").await.hides("Ravens");
}

#[tokio::test]
async fn the_bounds_of_each_collection_are_a_group_of_its_name() {
    let collections = json!({"entries": open_collection(), "notes": open_collection()});
    let owned = Owned::with(json!({"collections": collections})).await;
    let page = owned.see("/settings").await;
    for name in ["entries", "notes"] {
        page.says(&format!("<form class=\"kept\" aria-labelledby=\"kept-{name}\""));
        page.says(&format!("<span id=\"kept-{name}\" class=\"name\">{name}</span>"));
    }
}
