//! Tables of tensor-product elements as products of tables over one dimension each, whatever the order of the functions.
//!
//! # Input
//! A kernel in value form.
//! # Output
//! An equal kernel in which `T[q, i]` is `U[q, a]*V[q, b]`: the functions `i` are numbered by digits `a`, `b`, and each new table depends on one digit of the points `q`, so
//! that [`split_digits`](crate::split_digits()) finds these. Elsewhere `i` is `P[n*a + b]`, or the affine function that this is. A store over `i` goes to a temporary array over the digits, from which its elements are
//! then taken in their order. `None` if no table is such a product.
//! # Method
//! [`rank_one`] finds numbers and factors. An iname is taken if all tables that it indexes have it alone or beside one iname of points. Factors that
//! agree within [`TOLERANCE`] are one table.
//! # Complexity
//! For each iname linear in the tables that it indexes, times the number of ordered factorisations of the number of points.
//! Source: Orszag, "Spectral methods for problems in complex geometries", 1980 (sum factorization); Homolya, Kirby and Ham, "Exposing and exploiting structure: optimal code generation for high-order finite element methods", 2017.

mod rank_one;

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::linearization::{LoopTree, from_tree, to_tree};
use nestegg_ir::names::{Names, add_iname};
use nestegg_ir::walk::below;
use nestegg_ir::{
    ArrayId, ArrayKind, Assignee, Dtype, Expr, ExprId, Exprs, Float, InameId, InameSet, InsnId, Instruction,
    InstructionKind, Kernel, LinearizedKernel, Number, Op,
};
use nestegg_solve::cluster::TOLERANCE;
use rustc_hash::FxHashMap;

use crate::digits::factorisations;
use crate::nests::{add_array, in_loops, signed_sum, with_replaced};
use crate::stores::{self, Store};
use crate::{FormError, LinearMaps, Tolerance};
use rank_one::{Columns, Separation, digit_of, magnitude, rank, separation};

/// How many numbers a table has that is looked at.
const MAX_ENTRIES: usize = 200_000;

/// The kernel with tables of tensor products separated; `None` if there are none.
///
/// # Errors
/// If the kernel is not well-formed.
pub fn separate(linearized: &LinearizedKernel) -> Result<Option<LinearMaps>, FormError> {
    if !linearized.kernel.substitutions.is_empty() {
        return Ok(None);
    }
    let extents = stores::extents(&linearized.kernel)?;
    let trees = to_tree(&linearized.linearization)?;
    let mut writer = Writer::new(linearized.kernel.clone(), &extents);
    let mut stores = stores::plain(&writer.kernel, &trees, &extents);
    stores.retain(|store| !stores::reads_itself(&writer.kernel, store));
    let axes: InameSet = writer.kernel.instructions.iter().flat_map(|insn| insn.within.iter().copied()).collect();
    for iname in linearized.kernel.iname_ids() {
        let Some(extent) = extents[iname.index()] else { continue };
        let is_axis = |insn: InsnId| writer.kernel[insn].within.contains(&iname);
        let is_stored = writer
            .kernel
            .insn_ids()
            .filter(|&insn| is_axis(insn))
            .all(|insn| stores.iter().any(|store| store.insn == insn && store.axes.contains(&iname)));
        let uses = Uses::of(&writer.kernel, iname, &extents);
        // What is a function for one table is no point for another.
        let uses = uses.filter(|uses| !axes.contains(uses.points) && !writer.places.contains_key(&uses.points));
        let (true, false, Some(uses)) = (is_stored, writer.points.contains(iname), uses) else { continue };
        if axes.contains(iname) && is_reduced(&writer.kernel, iname) {
            continue;
        }
        writer.separate(iname, extent, &uses);
    }
    if writer.places.is_empty() {
        return Ok(None);
    }
    let (kernel, trees, tolerance) = writer.write(trees, &stores);
    let linearized = LinearizedKernel { kernel, linearization: from_tree(&trees) };
    Ok(Some(LinearMaps { linearized, n_stores: 0, n_features: 0, tolerance }))
}

