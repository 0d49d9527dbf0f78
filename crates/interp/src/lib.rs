//! See the crate's own documentation.
