//! Sums in vectors of their own: `for k: s += a[k]*b[k]` with several vectors for each sum.
//!
//! # Input
//! A loop that adds to scalars and [may run in lanes](super::summing): straight-line code of sums, products and quotients, whose accesses go from an element to its
//! neighbour or stay where they are.
//! # Output
//! The loop for compilers that have the vectors of gcc: iterations in [vectors](super::strips), the lanes added up as a tree, and the iterations that are left over.
//! All others get the loop as it is.
//! # Method
//! An addition waits for the one before into the same register, so a loop that does little else gets as many registers for each sum as hide the wait.
//! Values that stay the same are computed before the loop, inside a condition that it runs.
//! # Complexity
//! Linear in the operations, times the registers for each sum, at most [`MAX_VECTORS`].
//! # Not done
//! Functions, conditions, loops inside: there, the [mark](super::summing) asks the compiler for lanes.

use nestegg_ir::{ArrayId, Dtype, Expr, ExprId, InameId, InsnId, InstructionKind, LoopTree, Op, SummingLoop};
use rustc_hash::{FxHashMap, FxHashSet};

use super::error::CodegenError;
use super::helpers::suffix;
use super::layout::Code;
use super::loops::Loop;
use super::plan::{ROOT, RegionId};
use super::strips::{Strip, Strips, TOTAL, Texts, address};
use super::text::Text;
use super::writer::Writer;

/// The most vectors for each sum.
const MAX_VECTORS: usize = 4;
/// How many operations processors begin before the first of them is done: two a cycle, each of which takes four.
const IN_FLIGHT: usize = 8;

/// What an instruction does.
enum Step {
    /// A temporary of the iteration gets a value.
    Define(ArrayId, ExprId),
    /// A scalar gets a term added or taken away.
    Add(ArrayId, Op, ExprId),
}

/// The scalars that are added to, with the names of their vectors.
type Sums = Vec<(ArrayId, Vec<String>)>;

/// A loop that can be written in vectors.
struct Body {
    iname: InameId,
    steps: Vec<Step>,
    dtype: Dtype,
    /// The values that differ between iterations, operands first.
    varying: Vec<ExprId>,
    /// The values that stay the same, and are operands of those.
    constant: Vec<ExprId>,
    /// Values that are used more than once.
    shared: FxHashSet<ExprId>,
}

