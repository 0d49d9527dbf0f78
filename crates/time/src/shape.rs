//! What compilers make of loops, and what each then costs.
//!
//! # Method
//! From the inside out. A short loop inside another, with nothing but unrolled loops inside, is unrolled into it. A loop without loops inside runs in
//! vector lanes if the kernel says so, or if all it stores is consecutive or fills rows, or is the sum of neighbours, which the C back end writes in vectors, if no element that it
//! stores is accessed elsewhere in it, and if all it calls has vector forms. The rest of a trip count that is no multiple of the lanes runs in vectors half as long, and so on,
//! or in one that overlaps the one before, where C has [vectors across loops](is_arithmetic).
//! # Complexity
//! Linear in loops and operations; quadratic in the accesses to one array that a loop stores to.

use std::collections::BTreeMap;

use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::{ArrayId, InameId, InameSet, InsnId};

use crate::body::{CallKind, Counts, Held, Reference, Work, count};
use crate::estimate::{Bound, LoopEstimate};
use crate::machine::{Constant as C, Machine};
use crate::nest::{Loop, Nest};
use crate::packing::Packing;
use crate::reuse::{Between, between};

/// A nest with the bytes of each of its arrays and of one element of each.
#[derive(Clone, Debug)]
pub(crate) struct Sized {
    pub(crate) nest: Nest,
    pub(crate) bytes: Vec<f64>,
    pub(crate) element: Vec<u64>,
    /// Arrays that are neither arguments nor tables.
    pub(crate) is_local: Vec<bool>,
    pub(crate) is_table: Vec<bool>,
    /// How far apart in memory neighbours along each axis are, in elements; `None` if that is not known.
    pub(crate) strides: Vec<Option<Vec<u64>>>,
}

/// Whose strided stores keep a loop from running in lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strided {
    OfAll,
    /// Temporaries can be laid out so that they are not strided.
    OfArguments,
}

/// A loop after its inner ones.
struct Shaped {
    /// With what unrolled loops do, but for those that became vectors.
    work: Work,
    /// Unrolled loops that may become vectors: what an iteration does, in how many vectors, and how many iterations there are.
    vectors: Vec<(Work, f64, f64)>,
    /// The inames of the loops left around.
    around: InameSet,
    /// Whether there are loops left inside.
    has_loops: bool,
    /// Nanoseconds of the loops left inside, for one iteration.
    inside: f64,
}

