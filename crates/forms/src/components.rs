//! Linear maps as straight-line code in loops over components.
//!
//! # Input
//! A map of one store that has too many elements for one statement each.
//! # Output
//! A few of the store's axes stay loops, the *components*; for each of the other elements there is one statement in these loops, the same for all components:
//! `A[a, j] = A[a, j] + Σ C[j, u]*x[a, u]`, the features `x` kept in arrays over the components. A store that is symmetric is computed
//! for `a < b` and on the diagonal, and stored twice.
//! # Method
//! Columns that are proportional are one over all components: they are what a vector-valued element has of each of its components, whatever the
//! features. Columns that depend on others are made from these. Of the axes that may stay those are taken with which the fewest elements are computed.
//! # Complexity
//! Entries of the map, for merging, and that of the solver, for the elements of one component.
//! # Not done
//! Several stores in one map; components that are digits of an axis, or have other elements each.

use indexmap::IndexMap;
use nestegg_ir::affine::{Affine, Var};
use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, Dtype, ExprId, InameId, InsnId, Instruction, InstructionKind, Kernel, Op,
};
use nestegg_solve::Program;
use rustc_hash::FxBuildHasher;

use crate::Options;
use crate::atoms::MonomialId;
use crate::blocks::partners;
use crate::columns::{Column, Map, made_from_basis, merged};
use crate::nests::{add_store, in_loops};
use crate::scalars::{self, Terms};
use crate::stores::Store;
use crate::table::TableStore;
use crate::write::program_of;
use nestegg_ir::names::{Names, add_iname, add_inames};

/// How many values an axis may take that stays a loop.
const MAX_COMPONENTS: usize = 8;

/// The same where no other axis is longer.
const MAX_ALIKE: usize = 4;

/// How many sets of axes are looked at, those with fewest components first.
const MAX_CHOICES: usize = 16;

/// Components that are computed alike.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    store_idx: usize,
    /// The positions of the axes that stay loops.
    loops: Vec<usize>,
    shape: PartShape,
    /// For each axis the one that it is swapped with.
    partners: Vec<usize>,
    /// The components: values of these axes.
    components: Vec<Vec<usize>>,
    /// The elements of each: values of all axes, zero at those that stay loops.
    elements: Vec<Vec<usize>>,
    program: Program,
    n_features: usize,
    /// For each component its features, one after the other.
    pub(crate) features: Vec<Terms>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartShape {
    /// Every component, stored once.
    Plain,
    /// Of two axes that can be swapped the components `a < b`, stored twice.
    Triangle,
    /// Those with `a = b`.
    Diagonal,
}

impl Part {
    /// Multiplications and additions.
    pub(crate) fn operations(&self) -> u64 {
        self.program.operations() * self.components.len() as u64
    }

    /// Where its store stands.
    pub(crate) fn position(&self, stores: &[Store]) -> usize {
        stores[self.store_idx].position
    }

    /// How many statements it is written as.
    pub(crate) fn n_statements(&self) -> usize {
        let n_stores = if self.shape == PartShape::Triangle { 2 } else { 1 };
        self.elements.len() * n_stores + self.features.len()
    }
}

/// The parts of a map of one store; none if the store has no such components within the limit on statements.
pub(crate) fn components(map: &Map, stores: &[Store], tables: &TableStore, options: &Options) -> Vec<Part> {
    let &[(store_idx, 0)] = map.stores.as_slice() else { return Vec::new() };
    let store = &stores[store_idx];
    let shape: Vec<usize> = store.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
    let partners = partners(store, &shape, &map.columns, &map.limits);
    let mut best: Option<(usize, Vec<Draft>)> = None;
    for loops in choices(&shape, options) {
        let is_swapped = |partners: &Vec<usize>| matches!(loops.as_slice(), &[a, b] if partners[a] == b);
        let swapped = partners.clone().filter(is_swapped);
        let ways: [(Option<Vec<usize>>, &[PartShape]); 2] =
            [(swapped, &[PartShape::Triangle, PartShape::Diagonal]), (Some(Vec::new()), &[PartShape::Plain])];
        for (partners, shapes) in ways {
            let Some(partners) = partners else { continue };
            let of_store = (store_idx, store.is_accumulation, partners.as_slice());
            let found = shapes.iter().filter_map(|&kind| part(map, of_store, (&shape, &loops), kind, options));
            let parts: Vec<Draft> = found.collect();
            let n_statements: usize = parts.iter().map(|(part, _)| part.n_statements()).sum();
            let n_rows = parts.iter().map(|(part, _)| part.elements.len() * part.components.len()).sum();
            if n_statements <= options.max_statements && best.as_ref().is_none_or(|known| n_rows < known.0) {
                best = Some((n_rows, parts));
            }
        }
    }
    let with_program = |(part, columns): Draft| {
        let program = program_of(part.elements.len(), &columns, options);
        Part { program, ..part }
    };
    best.map_or_else(Vec::new, |(_, parts)| parts.into_iter().map(with_program).collect())
}