impl Writer<'_> {
    /// The iterations of a loop that adds to scalars, in vectors as far as they fill some, and whether any may be left over; `None` if the loop does something else. They leave
    /// the iname at the first that is.
    pub(crate) fn in_accumulators(
        &mut self,
        summing: &SummingLoop,
        one: &Loop,
        tree: &[LoopTree],
        open: &[InameId],
    ) -> Result<Option<(Vec<Code>, bool)>, CodegenError> {
        let is_plain = one.guard.is_none() && one.header.step == 1;
        let Some(body) = self.body(summing, tree).filter(|_| is_plain) else { return Ok(None) };
        let place = || format!("the loop over `{}`", self.kernel[summing.iname].name);
        let n_lanes = body.strip().n_lanes();
        let n_vectors = self.n_vectors(&body, one.trip_count.map_or(usize::MAX, |n| n as usize / n_lanes));
        // Where the loop is not entered, constants may not be there.
        let roots: Vec<(ExprId, RegionId)> = body.constant.iter().map(|&id| (id, ROOT)).collect();
        let mut around = self.evaluate(&roots, 0, open, &place)?;
        let mut before = std::mem::take(&mut around.regions[ROOT]);
        let mut texts = Texts::default();
        for (&id, text) in body.constant.iter().zip(around.roots) {
            let mut text = self.convert(id, text, body.dtype);
            if text.height > 0 {
                let name = self.symbols.names.fresh("s");
                before.push(Code::line(format!("const {} {name} = {};", body.dtype.c_name(), text.text)));
                text = Text::primary(name);
            }
            texts.insert(id, vec![text; n_vectors]);
        }
        let ty = self.strip_type(body.strip());
        let mut sums = Sums::new();
        for &sum in &summing.sums {
            let names: Vec<String> = (0..n_vectors).map(|_| self.symbols.names.fresh("lanes")).collect();
            let list: Vec<String> = names.iter().map(|name| format!("{name} = {{0}}")).collect();
            before.push(Code::line(format!("{ty} {};", list.join(", "))));
            sums.push((sum, names));
        }
        let mut code = before;
        for n in if n_vectors > 1 { vec![n_vectors, 1] } else { vec![1] } {
            let inside: Vec<InameId> = open.iter().copied().chain([summing.iname]).collect();
            let inside = self.vectors_of(&body, n, (&texts, &sums), &inside)?;
            let at_once = n * n_lanes;
            code.push(Code::Block { head: one.header.in_steps(at_once), body: inside });
        }
        for (sum, names) in &sums {
            let total = tree_of(names);
            let target = &self.symbols.arrays[sum.index()];
            code.push(Code::line(format!("{target} += {TOTAL}{}({total});", suffix(body.dtype))));
        }
        let code = vec![Code::Block { head: format!("if ({})", one.header.has_left(n_lanes)), body: code }];
        Ok(Some((code, one.trip_count.is_none_or(|n| n % n_lanes as i64 != 0))))
    }

    /// One iteration of `n` vectors.
    fn vectors_of(
        &mut self,
        body: &Body,
        n: usize,
        (known, sums): (&Texts, &Sums),
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let kernel = self.kernel;
        let ty = self.strip_type(body.strip());
        let n_lanes = body.strip().n_lanes();
        let defined: FxHashSet<ArrayId> = body.steps.iter().filter_map(Step::defines).collect();
        let accesses: Vec<(ExprId, ArrayId, &[ExprId])> = body
            .varying
            .iter()
            .filter_map(|&id| match &kernel.exprs[id] {
                Expr::Access { array, indices } if !defined.contains(array) => Some((id, *array, &**indices)),
                _ => None,
            })
            .collect();
        let roots: Vec<(ExprId, RegionId)> =
            accesses.iter().flat_map(|access| access.2.iter().map(|&index| (index, ROOT))).collect();
        let place = || "a loop in vectors".to_owned();
        let mut evaluated = self.evaluate(&roots, 0, open, &place)?;
        let mut code = std::mem::take(&mut evaluated.regions[ROOT]);
        let mut indices = evaluated.roots.into_iter();
        let mut texts = known.clone();
        for (id, array, places) in accesses {
            let list: Vec<Text> = indices.by_ref().take(places.len()).collect();
            let element = super::facts::element(&self.symbols, &self.arrays, array, &list);
            let is_back = self.step_of(array, places, body.iname) == Some(-1);
            let (load, sign) = (self.load(body.strip(), is_back), if is_back { -1 } else { 1 });
            let of = |at: usize| Text::primary(format!("{load}({})", address(&element, sign * (at * n_lanes) as i64)));
            texts.insert(id, (0..n).map(of).collect());
        }
        let mut temporaries: FxHashMap<ArrayId, Vec<Text>> = FxHashMap::default();
        for step in &body.steps {
            let root = step.value();
            let strips = Strips { strip: body.strip(), n, shared: &body.shared, named: &temporaries };
            self.operate(root, &strips, &mut texts, &mut code);
            let Some(values) = texts.get(&root) else { continue };
            match step {
                Step::Define(array, _) => {
                    let names: Vec<Text> = values
                        .iter()
                        .map(|value| {
                            let name = self.symbols.names.fresh(&kernel[*array].name);
                            code.push(Code::line(format!("const {ty} {name} = {};", value.text)));
                            Text::primary(name)
                        })
                        .collect();
                    temporaries.insert(*array, names);
                }
                Step::Add(array, op, _) => {
                    let operator = if *op == Op::Add { "+" } else { "-" };
                    let names = sums.iter().find(|sum| sum.0 == *array).map_or(&[][..], |sum| &sum.1);
                    for (name, value) in names.iter().zip(values) {
                        code.push(Code::line(format!("{name} {operator}= {};", value.text)));
                    }
                }
            }
        }
        Ok(code)
    }

    /// What a loop does, if vectors can do it.
    fn body(&self, summing: &SummingLoop, tree: &[LoopTree]) -> Option<Body> {
        let mut steps = Vec::with_capacity(tree.len());
        let dtype = self.kernel[*summing.sums.first()?].dtype;
        if !dtype.is_float() {
            return None;
        }
        for node in tree {
            let LoopTree::Run(insn) = node else { return None };
            steps.push(self.step(summing, *insn, dtype)?);
        }
        let defined: Vec<ArrayId> = steps.iter().filter_map(Step::defines).collect();
        let is_once = |(at, array): (usize, &ArrayId)| !defined[..at].contains(array);
        if !defined.iter().enumerate().all(is_once) {
            return None;
        }
        let roots: Vec<ExprId> = steps.iter().map(Step::value).collect();
        let exprs = &self.kernel.exprs;
        let differs = self.varying(roots.iter().copied(), summing.iname, |array| defined.contains(&array));
        if !roots.iter().all(|root| differs.contains(root)) {
            return None;
        }
        let (mut varying, mut constant) = (FxHashSet::default(), FxHashSet::default());
        let mut n_uses: FxHashMap<ExprId, u32> = FxHashMap::default();
        let mut pending = roots;
        while let Some(id) = pending.pop() {
            let uses = n_uses.entry(id).or_default();
            *uses += 1;
            if *uses > 1 {
                continue;
            }
            if !differs.contains(&id) {
                constant.insert(id);
                continue;
            }
            varying.insert(id);
            if self.facts.dtype(id) != dtype {
                return None;
            }
            match &exprs[id] {
                Expr::Op { op: Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg, operands } => {
                    pending.extend(operands.iter().copied());
                }
                Expr::Access { array, indices } if defined.contains(array) => {
                    if !indices.is_empty() {
                        return None;
                    }
                }
                Expr::Access { array, indices } if self.step_of(*array, indices, summing.iname).is_some() => {}
                _ => return None,
            }
        }
        let sorted = |set: FxHashSet<ExprId>| {
            let mut list: Vec<ExprId> = set.into_iter().collect();
            list.sort_unstable();
            list
        };
        let shared = n_uses.iter().filter(|&(_, &n)| n > 1).map(|(&id, _)| id).collect();
        Some(Body { iname: summing.iname, steps, dtype, varying: sorted(varying), constant: sorted(constant), shared })
    }

    /// What an instruction does, if it is one of two things.
    fn step(&self, summing: &SummingLoop, insn: InsnId, dtype: Dtype) -> Option<Step> {
        let instruction = &self.kernel[insn];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
        let array = &self.kernel[assignee.array];
        let is_scalar = assignee.indices.is_empty() && array.dtype == dtype && array.stored.is_none();
        if !is_scalar || !instruction.predicates.is_empty() {
            return None;
        }
        if summing.private.contains(&assignee.array) {
            return Some(Step::Define(assignee.array, *expression));
        }
        match instruction.update(&self.kernel.exprs)? {
            (op @ (Op::Add | Op::Sub), term) if summing.sums.contains(&assignee.array) => {
                Some(Step::Add(assignee.array, op, term))
            }
            _ => None,
        }
    }

    /// How many vectors each sum gets, given how many iterations in vectors there are.
    fn n_vectors(&self, body: &Body, n_iterations: usize) -> usize {
        let count = |is: fn(&Expr) -> bool| body.varying.iter().filter(|&&id| is(&self.kernel.exprs[id])).count();
        let n_products = count(|expr| matches!(expr, Expr::Op { op: Op::Mul | Op::Div, .. }));
        let n_sums = count(|expr| matches!(expr, Expr::Op { op: Op::Add | Op::Sub, .. }));
        let n_loads = count(|expr| matches!(expr, Expr::Access { .. }));
        let n_added = body.steps.iter().filter(|step| matches!(step, Step::Add(..))).count();
        let n_begun = n_products.max(n_sums + n_added).max(n_loads).max(1);
        let wanted = IN_FLIGHT.div_ceil(n_begun).next_power_of_two().min(MAX_VECTORS);
        // Two iterations at least, or putting the vectors together takes longer than waiting.
        let most = (n_iterations / 2).max(1);
        if wanted <= most { wanted } else { 1 << most.ilog2() }
    }
}

impl Body {
    /// The vectors.
    fn strip(&self) -> Strip {
        Strip::whole(self.dtype)
    }
}

impl Step {
    /// What is assigned or added.
    fn value(&self) -> ExprId {
        match self {
            Self::Define(_, value) | Self::Add(_, _, value) => *value,
        }
    }

    /// The temporary that it defines.
    fn defines(&self) -> Option<ArrayId> {
        match self {
            Self::Define(array, _) => Some(*array),
            Self::Add(..) => None,
        }
    }
}

/// The sum of names, as a tree of neighbours.
fn tree_of(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        _ => {
            let (left, right) = names.split_at(names.len() / 2);
            let of = |half: &[String]| if half.len() == 1 { half[0].clone() } else { format!("({})", tree_of(half)) };
            format!("{} + {}", of(left), of(right))
        }
    }
}
