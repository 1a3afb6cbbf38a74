//! Tests of the runtime from outside, one binary; a module for each room.

mod directory;
