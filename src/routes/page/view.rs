//! Counting that a page was looked at. Neither the app is woken nor a cookie set or read.

use http::{Method, StatusCode, header, uri::Authority};
use rookery_actors::{AppHandle, meters::PageView};
use rookery_domain::{
    meters::visit::{Signs, is_view, referrer_host},
    network::Network,
};
use rookery_storage::meters::roll_up::Source;

use super::PageRequest;
use crate::state::AppState;

/// Counts a view when a page was sent to somebody who looks at it; an unchanged page that the
/// browser had already is looked at too.
pub(super) async fn count(
    state: &AppState,
    app: &AppHandle,
    request: &PageRequest,
    sent: StatusCode,
) {
    let PageRequest { context, method, headers, .. } = request;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let user_agent = headers.get(header::USER_AGENT).map_or(&b""[..], |value| value.as_bytes());
    let named = String::from_utf8_lossy(user_agent);
    let signs = Signs {
        purpose: text("sec-purpose").or_else(|| text("purpose")),
        destination: text("sec-fetch-dest"),
        user_agent: Some(&named),
    };
    let shown = matches!(sent, StatusCode::OK | StatusCode::NOT_MODIFIED);
    if *method != Method::GET || !shown || !is_view(signs) {
        return;
    }
    let authority = text(header::HOST.as_str()).and_then(|host| host.parse::<Authority>().ok());
    let own_host = authority.as_ref().map(Authority::host);
    let source = Source {
        country: state.countries.of(context, headers),
        referrer: text(header::REFERER.as_str()).and_then(|from| referrer_host(from, own_host)),
    };
    let network = Network::from(context.address);
    let view = PageView { network: network.as_bytes(), user_agent, source };
    state.rooms.control().count_view(app, view).await;
}
