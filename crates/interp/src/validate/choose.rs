//! Which elements of outputs to compare, where comparing all takes too long.
//!
//! # Method
//! The suspects of a [survey](crate::validate::survey()) come first. Then, for each store of both programs, the elements that it writes at random
//! points, just outside of its innermost loop, on the diagonal, and at the corners of its loops, so that every statement is looked at where loops
//! begin and end. Then random elements of each output, which nothing may write. The stores take turns: whoever stops early has looked at each of them.
//! # Complexity
//! [`N_POINTS`] points for each store, each linear in its loops.

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::{ArrayId, InameId, InstructionKind, Item, LinearizedKernel};
use rustc_hash::FxBuildHasher;

use crate::domain::{Domains, Values};
use crate::error::{Error, Point, Trap};
use crate::input::parameter_values;
use crate::memory::Layout;
use crate::source::Source;
use crate::validate::Element;
use crate::world::{hash_with, mix};

/// Points of each store, in this order: [`FIXED`] ones, one for each loop at the corner with its other end, then random ones.
const N_POINTS: u64 = 27;

/// The first points of each store.
const FIXED: [Pick; 6] = [Pick::Random, Pick::Before, Pick::Diagonal, Pick::After, Pick::First, Pick::Last];

/// A point of a store's loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pick {
    Random,
    /// The innermost loop before its beginning, the others anywhere: what a loop that is too short leaves out.
    Before,
    /// The same after its end.
    After,
    /// Loops of the inner half where those of the outer half are: a matrix may be empty elsewhere.
    Diagonal,
    First,
    Last,
    /// At the first corner, but for this loop.
    OtherEnd(usize),
    /// Each loop at an end, next to it, or anywhere.
    NearEnds,
}

impl Pick {
    fn of(idx: u64, depth: usize) -> Self {
        let idx = idx as usize;
        match FIXED.get(idx) {
            Some(&pick) => pick,
            None if idx - FIXED.len() < depth => Self::OtherEnd(idx - FIXED.len()),
            None => Self::NearEnds,
        }
    }

    /// Whether it is no point of the loops.
    fn is_outside(self) -> bool {
        matches!(self, Self::Before | Self::After)
    }
}

/// Random elements of each output.
const N_RANDOM: u64 = 16;

/// Outputs with at most so many elements together are listed whole, after the chosen ones.
pub(super) const MAX_ALL: usize = 4096;

/// Elements of the first program's outputs, as flat positions, the most telling first.
pub(super) struct Chosen {
    pub(super) elements: IndexSet<(ArrayId, usize), FxBuildHasher>,
    /// So many are to be looked at, whatever it takes: the suspects, and one of each store.
    pub(super) n_least: usize,
    /// Whether these are all there are.
    pub(super) is_all: bool,
    /// For each program the trap that a store outside of its array is.
    pub(super) traps: [Option<Error>; 2],
}

/// The elements for two programs, suspects first; `pairs` are their outputs, `layouts` those of the first.
pub(super) fn choose(
    programs: [&LinearizedKernel; 2],
    pairs: &[(ArrayId, ArrayId)],
    layouts: &[Layout],
    parameters: &IndexMap<String, i64>,
    suspects: &[Element],
) -> Result<Chosen, Error> {
    let mut turns: Vec<Vec<(ArrayId, usize)>> = Vec::new();
    let mut traps = [None, None];
    for (which, program) in programs.into_iter().enumerate() {
        let first_of = |array: ArrayId| {
            let pair = pairs.iter().find(|pair| [pair.0, pair.1][which] == array)?;
            Some((pair.0, &layouts[pair.0.index()]))
        };
        traps[which] = stores(program, parameters, first_of, &mut turns)?;
    }
    for &(array, _) in pairs {
        let layout = &layouts[array.index()];
        if layout.len > 0 {
            let random = |n: u64| (mix(hash_with(array.index() as u64, n)) % layout.len as u64) as usize;
            turns.push((0..N_RANDOM).map(|n| (array, random(n))).collect());
        }
    }
    let suspects = suspects.iter().filter_map(|(name, index)| {
        let array = pairs.iter().map(|pair| pair.0).find(|array| layouts[array.index()].name == *name)?;
        let layout = &layouts[array.index()];
        layout.contains(index).then(|| (array, layout.position(index)))
    });
    let mut elements: IndexSet<(ArrayId, usize), FxBuildHasher> = suspects.collect();
    let mut n_least = 0;
    let longest = turns.iter().map(Vec::len).max().unwrap_or(0);
    for turn in 0..longest {
        elements.extend(turns.iter().filter_map(|points| points.get(turn)).copied());
        if turn == 0 {
            n_least = elements.len();
        }
    }
    let total = pairs.iter().fold(0_usize, |sum, pair| sum.saturating_add(layouts[pair.0.index()].len));
    let is_all = total <= MAX_ALL;
    if is_all {
        let all = pairs.iter().flat_map(|pair| (0..layouts[pair.0.index()].len).map(|position| (pair.0, position)));
        elements.extend(all);
    }
    Ok(Chosen { elements, n_least, is_all, traps })
}

