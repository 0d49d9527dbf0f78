//! Linear maps as instructions.
//!
//! # Output
//! For straight-line code one assignment for each element that the map changes, in the place of the store's loops over table inames; for
//! loops the store itself with a sum of tables times features as its value. Shared values are shared expressions, not temporaries: which of
//! them are kept is the extractor's choice.
//! # Method
//! The map by [`linear_map`], the features, the sums in them and the operands of their operations together by
//! [`polynomials`]; both programs then become expressions.

use nestegg_ir::affine::Var;
use nestegg_ir::linearization::{LoopTree, from_tree};
use nestegg_ir::{
    Array, ArrayId, ArrayKind, Assignee, ExprId, Float, InsnId, Instruction, InstructionKind, Kernel, LinearizedKernel,
    Number, Op,
};
use nestegg_solve::{LinearOptions, Program, linear_map};
use rustc_hash::FxHashMap;

use crate::atoms::Atoms;
use crate::columns::{self, Columns, Map};
use crate::names::Names;
use crate::scalars;
use crate::stores::{Found, Store};
use crate::{LinearMaps, Options, Shape};

/// How many features a map in loops may have: each is a table.
const MAX_TABLES: usize = 200;

/// The kernel with maps in the place of stores; `None` if it would have too many statements.
pub(crate) fn write(found: Found, mut columns: Columns, options: &Options) -> Option<LinearMaps> {
    let Found { stores, evaluator, mut trees } = found;
    let limit = match options.shape {
        Shape::StraightLine => options.max_statements,
        Shape::Loops => usize::MAX,
    };
    if columns.maps.iter().map(n_statements).sum::<usize>() > limit {
        return None;
    }
    let mut plans = Vec::new();
    for map in &mut columns.maps {
        let (plan, chosen) = cheapest(map, &evaluator.algebra.atoms, options)?;
        plans.push(plan);
        *map = chosen;
    }
    let (mut kernel, atoms) = (evaluator.kernel, evaluator.algebra.atoms);
    let n_features = columns.maps.iter().map(|map| map.columns.len()).sum();
    let n_stores = columns.n_stores();
    let of_columns = columns.maps.iter().flat_map(|map| &map.columns).map(|column| column.feature.clone());
    let features = scalars::polynomials(&mut kernel, &atoms, of_columns.collect(), options);
    let mut rest = features.as_slice();
    let mut names = Names::new(&kernel);
    let n_before = kernel.instructions.len();
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    for (map, program) in columns.maps.iter().zip(plans) {
        let (features, others) = rest.split_at(map.columns.len());
        rest = others;
        match options.shape {
            Shape::StraightLine => {
                let values = scalars::expressions(&mut kernel, &program, features);
                for &(store_idx, first_row) in &map.stores {
                    let store = &stores[store_idx];
                    let statements =
                        elements(&mut kernel, &mut names, store, &evaluator.algebra.tables, &values[first_row..]);
                    replaced.insert(store.position, statements);
                    if kernel.instructions.len() - n_before > options.max_statements {
                        return None;
                    }
                }
            }
            Shape::Loops => {
                for &(store_idx, first_row) in &map.stores {
                    let store = &stores[store_idx];
                    let shape: Vec<usize> =
                        store.axes.iter().map(|&axis| evaluator.algebra.tables.extent(axis).unwrap_or(1)).collect();
                    let n_rows: usize = shape.iter().product();
                    loops(&mut kernel, &mut names, store, &shape, map, first_row..first_row + n_rows, features);
                }
            }
        }
    }
    trees = trees
        .into_iter()
        .enumerate()
        .flat_map(|(position, tree)| replaced.remove(&position).unwrap_or_else(|| vec![tree]))
        .collect();
    let linearized = LinearizedKernel { linearization: from_tree(&trees), kernel };
    Some(LinearMaps { linearized, n_stores, n_features, tolerance: columns.tolerance })
}

/// How many elements the map changes.
fn n_statements(map: &Map) -> usize {
    (0..map.n_rows).filter(|&row| map.columns.iter().any(|column| column.values[row] != 0.0)).count()
}

/// The map, or the same in a basis of its columns, whichever takes fewer operations, with its program where it is to be straight-line
/// code; `None` if it has too many features for loops.
fn cheapest(map: &Map, atoms: &Atoms, options: &Options) -> Option<(Program, Map)> {
    let mut best: Option<(u64, Program, Map)> = None;
    let others = if options.basis { columns::in_basis(map) } else { None };
    for candidate in std::iter::once(map.clone()).chain(others) {
        let features = candidate.columns.iter().map(|column| column.feature.clone()).collect();
        let mut cost = scalars::operations(atoms, features, options);
        let mut program = Program::default();
        match options.shape {
            Shape::StraightLine => {
                program = straight_line(&candidate, options);
                cost += program.operations();
            }
            Shape::Loops if candidate.columns.len() > MAX_TABLES => continue,
            Shape::Loops => {
                let entries = candidate.columns.iter().flat_map(|column| &column.values);
                cost += 2 * entries.filter(|&&value| value != 0.0).count() as u64;
            }
        }
        if best.as_ref().is_none_or(|known| cost < known.0) {
            best = Some((cost, program, candidate));
        }
    }
    best.map(|(_, program, map)| (program, map))
}

