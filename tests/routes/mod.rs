//! Tests of the routes, area by area. `rows` holds the app that most of them use.

mod batch;
mod challenge;
mod collections;
mod conditional;
mod events;
mod feed;
mod follow;
mod idempotency;
mod limits;
mod precedence;
mod races;
mod retention;
mod rows;
mod secrecy;
mod standing;
