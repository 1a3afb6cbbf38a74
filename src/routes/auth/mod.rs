//! Browser sign-in by a mailed link.

pub mod idp;
pub mod idp_callback;
pub mod logout;
pub mod request_link;
pub mod status;
pub mod verify;