/// Whether a reduction runs over an iname.
fn is_reduced(kernel: &Kernel, iname: InameId) -> bool {
    let roots = kernel.instructions.iter().flat_map(Instruction::expressions);
    let ids = kernel.exprs.reachable(roots);
    ids.iter().any(|&id| matches!(&kernel.exprs[id], Expr::Reduce { inames, .. } if inames.contains(&iname)))
}

/// The elements of tables that an iname indexes.
struct Uses {
    /// The iname of the points beside it.
    points: InameId,
    /// Elements at points, and the tables that they are of.
    beside: Vec<(ExprId, Slice)>,
    /// Elements of tables without points.
    alone: Vec<(ExprId, Slice)>,
}

/// A table, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    array: ArrayId,
    indices: Vec<Index>,
}

/// An index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Index {
    Constant(usize),
    Points,
    Function,
}

impl Slice {
    /// The element at indices; `None` if other inames are among them, or several in one.
    fn of(kernel: &Kernel, array: ArrayId, indices: &[ExprId], function: InameId) -> Option<(Self, Option<InameId>)> {
        let mut points = None;
        let index = |&index: &ExprId| {
            let index = affine::of(&kernel.exprs, index)?;
            if let Some(constant) = index.as_constant() {
                return usize::try_from(constant).ok().map(Index::Constant);
            }
            let iname = index.as_iname()?;
            if iname == function {
                return Some(Index::Function);
            }
            points.replace(iname).is_none().then_some(Index::Points)
        };
        let indices: Vec<Index> = indices.iter().map(index).collect::<Option<_>>()?;
        let n_functions = indices.iter().filter(|&&index| index == Index::Function).count();
        (n_functions == 1).then_some((Self { array, indices }, points))
    }

    /// For each function the numbers at all points; `None` if it has others.
    fn columns(&self, kernel: &Kernel, n_points: usize, n_functions: usize) -> Option<Columns> {
        let values = kernel[self.array].table()?;
        let shape = kernel.constant_shape(self.array)?;
        let is_whole = shape.iter().zip(&self.indices).all(|(&extent, index)| match index {
            Index::Constant(constant) => *constant < extent,
            Index::Points => extent == n_points,
            Index::Function => extent == n_functions,
        });
        if !is_whole || n_points * n_functions > MAX_ENTRIES {
            return None;
        }
        let entry = |function: usize, point: usize| {
            let at = shape.iter().zip(&self.indices).fold(0, |at, (extent, index)| {
                let index = match index {
                    Index::Constant(constant) => *constant,
                    Index::Points => point,
                    Index::Function => function,
                };
                at * extent + index
            });
            values[at].to_f64()
        };
        let column = |function: usize| (0..n_points).map(|point| entry(function, point)).collect();
        Some((0..n_functions).map(column).collect())
    }
}

impl Uses {
    /// `None` if some table has the iname in another way, or none has it beside points.
    fn of(kernel: &Kernel, iname: InameId, extents: &[Option<usize>]) -> Option<Self> {
        let (mut beside, mut alone) = (Vec::new(), Vec::new());
        let mut points = None;
        let roots = kernel.instructions.iter().flat_map(Instruction::expressions);
        for id in kernel.exprs.reachable(roots) {
            let Expr::Access { array, indices } = &kernel.exprs[id] else { continue };
            let is_of = |index: ExprId| {
                below(&kernel.exprs, [index]).into_iter().any(|id| kernel.exprs[id] == Expr::Iname(iname))
            };
            // Whole numbers are no values of functions, but say where others are.
            let is_values = kernel[*array].table().is_some() && kernel[*array].dtype.is_float();
            if !is_values || !indices.iter().any(|&index| is_of(index)) {
                continue;
            }
            match Slice::of(kernel, *array, indices, iname)? {
                (slice, None) => alone.push((id, slice)),
                (slice, Some(other)) => {
                    extents[other.index()]?;
                    if *points.get_or_insert(other) != other {
                        return None;
                    }
                    beside.push((id, slice));
                }
            }
        }
        Some(Self { points: points?, beside, alone })
    }
}

