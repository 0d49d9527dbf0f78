//! The e-graph of a kernel, to look at: what rules met there, and what they made of it.
//!
//! # Input
//! A kernel and a configuration.
//! # Output
//! The e-graph as the strategy leaves it, handed to whoever asks, with the record of its saturation.
//! # Method
//! The stages of [`optimize`](crate::optimize) up to saturation, for the kernel as it is: without the other seeds of the strategy, and without
//! taking it to parts. Nothing is chosen, so nothing is validated; the caller's rules are judged as they fire.

use nestegg_egraph::analysis::Graph;
use nestegg_egraph::encode;
use nestegg_egraph::judge::Judge;
use nestegg_egraph::pattern::Functions;
use nestegg_egraph::saturate::{Saturation, saturate};
use nestegg_ir::domains::Domains;
use nestegg_ir::{Kernel, Licence};
use nestegg_rules::{ResolvedStrategy, RuleBook};
use nestegg_span::Source;

use crate::begin::{Begun, begin};
use crate::config::{Config, Validation};
use crate::error::Error;
use crate::search::{functions, value_form};
use crate::stages::Stages;

/// What is there to look at.
#[derive(Debug)]
pub struct Explored<'a> {
    /// The kernel in value form.
    pub kernel: &'a Kernel,
    /// Its values, with all forms that the strategy found.
    pub graph: &'a mut Graph,
    /// The functions that rules may call.
    pub functions: &'a Functions,
    /// All rules.
    pub book: &'a RuleBook,
    /// The strategy that ran.
    pub strategy: &'a ResolvedStrategy<'a>,
    /// What may be done to floats; rules of the strategy that need more do not run.
    pub licence: Licence,
    /// What it did.
    pub saturation: &'a Saturation,
}

/// Saturates the e-graph of a kernel, and has somebody look at it.
///
/// # Errors
/// What is wrong with the kernel or the rules, or a rule of the caller's that is unsound.
pub fn explore<T>(source: &Source, config: &Config, look: impl FnOnce(Explored<'_>) -> T) -> Result<T, Error> {
    begin(source, config, |Begun { input, book, strategy, semantics, values, pass, .. }| {
        let (form, _) = value_form(input.clone(), &pass, &mut Stages::new(None))?;
        let mut form = pass.done("encode", nestegg_transform::name_bound_inames(form))?;
        let functions = functions(&mut form.kernel, strategy);
        let context = nestegg_isl::Context::new();
        let domains = pass.done("encode", Domains::new(&context, &form.kernel))?.with_values(values);
        let mut encoded = pass.done("encode", encode::encode(&form, &domains, semantics))?;
        let judged = if config.validation == Validation::Off { crate::config::Judged::Nobody } else { config.judged };
        let mut judge = Judge::new(&form.kernel, &domains, judged);
        let saturation = saturate(&mut encoded.graph, strategy, &functions, &mut judge)
            .map_err(|unsound| Error::Unsound(Box::new(unsound)))?;
        Ok(look(Explored {
            kernel: &form.kernel,
            graph: &mut encoded.graph,
            functions: &functions,
            book,
            strategy,
            licence: semantics.licence,
            saturation: &saturation,
        }))
    })
}
