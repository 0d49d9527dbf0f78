//! Domains and assumptions, read by isl.

use nestegg_ir::{Domain, DomainId, Iname, InameId};
use nestegg_isl as isl;
use nestegg_span::Span;
use rustc_hash::FxHashSet;

use super::cycles::{describe, successors_first};
use super::{Entity, Lowering};
use crate::error::ReadError;
use crate::syntax::Name;

/// What isl may spend on one call for one domain; honest domains need thousands.
const MAX_ISL_OPERATIONS: u64 = 2_000_000;

/// How many names one set may hold: isl's work, its parser's included, grows with the fourth power of its dimensions.
const MAX_NAMES: usize = 64;
/// Words of isl's notation.
const ISL_WORDS: [&str; 10] = ["and", "or", "not", "exists", "mod", "floor", "ceil", "min", "max", "infty"];

/// A domain that isl read.
pub(super) struct ReadDomain {
    pub(super) set: isl::Set,
    pub(super) dims: Vec<String>,
    pub(super) params: Vec<String>,
}

impl<'k, 's> Lowering<'k, 's> {
    pub(super) fn domains(&mut self) {
        let syntax = self.syntax;
        let context = isl::Context::new();
        context.set_max_operations(Some(MAX_ISL_OPERATIONS));
        let assumptions = syntax.assumptions.as_ref().and_then(|text| self.assumptions(&context, text));
        let mut sets: Vec<Option<ReadDomain>> = Vec::new();
        for (idx, text) in syntax.domains.iter().enumerate() {
            let read = self.read_domain(&context, text);
            self.has_all_names &= read.is_some();
            self.kernel.domains.push(Domain {
                text: text.text.to_string(),
                inames: Vec::new(),
                enclosing: Vec::new(),
                parameters: Vec::new(),
            });
            self.spans.domains.push(text.span);
            for name in read.iter().flat_map(|read| &read.dims) {
                let Some((word, at)) = find_word(text, name) else { continue };
                let iname = InameId::new(self.kernel.inames.len());
                self.declare_iname(word, Entity::Iname(iname), at);
                self.kernel.inames.push(Iname { name: name.clone(), tags: Vec::new(), domain: DomainId::new(idx) });
                self.kernel.domains[idx].inames.push(iname);
                self.spans.inames.push(at);
            }
            sets.push(read);
        }
        for (idx, read) in sets.iter().enumerate() {
            if let Some(read) = read {
                self.domain_parameters(idx, read);
            }
        }
        self.check_data_enclosing();
        self.check_points(&sets, assumptions.as_ref());
    }

    fn assumptions(&mut self, context: &isl::Context, text: &Name<'_>) -> Option<isl::Set> {
        const WHAT: &str = "the text of the assumptions";
        self.kernel.assumptions = Some(text.text.to_string());
        if !self.has_few_names(WHAT, text) {
            return None;
        }
        let read = || -> isl::Result<_> {
            let set = isl::Set::parse(context, &text.text)?;
            let (is_params, params, is_empty) = (set.is_params()?, set.param_names()?, set.is_empty()?);
            Ok((set, is_params, params, is_empty))
        };
        let (set, is_params, params, is_empty) = self.report_isl(read(), WHAT, text)?;
        if !is_params {
            let message = "it has set dimensions, and constrains no parameters".to_owned();
            self.errors.push(ReadError::IslSyntax { what: WHAT, message, at: text.span });
            return None;
        }
        if is_empty {
            self.errors.push(ReadError::EmptyAssumptions { at: text.span });
            return None;
        }
        for name in params {
            if !matches!(self.names.get(&*name), Some((Entity::Parameter(_), _))) {
                let help = self.suggest(&name, |entity| matches!(entity, Entity::Parameter(_)));
                let at = find_word(text, &name).map_or(text.span, |(_, at)| at);
                self.errors.push(ReadError::DomainParameter { name, at, help });
            }
        }
        Some(set)
    }

