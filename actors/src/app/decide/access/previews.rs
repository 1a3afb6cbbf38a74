//! Preview tokens: made for private apps only, revoked.

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result,
    id::PreviewId,
    manifest::Visibility,
    previews::{PREVIEW_TTL_S_DEFAULT, PREVIEW_TTL_S_MAX, PREVIEWS_PER_APP_MAX, Preview},
};
use rookery_storage::commit::AccessWrite;

use super::{full, not_found};
use crate::app::{
    access_ops::{AccessReply, NewPreview},
    decide::Decision,
};

impl Decision<'_> {
    pub(super) fn mint_preview(&mut self, new: NewPreview) -> Result<Arc<Preview>> {
        let NewPreview { id, hash, expiry } = new;
        let expires_at = match expiry {
            Some(end) => end.resolve(self.now, PREVIEW_TTL_S_MAX)?,
            None => self.now.plus_seconds(PREVIEW_TTL_S_DEFAULT),
        };
        if self.working.root.record.visibility != Visibility::Private {
            let message = "only a private app is previewed: this one is open otherwise";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let now = self.now;
        if self.tables().live_previews(now) >= PREVIEWS_PER_APP_MAX {
            return Err(full(PREVIEWS_PER_APP_MAX, "preview tokens: revoke one"));
        }
        let preview = Arc::new(Preview {
            id,
            hash,
            expires_at,
            created_by: self.standing.principal,
            created_at: self.working.next_time(now),
            revoked_at: None,
        });
        self.tables_mut().put_preview(preview.clone());
        self.write_access(AccessWrite::Preview(preview.clone()));
        Ok(preview)
    }

    pub(super) fn revoke_preview(&mut self, id: PreviewId) -> Result<AccessReply> {
        let preview = self.tables().preview(id).cloned();
        let preview = preview.ok_or_else(|| not_found("preview token"))?;
        self.end_preview(&preview);
        Ok(AccessReply::Gone)
    }

    /// Revokes every preview token of the app: it is nobody's to be shown by them any more.
    pub(in crate::app) fn end_previews(&mut self) {
        for preview in self.tables().all_previews() {
            self.end_preview(&preview);
        }
    }

    fn end_preview(&mut self, preview: &Preview) {
        self.tables_mut().remove_preview(preview.id);
        let revoked = Preview { revoked_at: Some(self.now), ..preview.clone() };
        self.write_access(AccessWrite::Preview(Arc::new(revoked)));
    }
}