/// Sets of axes that may stay loops, those with fewest components first.
fn choices(shape: &[usize], options: &Options) -> Vec<Vec<usize>> {
    let longest = shape.iter().copied().max().unwrap_or(1);
    let is_short = |extent: usize| (2..=MAX_COMPONENTS.min(MAX_ALIKE.max(longest - 1))).contains(&extent);
    let short: Vec<usize> = (0..shape.len()).filter(|&axis| is_short(shape[axis])).collect();
    let n_elements: usize = shape.iter().product();
    let mut res: Vec<(usize, Vec<usize>)> = (1..1usize << short.len().min(8))
        .map(|mask| -> Vec<usize> {
            (0..short.len()).filter(|idx| mask >> idx & 1 == 1).map(|idx| short[idx]).collect()
        })
        .map(|loops| (loops.iter().map(|&axis| shape[axis]).product(), loops))
        .filter(|(n_components, _)| n_elements / n_components <= options.max_statements)
        .collect();
    res.sort();
    res.truncate(MAX_CHOICES);
    res.into_iter().map(|(_, loops)| loops).collect()
}

/// All points of some axes, row-major, zero at the others.
fn points(shape: &[usize], axes: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let mut res = vec![Vec::new()];
    for (axis, &extent) in shape.iter().enumerate() {
        let extent = if axes(axis) { extent } else { 1 };
        res = res
            .iter()
            .flat_map(|point: &Vec<usize>| (0..extent).map(move |at| point.iter().copied().chain([at]).collect()))
            .collect();
    }
    res
}

/// A column whose features are those of a component each.
type Tagged = Column<(usize, MonomialId)>;

/// A part without its program, and its columns.
type Draft = (Part, Vec<Tagged>);

/// One part without its program; `None` if nothing is added there.
fn part(
    map: &Map,
    (store_idx, is_accumulation, partners): (usize, bool, &[usize]),
    (shape, loops): (&[usize], &[usize]),
    kind: PartShape,
    options: &Options,
) -> Option<Draft> {
    let elements = points(shape, |axis| !loops.contains(&axis));
    let components: Vec<Vec<usize>> = points(shape, |axis| loops.contains(&axis))
        .into_iter()
        .map(|point| loops.iter().map(|&axis| point[axis]).collect::<Vec<usize>>())
        .filter(|component| match kind {
            PartShape::Plain => true,
            PartShape::Triangle => component[0] < component[1],
            PartShape::Diagonal => component[0] == component[1],
        })
        .collect();
    let row = |element: &[usize], component: &[usize]| {
        let mut point = element.to_vec();
        loops.iter().zip(component).for_each(|(&axis, &at)| point[axis] = at);
        point.iter().zip(shape).fold(0, |row, (&at, &extent)| row * extent + at)
    };
    let rows: Vec<Vec<usize>> =
        components.iter().map(|component| elements.iter().map(|element| row(element, component)).collect()).collect();
    let limits: Vec<f64> = (0..elements.len())
        .map(|element| rows.iter().map(|rows| map.limits[rows[element]]).fold(f64::INFINITY, f64::min))
        .collect();
    let restricted = rows.iter().enumerate().flat_map(|(component, rows)| {
        map.columns.iter().map(move |column| Column {
            values: rows.iter().map(|&row| column.values[row]).collect(),
            feature: column.feature.iter().map(|&(monomial, factor)| ((component, monomial), factor)).collect(),
        })
    });
    let mut columns = merged(restricted.collect(), &limits);
    if columns.is_empty() && is_accumulation {
        return None;
    }
    if options.basis
        && let Some(made) = made_from_basis(&columns, &limits)
        && made.len() < columns.len()
    {
        columns = made;
    }
    let n_features = columns.len();
    let mut features: Vec<IndexMap<MonomialId, f64, FxBuildHasher>> =
        vec![IndexMap::default(); components.len() * n_features];
    for (idx, column) in columns.iter().enumerate() {
        for &((component, monomial), factor) in &column.feature {
            *features[component * n_features + idx].entry(monomial).or_insert(0.0) += factor;
        }
    }
    let features = features.into_iter().map(|terms| terms.into_iter().collect()).collect();
    let part = Part {
        store_idx,
        loops: loops.to_vec(),
        shape: kind,
        partners: partners.to_vec(),
        components,
        elements,
        program: Program::default(),
        n_features,
        features,
    };
    Some((part, columns))
}