    fn read_domain(&mut self, context: &isl::Context, text: &Name<'_>) -> Option<ReadDomain> {
        const WHAT: &str = "the text of the domain";
        if !self.has_few_names(WHAT, text) {
            return None;
        }
        let read = || -> isl::Result<_> {
            let set = isl::Set::parse(context, &text.text)?;
            let (is_params, tuple) = (set.is_params()?, set.tuple_name()?);
            Ok((set, is_params, tuple))
        };
        let (set, is_params, tuple) = self.report_isl(read(), WHAT, text)?;
        let reason = if is_params {
            Some("the domain has no tuple of inames".to_owned())
        } else {
            tuple.map(|tuple| format!("the tuple of inames has the name `{tuple}`"))
        };
        if let Some(reason) = reason {
            self.errors.push(ReadError::DomainShape { reason, at: text.span });
            return None;
        }
        let dims = match set.dim_names() {
            Err(isl::Error::UnnamedDim(at)) => {
                let reason = format!("dimension {at} of the domain is no iname");
                self.errors.push(ReadError::DomainShape { reason, at: text.span });
                return None;
            }
            dims => self.report_isl(dims, WHAT, text)?,
        };
        let params = self.report_isl(set.param_names(), WHAT, text)?;
        Some(ReadDomain { set, dims, params })
    }

    fn has_few_names(&mut self, what: &'static str, text: &Name<'_>) -> bool {
        let mut names: FxHashSet<&str> = FxHashSet::default();
        let has_few = words(&text.text).all(|word| {
            names.insert(word);
            names.len() <= MAX_NAMES
        });
        if !has_few {
            let message = format!("it holds more than {MAX_NAMES} names");
            self.errors.push(ReadError::DomainTooComplex { what, message, at: text.span });
        }
        has_few
    }

    pub(super) fn report_isl<T>(&mut self, res: isl::Result<T>, what: &'static str, text: &Name<'_>) -> Option<T> {
        let at = text.span;
        let error = match res {
            Ok(value) => return Some(value),
            Err(isl::Error::Syntax { message, .. } | isl::Error::Isl(message)) => match unlisted(text) {
                Some(name) => {
                    let at = find_word(text, name).map_or(at, |(_, at)| at);
                    ReadError::UnlistedParameter { name: name.to_owned(), at }
                }
                None => ReadError::IslSyntax { what, message, at },
            },
            Err(other) => ReadError::DomainTooComplex { what, message: other.to_string(), at },
        };
        self.errors.push(error);
        None
    }

    /// Sorts the parameters of a domain into enclosing inames and parameters of the kernel.
    fn domain_parameters(&mut self, idx: usize, read: &ReadDomain) {
        let text = &self.syntax.domains[idx];
        let mut data = Vec::new();
        for name in &read.params {
            match self.names.get(&**name) {
                Some(&(Entity::Iname(outer), _)) => self.kernel.domains[idx].enclosing.push(outer),
                Some(&(Entity::Parameter(parameter), _)) => self.kernel.domains[idx].parameters.push(parameter),
                _ if self.is_temporary(name) => data.push(name.clone()),
                _ if !self.has_all_names => {}
                _ => {
                    let is_array = self.syntax.arrays.iter().any(|array| array.name.text == *name);
                    let help = match is_array {
                        true => {
                            Some("declare a parameter, or assign it to an integer temporary that bounds".to_owned())
                        }
                        false => self.suggest(name, |entity| matches!(entity, Entity::Iname(_) | Entity::Parameter(_))),
                    };
                    let at = find_word(text, name).map_or(text.span, |(_, at)| at);
                    self.errors.push(ReadError::DomainParameter { name: name.clone(), at, help });
                }
            }
        }
        if !data.is_empty() {
            self.data_domain(idx, read, data);
        }
    }