pub(crate) fn cost(kernel: &Sized, machine: &Machine) -> Vec<LoopEstimate> {
    let loops = &kernel.nest.loops;
    let parents = kernel.parents();
    let unrolled = unrolled(kernel, &parents, machine, Strided::OfAll);
    let in_registers = in_registers(kernel, &parents, &unrolled);
    let packing = Packing::of(kernel, &parents);
    let between = between(kernel, &parents);
    let mut shaped: Vec<Option<Shaped>> = loops.iter().map(|_| None).collect();
    let mut res: Vec<LoopEstimate> = Vec::new();
    // Children have larger numbers than their parents.
    for (idx, one) in loops.iter().enumerate().rev() {
        let known = unrolled_around(kernel, idx, &parents, &unrolled);
        let mut own = Shaped {
            work: one.work.with_unrolled(&known, &kernel.is_table),
            vectors: Vec::new(),
            around: left_around(kernel, idx, &parents, &unrolled),
            has_loops: false,
            inside: 0.0,
        };
        kernel.hold(&mut own.work, &in_registers);
        packing.add_to(&mut own.work, idx, |bytes| machine.lanes(bytes));
        for &child in &one.children {
            let Some(inner) = shaped[child].take() else { continue };
            let of_child = &loops[child];
            if unrolled[child] {
                if let Some(iname) = of_child.iname.filter(|_| of_child.is_lanes) {
                    let (of_element, trips) = (kernel.widest(&inner.work), of_child.trips.ceil());
                    let n_vectors = n_steps(trips, machine.lanes(of_element)).max(1.0);
                    let work = inner.work.in_lanes(iname, trips / n_vectors, &packing);
                    own.vectors.push((work, n_vectors * of_child.entries, of_child.trips * of_child.entries));
                    continue;
                }
                // A sum whose loop is gone goes on in the loop around, if that adds to the same register.
                let times = of_child.trips * of_child.entries;
                let lanes = machine.lanes(kernel.widest(&inner.work));
                let touches = |reference: &Reference| {
                    in_registers[reference.array.index()]
                        && of_child.iname.is_some_and(|iname| stride(reference, iname) != Some(0))
                };
                // Rows that are the same in each iteration of the loop around are loaded before it, and then no longer seen as rows.
                let is_same_row = |reference: &Reference| {
                    let around = one.iname.filter(|_| !unrolled[idx]);
                    of_child.iname.is_some_and(|iname| stride(reference, iname) != Some(0))
                        && around.is_some_and(|iname| stride(reference, iname) == Some(0))
                };
                let is_vector = of_child.iname.is_some_and(|iname| {
                    of_child.trips >= 2.0
                        && !inner.work.loads.iter().any(is_same_row)
                        && lanes > 1.0
                        && inner.work.reductions == 0.0
                        && !loops[child].work.loads.iter().chain(&loops[child].work.stores).any(touches)
                        && kernel.is_vectorizable(&inner.work, (iname, of_child.trips), machine)
                        && inner.work.loads.iter().all(|load| matches!(stride(load, iname), Some(0 | 1)))
                });
                if is_vector {
                    let steps = n_steps(of_child.trips, lanes) * of_child.entries;
                    own.vectors.push((inner.work, steps, times));
                } else {
                    own.work.add_unrolled(&inner.work, times);
                }
                for (work, steps, of_scalar) in inner.vectors {
                    own.vectors.push((work, steps * times, of_scalar * times));
                }
                continue;
            }
            let cost = of_loop((kernel, &between), &inner, of_child, machine);
            own.has_loops = true;
            own.inside += of_child.entries * cost.nanoseconds;
            res.push(LoopEstimate { at: child, parent: idx, entries: of_child.entries, ..cost });
        }
        shaped[idx] = Some(own);
    }
    if let Some(whole) = shaped.first_mut().and_then(Option::take) {
        let mut cost = of_loop((kernel, &between), &whole, &loops[0], machine);
        cost.nanoseconds += machine[C::Call];
        res.push(cost);
    }
    res.reverse();
    res
}

/// The time of a run, shared among the instructions: that of each loop that is left in proportion to how long each keeps the processor busy there, as if it did
/// one thing after another. The call itself, and loops that do nothing, are nobody's.
pub(crate) fn shared(kernel: &Sized, costs: &[LoopEstimate], machine: &Machine) -> BTreeMap<InsnId, f64> {
    let loops = &kernel.nest.loops;
    // Iterations in a run, and the loop that is left around each; parents have smaller numbers than their children.
    let n_iterations = kernel.n_iterations();
    let mut place: Vec<Option<usize>> = vec![None; loops.len()];
    for (cost_idx, cost) in costs.iter().enumerate() {
        place[cost.at] = Some(cost_idx);
    }
    for (idx, one) in loops.iter().enumerate() {
        for &child in &one.children {
            place[child] = place[child].or(place[idx]);
        }
    }
    let weights: Vec<(InsnId, usize, f64)> = kernel
        .nest
        .parts
        .iter()
        .filter_map(|(insn, at, counts)| Some((*insn, place[*at]?, busy(counts, machine) * n_iterations[*at])))
        .collect();
    let mut totals = vec![0.0; costs.len()];
    weights.iter().for_each(|(_, place, weight)| totals[*place] += weight);
    let mut res = BTreeMap::new();
    for (insn, place, weight) in weights {
        if weight > 0.0 {
            let cost = &costs[place];
            let n_entries = if cost.at == 0 { 1.0 } else { n_iterations[cost.parent] * cost.entries };
            *res.entry(insn).or_default() += cost.own * n_entries * weight / totals[place];
        }
    }
    res
}

