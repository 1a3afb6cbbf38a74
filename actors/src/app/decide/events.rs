//! Custom events (contract part 6).

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    event::{Event, EventType},
    json::Object,
    text::quoted,
};

use super::{Decision, aside, violated};

/// Who sends events in place of a service credential, of which none may.
const NO_CREDENTIAL: &str = "No allowlist has events, so another credential does not help: send it with the key of one of the owner's agents, or as a participant of the app.";

impl Decision<'_> {
    /// Writes a custom event of a declared type to the feed.
    pub(super) fn send_event(&mut self, kind: &str, data: &Object) -> Result<Arc<Event>> {
        if self.standing.allowlist.is_some() {
            let message = "a service credential reaches collections, and sends no events";
            let refused = Error::new(ErrorCode::CredentialScopeForbidden, message);
            return Err(refused.with_hint(NO_CREDENTIAL));
        }
        if self.standing.read_only {
            return Err(Error::new(ErrorCode::Forbidden, "a preview is for reading only"));
        }
        let schema = self.working.private.events.get(kind).cloned().ok_or_else(|| {
            Error::new(
                ErrorCode::UnknownEventType,
                format!("the manifest declares no event type {}", quoted(kind)),
            )
        })?;
        self.env.limits.check_event_data(data.text())?;
        if let Some(schema) = schema {
            aside::validate(&schema, data.value()).map_err(|misfit| {
                let what = format!("the data does not fit the schema of event `{kind}`");
                violated(ErrorCode::SchemaViolation, &what, &misfit)
            })?;
        }
        let stamp = self.stamp();
        let kind = EventType::Custom(kind.into());
        Ok(self.working.emit(kind, stamp, Some(data.text().into())))
    }
}
