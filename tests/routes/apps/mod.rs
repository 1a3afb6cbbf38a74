//! Apps: creating, describing, changing, redeploying, destroying.

mod create;
