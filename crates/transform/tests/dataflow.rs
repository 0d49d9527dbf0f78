//! The writer whose value a read resolves to is the one that isl's array data flow finds.
//!
//! Each write stores a literal of its own, so that the literal in a resolved read tells which write it is.
#![allow(missing_docs)]

mod support;

use std::fmt::Write;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::Domains;
use nestegg_ir::linearization::for_each_run;
use nestegg_ir::{Expr, ExprId, InameId, InameSet, InsnId, InstructionKind, Item, Kernel, LinearizedKernel, Number};
use nestegg_isl as isl;
use nestegg_transform::normalise;

use support::parse;

const HEAD: &str = "kernel flow linearized
domain { [i] : 0 <= i < 3 }
domain { [j] : 0 <= j < 3 }
domain { [k] : 1 <= k < 3 }
domain [i] -> { [l] : 0 <= l <= i }
domain { [m, n] : 0 <= m <= n < 3 }
arg A : float64 write
temp s : float64
temp a : float64[4]
temp c : float64[4, 4]
";

/// A kernel under construction; numbers come from a linear congruence.
struct Generator {
    state: u64,
    text: String,
    open: Vec<&'static str>,
    n_writes: usize,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % n
    }

    fn items(&mut self, n: usize, depth: usize) {
        for _ in 0..n {
            let indent = 2 * depth;
            if depth < 3 && self.below(2) == 0 {
                let mut inames = vec!["i", "j", "k", "m"];
                inames.extend(self.open.contains(&"i").then_some("l"));
                inames.extend(self.open.contains(&"m").then_some("n"));
                inames.retain(|iname| !self.open.contains(iname));
                let iname = inames[self.below(inames.len())];
                writeln!(self.text, "{:indent$}for {iname}", "").expect("a string takes text");
                self.open.push(iname);
                let n_items = 1 + self.below(3);
                self.items(n_items, depth + 1);
                self.open.pop();
                writeln!(self.text, "{:indent$}end", "").expect("a string takes text");
            } else {
                let element = match self.below(4) {
                    0 => "s".to_owned(),
                    1 | 2 => format!("a[{}]", self.index()),
                    _ => format!("c[{}, {}]", self.index(), self.index()),
                };
                if self.below(2) == 0 {
                    writeln!(self.text, "{:indent$}A = {element}", "").expect("a string takes text");
                } else {
                    self.n_writes += 1;
                    let n_writes = self.n_writes;
                    writeln!(self.text, "{:indent$}{element} = {n_writes}.0", "").expect("a string takes text");
                }
            }
        }
    }

    fn index(&mut self) -> String {
        if self.open.is_empty() || self.below(5) == 0 {
            return self.below(4).to_string();
        }
        let iname_idx = self.below(self.open.len());
        let iname = self.open[iname_idx];
        match self.below(5) {
            0 => format!("{iname} + 1"),
            1 => format!("3 - {iname}"),
            _ => iname.to_string(),
        }
    }
}

/// The instances, times and accesses of a kernel, for isl.
struct Accesses {
    reads: isl::UnionMap,
    writes: isl::UnionMap,
    schedule: isl::UnionMap,
}

fn tuple(insn: InsnId) -> String {
    format!("S{}", insn.index())
}

/// The element that an instruction reads or writes.
fn element(kernel: &Kernel, array: nestegg_ir::ArrayId, indices: &[ExprId]) -> (String, Vec<Affine>) {
    let affine = |&index: &ExprId| affine::of(&kernel.exprs, index).expect("indices are affine");
    (kernel[array].name.clone(), indices.iter().map(affine).collect())
}

impl Accesses {
    fn new(linearized: &LinearizedKernel, domains: &Domains) -> Self {
        let LinearizedKernel { kernel, linearization } = linearized;
        let context = domains.context();
        let empty = || isl::UnionMap::parse(context, "{ }").expect("isl reads the empty map");
        let mut res = Self { reads: empty(), writes: empty(), schedule: empty() };
        let mut begun: Vec<(usize, InameId)> = Vec::new();
        for (position, item) in linearization.iter().enumerate() {
            match *item {
                Item::For(iname) => begun.push((position, iname)),
                Item::End(_) => drop(begun.pop()),
                Item::Run(insn) => {
                    let loops: InameSet = begun.iter().map(|&(_, iname)| iname).collect();
                    let set = domains.of(&loops).expect("isl joins domains");
                    let set = set.set_tuple_name(Some(&tuple(insn))).expect("isl names tuples");
                    let map = |(name, outputs): (String, Vec<Affine>)| {
                        let outputs: Vec<isl::Affine> =
                            outputs.iter().map(|output| domains.affine(output).expect("small numbers")).collect();
                        let map = isl::Map::from_affine(&set, Some(&name), &outputs).expect("isl makes maps");
                        map.to_union_map().expect("isl makes unions")
                    };
                    let mut time = Vec::new();
                    for &(start, iname) in &begun {
                        time.push(Affine::constant(start as i64));
                        time.push(Affine::var(affine::Var::Iname(iname)));
                    }
                    time.push(Affine::constant(position as i64));
                    time.resize(8, Affine::default());
                    res.schedule = res.schedule.union(&map(("time".to_owned(), time))).expect("isl joins maps");
                    let InstructionKind::Assignment { assignee, expression } = &kernel[insn].kind else { continue };
                    let write = map(element(kernel, assignee.array, &assignee.indices));
                    res.writes = res.writes.union(&write).expect("isl joins maps");
                    if let Expr::Access { array, indices } = &kernel.exprs[*expression] {
                        let read = map(element(kernel, *array, indices));
                        res.reads = res.reads.union(&read).expect("isl joins maps");
                    }
                }
                Item::If(_) | Item::EndIf => {}
            }
        }
        res
    }
}

