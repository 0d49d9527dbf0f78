//! Which instance of a writer wrote an element last before a moment.
//!
//! # Method
//! The loops are tried from the outermost inwards, each from its greatest value down. An index equation whose other loops are known determines the loop, or
//! says that it has no such value; before that, it narrows the loop to what the hulls of the loops inside can make up for. Loops that are shared with the moment
//! stay at or before its values.
//! # Complexity
//! Linear in the dimensions where each loop is one of them; constraints times loops where every equation has one new loop; else the loops that no equation
//! determines are scanned.

use std::cmp::Ordering;
use std::sync::Arc;

use nestegg_ir::sequences::Sequences;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::demand::node::Place;
use crate::demand::plan::{Equation, Target, Writer};
use crate::domain::{Bounds, ceil_div, floor_div};
use crate::error::Error;

/// The index of an element.
pub(super) type Element = SmallVec<[i64; 4]>;

/// The values of the loops of an instance.
pub(super) type Instance = SmallVec<[i64; 6]>;

/// An instance that writes an element if its conditions hold, and why nobody knows whether it is that element, if so.
pub(super) type Candidate = (Instance, Option<Arc<Error>>);

/// Instances before a point of the outer loops.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// The values of as many loops.
    pub(super) values: Instance,
    /// Whether instances at just these values are before it.
    pub(super) is_included: bool,
}

impl Limit {
    /// The instances of a writer before a place, at given values of the loops around that.
    pub(super) fn of(sequences: &Sequences, writer: &Writer, place: Place, values: &[i64]) -> Self {
        let common = sequences.common(writer.place.sequence, place.sequence);
        let n_shared = sequences.list[common].loops.len();
        let item = sequences.item_in((place.sequence, place.item), common);
        let own = sequences.item_in((writer.place.sequence, writer.place.item), common);
        Self { values: Instance::from_slice(&values[..n_shared]), is_included: own < item }
    }

    /// Whether an instance is before it.
    pub(super) fn admits(&self, instance: &[i64]) -> bool {
        match instance[..self.values.len()].cmp(&self.values) {
            Ordering::Less => true,
            Ordering::Equal => self.is_included,
            Ordering::Greater => false,
        }
    }
}

/// Which of two instances of writers runs first.
pub(super) fn compare(sequences: &Sequences, a: (&Writer, &[i64]), b: (&Writer, &[i64])) -> Ordering {
    let (first, second) = (a.0.place, b.0.place);
    let common = sequences.common(first.sequence, second.sequence);
    let n_shared = sequences.list[common].loops.len();
    let item = |place: Place| sequences.item_in((place.sequence, place.item), common);
    let by_values = a.1[..n_shared].cmp(&b.1[..n_shared]);
    by_values.then_with(|| item(first).cmp(&item(second))).then_with(|| a.1.cmp(b.1)).then(a.0.result.cmp(&b.0.result))
}

/// The writers of one array, by what they may write.
#[derive(Clone, Debug, Default)]
pub(super) struct Writers {
    /// In the order of instructions.
    pub(super) all: Vec<Writer>,
    /// Those with an index that is not constant.
    open: Vec<usize>,
    /// Those that write one element, by its index.
    fixed: FxHashMap<Element, Vec<usize>>,
}

impl Writers {
    pub(super) fn push(&mut self, writer: Writer) {
        let idx = self.all.len();
        let constant = |target: &Target| match target {
            Target::Affine { constant, terms } if terms.is_empty() => Some(*constant),
            Target::Affine { .. } | Target::Computed(_) => None,
        };
        match writer.targets.iter().map(constant).collect::<Option<Element>>() {
            Some(element) => self.fixed.entry(element).or_default().push(idx),
            None => self.open.push(idx),
        }
        self.all.push(writer);
    }

    /// How many writers [`of`](Self::of) looks at.
    pub(super) fn n_scanned(&self) -> u64 {
        self.open.len() as u64
    }

    /// Those that may write an element.
    pub(super) fn of<'e>(&'e self, element: &'e Element) -> impl Iterator<Item = usize> + 'e {
        let fixed = self.fixed.get(element).map_or(&[][..], Vec::as_slice);
        fixed.iter().copied().chain(self.open.iter().copied().filter(|&idx| self.is_hopeful(idx, element)))
    }

    fn is_hopeful(&self, idx: usize, element: &[i64]) -> bool {
        self.all[idx].targets.iter().zip(element).all(|(target, &index)| match target {
            Target::Affine { constant, terms } => !terms.is_empty() || *constant == index,
            Target::Computed(_) => true,
        })
    }
}