/// Writes a part; `features` has the expressions of its features.
pub(crate) fn write(
    kernel: &mut Kernel,
    names: &mut Names,
    (stores, tables): (&[Store], &TableStore),
    part: &Part,
    features: &[Option<ExprId>],
) -> Vec<LoopTree> {
    let store = &stores[part.store_idx];
    let InstructionKind::Assignment { assignee, .. } = &kernel[store.insn].kind else { return Vec::new() };
    let dtype = kernel[assignee.array].dtype;
    let extents: Vec<usize> = part.loops.iter().map(|&axis| tables.extent(store.axes[axis]).unwrap_or(1)).collect();
    let inames = loop_inames(kernel, names, store, part, &extents);
    // Components on a diagonal have one index.
    let n_indices = if part.shape == PartShape::Diagonal { 1 } else { inames.len() };
    let mut body = Vec::new();
    let mut inputs = Vec::with_capacity(part.n_features);
    for feature in 0..part.n_features {
        let array = temporary(kernel, names, dtype, &extents[..n_indices]);
        for (idx, component) in part.components.iter().enumerate() {
            let value = features[idx * part.n_features + feature].unwrap_or_else(|| scalars::number(kernel, 0.0));
            let indices = component[..n_indices].iter().map(|&at| kernel.exprs.int(at as i64)).collect();
            let insn = InsnId::new(kernel.instructions.len());
            let kind = InstructionKind::Assignment { assignee: Assignee { array, indices }, expression: value };
            let (id, depends_on) = (names.new_name("feature"), kernel[store.insn].depends_on.clone());
            let (within, predicates) = (store.outer.clone(), kernel[store.insn].predicates.clone());
            kernel.instructions.push(Instruction { id, kind, within, depends_on, predicates });
            body.push(LoopTree::Run(insn));
        }
        let indices: Vec<ExprId> = inames[..n_indices].iter().map(|&iname| kernel.exprs.iname(iname)).collect();
        inputs.push(Some(kernel.exprs.access(array, indices)));
    }
    let values = scalars::expressions(kernel, &part.program, &inputs);
    let mut loops = inames.clone();
    loops.dedup();
    let within: Vec<InameId> = store.outer.iter().chain(&loops).copied().collect();
    let mut statements = Vec::new();
    for (element, value) in part.elements.iter().zip(values) {
        let value = match (store.is_accumulation, value) {
            (true, None) => continue,
            (_, Some(value)) => value,
            (false, None) => scalars::number(kernel, 0.0),
        };
        let mut at: Vec<Affine> = element.iter().map(|&at| Affine::constant(at as i64)).collect();
        part.loops.iter().zip(&inames).for_each(|(&axis, &iname)| at[axis] = Affine::var(Var::Iname(iname)));
        let mut places = vec![at.clone()];
        if part.shape == PartShape::Triangle {
            places.push(part.partners.iter().map(|&partner| at[partner].clone()).collect());
        }
        for place in places {
            let indices = store.indices.iter().map(|index| {
                store.axes.iter().zip(&place).fold(index.clone(), |index, (&axis, at)| {
                    // Extents are far below where an index could overflow, and it did not before.
                    index.substitute(Var::Iname(axis), at).unwrap_or_default()
                })
            });
            let indices: Vec<Affine> = indices.collect();
            let indices: Vec<ExprId> = indices.iter().map(|index| index.to_expr(&mut kernel.exprs)).collect();
            let insn = add_store(kernel, names, store, indices, (Op::Add, value), within.clone());
            statements.extend(insn.map(LoopTree::Run));
        }
    }
    body.extend(in_loops(statements, &loops));
    in_loops(body, &store.outer)
}

/// The inames of the axes that stay loops; the two of a diagonal are one.
fn loop_inames(kernel: &mut Kernel, names: &mut Names, store: &Store, part: &Part, extents: &[usize]) -> Vec<InameId> {
    let after: Vec<InameId> = part.loops.iter().map(|&axis| store.axes[axis]).collect();
    match part.shape {
        PartShape::Plain => {
            after.iter().zip(extents).map(|(&iname, &extent)| add_iname(kernel, names, iname, extent)).collect()
        }
        PartShape::Triangle => add_inames(kernel, names, &after, |names| {
            format!("0 <= {} < {} and {} < {}", names[0], names[1], names[1], extents[0])
        }),
        PartShape::Diagonal => vec![add_iname(kernel, names, after[0], extents[0]); 2],
    }
}

fn temporary(kernel: &mut Kernel, names: &mut Names, dtype: Dtype, shape: &[usize]) -> ArrayId {
    let shape = shape.iter().map(|&size| kernel.exprs.int(size as i64)).collect();
    kernel.arrays.push(Array { name: names.new_name("x"), dtype, stored: None, shape, kind: ArrayKind::Temporary });
    ArrayId::new(kernel.arrays.len() - 1)
}
