//! Which assignments become couples, and which temporaries pairs.

use std::collections::VecDeque;

use nestegg_ir::linearization::runs_in;
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, ArrayKind, Assignee, Dtype, ExprId, InameId, InsnId, InstructionKind, Kernel, LoopTree};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::arrays::{Arrays, Extent, Storage};
use super::super::facts::literal_of;
use super::super::loops::Loops;
use super::super::symbols::Symbols;
use super::lists::are_neighbours;
use super::nodes::{Found, Match, Node, runs};
use super::order::{Order, conditions_in};
use super::{Couple, Pairs, Role};

/// How often a loop runs if nothing says it.
const UNKNOWN_TRIPS: f64 = 8.0;
/// The most iterations of a loop that compilers unroll. Longer ones that hold no other such loop run in vectors of several
/// iterations, which have more lanes than pairs.
const MAX_UNROLLED: f64 = 16.0;
/// Pairs that save less than this fraction of the scalar cost stay scalars.
const MIN_GAIN: f64 = 0.05;

/// Two assignments that may become one.
#[derive(Clone, Debug)]
struct Candidate {
    insns: [InsnId; 2],
    /// The one whose place is taken.
    lead: InsnId,
    /// The temporaries that they write, if they do.
    pair: Option<[ArrayId; 2]>,
}

struct Finder<'a> {
    kernel: &'a Kernel,
    arrays: &'a Arrays,
    dtypes: &'a [Dtype],
    order: Order<'a>,
    /// The assignments to each scalar temporary, in order.
    writers: FxHashMap<ArrayId, Vec<InsnId>>,
    /// The instructions that read or write it.
    users: FxHashMap<ArrayId, Vec<InsnId>>,
    /// The inames around the assignments to it.
    depends: FxHashMap<ArrayId, Vec<InameId>>,
    trips: FxHashMap<InameId, f64>,
    /// Loops that run in vectors of several iterations.
    in_lanes: FxHashSet<InameId>,
    /// What conditions read.
    decides: FxHashSet<ArrayId>,
    candidates: Vec<Candidate>,
    taken: FxHashSet<InsnId>,
    pairs: FxHashMap<ArrayId, [ArrayId; 2]>,
}

impl Pairs {
    /// The pairs of a kernel.
    pub(crate) fn of(
        kernel: &Kernel,
        tree: &[LoopTree],
        (arrays, loops, dtypes): (&Arrays, &Loops, &[Dtype]),
        symbols: &mut Symbols,
    ) -> Option<Self> {
        let is_plain = |insn: InsnId| matches!(kernel[insn].kind, InstructionKind::Assignment { .. });
        let are_there = kernel.array_ids().any(|id| holds_pairs(kernel, arrays, id));
        if !are_there || !kernel.insn_ids().all(is_plain) {
            return None;
        }
        let mut finder = Finder::new(kernel, arrays, loops, dtypes, tree);
        finder.begin();
        let mut next = 0;
        while next < finder.candidates.len() {
            finder.grow(next);
            next += 1;
        }
        while finder.prune() {}
        (!finder.candidates.is_empty()).then(|| finder.into_pairs(symbols))
    }
}

impl<'a> Finder<'a> {
    fn new(kernel: &'a Kernel, arrays: &'a Arrays, loops: &Loops, dtypes: &'a [Dtype], tree: &'a [LoopTree]) -> Self {
        let trips = |iname| {
            let range = loops.range(kernel, iname);
            (iname, range.map_or(UNKNOWN_TRIPS, |(low, high)| (high.saturating_sub(low) as f64 + 1.0).max(1.0)))
        };
        let predicates = kernel.instructions.iter().flat_map(|insn| insn.predicates.iter().copied());
        let mut finder = Self {
            kernel,
            arrays,
            dtypes,
            order: Order::of(kernel, tree),
            writers: FxHashMap::default(),
            users: FxHashMap::default(),
            depends: FxHashMap::default(),
            trips: kernel.iname_ids().map(trips).collect(),
            in_lanes: FxHashSet::default(),
            decides: arrays_below(&kernel.exprs, tree.iter().flat_map(conditions_in).chain(predicates))
                .into_iter()
                .collect(),
            candidates: Vec::new(),
            taken: FxHashSet::default(),
            pairs: FxHashMap::default(),
        };
        finder.find_lanes(tree);
        for insn in runs_in(tree) {
            let mut touched = arrays_below(&kernel.exprs, kernel[insn].expressions());
            for array in kernel[insn].written_arrays() {
                touched.insert(array);
                finder.writers.entry(array).or_default().push(insn);
                finder.depends.entry(array).or_default().extend(&kernel[insn].within);
            }
            for array in touched {
                finder.users.entry(array).or_default().push(insn);
            }
        }
        finder
    }