/// Nanoseconds of operations one after another, each alone.
fn busy(counts: &Counts, machine: &Machine) -> f64 {
    let calls = [C::Exponential, C::Trigonometric, C::Power, C::Function];
    counts.arithmetic * machine[C::Arithmetic]
        + counts.quotients * machine[C::Divide]
        + counts.roots * machine[C::Root]
        + std::iter::zip(counts.calls, calls).map(|(n, constant)| n * machine[constant]).sum::<f64>()
        + counts.loads * machine[C::Load]
        + counts.stores * machine[C::Store]
        + counts.integers * machine[C::Issue]
        + counts.branches * machine[C::Branch]
}

/// For each loop whether the compiler unrolls it. An outermost loop is, if it cannot run in vector lanes.
pub(crate) fn unrolled(kernel: &Sized, parents: &[usize], machine: &Machine, strided: Strided) -> Vec<bool> {
    let loops = &kernel.nest.loops;
    let mut has_loops = vec![false; loops.len()];
    let mut res = vec![false; loops.len()];
    for idx in (1..loops.len()).rev() {
        let one = &loops[idx];
        let may_be = !has_loops[idx] && (one.is_lanes || one.trips.fract() == 0.0 && !one.is_varying);
        res[idx] = may_be
            && (one.is_lanes
                || one.trips <= 1.0
                || one.trips <= machine[C::UnrollTrips]
                    && (parents[idx] != 0
                        || one.iname.is_some_and(|iname| has_strided_store(kernel, idx, iname, strided)))
                    && one.trips * size(kernel, idx, &one.iname.into_iter().collect()) <= machine[C::UnrollOperations]);
        if !res[idx] {
            has_loops[parents[idx]] = true;
        }
    }
    res
}

/// Operations of an iteration of a loop inside which all loops are unrolled, when these inames and theirs are numbers.
fn size(kernel: &Sized, idx: usize, inames: &InameSet) -> f64 {
    let one = &kernel.nest.loops[idx];
    let mut sum = one.work.with_unrolled(inames, &kernel.is_table).operations();
    for &child in &one.children {
        let inner = &kernel.nest.loops[child];
        let inames: InameSet = inames.iter().chain(inner.iname).collect();
        sum += inner.trips * inner.entries * size(kernel, child, &inames);
    }
    sum
}

fn has_strided_store(kernel: &Sized, idx: usize, iname: InameId, strided: Strided) -> bool {
    let one = &kernel.nest.loops[idx];
    let counts = |store: &Reference| strided == Strided::OfAll || !kernel.is_local[store.array.index()];
    one.work.stores.iter().any(|store| counts(store) && !matches!(stride(store, iname), Some(-1..=1)))
        || one.children.iter().any(|&child| has_strided_store(kernel, child, iname, strided))
}

/// The inames of a loop and those around it, up to the first that is not unrolled.
fn unrolled_around(kernel: &Sized, idx: usize, parents: &[usize], unrolled: &[bool]) -> InameSet {
    let mut at = idx;
    let mut res = InameSet::new();
    while unrolled[at] {
        res.extend(kernel.nest.loops[at].iname);
        at = parents[at];
    }
    res
}

/// The inames of the loops around a loop that are not unrolled.
fn left_around(kernel: &Sized, idx: usize, parents: &[usize], unrolled: &[bool]) -> InameSet {
    let mut res = InameSet::new();
    let mut at = idx;
    while at != 0 {
        at = parents[at];
        res.extend(kernel.nest.loops[at].iname.filter(|_| !unrolled[at]));
    }
    res
}

/// For each array whether it is a temporary all of whose elements become registers, for all loops that run over it are unrolled.
pub(crate) fn in_registers(kernel: &Sized, parents: &[usize], unrolled: &[bool]) -> Vec<bool> {
    let mut res = kernel.is_local.clone();
    for (idx, one) in kernel.nest.loops.iter().enumerate() {
        for reference in one.work.loads.iter().chain(&one.work.stores) {
            let mut at = idx;
            let mut is_fixed = reference.position.is_some();
            while at != 0 && is_fixed {
                is_fixed = unrolled[at] || one_of(kernel, at).is_some_and(|iname| stride(reference, iname) == Some(0));
                at = parents[at];
            }
            res[reference.array.index()] &= is_fixed;
        }
    }
    res
}

fn one_of(kernel: &Sized, at: usize) -> Option<InameId> {
    kernel.nest.loops[at].iname
}

