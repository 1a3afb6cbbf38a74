//! An app that somebody else shares: a member sees it, and what members may.

use super::Owned;
use crate::harness::apps::guestbook;

#[tokio::test]
async fn a_member_sees_a_shared_app_and_nothing_of_its_owners() {
    let owned = Owned::with(guestbook()).await;
    let bob = owned.server.human("bob@example.org").await;
    let fields = [("action", "add-member"), ("email", "bob@example.org")];
    owned.submit("/sharing", &fields).await.led_to();
    let overview = owned.server.see(&bob, &owned.page("")).await;
    assert_eq!(overview.status, 200, "{}", overview.text);
    overview.says("Analytics").hides("Settings").hides("Move to the trash").hides("/versions/");
    for below in ["/analytics", "/usage"] {
        assert_eq!(owned.server.see(&bob, &owned.page(below)).await.status, 200, "{below}");
    }
    for below in ["/data", "/versions", "/sharing", "/settings", "/versions/1"] {
        let answer = owned.server.see(&bob, &owned.page(below)).await;
        assert_eq!(answer.status, 403, "{below}");
        answer.says("This is not yours to do").says("may do this.").hides("this route");
    }
    let page = owned.page("");
    let mark = owned.server.submit(&bob, &page, &[("action", "favorite"), ("back", "/")]).await;
    assert_eq!(mark.led_to(), "/");
    // Home has it among what others share, or among the favorites while it is one.
    let home = owned.server.see(&bob, "/").await;
    home.says("Favorites").says(&owned.app.slug).hides("Shared with me").hides("My apps");
    owned.server.submit(&bob, &page, &[("action", "unfavorite"), ("back", "/")]).await.led_to();
    let home = owned.server.see(&bob, "/").await;
    home.says("Shared with me").says(&owned.app.slug).hides("Favorites").hides("My apps");
    assert_eq!(owned.server.submit(&bob, &page, &[("action", "open")]).await.status, 303);
    let delete = owned.server.submit(&bob, &owned.page(""), &[("action", "delete")]).await;
    assert_eq!(delete.status, 403);

    // Whoever is no member any more finds nothing of it.
    let listed = owned.read("/members").await;
    let id = listed["items"][1]["human_id"].as_str().expect("an id").to_owned();
    owned.submit("/sharing", &[("action", "remove-member"), ("member", &id)]).await.led_to();
    owned.server.see(&bob, "/").await.hides(&owned.app.slug).hides("Shared with me");
    assert_eq!(owned.server.see(&bob, &page).await.status, 404);
}

#[tokio::test]
async fn an_invitation_says_to_which_app() {
    let owned = Owned::with(guestbook()).await;
    let back = format!("%2Fauthorize%3Fapp%3D{}%26return_to%3D%252F", owned.app.slug);
    let page = owned.server.get(&format!("/sign-in?redirect_to={back}")).await;
    page.says(&format!("To open <strong>{}</strong>", owned.app.slug));
    let other = owned.server.get("/sign-in?redirect_to=%2Felse%3Fapp%3Dcalm-garden").await;
    other.hides("To open");
}
