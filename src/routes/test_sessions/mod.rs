//! Test sessions: how a client without a browser becomes the owner on an app's origin. Redeeming
//! a token is `POST /s/session` (`visitor`).

pub mod create;
