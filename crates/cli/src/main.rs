//! See the crate's own documentation.
fn main() {}