    /// Finds the loops that run in lanes of their own; whether there are some.
    fn find_lanes(&mut self, tree: &[LoopTree]) -> bool {
        let mut res = false;
        for node in tree {
            res |= match node {
                LoopTree::Loop { iname, body } => {
                    let is_long = self.trips[iname] > MAX_UNROLLED;
                    let holds_long = self.find_lanes(body);
                    if is_long && !holds_long {
                        self.in_lanes.insert(*iname);
                    }
                    is_long || holds_long
                }
                LoopTree::Branch { body, .. } => self.find_lanes(body),
                LoopTree::Run(_) => false,
            };
        }
        res
    }

    /// The couples that write the two elements of a pair.
    fn begin(&mut self) {
        let mut open: FxHashMap<(ArrayId, &[ExprId]), InsnId> = FxHashMap::default();
        for insn in self.kernel.insn_ids() {
            let (assignee, _) = self.assignment(insn);
            let array = assignee.array;
            if !holds_pairs(self.kernel, self.arrays, array) || !self.kernel[insn].predicates.is_empty() {
                continue;
            }
            let Some((last, outer)) = assignee.indices.split_last() else { continue };
            let lane = literal_of(self.kernel, *last).map(nestegg_ir::Number::to_f64);
            if lane == Some(0.0) {
                open.insert((array, outer), insn);
            } else if lane == Some(1.0)
                && let Some(first) = open.remove(&(array, outer))
            {
                let is_next = are_neighbours(self.kernel, &self.assignment(first).0.indices, &assignee.indices);
                if is_next && self.are_alike(first, insn) {
                    self.couple([first, insn], None);
                }
            }
        }
    }

    /// The array, indices and value of an assignment: there is nothing else.
    fn assignment(&self, insn: InsnId) -> (&'a Assignee, ExprId) {
        match &self.kernel[insn].kind {
            InstructionKind::Assignment { assignee, expression } => (assignee, *expression),
            _ => unreachable!("all instructions are assignments"),
        }
    }

    /// Whether two assignments run as often, under no condition of their own, and give the dtype that they compute.
    fn are_alike(&self, a: InsnId, b: InsnId) -> bool {
        let is_exact = |insn: InsnId| {
            let (assignee, value) = self.assignment(insn);
            let dtype = self.kernel[assignee.array].dtype;
            self.dtypes[value.index()] == dtype || literal_of(self.kernel, value).is_some()
        };
        let (first, second) = (&self.kernel[a], &self.kernel[b]);
        a != b
            && first.within_set() == second.within_set()
            && first.predicates.is_empty()
            && second.predicates.is_empty()
            && ![a, b].iter().any(|insn| self.taken.contains(insn))
            && !first.within.iter().any(|iname| self.in_lanes.contains(iname))
            && is_exact(a)
            && is_exact(b)
    }

    /// Makes a couple of two assignments, if one can go to the other.
    fn couple(&mut self, insns: [InsnId; 2], pair: Option<[ArrayId; 2]>) -> bool {
        let Some(lead) = self.order.join(insns[0], insns[1]) else { return false };
        self.taken.extend(insns);
        self.candidates.push(Candidate { insns, lead, pair });
        true
    }

    /// Makes pairs of the temporaries that a couple reads alike.
    fn grow(&mut self, at: usize) {
        let found = self.found(&self.candidates[at], &|pair| self.is_pair(pair) || self.may_pair(pair));
        let mut pending = VecDeque::from([found.node]);
        // In the order in which they are read, so that lanes are where elements are.
        while let Some(node) = pending.pop_front() {
            if let Node::Temporary(pair, _) = *node
                && !self.is_pair(pair)
                && self.may_pair(pair)
            {
                self.pair(pair);
            }
            pending.extend(node.operands());
        }
    }

