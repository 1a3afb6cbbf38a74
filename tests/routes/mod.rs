//! Each route through HTTP, in the folders of `src/routes`.

mod apps;
