//! Browser sign-in by a mailed link.

pub mod logout;
pub mod request_link;
pub mod status;
pub mod verify;