/// The elements that each store of a program writes at some points; the trap of a store outside of its array, at one of them.
fn stores<'l>(
    program: &LinearizedKernel,
    parameters: &IndexMap<String, i64>,
    first_of: impl Fn(ArrayId) -> Option<(ArrayId, &'l Layout)>,
    turns: &mut Vec<Vec<(ArrayId, usize)>>,
) -> Result<Option<Error>, Error> {
    let kernel = &program.kernel;
    let values = parameter_values(kernel, parameters)?;
    let source = Source::new(kernel, &values)?;
    let own_layouts = Layout::all(kernel, &source)?;
    let mut domains = Domains::new(kernel, &values)?;
    let mut open: Vec<InameId> = Vec::new();
    let (mut n_conditions, mut trap) = (0_usize, None);
    for item in &program.linearization {
        let insn = match item {
            Item::For(iname) => {
                open.push(*iname);
                continue;
            }
            Item::End(_) => {
                open.pop();
                continue;
            }
            Item::If(_) => {
                n_conditions += 1;
                continue;
            }
            Item::EndIf => {
                n_conditions -= 1;
                continue;
            }
            Item::Run(insn) => *insn,
        };
        let instruction = &source.instructions[insn.index()];
        if matches!(instruction.kind, InstructionKind::Opaque { .. }) {
            continue;
        }
        let is_certain = n_conditions == 0 && instruction.predicates.is_empty();
        for assignee in instruction.assignees() {
            let output = first_of(assignee.array);
            let own = &own_layouts[assignee.array.index()];
            let n_points = match (open.len() as u64, output) {
                (0, _) => 1,
                (depth, None) => FIXED.len() as u64 + depth,
                (_, Some(_)) => N_POINTS,
            };
            let mut points = Vec::new();
            for seed in 0..n_points {
                let pick = Pick::of(seed, open.len());
                // Only what is inside of the loops may be a trap.
                if output.is_none() && pick.is_outside() {
                    continue;
                }
                let Some(env) = point(&mut domains, &open, kernel.inames.len(), (pick, seed))? else { continue };
                let indices = assignee.indices.iter().map(|index| {
                    let form = source.forms[index.index()].as_ref()?;
                    let terms = form.terms.iter().map(|&(iname, coefficient)| coefficient * env[iname.index()]);
                    Some(form.constant + terms.sum::<i64>())
                });
                let Some(index) = indices.collect::<Option<Vec<i64>>>() else { continue };
                if own.contains(&index) {
                    points.extend(output.map(|(array, layout)| (array, layout.position(&index))));
                } else if is_certain && !pick.is_outside() {
                    trap.get_or_insert_with(|| {
                        let array = own.name.clone();
                        let values = open.iter().map(|&iname| (kernel[iname].name.clone(), env[iname.index()]));
                        Error::Trap {
                            instruction: instruction.id.clone(),
                            point: Point(values.collect()),
                            trap: Trap::OutOfBounds { array, index },
                        }
                    });
                }
            }
            if output.is_some() {
                turns.push(points);
            }
        }
    }
    Ok(trap)
}

/// A point of some loops, the outermost first; `None` where one of them is empty.
fn point(
    domains: &mut Domains<'_>,
    loops: &[InameId],
    n_inames: usize,
    (pick, seed): (Pick, u64),
) -> Result<Option<Vec<i64>>, Error> {
    let mut env = vec![0; n_inames];
    for (depth, &iname) in loops.iter().enumerate() {
        let bounds = domains.bounds(iname, &loops[..depth])?;
        let Some(values) = bounds.values(&mut env) else { return Ok(None) };
        let Some(last) = Values::len(&values).checked_sub(1) else { return Ok(None) };
        let random = mix(hash_with(seed, depth as u64));
        let anywhere = (random >> 8) as usize % (last + 1);
        let is_innermost = depth + 1 == loops.len();
        let position = match pick {
            Pick::Random | Pick::Before | Pick::After => anywhere,
            Pick::Diagonal => match depth.checked_sub(loops.len().div_ceil(2)).map(|outer| env[loops[outer].index()]) {
                Some(value) => values.position(value).unwrap_or(0),
                None => anywhere,
            },
            Pick::Last => last,
            Pick::OtherEnd(other) if other == depth => last,
            Pick::First | Pick::OtherEnd(_) => 0,
            Pick::NearEnds => match random % 6 {
                0 => 0,
                1 => last,
                2 => last.min(1),
                3 => last.saturating_sub(1),
                _ => anywhere,
            },
        };
        env[iname.index()] = match pick {
            Pick::Before if is_innermost => values.get(0).saturating_sub(1),
            Pick::After if is_innermost => values.get(last).saturating_add(1),
            _ => values.get(position),
        };
    }
    Ok(Some(env))
}