/// What takes the place of an iname.
struct Place {
    digits: Vec<InameId>,
    /// For each function its rank in the order of the digits.
    ranks: Vec<usize>,
    /// The rank, as a function of the digits.
    rank: Affine,
    /// The iname as a function of the digits, if it is affine.
    whole: Option<Affine>,
}

struct Writer<'a> {
    kernel: Kernel,
    names: Names,
    extents: &'a [Option<usize>],
    places: FxHashMap<InameId, Place>,
    /// The inames of points beside those.
    points: InameSet,
    /// For each element at points its factors.
    factors: FxHashMap<ExprId, (InameId, InameId, Vec<ArrayId>)>,
    /// Tables without points in the order of the digits, for each element.
    permuted: FxHashMap<ExprId, (InameId, ArrayId)>,
    /// Tables of one dimension, `U[point][number]`, of which no two agree within the tolerance.
    lines: Vec<Vec<Vec<f64>>>,
    /// The arrays that hold these for all points, by table, type, and the digit of the points that selects the row.
    arrays: FxHashMap<(usize, Dtype, Vec<usize>, usize), ArrayId>,
    tolerance: Tolerance,
}

impl<'a> Writer<'a> {
    fn new(kernel: Kernel, extents: &'a [Option<usize>]) -> Self {
        Self {
            names: Names::new(&kernel),
            kernel,
            extents,
            places: FxHashMap::default(),
            points: InameSet::new(),
            factors: FxHashMap::default(),
            permuted: FxHashMap::default(),
            lines: Vec::new(),
            arrays: FxHashMap::default(),
            tolerance: Tolerance::default(),
        }
    }

    /// Takes an iname apart, if its tables are products.
    fn separate(&mut self, iname: InameId, extent: usize, uses: &Uses) {
        let mut tables: Vec<&Slice> = uses.beside.iter().map(|(_, slice)| slice).collect();
        tables.sort_unstable();
        tables.dedup();
        let Some(n_points) = self.extents[uses.points.index()] else { return };
        let columns: Option<Vec<Columns>> =
            tables.iter().map(|slice| slice.columns(&self.kernel, n_points, extent)).collect();
        let Some(columns) = columns else { return };
        let found = factorisations(n_points)
            .into_iter()
            .find_map(|digits| separation(&columns, &digits).map(|found| (digits, found)));
        let Some((digits, found)) = found else { return };
        let Some(arrays) = self.tables(&tables, &columns, &digits, &found) else { return };
        let new: Vec<InameId> =
            found.extents.iter().map(|&extent| add_iname(&mut self.kernel, &mut self.names, iname, extent)).collect();
        for (element, slice) in &uses.beside {
            let Some(table) = tables.iter().position(|&table| table == slice) else { continue };
            self.factors.insert(*element, (iname, uses.points, arrays[table].clone()));
        }
        let place = Place::new(new, &found);
        for (element, slice) in uses.alone.iter().filter(|_| place.whole.is_none()) {
            let Some(columns) = slice.columns(&self.kernel, 1, extent) else { continue };
            let numbers = place.functions().into_iter().map(|function| Float::new(columns[function][0]));
            let numbers: Option<Vec<Number>> = numbers.map(|number| number.map(Number::Float)).collect();
            if let Some(numbers) = numbers {
                let dtype = self.kernel[slice.array].dtype;
                let table = self.add_array("B", (dtype, &[extent], ArrayKind::Table(numbers.into())));
                self.permuted.insert(*element, (iname, table));
            }
        }
        self.points.extend([uses.points]);
        self.places.insert(iname, place);
    }