/// For each read that was resolved, the instruction whose value it is; `None` for those that were not.
fn resolved(linearized: &LinearizedKernel) -> Vec<(String, Option<usize>)> {
    let mut res = Vec::new();
    for_each_run(&linearized.linearization, |insn, _| {
        let instruction = &linearized.kernel[insn];
        if let InstructionKind::Assignment { assignee, expression } = &instruction.kind
            && linearized.kernel[assignee.array].is_argument()
        {
            let source = match linearized.kernel.exprs[*expression] {
                Expr::Number(Number::Float(literal)) => Some(literal.get() as usize),
                _ => None,
            };
            res.push((instruction.id.clone(), source));
        }
    });
    res
}

/// How many reads isl gives one source to, and how many of them were resolved.
fn check(seed: u64) -> Option<(usize, usize)> {
    let mut generator = Generator { state: seed, text: HEAD.to_owned(), open: Vec::new(), n_writes: 0 };
    generator.items(5, 0);
    let text = generator.text;
    let linearized = parse("flow", &text).into_linearized().expect("the kernel has an order");
    // A temporary that nothing writes is an error of its own.
    let form = normalise(linearized.clone()).ok()?;
    let context = isl::Context::new();
    let domains = Domains::new(&context, &linearized.kernel).expect("the domains are sets");
    let accesses = Accesses::new(&linearized, &domains);
    let none = isl::UnionMap::parse(&context, "{ }").expect("isl reads the empty map");
    let flow = isl::dataflow(&accesses.reads, &accesses.writes, &none, &accesses.schedule).expect("isl finds the flow");
    let (mut n_single, mut n_resolved) = (0, 0);
    let writer_of = |literal: usize| {
        linearized.kernel.insn_ids().find(|&insn| match linearized.kernel[insn].kind {
            InstructionKind::Assignment { expression, .. } => {
                linearized.kernel.exprs[expression]
                    == Expr::Number(Number::Float(nestegg_ir::Float::new(literal as f64).expect("finite")))
            }
            _ => false,
        })
    };
    for (id, literal) in resolved(&form) {
        let reader = linearized.kernel.insn_ids().find(|&insn| linearized.kernel[insn].id == id).expect("it stays");
        let loops: InameSet = linearized.kernel[reader].within.iter().copied().collect();
        let instances = domains.of(&loops).expect("isl joins domains");
        let instances = instances.set_tuple_name(Some(&tuple(reader))).expect("isl names tuples");
        let instances = instances.to_union_set().expect("isl makes unions");
        let sources = flow.must.intersect_range(&instances).expect("isl restricts maps");
        let from = |insn: InsnId| {
            let own: InameSet = linearized.kernel[insn].within.iter().copied().collect();
            let own = domains.of(&own).expect("isl joins domains").set_tuple_name(Some(&tuple(insn)));
            let own = own.expect("isl names tuples").to_union_set().expect("isl makes unions");
            sources.intersect_domain(&own).expect("isl restricts maps")
        };
        let is_only_source = |insn: InsnId| {
            let covered = from(insn).range().expect("isl takes ranges");
            instances.is_subset(&covered).expect("isl compares sets")
        };
        if let Some(literal) = literal {
            let writer = writer_of(literal).expect("the literal is of a write");
            assert!(is_only_source(writer), "seed {seed}: `{id}` reads {literal} instead of\n{:?}\n{text}", flow.must);
            n_resolved += 1;
            n_single += 1;
        } else {
            n_single += usize::from(linearized.kernel.insn_ids().any(is_only_source));
        }
    }
    Some((n_single, n_resolved))
}

#[test]
fn resolved_reads_have_the_source_that_isl_finds() {
    let (mut n_single, mut n_resolved) = (0, 0);
    for (single, resolved) in (0..80).filter_map(check) {
        n_single += single;
        n_resolved += resolved;
    }
    // Reads of the last iteration of a loop, and of instances that differ in more than a loop, stay in memory.
    assert!(n_resolved * 10 > n_single * 7, "{n_resolved} of {n_single} reads with one source were resolved");
}
