//! What browsers see: the served documents and assets of apps, the headers that fence an app in,
//! which app a request is for, the SDK, and the site's own pages.
//!
//! Everything here is a function of its arguments. What is *not* here: routes, sessions, and the
//! decision who may see an app; the routes ask these modules and send what they answer.

pub mod assets;
pub mod disclosure;
pub mod document;
pub mod files_pass;
pub mod origin;
pub mod packed;
pub mod paths;
pub mod policy;
pub mod quantities;
pub mod sdk;
pub mod shell;
pub mod site;
pub mod status;
pub mod visible;
