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
use nestegg_ir::{ExprId, Kernel, LinearizedKernel, Op};
use nestegg_solve::{LinearOptions, Program, linear_map};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::atoms::Atoms;
use crate::blocks::{self, Block};
use crate::columns::{self, Column, Columns, Map};
use crate::components::{self, Part};
use crate::families;
use crate::nests::{add_store, in_loops, with_replaced};
use crate::polynomial::Algebra;
use crate::scalars::{self, Terms};
use crate::stores::{Found, Store};
use crate::table::TableStore;
use crate::{LinearMaps, Options, Shape};
use nestegg_ir::names::Names;

/// How many tables the maps in loops may have together.
const MAX_TABLES: usize = 2_000;

/// Maps with more than so many times the entries of another are not looked at.
const MAX_TIMES_ENTRIES: usize = 3;

/// A map as it will be written.
enum Plan {
    /// One statement for each element, by this program of the map's features.
    StraightLine(Map, Program),
    /// Loops over components, with one statement for each element of one.
    Components(Vec<Part>),
    /// Loops over blocks.
    Blocks(Vec<Block>),
}

impl Plan {
    /// What its values are made from.
    fn features(&self) -> Vec<Terms> {
        match self {
            Self::StraightLine(map, _) => map.columns.iter().map(|column| column.feature.clone()).collect(),
            Self::Components(parts) => parts.iter().flat_map(|part| part.features.iter().cloned()).collect(),
            Self::Blocks(blocks) => blocks.iter().flat_map(|block| block.features.iter().cloned()).collect(),
        }
    }

    fn operations(&self) -> u64 {
        match self {
            Self::StraightLine(_, program) => program.operations(),
            Self::Components(parts) => parts.iter().map(Part::operations).sum(),
            Self::Blocks(blocks) => blocks.iter().map(Block::operations).sum(),
        }
    }
}

/// The kernel with maps in the place of stores; `None` if it would have too many statements or tables.
pub(crate) fn write(found: Found, columns: Columns, options: &Options) -> Option<LinearMaps> {
    let Found { stores, evaluator, trees, selectors } = found;
    let (mut kernel, Algebra { atoms, tables, .. }) = (evaluator.kernel, evaluator.algebra);
    let n_maps = columns.maps.len();
    let is_too_long = columns.maps.iter().map(Map::n_statements).sum::<usize>() > options.max_statements;
    let plans: Option<Vec<Plan>> = std::iter::zip(&columns.maps, &columns.others)
        .map(|(map, others)| {
            let is_long = is_too_long && map.n_statements() * n_maps > options.max_statements;
            if options.shape == Shape::StraightLine && is_long {
                return in_components(map, &stores, &tables, options);
            }
            Some(cheapest(map, others, &stores, &tables, &atoms, options))
        })
        .collect();
    let plans = plans?;
    let features: Vec<Terms> = plans.iter().flat_map(Plan::features).collect();
    if options.shape != Shape::StraightLine && features.len() > MAX_TABLES {
        return None;
    }
    let (n_features, n_stores) = (features.len(), columns.n_stores());
    let features = scalars::polynomials(&mut kernel, &atoms, features, options);
    let mut rest = features.as_slice();
    let mut names = Names::new(&kernel);
    let n_before = kernel.instructions.len();
    let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
    for plan in plans {
        match plan {
            Plan::StraightLine(map, program) => {
                let (features, others) = rest.split_at(map.columns.len());
                rest = others;
                let values = scalars::expressions(&mut kernel, &program, features);
                for &(store_idx, first_row) in &map.stores {
                    let store = &stores[store_idx];
                    let statements = elements(&mut kernel, &mut names, store, &tables, &values[first_row..]);
                    replaced.insert(store.position, statements);
                }
                if kernel.instructions.len() - n_before > options.max_statements {
                    return None;
                }
            }
            Plan::Components(parts) => {
                for part in &parts {
                    let (features, others) = rest.split_at(part.features.len());
                    rest = others;
                    let trees = components::write(&mut kernel, &mut names, (&stores, &tables), part, features);
                    replaced.entry(part.position(&stores)).or_default().extend(trees);
                }
                if kernel.instructions.len() - n_before > options.max_statements {
                    return None;
                }
            }
            Plan::Blocks(blocks) => {
                for block in &blocks {
                    let (features, others) = rest.split_at(block.features.len());
                    rest = others;
                    let trees = blocks::write(&mut kernel, &mut names, &stores, block, features);
                    replaced.entry(stores[block.store_idx].position).or_default().extend(trees);
                }
            }
        }
    }
    // A store that nothing is added to is gone.
    for (store_idx, _) in columns.maps.iter().flat_map(|map| &map.stores) {
        replaced.entry(stores[*store_idx].position).or_default();
    }
    let linearized = LinearizedKernel { linearization: from_tree(&with_replaced(trees, replaced)), kernel };
    Some(LinearMaps {
        linearized: families::restored(linearized, &selectors),
        n_stores,
        n_features,
        tolerance: columns.tolerance,
    })
}