fn straight_line(map: &Map, options: &Options) -> Program {
    let mut entries = Vec::new();
    for (column_idx, column) in map.columns.iter().enumerate() {
        for (row, &value) in column.values.iter().enumerate() {
            if value != 0.0 {
                entries.push((row, column_idx, value));
            }
        }
    }
    let solver = LinearOptions { row_differences: options.row_differences, pairs: options.pairs, ..LinearOptions::ALL };
    linear_map(map.n_rows, map.columns.len(), &entries, &solver)
}

/// One assignment for each element of a store that is changed, in its outer loops.
fn elements(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    tables: &crate::table::TableStore,
    values: &[Option<ExprId>],
) -> Vec<LoopTree> {
    let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return Vec::new() };
    let shape: Vec<usize> = store.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
    let n_points: usize = shape.iter().product();
    let original = kernel[store.insn].clone();
    let mut res = Vec::new();
    for (point_idx, value) in values.iter().take(n_points).enumerate() {
        let mut rest = point_idx;
        let mut indices = store.indices.clone();
        for (&axis, &extent) in store.axes.iter().zip(&shape).rev() {
            let value = nestegg_ir::affine::Affine::constant((rest % extent) as i64);
            rest /= extent;
            for index in &mut indices {
                // Extents are far below where an index could overflow, and it did not before.
                *index = index.substitute(Var::Iname(axis), &value).unwrap_or_default();
            }
        }
        let indices: Vec<ExprId> = indices.iter().map(|index| index.to_expr(&mut kernel.exprs)).collect();
        let element = kernel.exprs.access(assignee.array, indices.clone());
        let expression = match (store.is_accumulation, *value) {
            (true, None) => continue,
            (true, Some(value)) => kernel.exprs.op(Op::Add, [element, value]),
            (false, Some(value)) => value,
            (false, None) => scalars::number(kernel, 0.0),
        };
        let insn = InsnId::new(kernel.instructions.len());
        kernel.instructions.push(Instruction {
            id: names.new_name(&original.id),
            kind: InstructionKind::Assignment {
                assignee: Assignee { array: assignee.array, indices: indices.into() },
                expression,
            },
            within: store.outer.clone(),
            depends_on: original.depends_on.clone(),
            predicates: Vec::new(),
        });
        res.push(LoopTree::Run(insn));
    }
    for &iname in store.outer.iter().rev() {
        res = vec![LoopTree::Loop { iname, body: res }];
    }
    res
}

/// The store with tables times features as its value.
fn loops(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    shape: &[usize],
    map: &Map,
    rows: std::ops::Range<usize>,
    features: &[Option<ExprId>],
) {
    let InstructionKind::Assignment { assignee, .. } = kernel[store.insn].kind.clone() else { return };
    let dtype = kernel[assignee.array].dtype;
    let mut terms = Vec::new();
    if store.is_accumulation {
        terms.push(kernel.exprs.access(assignee.array, assignee.indices.clone()));
    }
    let sizes: Vec<ExprId> = shape.iter().map(|&extent| kernel.exprs.int(extent as i64)).collect();
    let point: Vec<ExprId> = store.axes.iter().map(|&axis| kernel.exprs.iname(axis)).collect();
    for (column, feature) in map.columns.iter().zip(features) {
        let values = &column.values[rows.clone()];
        let Some(feature) = *feature else { continue };
        if values.iter().all(|&value| value == 0.0) {
            continue;
        }
        let numbers: Option<Vec<Number>> = values.iter().map(|&value| Float::new(value).map(Number::Float)).collect();
        let Some(numbers) = numbers else { continue };
        let array = ArrayId::new(kernel.arrays.len());
        kernel.arrays.push(Array {
            name: names.new_name("C"),
            dtype,
            shape: sizes.clone(),
            kind: ArrayKind::Table(numbers.into()),
        });
        let table = kernel.exprs.access(array, point.clone());
        terms.push(kernel.exprs.op(Op::Mul, [table, feature]));
    }
    let value = match terms.as_slice() {
        [] => scalars::number(kernel, 0.0),
        [single] => *single,
        _ => kernel.exprs.op(Op::Add, terms),
    };
    if let InstructionKind::Assignment { expression, .. } = &mut kernel[store.insn].kind {
        *expression = value;
    }
}
