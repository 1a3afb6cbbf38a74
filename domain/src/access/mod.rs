//! Who may do what (part 2.2 "subjects", contract part 2): subjects, the role of a caller in an
//! app, and the decision on a row. What is not here: who a caller is (`principal`), and reading
//! permission lists out of a manifest (`manifest`).

pub mod ability;
pub mod decide;
pub mod scope;
pub mod standing;
pub mod subject;

pub use ability::*;
pub use decide::*;
pub use scope::*;
pub use standing::*;
pub use subject::*;
