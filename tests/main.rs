//! Black-box tests through HTTP, one binary.

mod pages;
