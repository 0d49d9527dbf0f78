//! Fusion: neighbouring loops over one iname become one loop, as many as dependences allow.
//!
//! # Input
//! A loop tree whose order is valid.
//! # Output
//! A tree with the same instances in an order that keeps every dependence: items of each sequence are reordered and
//! loops over one iname joined, from the outside in.
//! # Method
//! In each sequence, items depend on earlier ones that touch a common array, unless both only read it or both only
//! accumulate into it by one operation. Items that are ready are taken as they come, instructions before loops. A loop opens a
//! group over its iname; every later loop over the iname joins whose other dependences are done and whose dependences on the
//! group are kept in the same iteration. Among the inames of loops that are ready the one is opened from which the
//! fewest loops stay out. Then the joined body is treated the same way. [`Fusion::Late`] does all this from the last item to the first.
//! # Legality
//! Two accesses to one array keep their order under a common loop if they meet only in the same iteration of it: some index is
//! the same function of the iname in both, and varies with nothing else inside. An element that the first loop touches may also be
//! overwritten by the second in a later iteration, if iterations run one after the other. That holds for `sequential` inames too: the
//! iterations of each loop keep their order. Conditions are not joined.
//! # Complexity
//! Linear in items and their accesses, where these have a constant at some index or are few to each array, times the number of different inames that are ready at once, which is looked
//! at up to [`LOOK_AHEAD_LIMIT`] items.
//! # Source
//! Kennedy and McKinley, "Typed fusion with applications to parallel and sequential code generation", Rice TR93-208.

use std::collections::{BTreeMap, BTreeSet};

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{ArrayId, InameId, InameTag, Kernel, Licence};
use rustc_hash::FxHashMap;

use crate::access::{Access, Accesses, Touch};
use crate::meet::meetings;
use crate::touched::Touched;

/// In sequences with more items the next loop is simply the first that is ready.
pub(crate) const LOOK_AHEAD_LIMIT: usize = 2_000;

/// Which of several loops another one joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fusion {
    /// The first that it can.
    Early,
    /// The last that it can: values are computed where they are needed.
    Late,
}

/// Fuses the loops of a tree.
pub(crate) fn fuse(kernel: &Kernel, tree: Vec<LoopTree>, licence: Licence, fusion: Fusion) -> Vec<LoopTree> {
    let mut pass = Pass { kernel, accesses: Accesses::new(kernel, licence), outer: Vec::new(), fusion };
    pass.sequence(tree)
}

struct Pass<'a> {
    kernel: &'a Kernel,
    accesses: Accesses<'a>,
    outer: Vec<InameId>,
    fusion: Fusion,
}

/// One item of a sequence.
struct Item {
    node: LoopTree,
    accesses: Vec<Access>,
    /// Items that must come before.
    after: Vec<usize>,
    /// Items that must come later.
    before: Vec<usize>,
}

impl Item {
    /// The iname if it is a loop.
    fn iname(&self) -> Option<InameId> {
        match &self.node {
            LoopTree::Loop { iname, .. } => Some(*iname),
            _ => None,
        }
    }
}