    /// The arrays of the factors of each table; `None` if numbers move too far.
    fn tables(
        &mut self,
        tables: &[&Slice],
        columns: &[Columns],
        digits: &[usize],
        found: &Separation,
    ) -> Option<Vec<Vec<ArrayId>>> {
        let mut res = Vec::with_capacity(tables.len());
        let mut tolerance = self.tolerance;
        for ((slice, columns), factors) in tables.iter().zip(columns).zip(&found.factors) {
            let lines: Vec<usize> = factors.iter().map(|factor| self.line(factor)).collect();
            let largest = magnitude(columns.iter().flatten());
            for (numbers, column) in found.numbers.iter().zip(columns) {
                for (q, &value) in column.iter().enumerate() {
                    let of_digit = |digit: usize| self.lines[lines[digit]][digit_of(q, digits, digit)][numbers[digit]];
                    let moved = ((0..digits.len()).map(of_digit).product::<f64>() - value).abs() / largest;
                    if moved > TOLERANCE {
                        return None;
                    }
                    tolerance = tolerance.and(Tolerance { n_changed: usize::from(moved > 0.0), largest_change: moved });
                }
            }
            let dtype = self.kernel[slice.array].dtype;
            let arrays = lines.into_iter().enumerate();
            res.push(arrays.map(|(digit, line)| self.array(line, dtype, digits, digit)).collect::<Option<_>>()?);
        }
        self.tolerance = tolerance;
        Some(res)
    }

    /// The table of one dimension that a factor is within the tolerance.
    fn line(&mut self, factor: &[Vec<f64>]) -> usize {
        let limit = TOLERANCE * magnitude(factor.iter().flatten());
        let is_close = |line: &Vec<Vec<f64>>| {
            let is_close = |(row, other): (&Vec<f64>, &Vec<f64>)| {
                row.len() == other.len() && row.iter().zip(other).all(|(x, y)| (x - y).abs() <= limit)
            };
            line.len() == factor.len() && line.iter().zip(factor).all(is_close)
        };
        self.lines.iter().position(is_close).unwrap_or_else(|| {
            self.lines.push(factor.to_vec());
            self.lines.len() - 1
        })
    }

    /// A table of one dimension as an array over all points, which depends on one digit of them.
    fn array(&mut self, line: usize, dtype: Dtype, digits: &[usize], digit: usize) -> Option<ArrayId> {
        let key = (line, dtype, digits.to_vec(), digit);
        if let Some(&known) = self.arrays.get(&key) {
            return Some(known);
        }
        let rows = &self.lines[line];
        let n_points: usize = digits.iter().product();
        let numbers = (0..n_points).flat_map(|q| rows[digit_of(q, digits, digit)].iter());
        let numbers: Vec<Number> = numbers.map(|&x| Float::new(x).map(Number::Float)).collect::<Option<_>>()?;
        let shape = vec![n_points, rows.first()?.len()];
        let kind = ArrayKind::Table(numbers.into());
        let res = self.add_array("B", (dtype, &shape, kind));
        self.arrays.insert(key, res);
        Some(res)
    }

    fn add_array(&mut self, stem: &str, of: (Dtype, &[usize], ArrayKind)) -> ArrayId {
        add_array(&mut self.kernel, &mut self.names, stem, of)
    }

    /// A table of whole numbers.
    fn add_numbers(&mut self, numbers: &[usize]) -> ArrayId {
        let values: Vec<Number> = numbers.iter().map(|&number| Number::Int(number as i64)).collect();
        self.add_array("P", (Dtype::Int32, &[numbers.len()], ArrayKind::Table(values.into())))
    }