/// One entry of a loop.
fn of_loop((kernel, between): (&Sized, &[Between]), inner: &Shaped, of: &Loop, machine: &Machine) -> LoopEstimate {
    let (iname, trips) = (of.iname, of.trips);
    let (mut of_scalar, mut with_vectors) = (inner.work.clone(), inner.work.clone());
    for (work, n_vectors, n_scalars) in &inner.vectors {
        of_scalar.add_unrolled(work, *n_scalars);
        with_vectors.add_unrolled(work, *n_vectors);
    }
    // Elements that each iteration adds to, and nobody else looks at, stay in registers as long as the loop runs.
    let mut kept = 0.0;
    if let Some(iname) = iname.filter(|_| !inner.has_loops) {
        kept = keep_in_registers(&mut of_scalar, iname);
        keep_in_registers(&mut with_vectors, iname);
    }
    let work = &of_scalar;
    let scalar = Steps { n: trips, lanes: 1.0 };
    let scalar_body = body(&with_vectors, iname, &scalar, machine);
    let mut best = (scalar, scalar_body);
    if let Some(iname) = iname.filter(|_| !inner.has_loops) {
        let size = kernel.widest(work);
        let lanes = machine.lanes(size);
        // If the trip count varies, a short loop rarely fills a vector.
        let is_long = trips >= if of.is_varying && !of.is_lanes { 2.0 * lanes } else { 2.0 };
        if lanes > 1.0 && is_long && kernel.is_vectorizable(work, (iname, trips), machine) {
            let is_across = !of.children.is_empty() && trips >= lanes && !of.is_varying && is_arithmetic(work, iname);
            let n = if is_across { (trips / lanes).ceil() } else { n_steps(trips, lanes) };
            let vector = Steps { n, lanes };
            let vector_body = body(work, Some(iname), &vector, machine);
            let reduce = if work.reductions > 0.0 {
                2.0 * lanes.log2() * (machine[C::Latency] + kept * machine[C::Arithmetic])
            } else {
                0.0
            };
            if vector_body.0 * vector.n + reduce < best.1.0 * trips {
                best = (vector, (vector_body.0 + reduce / vector.n, vector_body.1));
            }
        }
    }
    let (steps, (step, bound)) = best;
    // The processor guesses how often the loop runs this time.
    let guess = if of.is_varying && !of.is_lanes { machine[C::Branch] } else { 0.0 };
    // Few vectors are unrolled as few iterations are: then there is no loop to enter.
    let is_unrolled = steps.lanes > 1.0
        && !of.is_varying
        && steps.n <= machine[C::UnrollTrips]
        && steps.n * work.operations() <= machine[C::UnrollOperations];
    let entry = if iname.is_some() && !is_unrolled { machine[C::LoopEntry] + guess } else { 0.0 }
        + kept * (machine[C::Load].max(machine[C::Store]));
    let own = step * steps.n;
    let traffic = kernel.traffic((work, between), (iname, &inner.around), trips, machine);
    let both = own.max(traffic) + machine[C::Overlap] * own.min(traffic);
    LoopEstimate {
        at: 0,
        parent: 0,
        entries: 1.0,
        nanoseconds: entry + both + inner.inside * trips,
        own: both + entry,
        trips,
        lanes: steps.lanes,
        bound: if traffic > own { Bound::Memory } else { bound },
    }
}

/// How often the body runs, and for how many iterations at once.
#[derive(Clone, Copy)]
struct Steps {
    n: f64,
    lanes: f64,
}

/// Full vectors, and for the rest one for each power of two.
fn n_steps(trips: f64, lanes: f64) -> f64 {
    let full = (trips / lanes).floor();
    let rest = (trips - full * lanes).round() as u64;
    full + f64::from(rest.count_ones())
}

/// Registers that a called function leaves as they are.
const SAVED: f64 = 6.0;

/// How much of the time of all resources but the busiest is not hidden in loops that call functions without vector form: 219 instructions around three calls took 15 ns.
const AROUND_CALLS: f64 = 0.5;

