//! One module per command; each takes its arguments and answers the exit status.

pub mod ablate;
pub mod cache;
pub mod calibrate;
pub mod cflags;
pub mod check;
pub mod completions;
pub mod convert;
pub mod count;
pub mod explain;
pub mod folder;
pub mod lsp;
pub mod man;
pub mod optimize;
pub mod rules;
pub mod rules_check;
pub mod rules_infer;
pub mod rules_test;
pub mod rules_try;
pub mod rules_why_not;
pub mod run;
pub mod schema;
pub mod serve;
pub mod tune;
pub mod validate;
