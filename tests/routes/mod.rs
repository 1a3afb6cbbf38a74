//! Each route, well and badly used; one module for each noun, as in `src/routes`.

mod agents;
mod apps;
mod auth;
mod device;
mod keys;
mod self_agents;
