//! The rule laboratory: what a rewrite rule does before anybody relies on it.
//!
//! [`check`] asks whether rules are sound, on small kernels that it makes from their left sides; [`mutate`] breaks rules, to measure how much
//! that check sees.

pub mod check;
pub mod mutate;