/// Nanoseconds of one step of a loop, and what bounds it.
fn body(work: &Work, iname: Option<InameId>, steps: &Steps, machine: &Machine) -> (f64, Bound) {
    let lanes = steps.lanes;
    let is_vector = lanes > 1.0;
    let (mut loads, mut moved) = (0.0, work.moved);
    for reference in &work.loads {
        match iname.filter(|_| is_vector).map(|iname| stride(reference, iname)) {
            None | Some(Some(-1..=1)) => loads += reference.times,
            // Neighbouring elements come in whole vectors, and are put in order.
            Some(Some(stride)) if PERMUTED.contains(&stride.unsigned_abs()) => {
                loads += reference.times;
                moved += 0.5 * lanes * reference.times;
            }
            Some(_) => {
                loads += reference.times * lanes;
                moved += reference.times * lanes;
            }
        }
    }
    for store in work.stores.iter().filter(|_| is_vector) {
        let step = iname.and_then(|iname| stride(store, iname)).map_or(1, i64::unsigned_abs);
        moved += if PERMUTED.contains(&step) { lanes * store.times } else { 0.0 };
    }
    let mut stores = count(&work.stores) + work.copied;
    loads += work.numbers + work.copied;
    for (n_vectors, times) in &work.at_once {
        let n_spilled = (n_vectors - machine[C::Registers]).max(0.0) * times;
        loads += n_spilled;
        stores += n_spilled;
    }
    let spilled = spilled_of_held(work, machine[C::Registers]);
    loads += spilled.0;
    stores += spilled.1;
    let mut first = true;
    for (distance, times) in &work.spilled {
        if *distance > machine[C::Registers] {
            loads += times;
            stores += if first { *times } else { 0.0 };
            first = !first;
        }
    }
    let has_calls = work.calls[CallKind::Other as usize] > 0.0;
    if has_calls {
        // Only so many addresses survive such a call; the others are loaded again.
        loads += (loads + stores - SAVED).max(0.0);
    }
    let quotient = if is_vector { machine[C::DivideVector] } else { machine[C::Divide] };
    let root = machine[C::Root] * quotient / machine[C::Divide].max(1e-9);
    let calls: f64 = std::iter::zip(work.calls, [C::Exponential, C::Trigonometric, C::Power, C::Function])
        .map(|(n, constant)| n * machine[constant])
        .sum::<f64>()
        * (lanes / if is_vector { machine[C::CallLanes].min(lanes) } else { 1.0 });
    // A load that one operation needs is part of it.
    let instructions = work.arithmetic.max(loads)
        + stores
        + work.integers
        + work.quotients
        + work.roots
        + moved
        + work.turned
        + if iname.is_some() { 2.0 } else { 0.0 };
    let chain = match iname {
        // From the store to the next load it takes about as long again.
        Some(_) if work.reductions_in_memory > 0.0 => 2.0 * machine[C::Latency],
        // In lanes, each sum has several registers.
        Some(_) if work.reductions > 0.0 => machine[C::Latency] / if is_vector { ACCUMULATORS } else { 1.0 },
        _ => 0.0,
    };
    let chain = chain.max(work.recurrence * machine[C::Latency]);
    let resources = [
        (work.arithmetic * machine[C::Arithmetic], Bound::Arithmetic),
        (loads * machine[C::Load], Bound::Loads),
        (stores * machine[C::Store], Bound::Stores),
        (work.quotients * quotient + work.roots * root, Bound::Quotients),
        (instructions * machine[C::Issue], Bound::Issue),
        ((work.turned + if is_vector { moved } else { 0.0 }) * machine[C::Lane], Bound::Lanes),
        (chain, Bound::Chain),
    ];
    let sum: f64 = resources.iter().map(|resource| resource.0).sum();
    let (busiest, mut bound) =
        resources.iter().fold((0.0, Bound::Issue), |most, one| if one.0 > most.0 { *one } else { most });
    let overlap = if has_calls { AROUND_CALLS.max(machine[C::Overlap]) } else { machine[C::Overlap] };
    let mut total = busiest + overlap * (sum - busiest);
    // Vectors that straight-line code puts together come between the values and all that is done with them.
    let together = if is_vector { 0.0 } else { moved * machine[C::Lane] };
    if together > total {
        bound = Bound::Lanes;
    }
    if calls > total.max(together) {
        bound = Bound::Calls;
    }
    total += calls + together + work.branches * machine[C::Branch];
    if instructions > machine[C::CodeOperations] {
        total += (instructions - machine[C::CodeOperations]) * machine[C::Fetch];
    }
    (total, bound)
}

