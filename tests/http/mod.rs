//! What every request has in common: the boundary, credentials, bodies, limits.

mod app_origins;
mod body;
mod credentials;
mod edge;
mod hostile;
mod late_bodies;
mod limits;
mod precedence;
mod query;
