//! The rule laboratory: what a rewrite rule does before anybody relies on it.
//!
//! [`check`] asks whether rules are sound, on small kernels that it makes from their left sides; [`mutate`] breaks rules, to measure how much
//! that check sees. [`snapshot`] tests rules on kernels of their own, [`why_not`] says why a rule is silent on a kernel, and
//! [`trial`] what rules win there and what they cost. [`growth`] names rules that make one another grow.
//! [`ablate`] leaves the parts of a strategy out in turn.
//!
//! Nothing here touches files; what is measured in seconds decides nothing.

pub mod ablate;
pub mod check;
pub mod growth;
pub mod infer;
pub mod mutate;
pub mod page;
pub mod snapshot;
pub mod trial;
pub mod why_not;