impl Pass<'_> {
    /// Depth is limited by [`nestegg_ir::linearization::MAX_NESTING`].
    fn sequence(&mut self, nodes: Vec<LoopTree>) -> Vec<LoopTree> {
        let mut items = self.items(nodes);
        let groups = match self.fusion {
            Fusion::Early => self.groups(&items),
            Fusion::Late => {
                turn_around(&mut items);
                let mut groups = self.groups(&items);
                groups.reverse();
                groups.iter_mut().for_each(|group| group.reverse());
                groups
            }
        };
        let mut nodes: Vec<Option<LoopTree>> = items.into_iter().map(|item| Some(item.node)).collect();
        let mut res = Vec::with_capacity(groups.len());
        for group in groups {
            let mut members = group.into_iter().filter_map(|idx| nodes[idx].take());
            let Some(mut first) = members.next() else { continue };
            match &mut first {
                LoopTree::Loop { iname, body } => {
                    for other in members {
                        if let LoopTree::Loop { body: more, .. } = other {
                            body.extend(more);
                        }
                    }
                    self.outer.push(*iname);
                    *body = self.sequence(std::mem::take(body));
                    self.outer.pop();
                }
                LoopTree::Branch { body, .. } => *body = self.sequence(std::mem::take(body)),
                LoopTree::Run(_) => {}
            }
            res.push(first);
        }
        res
    }

    fn items(&mut self, nodes: Vec<LoopTree>) -> Vec<Item> {
        let mut items: Vec<Item> = nodes
            .into_iter()
            .map(|node| {
                let accesses = self.accesses.below(&node);
                Item { node, accesses, after: Vec::new(), before: Vec::new() }
            })
            .collect();
        // For each array the last generation of items that may run in any order among themselves, and the one before.
        let mut generations: FxHashMap<ArrayId, Generation> = FxHashMap::default();
        for idx in 0..items.len() {
            let mut after: BTreeSet<usize> = BTreeSet::new();
            for (array, touch) in combined(&items[idx].accesses) {
                let generation = generations.entry(array).or_default();
                match generation.touch {
                    Some(last) if touch.is_some_and(|touch| touch.commutes(last)) => {}
                    _ => {
                        generation.before = std::mem::take(&mut generation.members);
                        generation.touch = touch;
                    }
                }
                after.extend(&generation.before);
                generation.members.push(idx);
            }
            for &earlier in &after {
                items[earlier].before.push(idx);
            }
            items[idx].after = after.into_iter().collect();
        }
        items
    }

    /// The items in their new order; those of one group are joined.
    fn groups(&self, items: &[Item]) -> Vec<Vec<usize>> {
        let mut state = State {
            n_missing: items.iter().map(|item| item.after.len()).collect(),
            ready: BTreeSet::new(),
            singles: BTreeSet::new(),
            is_loop: items.iter().map(|item| item.iname().is_some()).collect(),
            is_done: vec![false; items.len()],
        };
        for idx in 0..items.len() {
            if state.n_missing[idx] == 0 {
                state.make_ready(idx);
            }
        }
        let mut res = Vec::new();
        loop {
            let group = match (state.singles.first(), state.ready.first()) {
                (Some(&idx), _) => vec![idx],
                (None, None) => break,
                (None, Some(&first)) => {
                    let mut choices: BTreeMap<InameId, usize> = BTreeMap::new();
                    if items.len() <= LOOK_AHEAD_LIMIT {
                        for &idx in &state.ready {
                            if let Some(iname) = items[idx].iname() {
                                choices.entry(iname).or_insert(idx);
                            }
                        }
                    } else if let Some(iname) = items[first].iname() {
                        choices.insert(iname, first);
                    }
                    self.best_group(items, &state, &choices)
                }
            };
            for &idx in &group {
                state.finish(items, idx);
            }
            res.push(group);
        }
        res
    }

    /// The group of the iname from which the fewest loops stay out; the first one ready among equals.
    fn best_group(&self, items: &[Item], state: &State, choices: &BTreeMap<InameId, usize>) -> Vec<usize> {
        if let Some((&iname, _)) = choices.iter().next().filter(|_| choices.len() == 1) {
            return self.group(items, state, iname);
        }
        let mut best: Option<(usize, usize, Vec<usize>)> = None;
        for (&iname, &first) in choices {
            let group = self.group(items, state, iname);
            let is_left = |idx: &usize| !state.is_done[*idx] && items[*idx].iname() == Some(iname);
            let n_out = (0..items.len()).filter(is_left).count() - group.len();
            if best.as_ref().is_none_or(|(least, earliest, _)| (n_out, first) < (*least, *earliest)) {
                best = Some((n_out, first, group));
            }
        }
        best.map(|(_, _, group)| group).unwrap_or_default()
    }

    /// All loops over an iname that can be one loop now.
    fn group(&self, items: &[Item], state: &State, iname: InameId) -> Vec<usize> {
        let mut group: Vec<usize> = Vec::new();
        let mut touched = Touched::default();
        let mut n_missing: FxHashMap<usize, usize> = FxHashMap::default();
        let of_iname = |idx: usize| items[idx].iname() == Some(iname);
        let mut ready: BTreeSet<usize> = state.ready.iter().copied().filter(|&idx| of_iname(idx)).collect();
        while let Some(idx) = ready.pop_first() {
            if !self.may_join((&group, &touched), idx, items, iname) {
                continue;
            }
            group.push(idx);
            touched.add(&items[idx].accesses);
            for &later in &items[idx].before {
                let missing = n_missing.entry(later).or_insert(state.n_missing[later]);
                *missing -= 1;
                if *missing == 0 && of_iname(later) {
                    ready.insert(later);
                }
            }
        }
        group
    }

    /// Whether loops over an iname, with what they touch, keep their dependences with another one as one loop: they are all before it, or all behind it where fusion is late.
    fn may_join(&self, (group, touched): (&[usize], &Touched<'_>), idx: usize, items: &[Item], iname: InameId) -> bool {
        let keep = |a: &Access, b: &Access| self.keep_order(a, b, iname);
        match self.fusion {
            Fusion::Early => touched.keeps_order(&items[idx].accesses, keep),
            Fusion::Late => {
                let mut own = Touched::default();
                own.add(&items[idx].accesses);
                group.iter().all(|&later| own.keeps_order(&items[later].accesses, keep))
            }
        }
    }

    /// Whether two accesses, the first in an earlier loop over the iname, keep their order as parts of one.
    fn keep_order(&self, a: &Access, b: &Access, iname: InameId) -> bool {
        let tags = &self.kernel[iname].tags;
        let is_serial = !tags.contains(&InameTag::Parallel) && !tags.contains(&InameTag::Vec);
        // What is read a few iterations later keeps iterations apart, so that loop stays alone.
        let may_be_later = is_serial && b.touch == Touch::Write;
        let is_in_order = |distance: i64| distance == 0 || (may_be_later && distance > 0);
        meetings(a, b, iname, |other| other == iname || self.outer.contains(&other))
            .any(|meetings| meetings.only(is_in_order))
    }
}

