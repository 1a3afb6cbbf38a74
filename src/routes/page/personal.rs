//! The document of a visitor in path mode, whom the browser's cookie names with the document alone:
//! it carries the token for what the SDK asks, and the address of the files where they are not
//! everybody's (`docs/decisions/0042-an-app-at-a-path-has-a-cookie-of-its-path.md`).
//!
//! What is not here: who is let in (`refusal`), and how the two get into the HTML
//! (`pages::document`).

use axum::{body::Body, response::Response};
use http::{HeaderMap, Method};
use http_body::Body as _;
use rookery_actors::directory::Participant;
use rookery_domain::manifest::Visibility;

use super::{HTML, ServedApp, respond};
use crate::{
    http::{auth::visitor::Arriving, cookie, pieces::Pieces},
    pages::{
        assets::{self, Cache},
        files_pass::FilesPass,
    },
};

impl ServedApp<'_> {
    /// The document for whoever comes with a good cookie in path mode; `None` for anybody else. Nobody
    /// keeps it, and it is not compressed.
    pub(super) fn personal_document(
        &self,
        arriving: &Arriving,
        method: &Method,
        request: &HeaderMap,
    ) -> Option<Response> {
        if !self.state.origins.is_path_mode() || !arriving.by_cookie {
            return None;
        }
        let token = cookie::participant::read(request, self.state)?;
        let visitor = arriving.participant()?;
        let files = self.files_base(visitor);
        let html = Pieces::new(self.pages.document_carrying(token, files.as_deref()));
        let reply = assets::unkept(method, HTML, html.size_hint().lower());
        let body = if reply.body.is_empty() { Body::empty() } else { Body::new(html) };
        let mut common = self.common(false);
        cookie::participant::renew(&mut common, token, visitor, &self.record.slug, self.state);
        Some(respond(reply, common, Cache::Never, body))
    }

    /// Below which address the page of `visitor` finds its files, where they are not everybody's.
    fn files_base(&self, visitor: &Participant) -> Option<String> {
        let Self { state, record, .. } = *self;
        if record.visibility == Visibility::Public {
            return None;
        }
        let pass = state.rooms.directory.files_pass(visitor);
        Some(FilesPass::base(&state.origins.app_base_path(&record.slug), &pass))
    }
}