    /// What a couple computes, given which temporaries are pairs.
    fn found(&self, candidate: &Candidate, is_pair: &dyn Fn([ArrayId; 2]) -> bool) -> Found {
        let [(assignee, a), (_, b)] = candidate.insns.map(|insn| self.assignment(insn));
        let mut search = self.search(candidate.insns[0], self.kernel[assignee.array].dtype, is_pair);
        search.node(a, b)
    }

    fn search<'s>(&'s self, insn: InsnId, dtype: Dtype, is_pair: &'s dyn Fn([ArrayId; 2]) -> bool) -> Match<'s> {
        Match {
            kernel: self.kernel,
            dtypes: self.dtypes,
            dtype,
            trips: &self.trips,
            within: &self.kernel[insn].within,
            depends: &self.depends,
            is_pair,
            arrays: self.arrays,
            known: FxHashMap::default(),
            depth: 0,
        }
    }

    fn is_pair(&self, pair: [ArrayId; 2]) -> bool {
        self.pairs.get(&pair[0]) == Some(&pair)
    }

    /// Whether two temporaries are written side by side, and touched by nothing before.
    fn may_pair(&self, pair: [ArrayId; 2]) -> bool {
        let is_scalar = |id: ArrayId| {
            let array = &self.kernel[id];
            array.is_temporary() && array.shape.is_empty() && array.stored.is_none() && array.dtype.is_float()
        };
        let is_free = |id: ArrayId| is_scalar(id) && !self.decides.contains(&id) && !self.pairs.contains_key(&id);
        let of = |id: ArrayId| self.writers.get(&id).map_or(&[][..], Vec::as_slice);
        let [a, b] = pair;
        let (first, second) = (of(a), of(b));
        let begins = |id: ArrayId, insn: InsnId| {
            let reads_itself = nestegg_ir::walk::reads(&self.kernel.exprs, [self.assignment(insn).1], id);
            let users = self.users.get(&id).map_or(&[][..], Vec::as_slice);
            let after = |spot| users.iter().all(|&user| user == insn || self.order.is_after(spot, user));
            !reads_itself && self.order.spot(insn).is_some_and(after)
        };
        a != b
            && is_free(a)
            && is_free(b)
            && self.kernel[a].dtype == self.kernel[b].dtype
            && !first.is_empty()
            && first.len() == second.len()
            && first.iter().zip(second).all(|(&a, &b)| self.are_alike(a, b))
            && begins(a, first[0])
            && begins(b, second[0])
    }

    /// Makes a pair of two temporaries, if all that writes them can become couples.
    fn pair(&mut self, pair: [ArrayId; 2]) {
        let [first, second] = pair.map(|id| self.writers[&id].clone());
        let n_before = self.candidates.len();
        for (a, b) in first.into_iter().zip(second) {
            if !self.couple([a, b], Some(pair)) {
                for candidate in self.candidates.split_off(n_before) {
                    self.undo(&candidate);
                }
                return;
            }
        }
        self.pairs.extend(pair.map(|id| (id, pair)));
    }

    fn undo(&mut self, candidate: &Candidate) {
        self.order.part(candidate.insns);
        candidate.insns.iter().for_each(|insn| {
            self.taken.remove(insn);
        });
        for id in candidate.pair.into_iter().flatten() {
            self.pairs.remove(&id);
        }
    }