/// The same items from the last to the first, each before what it was after.
fn turn_around(items: &mut [Item]) {
    let last = items.len().saturating_sub(1);
    items.reverse();
    for item in items {
        std::mem::swap(&mut item.after, &mut item.before);
        item.after.iter_mut().chain(&mut item.before).for_each(|idx| *idx = last - *idx);
    }
}

#[derive(Default)]
struct Generation {
    touch: Option<Touch>,
    members: Vec<usize>,
    before: Vec<usize>,
}

/// How an item touches each array as a whole: the one way in which it does, or `None` if there are several.
fn combined(accesses: &[Access]) -> BTreeMap<ArrayId, Option<Touch>> {
    let mut res: BTreeMap<ArrayId, Option<Touch>> = BTreeMap::new();
    for access in accesses {
        let own = Some(access.touch).filter(|touch| *touch != Touch::Write);
        res.entry(access.array).and_modify(|touch| *touch = touch.filter(|touch| Some(*touch) == own)).or_insert(own);
    }
    res
}

struct State {
    /// For each item how many that must come before are not done.
    n_missing: Vec<usize>,
    /// Loops that may come next.
    ready: BTreeSet<usize>,
    /// Other items that may come next.
    singles: BTreeSet<usize>,
    /// For each item whether it is a loop that may be joined with others.
    is_loop: Vec<bool>,
    is_done: Vec<bool>,
}

impl State {
    fn make_ready(&mut self, idx: usize) {
        if self.is_loop[idx] { &mut self.ready } else { &mut self.singles }.insert(idx);
    }

    fn finish(&mut self, items: &[Item], idx: usize) {
        self.ready.remove(&idx);
        self.singles.remove(&idx);
        self.is_done[idx] = true;
        for &later in &items[idx].before {
            self.n_missing[later] -= 1;
            if self.n_missing[later] == 0 && !self.is_done[later] {
                self.make_ready(later);
            }
        }
    }
}
