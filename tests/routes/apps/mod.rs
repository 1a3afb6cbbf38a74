//! Apps: creating, describing, changing, redeploying, destroying.

mod advisories;
mod bundle;
mod create;
mod deployed;
mod detached;
mod disclosure;
mod former_slugs;
mod lifecycle;
mod list;
mod manifest;
mod memory;
mod screenshot;
mod settings;
mod strangers;
mod trash;
mod types;
mod unrestricted;
mod versions;
mod warnings;