/// The map, or the same with other features or in a basis of its columns, whichever takes fewest operations.
fn cheapest(
    map: &Map,
    others: &[Map],
    stores: &[Store],
    tables: &TableStore,
    atoms: &Atoms,
    options: &Options,
) -> Plan {
    let mut plans = Vec::new();
    match options.shape {
        Shape::StraightLine => {
            let maps: Vec<&Map> = std::iter::once(map).chain(others).collect();
            let fewest = maps.iter().map(|map| map.n_entries()).min().unwrap_or(0);
            let sparse: Vec<&Map> =
                maps.into_iter().filter(|map| map.n_entries() <= fewest.saturating_mul(MAX_TIMES_ENTRIES)).collect();
            let candidates = sparse.into_par_iter().flat_map_iter(|map| {
                let in_basis = if options.basis { columns::in_basis(map) } else { None };
                std::iter::once(map.clone()).chain(in_basis)
            });
            plans.par_extend(candidates.map(|candidate| {
                let program = program_of(candidate.n_rows, &candidate.columns, options);
                Plan::StraightLine(candidate, program)
            }));
        }
        Shape::Loops => {
            for use_basis in [false, true] {
                if !use_basis || options.basis {
                    plans.push(Plan::Blocks(blocks::blocks(map, stores, tables, use_basis)));
                }
            }
        }
        Shape::Dense => {
            plans.push(Plan::Blocks(blocks::whole(map, stores, tables)));
            plans.extend(blocks::by_components(map, stores, tables).map(Plan::Blocks));
        }
    }
    best_of(plans, atoms, options).unwrap_or_else(|| Plan::Blocks(Vec::new()))
}

/// The plan with fewest operations, those of the features included; of several the first. A plan whose map and bound on the features are no better than
/// the best is left out before its features are solved.
fn best_of(mut plans: Vec<Plan>, atoms: &Atoms, options: &Options) -> Option<Plan> {
    if plans.len() < 2 {
        return plans.pop();
    }
    let least = |plan: &Plan| plan.operations() + scalars::least_operations(&plan.features());
    let mut order: Vec<(u64, usize)> = plans.iter().map(least).zip(0..).collect();
    order.sort_unstable();
    let mut best = (u64::MAX, usize::MAX);
    for (least, idx) in order {
        if (least, idx) < best {
            let cost = plans[idx].operations() + scalars::operations(atoms, plans[idx].features(), options);
            best = best.min((cost, idx));
        }
    }
    (best.1 < plans.len()).then(|| plans.swap_remove(best.1))
}

/// A map with too many elements for one statement each in loops over components; `None` if it has none.
fn in_components(map: &Map, stores: &[Store], tables: &TableStore, options: &Options) -> Option<Plan> {
    let parts = components::components(map, stores, tables, options);
    (!parts.is_empty()).then_some(Plan::Components(parts))
}

/// A program for columns of so many rows.
pub(crate) fn program_of<M>(n_rows: usize, columns: &[Column<M>], options: &Options) -> Program {
    let mut entries = Vec::new();
    for (column_idx, column) in columns.iter().enumerate() {
        for (row, &value) in column.values.iter().enumerate() {
            if value != 0.0 {
                entries.push((row, column_idx, value));
            }
        }
    }
    let solver = LinearOptions { row_differences: options.row_differences, pairs: options.pairs, ..LinearOptions::ALL };
    linear_map(n_rows, columns.len(), &entries, &solver)
}

/// One assignment for each element of a store that is changed, in its outer loops.
fn elements(
    kernel: &mut Kernel,
    names: &mut Names,
    store: &Store,
    tables: &crate::table::TableStore,
    values: &[Option<ExprId>],
) -> Vec<LoopTree> {
    let shape: Vec<usize> = store.axes.iter().map(|&axis| tables.extent(axis).unwrap_or(1)).collect();
    let n_points: usize = shape.iter().product();
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
        let value = match (store.is_accumulation, *value) {
            (true, None) => continue,
            (_, Some(value)) => value,
            (false, None) => scalars::number(kernel, 0.0),
        };
        let insn = add_store(kernel, names, store, indices, (Op::Add, value), store.outer.clone());
        res.extend(insn.map(LoopTree::Run));
    }
    in_loops(res, &store.outer)
}