/// One loop of a writer whose index is its point: `value = sign·(index - constant)`.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The dimension of the index.
    target: usize,
    constant: i64,
    sign: i64,
    /// The least and the greatest value.
    range: (i64, i64),
}

/// The loops of a writer, where each is a dimension of the index of its own and has the same values whatever the others: then one instance at most
/// writes an element, and is read off its index.
pub(super) fn axes(bounds: &[Arc<Bounds>], targets: &[Target]) -> Option<Vec<Axis>> {
    let mut res: Vec<Option<Axis>> = vec![None; bounds.len()];
    for (idx, target) in targets.iter().enumerate() {
        let Target::Affine { constant, terms } = target else { return None };
        match terms[..] {
            [] => {}
            [(level, sign @ (1 | -1))] if res[level].is_none() => {
                res[level] = Some(Axis { target: idx, constant: *constant, sign, range: bounds[level].as_box()? });
            }
            _ => return None,
        }
    }
    res.into_iter().collect()
}

impl Axis {
    fn value(&self, element: &[i64]) -> Option<i64> {
        let value = element[self.target].checked_sub(self.constant)?.checked_mul(self.sign)?;
        (self.range.0..=self.range.1).contains(&value).then_some(value)
    }
}

/// The last instance within the limit that writes the element, its conditions aside; it is one [of](Writers::of) those that may. `steps` counts the values tried.
pub(super) fn latest(
    writer: &Writer,
    element: &[i64],
    limit: &Limit,
    env: &mut [i64],
    steps: &mut u64,
) -> Option<Instance> {
    if limit.values.is_empty() && !limit.is_included {
        return None;
    }
    let n = writer.loops.len();
    if let Some(axes) = &writer.axes {
        *steps += n as u64;
        let values = axes.iter().map(|axis| axis.value(element)).collect::<Option<Instance>>()?;
        return limit.admits(&values).then_some(values);
    }
    let mut values: Instance = SmallVec::from_elem(0, n);
    let mut caps: SmallVec<[i64; 6]> = SmallVec::from_elem(i64::MAX, n + 1);
    let mut is_tight: SmallVec<[bool; 6]> = SmallVec::from_elem(true, n + 1);
    let cap = |level: usize, is_tight: bool| match limit.values.get(level) {
        Some(&value) if is_tight => {
            value.saturating_sub(i64::from(level + 1 == limit.values.len() && !limit.is_included))
        }
        _ => i64::MAX,
    };
    let mut level = 0;
    if n > 0 {
        caps[0] = cap(0, true);
    }
    while level < n {
        *steps += 1;
        let (lo, hi) = window(writer, element, &values, level, caps[level]);
        let found = if lo <= hi { writer.bounds[level].last(env, lo, hi) } else { None };
        match found {
            Some(value) => {
                values[level] = value;
                env[writer.loops[level].index()] = value;
                caps[level] = value.saturating_sub(1);
                is_tight[level + 1] = is_tight[level] && limit.values.get(level) == Some(&value);
                level += 1;
                if level < n {
                    caps[level] = cap(level, is_tight[level]);
                }
            }
            None if level == 0 => return None,
            None => level -= 1,
        }
    }
    Some(values)
}

/// The values of a loop that the equations leave, given those of the loops around it.
fn window(writer: &Writer, element: &[i64], values: &[i64], level: usize, cap: i64) -> (i64, i64) {
    let (mut lo, mut hi) = (i128::from(i64::MIN), i128::from(cap));
    for Equation { target, own, outer, slack } in &writer.equations[level] {
        let Target::Affine { constant, .. } = writer.targets[*target] else { continue };
        let known: i128 =
            outer.iter().map(|&(loop_, coefficient)| i128::from(coefficient) * i128::from(values[loop_])).sum();
        let rest = i128::from(element[*target]) - i128::from(constant) - known;
        // own·value is in [least, greatest] for a solution.
        let (least, greatest) = (rest - slack.1, rest - slack.0);
        let (from, to) = if *own > 0 { (least, greatest) } else { (-greatest, -least) };
        let size = i128::from(*own).abs();
        lo = lo.max(ceil_div(from, size));
        hi = hi.min(floor_div(to, size));
    }
    let clamp = |value: i128| value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    if lo > hi { (0, -1) } else { (clamp(lo), clamp(hi)) }
}