/// Loads and stores of elements of small arrays that find no register, if all are as likely to find one.
fn spilled_of_held(work: &Work, n_registers: f64) -> (f64, f64) {
    let mut arrays: BTreeMap<ArrayId, (f64, bool)> = BTreeMap::new();
    for held in &work.held {
        arrays.entry(held.array).or_insert((held.n_elements, false)).1 |= held.is_stored;
    }
    let n_elements: f64 = arrays.values().map(|array| array.0).sum();
    let n_stored: f64 = arrays.values().filter(|array| array.1).map(|array| array.0).sum();
    let n_read: f64 = work.held.iter().map(|held| held.n_read).sum();
    let share = if n_elements > n_registers { 1.0 - n_registers / n_elements } else { 0.0 };
    (n_read * share, n_stored * share)
}

/// How far apart in its array the elements of two iterations are; `None` if that is not known.
pub(crate) fn stride(reference: &Reference, iname: InameId) -> Option<i64> {
    Some(reference.position.as_ref()?.coefficient(Var::Iname(iname)))
}

impl Sized {
    /// The loop around each loop; that of the whole is itself.
    pub(crate) fn parents(&self) -> Vec<usize> {
        let mut res = vec![0; self.nest.loops.len()];
        for (idx, one) in self.nest.loops.iter().enumerate() {
            one.children.iter().for_each(|&child| res[child] = idx);
        }
        res
    }

    /// How many iterations each loop does in a run.
    pub(crate) fn n_iterations(&self) -> Vec<f64> {
        let loops = &self.nest.loops;
        let mut res = vec![1.0; loops.len()];
        // Parents have smaller numbers than their children.
        for (idx, one) in loops.iter().enumerate() {
            one.children.iter().for_each(|&child| res[child] = res[idx] * loops[child].entries * loops[child].trips);
        }
        res
    }

    /// Notes accesses to arrays whose elements are in registers as such. What adds to an element does not read it from elsewhere.
    fn hold(&self, work: &mut Work, in_registers: &[bool]) {
        let is_held = |reference: &Reference| in_registers[reference.array.index()];
        let (loads, others): (Vec<_>, Vec<_>) = std::mem::take(&mut work.loads).into_iter().partition(is_held);
        let (stores, stored): (Vec<_>, Vec<_>) = std::mem::take(&mut work.stores).into_iter().partition(is_held);
        (work.loads, work.stores) = (others, stored);
        let of_array = |array: ArrayId, n_read: f64, is_stored: bool| {
            let n_elements = self.bytes[array.index()] / self.element[array.index()].max(1) as f64;
            Held { array, n_elements, n_read, is_stored }
        };
        let is_sum =
            |load: &Reference| stores.iter().any(|one| one.array == load.array && one.position == load.position);
        work.held
            .extend(loads.iter().map(|load| of_array(load.array, if is_sum(load) { 0.0 } else { load.times }, false)));
        work.held.extend(stores.iter().map(|store| of_array(store.array, 0.0, true)));
    }

    /// Bytes of the largest element that a loop works on.
    fn widest(&self, work: &Work) -> u64 {
        let all = work.loads.iter().chain(&work.stores);
        all.map(|reference| self.element[reference.array.index()]).max().unwrap_or(8)
    }

    fn is_vectorizable(&self, work: &Work, (iname, trips): (InameId, f64), machine: &Machine) -> bool {
        let calls = work.calls.iter().sum::<f64>() > 0.0;
        // What transposes blocks of elements is in lanes already.
        if work.is_scalar || work.turned > 0.0 || calls && machine[C::CallLanes] <= 1.0 {
            return false;
        }
        if has_odd_group(work, iname) || work.adds_to_elements || work.reductions > 0.0 && !goes_along(work, iname) {
            return false;
        }
        work.stores.iter().all(|store| {
            (matches!(stride(store, iname), Some(1 | -1)) || fills_row(work, store, iname))
                && accesses(work, store.array).all(|other| !meets(store, other, (iname, trips)))
        })
    }