    /// The kernel with everything in its place.
    fn write(mut self, trees: Vec<LoopTree>, stores: &[Store]) -> (Kernel, Vec<LoopTree>, Tolerance) {
        let mut orders: Vec<(InameId, Vec<usize>)> = self
            .places
            .iter()
            .filter(|(_, place)| place.whole.is_none())
            .map(|(&iname, place)| (iname, place.functions()))
            .collect();
        orders.sort_unstable();
        let orders: FxHashMap<InameId, ArrayId> =
            orders.into_iter().map(|(iname, functions)| (iname, self.add_numbers(&functions))).collect();
        let mut exprs: Exprs = std::mem::take(&mut self.kernel.exprs);
        let roots: Vec<ExprId> = self.kernel.instructions.iter().flat_map(Instruction::expressions).collect();
        let digit = |exprs: &mut Exprs, iname: &InameId, digit: usize| exprs.iname(self.places[iname].digits[digit]);
        let rewritten = exprs.rewrite(roots, |exprs, old, expr| match expr {
            Expr::Iname(iname) => match self.places.get(&iname) {
                None => exprs.iname(iname),
                Some(Place { whole: Some(whole), .. }) => whole.to_expr(exprs),
                Some(Place { rank, .. }) => {
                    let rank = rank.to_expr(exprs);
                    exprs.access(orders[&iname], [rank])
                }
            },
            Expr::Access { array, indices } => {
                if let Some((iname, points, factors)) = self.factors.get(&old) {
                    let points = exprs.iname(*points);
                    let factors: Vec<ExprId> = factors
                        .iter()
                        .enumerate()
                        .map(|(idx, &factor)| {
                            let number = digit(exprs, iname, idx);
                            exprs.access(factor, [points, number])
                        })
                        .collect();
                    exprs.op(Op::Mul, factors)
                } else if let Some((iname, table)) = self.permuted.get(&old) {
                    let rank = self.places[iname].rank.to_expr(exprs);
                    exprs.access(*table, [rank])
                } else {
                    exprs.access(array, indices)
                }
            }
            Expr::Reduce { op, inames, body } => {
                let digits = |&iname: &InameId| {
                    self.places.get(&iname).map_or_else(|| vec![iname], |place| place.digits.clone())
                };
                let inames = inames.iter().flat_map(digits).collect();
                exprs.intern(Expr::Reduce { op, inames, body })
            }
            expr => exprs.intern(expr),
        });
        self.kernel.exprs = exprs;
        let mut replaced: FxHashMap<usize, Vec<LoopTree>> = FxHashMap::default();
        for insn in self.kernel.insn_ids() {
            let store = stores.iter().find(|store| store.insn == insn);
            let store = store.filter(|store| store.axes.iter().any(|axis| self.places.contains_key(axis)));
            let Some(store) = store else {
                self.kernel[insn].map_expressions(|expr| rewritten.get(expr));
                continue;
            };
            let is_affine = |axis: &InameId| self.places.get(axis).is_none_or(|place| place.whole.is_some());
            let trees = if store.axes.iter().all(is_affine) {
                self.kernel[insn].map_expressions(|expr| rewritten.get(expr));
                self.stored(store)
            } else {
                let terms: Vec<(ExprId, f64)> =
                    store.terms.iter().map(|&(term, sign)| (rewritten.get(term), sign)).collect();
                self.stored_in_order(store, &terms)
            };
            replaced.insert(store.position, trees);
        }
        (self.kernel, with_replaced(trees, replaced), self.tolerance)
    }

    /// The inames over the digits of the axes of a store.
    fn digits(&self, store: &Store) -> Vec<InameId> {
        let of = |axis: &InameId| self.places.get(axis).map_or_else(|| vec![*axis], |place| place.digits.clone());
        store.axes.iter().flat_map(of).collect()
    }

    /// A store in loops over digits.
    fn stored(&mut self, store: &Store) -> Vec<LoopTree> {
        let within: Vec<InameId> = store.outer.iter().copied().chain(self.digits(store)).collect();
        self.kernel[store.insn].within.clone_from(&within);
        in_loops(vec![LoopTree::Run(store.insn)], &within)
    }