    /// Takes back what saves nothing; whether there was something.
    fn prune(&mut self) -> bool {
        let found: Vec<Found> =
            self.candidates.iter().map(|candidate| self.found(candidate, &|pair| self.is_pair(pair))).collect();
        // What is joined by the pairs that it reads and writes.
        let mut group: Vec<usize> = (0..found.len()).collect();
        let mut of_pair: FxHashMap<ArrayId, usize> = FxHashMap::default();
        let mut join = |id: ArrayId, at: usize, group: &mut Vec<usize>| {
            let other = group[*of_pair.entry(id).or_insert(at)];
            let own = group[at];
            group.iter_mut().filter(|one| **one == own).for_each(|one| *one = other);
        };
        let (mut gain, mut spent) = (vec![0.0; found.len()], vec![0.0; found.len()]);
        let mut scalars: Vec<(InsnId, Vec<ExprId>)> = Vec::new();
        for (at, (candidate, found)) in self.candidates.iter().zip(&found).enumerate() {
            let [(assignee, a), (_, b)] = candidate.insns.map(|insn| self.assignment(insn));
            let dtype = self.kernel[assignee.array].dtype;
            let search = self.search(candidate.insns[0], dtype, &|_| false);
            let runs = runs(&self.trips, &self.kernel[candidate.insns[0]].within);
            let store = if assignee.indices.is_empty() { 0.0 } else { 1.0 };
            spent[at] = runs * (search.scalar([a, b]) + 2.0 * store);
            gain[at] = spent[at] - runs * (found.cost + store);
            if let Some([first, _]) = candidate.pair {
                join(first, at, &mut group);
            }
            let mut alone = Vec::new();
            let mut pending = vec![found.node.clone()];
            while let Some(node) = pending.pop() {
                match &*node {
                    Node::Temporary([first, _], _) => join(*first, at, &mut group),
                    Node::Splat(id) => alone.push(*id),
                    Node::Lanes([(a, _), (b, _)]) => alone.extend([*a, *b]),
                    _ => {}
                }
                pending.extend(node.operands());
            }
            scalars.push((candidate.insns[0], alone));
        }
        for insn in self.kernel.insn_ids().filter(|insn| !self.taken.contains(insn)) {
            scalars.push((insn, self.kernel[insn].expressions().collect()));
        }
        // Where a scalar is wanted, it has to be taken out of its vector.
        for (insn, ids) in scalars {
            for array in arrays_below(&self.kernel.exprs, ids) {
                if let Some(pair) = self.pairs.get(&array)
                    && let Some(&at) = of_pair.get(&pair[0])
                {
                    gain[at] -= runs(&self.trips, &self.kernel[insn].within);
                }
            }
        }
        let total = |values: &[f64], wanted: usize| -> f64 {
            values.iter().zip(&group).filter(|(_, group)| **group == wanted).map(|(value, _)| value).sum()
        };
        let is_lost = |at: usize| total(&gain, group[at]) < MIN_GAIN * total(&spent, group[at]);
        let lost: Vec<bool> = (0..found.len()).map(is_lost).collect();
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        for (candidate, is_lost) in std::mem::take(&mut self.candidates).into_iter().zip(lost) {
            (if is_lost { &mut gone } else { &mut kept }).push(candidate);
        }
        self.candidates = kept;
        gone.iter().for_each(|candidate| self.undo(candidate));
        !gone.is_empty()
    }

    fn into_pairs(self, symbols: &mut Symbols) -> Pairs {
        let mut res = Pairs::default();
        let mut declared: FxHashSet<ArrayId> = FxHashSet::default();
        for candidate in &self.candidates {
            let node = self.found(candidate, &|pair| self.is_pair(pair)).node;
            let mut declares = None;
            if let Some(pair) = candidate.pair {
                // The first of the couples that write a pair.
                if declared.insert(pair[0]) {
                    declares = Some(self.writers[&pair[0]].len() == 1);
                    let name = symbols.names.fresh("pair");
                    for (lane, id) in pair.into_iter().enumerate() {
                        symbols.arrays[id.index()] = format!("{name}[{lane}]");
                        res.temporaries.insert(id, (pair, lane, name.clone()));
                    }
                }
            }
            for insn in candidate.insns {
                let role = match insn == candidate.lead {
                    true => Role::Leads(Couple { insns: candidate.insns, node: (*node).clone(), declares }),
                    false => Role::Follows,
                };
                res.roles.insert(insn, role);
            }
        }
        res
    }
}

/// Whether an array is an argument whose last axis has two elements, which lie side by side.
pub(super) fn holds_pairs(kernel: &Kernel, arrays: &Arrays, id: ArrayId) -> bool {
    let (array, layout) = (&kernel[id], arrays.layout(id));
    matches!(array.kind, ArrayKind::Argument(_))
        && array.dtype.is_float()
        && array.stored.is_none()
        && layout.storage == Storage::Flat
        && matches!(layout.extents.last(), Some(Extent::Number(2)))
}