    /// Nanoseconds in which the data of a loop come from where they are.
    fn traffic(
        &self,
        (work, between): (&Work, &[Between]),
        (iname, around): (Option<InameId>, &InameSet),
        trips: f64,
        machine: &Machine,
    ) -> f64 {
        let Some(iname) = iname else { return 0.0 };
        let footprint: f64 = self.bytes.iter().sum();
        let of_all = per_byte(footprint, machine);
        if of_all == 0.0 {
            return 0.0;
        }
        let mut seen: Vec<(ArrayId, Option<Affine>, i64)> = Vec::new();
        let is_large = |array: ArrayId| self.bytes[array.index()] > machine[C::L1Bytes];
        // What comes from outside, and is read once, has given way to all else since the last run.
        let is_far = |reference: &Reference| {
            let is_once = |position: &Affine| around.iter().all(|outer| position.coefficient(Var::Iname(outer)) != 0);
            is_large(reference.array)
                || !self.is_local[reference.array.index()] && reference.position.as_ref().is_some_and(is_once)
        };
        let packed = work.packed.iter().filter(|packed| is_large(packed.0)).map(|packed| packed.1).sum::<f64>();
        let mut nanoseconds = packed * of_all;
        let between = |reference: &Reference| &between[reference.array.index()];
        let writes = work.stores.iter().map(|store| (store, 2.0, between(store).writes));
        let reads = work.loads.iter().map(|load| (load, 1.0, between(load).reads));
        let is_single =
            |access: &(&Reference, f64, Option<f64>)| !work.packed.iter().any(|one| one.0 == access.0.array);
        for (reference, factor, touched) in writes.chain(reads).filter(is_single) {
            let array = reference.array.index();
            let size = self.element[array] as f64;
            let step = stride(reference, iname).map_or(LINE, |stride| (stride.unsigned_abs() as f64 * size).min(LINE));
            // Neighbours in a row come along; other rows and planes come on their own where they do not fit a cache, as do the lines of a record.
            let neighbours = if step < LINE { NEIGHBOURS } else { (LINE / size).max(1.0) as i64 };
            let row = reference.position.as_ref().map_or(0, |position| position.constant.div_euclid(neighbours));
            let way = reference.position.as_ref().map(|position| Affine { constant: 0, ..position.clone() });
            let access = (reference.array, way, row);
            if step > 0.0 && is_far(reference) && !seen.contains(&access) {
                let is_near = step < LINE && seen.iter().any(|known| known.0 == access.0 && known.1 == access.1);
                seen.push(access);
                let share = if is_near && self.rows_stay(reference, machine) { 0.25 } else { 1.0 };
                let per_byte = touched.map_or(of_all, |touched| per_byte(touched.min(footprint), machine));
                nanoseconds += step * factor * share * per_byte;
            }
        }
        nanoseconds * trips
    }

    /// Whether what neighbouring iterations of outer loops read of an array stays in the second cache.
    fn rows_stay(&self, reference: &Reference, machine: &Machine) -> bool {
        self.bytes[reference.array.index()] > machine[C::L2Bytes]
    }
}

/// Nanoseconds for a byte of data among which so many bytes are touched.
fn per_byte(touched: f64, machine: &Machine) -> f64 {
    match touched {
        touched if touched <= machine[C::L1Bytes] => 0.0,
        touched if touched <= machine[C::L2Bytes] => machine[C::L2Byte],
        touched if touched <= machine[C::L3Bytes] => machine[C::L3Byte],
        _ => machine[C::MemoryByte],
    }
}

/// Takes accesses out of a loop that are the same in all its iterations, where these are all accesses to a stored array; answers how many elements
/// are stored after the loop instead.
fn keep_in_registers(work: &mut Work, iname: InameId) -> f64 {
    let is_kept = |store: &Reference| {
        stride(store, iname) == Some(0) && accesses(work, store.array).all(|other| other.position == store.position)
    };
    let arrays: Vec<ArrayId> = work.stores.iter().filter(|store| is_kept(store)).map(|store| store.array).collect();
    let is_other = |reference: &Reference| !arrays.contains(&reference.array);
    let before = count(&work.stores);
    work.stores.retain(is_other);
    work.loads.retain(is_other);
    let kept = before - count(&work.stores);
    work.reductions += kept;
    kept
}