    /// Reports cycles of enclosing domains, and domains with infinitely many points. One without points is legal: nothing runs there.
    fn check_points(&mut self, sets: &[Option<ReadDomain>], assumptions: Option<&isl::Set>) {
        let domains = &self.kernel.domains;
        let outer_of = |idx: usize| -> Vec<usize> {
            domains[idx].enclosing.iter().map(|&iname| self.kernel[iname].domain.index()).collect()
        };
        let (order, cycles) = successors_first(domains.len(), outer_of);
        let enclosing: Vec<Vec<usize>> = (0..domains.len()).map(outer_of).collect();
        let name = |idx: usize| match domains[idx].inames.first() {
            Some(&iname) => self.kernel[iname].name.as_str(),
            None => "",
        };
        let mut has_cycle = vec![false; domains.len()];
        for cycle in &cycles {
            cycle.iter().for_each(|&idx| has_cycle[idx] = true);
            let (name, cycle, at) = (name(cycle[0]).to_owned(), describe(cycle, name), self.spans.domains[cycle[0]]);
            self.errors.push(ReadError::DomainCycle { name, cycle, at });
        }
        // The points of each domain together with those of the domains around it; none where something was reported.
        let mut joint: Vec<Option<isl::Set>> = vec![None; sets.len()];
        // All dimensions of that.
        let mut dims: Vec<FxHashSet<&str>> = vec![FxHashSet::default(); sets.len()];
        for idx in order {
            let Some(read) = &sets[idx] else { continue };
            let text = &self.syntax.domains[idx];
            if has_cycle[idx] {
                continue;
            }
            let is_bounded = self.report_isl(read.set.is_bounded(), "the domain", text);
            if is_bounded == Some(false) {
                self.errors.push(ReadError::UnboundedDomain { at: text.span });
            }
            let around: Option<Vec<isl::Set>> = enclosing[idx].iter().map(|&outer| joint[outer].clone()).collect();
            let Some(mut together) = around else { continue };
            dims[idx] = read.dims.iter().chain(&read.params).map(String::as_str).collect();
            for &outer in &enclosing[idx] {
                let around = dims[outer].clone();
                dims[idx].extend(around);
            }
            if dims[idx].len() > MAX_NAMES {
                let message = format!("together with those around it, it has more than {MAX_NAMES} dimensions");
                self.errors.push(ReadError::DomainTooComplex { what: "the domain", message, at: text.span });
                continue;
            }
            together.extend(assumptions.cloned());
            together.push(read.set.clone());
            let combined = isl::Set::combine(&together);
            let Some(set) = self.report_isl(combined, "the domain", text) else { continue };
            if is_bounded == Some(true) {
                joint[idx] = Some(set);
            }
        }
    }
}

/// The names in a text, each as often as it stands there.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(move |c| !is_word(c)).filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()));
    words.filter(|word| !ISL_WORDS.contains(word))
}

/// The first name in a set that isl could read if the name stood in the list of parameters.
fn unlisted<'n>(text: &'n Name<'_>) -> Option<&'n str> {
    let set = text.text.trim_start();
    let (listed, set) = match set.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((listed, rest)) => (listed, rest.trim_start().strip_prefix("->")?),
        None => ("", set),
    };
    let tuple = set.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(tuple, _)| tuple);
    let known: Vec<&str> = words(listed).chain(words(tuple)).collect();
    let mut names: Vec<&str> = Vec::new();
    for word in words(set) {
        if !known.contains(&word) && !names.contains(&word) {
            names.push(word);
        }
    }
    let separator = if listed.trim().is_empty() { "" } else { ", " };
    let repaired = format!("[{listed}{separator}{}] -> {set}", names.join(", "));
    let context = isl::Context::new();
    context.set_max_operations(Some(MAX_ISL_OPERATIONS));
    let is_read = isl::Set::parse(&context, &repaired).is_ok();
    names.first().copied().filter(|_| is_read)
}

/// The first occurrence of a name in a domain, and its place if the text is written without escapes.
pub(super) fn find_word<'n>(text: &'n Name<'_>, name: &str) -> Option<(&'n str, Span)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    let found = text.text.match_indices(name).find(|(at, _)| {
        let (before, after) = (&text.text[..*at], &text.text[at + name.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    });
    let (start, word) = found.or_else(|| text.text.match_indices(name).next())?;
    let quotes = (text.span.len() as usize).checked_sub(text.text.len());
    let at = match quotes {
        Some(quotes @ (0 | 2)) => {
            let start = text.span.start as usize + quotes / 2 + start;
            Span::from_range(start..start + name.len())
        }
        _ => text.span,
    };
    Some((word, at))
}
