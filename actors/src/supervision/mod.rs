//! The supervision tree: the root, the shards that app actors are children of, and the policy by
//! which a crashed app starts again.

pub mod policy;
pub(crate) mod root;