    /// A store to a temporary in the order of the digits, and one from there in its own.
    fn stored_in_order(&mut self, store: &Store, terms: &[(ExprId, f64)]) -> Vec<LoopTree> {
        let InstructionKind::Assignment { assignee, .. } = self.kernel[store.insn].kind.clone() else {
            return Vec::new();
        };
        let shape: Vec<usize> = store.axes.iter().map(|axis| self.extents[axis.index()].unwrap_or(1)).collect();
        let temporary = self.add_array("t", (self.kernel[assignee.array].dtype, &shape, ArrayKind::Temporary));
        let (mut to, mut from) = (Vec::new(), Vec::new());
        for axis in &store.axes {
            let own = self.kernel.exprs.iname(*axis);
            match self.places.get(axis) {
                None => {
                    to.push(own);
                    from.push(own);
                }
                Some(Place { rank, ranks, whole, .. }) => {
                    to.push(rank.to_expr(&mut self.kernel.exprs));
                    let is_in_order = whole.as_ref() == Some(rank);
                    let ranks = ranks.clone();
                    from.push(if is_in_order {
                        own
                    } else {
                        let ranks = self.add_numbers(&ranks);
                        self.kernel.exprs.access(ranks, [own])
                    });
                }
            }
        }
        let exprs = &mut self.kernel.exprs;
        let value = signed_sum(exprs, terms);
        let copied = exprs.access(temporary, from);
        let expression = if store.is_accumulation {
            let element = exprs.access(assignee.array, assignee.indices.clone());
            exprs.op(Op::Add, [element, copied])
        } else {
            copied
        };
        let within: Vec<InameId> = store.outer.iter().copied().chain(self.digits(store)).collect();
        let loops = within[store.outer.len()..].to_vec();
        let new = InsnId::new(self.kernel.instructions.len());
        let original = &self.kernel[store.insn];
        self.kernel.instructions.push(Instruction {
            id: self.names.new_name(&original.id),
            kind: InstructionKind::Assignment {
                assignee: Assignee { array: temporary, indices: to.into() },
                expression: value,
            },
            within,
            depends_on: original.depends_on.clone(),
            predicates: original.predicates.clone(),
        });
        let copy = &mut self.kernel[store.insn];
        copy.kind = InstructionKind::Assignment { assignee, expression };
        copy.within = store.outer.iter().chain(&store.axes).copied().collect();
        copy.depends_on.push(new);
        let mut body = in_loops(vec![LoopTree::Run(new)], &loops);
        body.extend(in_loops(vec![LoopTree::Run(store.insn)], &store.axes));
        in_loops(body, &store.outer)
    }
}

impl Place {
    fn new(digits: Vec<InameId>, found: &Separation) -> Self {
        let ranks: Vec<usize> = found.numbers.iter().map(|numbers| rank(numbers, &found.extents)).collect();
        let strides: Vec<i64> =
            (0..digits.len()).map(|digit| found.extents[digit + 1..].iter().product::<usize>() as i64).collect();
        let mut res = Self { rank: combination(&digits, 0, &strides), digits, ranks, whole: None };
        // Where a function lies whose numbers are zero but for one, the strides of an affine function show.
        let functions = res.functions();
        let first = functions[0] as i64;
        let own: Vec<i64> = strides.iter().map(|&stride| functions[stride as usize] as i64 - first).collect();
        let is_affine = found.numbers.iter().enumerate().all(|(function, numbers)| {
            let terms = numbers.iter().zip(&own).map(|(&number, stride)| number as i64 * stride);
            first + terms.sum::<i64>() == function as i64
        });
        res.whole = is_affine.then(|| combination(&res.digits, first, &own));
        res
    }

    /// For each rank its function.
    fn functions(&self) -> Vec<usize> {
        let mut res = vec![0; self.ranks.len()];
        self.ranks.iter().enumerate().for_each(|(function, &rank)| res[rank] = function);
        res
    }
}

/// A combination of inames.
fn combination(inames: &[InameId], constant: i64, coefficients: &[i64]) -> Affine {
    inames.iter().zip(coefficients).fold(Affine::constant(constant), |sum, (&iname, &coefficient)| {
        // Strides of arrays of at most `MAX_ENTRIES` numbers.
        sum.plus(&Affine::var(Var::Iname(iname)), coefficient).unwrap_or_default()
    })
}
