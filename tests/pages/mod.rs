//! The pure parts of `rookery::pages`: injection, policy, origins, paths, sending bytes, templates.
//! What a browser makes of them is tested in `tests/browser/`.

mod assets;
mod document;
mod examples;
mod origin;
mod paths;
mod policy;
mod sdk;
mod templates;