/// Whether an iteration loads several elements of a row that the next iteration loads from another row, and rows are of a length for which compilers have no
/// permutations: then they use no vectors at all, while single elements of such rows are put together one by one.
fn has_odd_group(work: &Work, iname: InameId) -> bool {
    let is_odd = |load: &&Reference| {
        stride(load, iname)
            .map(i64::unsigned_abs)
            .is_some_and(|stride| stride > 1 && !stride.is_power_of_two() && stride != 3)
    };
    work.loads.iter().filter(is_odd).any(|load| {
        let Some(position) = &load.position else { return false };
        let step = position.coefficient(Var::Iname(iname)).unsigned_abs();
        let is_near = |other: &Reference| {
            let difference = other.position.as_ref().and_then(|other| other.plus(position, -1));
            difference.and_then(|one| one.as_constant()).is_some_and(|one| one != 0 && one.unsigned_abs() < step)
        };
        // Unrolled loops inside read along the row.
        let runs_along = |(var, coefficient): &(Var, i64)| {
            *var != Var::Iname(iname) && coefficient.unsigned_abs() < step && load.times > 1.0
        };
        position.terms.iter().any(runs_along) || accesses(work, load.array).any(is_near)
    })
}

/// Whether a loop reads nothing but neighbours and what stays the same: sums of other elements are not written in lanes.
fn goes_along(work: &Work, iname: InameId) -> bool {
    work.loads.iter().all(|load| matches!(stride(load, iname), Some(-1..=1)))
}

/// Whether a loop does nothing but sums, products and quotients of neighbours and what stays the same. With loops inside that are unrolled, C has vectors for all of its
/// iterations, of which the last overlaps the one before.
fn is_arithmetic(work: &Work, iname: InameId) -> bool {
    let others = work.calls.iter().sum::<f64>() + work.roots + work.branches;
    others == 0.0 && work.reductions == 0.0 && work.loads.iter().all(|load| matches!(stride(load, iname), Some(0 | 1)))
}

/// Registers of a sum in lanes.
const ACCUMULATORS: f64 = 4.0;

/// At these distances, elements of several iterations come in whole vectors.
const PERMUTED: [u64; 4] = [2, 3, 4, 8];

/// Bytes that a cache takes at once.
const LINE: f64 = 64.0;

/// Elements that come along with another.
const NEIGHBOURS: i64 = 16;

fn accesses(work: &Work, array: ArrayId) -> impl Iterator<Item = &Reference> {
    work.loads.iter().chain(&work.stores).filter(move |reference| reference.array == array)
}

/// Whether an iteration stores all elements between this one and that of the next iteration, so that vectors of each are put in order and stored as whole vectors.
fn fills_row(work: &Work, store: &Reference, iname: InameId) -> bool {
    let Some(step) = stride(store, iname).filter(|step| PERMUTED.contains(&step.unsigned_abs())) else { return false };
    let Some(position) = &store.position else { return false };
    let beside = work.stores.iter().filter(|other| other.array == store.array);
    let offsets: Vec<i64> =
        beside.filter_map(|other| other.position.as_ref()?.plus(position, -1)?.as_constant()).collect();
    let length = step.abs();
    (0..length).any(|before| (-before..length - before).all(|offset| offsets.contains(&offset)))
}

/// Whether two elements of an array may be the same in different iterations of a loop with so many.
fn meets(store: &Reference, other: &Reference, (iname, trips): (InameId, f64)) -> bool {
    let (Some(a), Some(b)) = (&store.position, &other.position) else { return true };
    let Some(difference) = a.plus(b, -1) else { return true };
    match difference.as_constant() {
        Some(0) => false,
        // Different elements of a row that one iteration writes in full.
        Some(distance) => {
            let stride = a.coefficient(Var::Iname(iname));
            stride == 0 || distance % stride == 0 && ((distance / stride).unsigned_abs() as f64) < trips.min(64.0)
        }
        None => difference.coefficient(Var::Iname(iname)) != 0 || difference.inames().count() == 0,
    }
}
