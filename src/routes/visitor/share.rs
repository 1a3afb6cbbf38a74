//! `/s/share/{token}` on an app's origin: the link that opens an app with visibility `link`.

use axum::{
    extract::{Path, State},
    response::Response,
};
use http::{HeaderMap, Method, Uri};
use rookery_actors::directory::{Arrival, Participant, ParticipantKind};
use rookery_domain::{
    Error, ErrorCode,
    app::AppRecord,
    manifest::Visibility,
    secret::{Secret, SecretHash, SecretKind},
};

use super::{see_other, untouched};
use crate::{
    error::ApiResult,
    http::{auth::visitor::Arriving, client::RequestContext, participant_cookie},
    pages::paths::is_navigation,
    routes::{
        auth::verify::is_prefetch,
        page::{Refusal, status_page},
    },
    state::AppState,
};

/// Lets whoever has the link in, and goes on to the start of the app.
///
/// # Errors
/// `unauthorized` for a token that is not the one in force (to a browser as a page).
pub async fn share(
    arriving: Arriving,
    context: RequestContext,
    State(state): State<AppState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    Path(token): Path<String>,
) -> ApiResult<Response> {
    let record = arriving.app.record();
    let refusal = Refusal::of_state(&record).or_else(|| match record.visibility {
        Visibility::Private => Some(Refusal::Private),
        Visibility::Link | Visibility::Public => None,
    });
    let link = in_force(&record, &token);
    let refusal = refusal.or_else(|| {
        (record.visibility == Visibility::Link && link.is_none()).then_some(Refusal::NeedsLink)
    });
    if let Some(refusal) = refusal {
        if is_navigation(&headers) {
            return Ok(status_page(&state, &context, &uri, &method, refusal));
        }
        let message = "this share link is not the one in force";
        return Err(Error::new(ErrorCode::Unauthorized, message).into());
    }
    if method != Method::GET || is_prefetch(&headers) {
        return Ok(untouched());
    }
    let mut response = see_other(&state.origins.app_base_path(&record.slug))?;
    let here_already =
        |visitor: &Participant| link.is_some_and(|link| visitor.via == Some(link.half()));
    // A public app needs no link any more, and a visitor that came by this one stays who it is.
    let Some(link) = link.filter(|_| !arriving.participant().is_some_and(|v| here_already(v)))
    else {
        return Ok(response);
    };
    if state.origins.is_path_mode() {
        return Ok(response);
    }
    let directory = &state.rooms.directory;
    let signed_in = arriving.participant().filter(|one| one.kind == ParticipantKind::Human);
    let arrival = match signed_in.and_then(|one| one.human) {
        Some(human) => Arrival::Human { human, share: Some(link.half()) },
        None => Arrival::Share(link),
    };
    let visit = directory.create_participant(record.id, arrival).await?;
    if let Some(before) = signed_in {
        directory.revoke_participant(before).await?;
    }
    let (now, https) = (state.clock.now(), state.is_https());
    participant_cookie::set(response.headers_mut(), &visit.participant, &visit.token, now, https);
    Ok(response)
}

/// The hash of `token`, if it is the share token in force. Hashes are compared, in constant time.
fn in_force(app: &AppRecord, token: &str) -> Option<SecretHash> {
    let given = Secret::parse(SecretKind::Share, token)?.hash();
    app.share_hash.map(SecretHash).filter(|in_force| *in_force == given)
}
