//! The last lines of `cargo test`: what it could not run for want of a package.

fn main() {
    rookery_testkit::print_summary();
}
