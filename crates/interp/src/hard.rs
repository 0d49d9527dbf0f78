//! Data on which rounding errors grow: nearly singular, badly scaled, far from the origin, cancelling.
//!
//! # Input
//! A kernel with values of its parameters, friendly random data, a [`Family`] of hard data and a seed.
//! # Output
//! The same data, but for the float arguments that the family is about.
//! # Method
//! What an argument is for is read off the kernel: how the values of its elements are multiplied and divided, through
//! temporaries and substitutions. *Shapes* are the arguments whose elements reach a divisor, a root or another function;
//! where there are none, those whose elements are multiplied with each other (in a determinant, say). All other float
//! arguments are *factors*. A kernel of a finite element has its coordinates for shape and its coefficients for factors; in a kernel without either, everything is a factor.
//! A shape is taken for rows of points: its last axis, if that is short, else 3 or 2 numbers each. Points then lie near a
//! plane, near a line, near one point far away, at the corners of a distorted box, or are scaled by axes.
//! Factors are of very different sizes, nearly constant, or of alternating sign and nearly of one size.
//! Every element is a function of its position, the argument's name, and the seed.
//! # Complexity
//! Linear in the kernel times the number of its float arguments, and in the elements.
//! # Not done
//! Shapes are not searched for the worst data. Which elements form a point is not read off the kernel: of several widths each has its seeds.
//! # Source
//! Sampling for large errors: Panchekha, Sanchez-Stern, Wilcox, Tatlock, Automatically improving accuracy for floating
//! point expressions (PLDI 2015). Shapes of bad cells: Shewchuk, What is a good linear finite element? (2002).

use nestegg_ir::{ArgumentAccess, ArrayId, ArrayKind, Dtype, Expr, Kernel, Number, Op, ReduceOp};

use crate::data::DataSet;
use crate::error::Error;
use crate::input::{Inputs, Values, parameter_values};
use crate::memory::Layout;
use crate::source::Source;
use crate::world::{hash_text, hash_with};

/// A kind of data. Sizes of departures from a degenerate case are `2^-k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// As they came.
    Friendly,
    /// Axes of points scaled, the last by `2^-k`.
    Graded(i32),
    /// Everything within `2^-k` of a constant: points far from the origin, nearly constant factors.
    Far(i32),
    /// Points within `2^-k` of a plane (of a line, where they have two numbers each).
    Flat(i32),
    /// Points within `2^-k` of a line through the origin: rows nearly proportional.
    Thin(i32),
    /// Corners of a box in general position, each moved by `2^-k`.
    Box(i32),
    /// The same, where the box is nearly flat: by `2^-k`.
    FlatBox(i32),
    /// The same, where two axes of the box are short: by `2^-k`.
    ThinBox(i32),
    /// Factors between `2^-k` and `2^k`.
    Spread(i32),
    /// Factors of alternating sign and of one size but for `2^-k` of it.
    Cancelling(i32),
}

impl Family {
    /// The families that are measured, the friendly one first, then [`N_KINDS`](Self::N_KINDS) less one of different kinds, then others of these kinds.
    pub const ALL: [Self; 16] = [
        Self::Friendly,
        Self::Graded(20),
        Self::Flat(20),
        Self::FlatBox(20),
        Self::Thin(14),
        Self::ThinBox(10),
        Self::Far(20),
        Self::Spread(26),
        Self::Cancelling(20),
        Self::Graded(10),
        Self::Flat(10),
        Self::FlatBox(10),
        Self::Thin(7),
        Self::Box(3),
        Self::Far(10),
        Self::Far(30),
    ];

    /// The kinds of families: as many of [`ALL`](Self::ALL), the first ones, are of one each.
    pub const N_KINDS: usize = 9;

    /// What it is called in reports.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Friendly => "random".to_owned(),
            Self::Graded(k) => format!("axes scaled by 2^-{k}"),
            Self::Far(k) => format!("within 2^-{k} of a constant"),
            Self::Flat(k) => format!("within 2^-{k} of a plane"),
            Self::Thin(k) => format!("within 2^-{k} of a line"),
            Self::Box(k) => format!("boxes, corners moved by 2^-{k}"),
            Self::FlatBox(k) => format!("flat boxes, height 2^-{k}"),
            Self::ThinBox(k) => format!("thin boxes, width 2^-{k}"),
            Self::Spread(k) => format!("factors spread over 2^±{k}"),
            Self::Cancelling(k) => format!("alternating signs, sizes within 2^-{k}"),
        }
    }

    fn is_about_shapes(self) -> bool {
        !matches!(self, Self::Friendly | Self::Spread(_) | Self::Cancelling(_))
    }

    fn is_about_factors(self) -> bool {
        matches!(self, Self::Far(_) | Self::Spread(_) | Self::Cancelling(_))
    }
}

/// What an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Shape,
    Factor,
}

/// Shapes and factors of a kernel.
#[derive(Clone, Debug)]
pub struct Hard {
    arguments: Vec<(Layout, Role)>,
}

impl Hard {
    /// Reads off what each float argument is for.
    ///
    /// # Errors
    /// If a parameter has no value, or a size no meaning.
    pub fn new(kernel: &Kernel, parameters: &indexmap::IndexMap<String, i64>) -> Result<Self, Error> {
        let source = Source::new(kernel, &parameter_values(kernel, parameters)?)?;
        let is_given = |array: &ArrayId| {
            let is_read = matches!(kernel[*array].kind, ArrayKind::Argument(ArgumentAccess::Read));
            is_read && kernel[*array].dtype.is_float()
        };
        let arrays: Vec<ArrayId> = kernel.arguments().filter(is_given).collect();
        let uses = uses(kernel, &source, &arrays);
        let highest = uses.iter().copied().max().unwrap_or(0);
        let arguments = arrays.iter().zip(uses).map(|(array, uses)| {
            let layout = Layout::of(&source, &kernel[*array])?;
            let is_shape = highest > 1 && uses == highest && widths(&layout).next().is_some();
            Ok((layout, if is_shape { Role::Shape } else { Role::Factor }))
        });
        Ok(Self { arguments: arguments.collect::<Result<_, Error>>()? })
    }

    /// Whether a family makes an argument hard.
    fn makes_hard(&self, family: Family, (layout, role): &(Layout, Role)) -> bool {
        let is_meant = match role {
            Role::Shape => family.is_about_shapes(),
            Role::Factor => family.is_about_factors(),
        };
        // A single factor is hard only by its size.
        is_meant && (*role == Role::Shape || layout.len >= 2 || matches!(family, Family::Spread(_)))
    }

    /// These inputs made hard; `None` if the family is about no argument of the kernel.
    #[must_use]
    pub fn inputs(&self, friendly: &Inputs, family: Family, seed: u64) -> Option<Inputs> {
        let mut res = friendly.clone();
        let mut is_changed = family == Family::Friendly;
        for argument in self.arguments.iter().filter(|argument| self.makes_hard(family, argument)) {
            let Some(Values::Floats(values)) = res.arrays.get_mut(&argument.0.name) else { continue };
            let element = Element::new(&argument.0, argument.1, family, seed);
            for (idx, value) in values.iter_mut().enumerate() {
                *value = element.at(idx, *value);
            }
            is_changed = true;
        }
        is_changed.then_some(res)
    }
}

/// Friendly data made hard, element by element.
pub(crate) struct HardData<'a> {
    friendly: DataSet<'a>,
    elements: Vec<(ArrayId, Element<'a>)>,
}

impl<'a> HardData<'a> {
    /// `None` if the family is about no argument of the kernel.
    pub(crate) fn new(friendly: DataSet<'a>, hard: &'a Hard, family: Family, seed: u64) -> Option<Self> {
        let is_hard = |argument: &&(Layout, Role)| hard.makes_hard(family, argument);
        let element = |(layout, role): &'a (Layout, Role)| {
            friendly.array(&layout.name).map(|array| (array, Element::new(layout, *role, family, seed)))
        };
        let elements: Vec<_> = hard.arguments.iter().filter(is_hard).filter_map(element).collect();
        (family == Family::Friendly || !elements.is_empty()).then_some(Self { friendly, elements })
    }

    /// A float of an argument before the run.
    pub(crate) fn float(&self, array: ArrayId, index: &[i64]) -> f64 {
        let friendly = self.friendly.float(array, index);
        let Some((_, element)) = self.elements.iter().find(|element| element.0 == array) else { return friendly };
        let value = element.at(element.layout.position(index), friendly);
        if element.layout.dtype == Dtype::Float32 { f64::from(value as f32) } else { value }
    }

    /// An integer of an argument before the run.
    pub(crate) fn int(&self, array: ArrayId, index: &[i64]) -> i64 {
        self.friendly.int(array, index)
    }
}

/// How each of these arguments is used: 1 linearly, 2 multiplied with itself, 3 in a divisor or in a function; 0 not at all.
fn uses(kernel: &Kernel, source: &Source, arguments: &[ArrayId]) -> Vec<u8> {
    let n = arguments.len();
    let mut res = vec![0_u8; n];
    // For what is stored in each array, and for each expression: how it uses each argument.
    let mut stored = vec![vec![0_u8; n]; kernel.arrays.len()];
    let mut given: Vec<Option<usize>> = vec![None; kernel.arrays.len()];
    for (idx, array) in arguments.iter().enumerate() {
        given[array.index()] = Some(idx);
    }
    loop {
        let mut used: Vec<Vec<u8>> = Vec::with_capacity(source.exprs.len());
        for (_, expr) in source.exprs.iter() {
            let mut own = vec![0_u8; n];
            match expr {
                Expr::Access { array, .. } => match given[array.index()] {
                    Some(idx) => own[idx] = 1,
                    None => own.clone_from(&stored[array.index()]),
                },
                _ => {
                    for (position, child) in expr.children().iter().enumerate() {
                        for (own, &of_child) in own.iter_mut().zip(&used[child.index()]) {
                            *own = joined(source, expr, position, (*own, of_child));
                        }
                    }
                }
            }
            used.push(own);
        }
        let mut is_changed = false;
        for (instruction, writes) in source.instructions.iter().zip(&source.writes) {
            for value in instruction.expressions() {
                for (idx, &of_value) in used[value.index()].iter().enumerate() {
                    res[idx] = of_value.max(res[idx]);
                    for (array, _) in writes {
                        let known = &mut stored[array.index()][idx];
                        is_changed |= of_value > *known;
                        *known = of_value.max(*known);
                    }
                }
            }
        }
        if !is_changed {
            return res;
        }
    }
}

/// The use by an expression of what earlier operands use so, and the operand at `position`.
fn joined(source: &Source, expr: &Expr, position: usize, (before, operand): (u8, u8)) -> u8 {
    if operand == 0 {
        return before;
    }
    let several = if before > 0 { 2 } else { 1 };
    let of_power = |exponent: &Expr| match exponent {
        Expr::Number(Number::Int(value)) if *value >= 0 => 2,
        _ => 3,
    };
    let own = match expr {
        Expr::Op { op: Op::Mul, .. } => several,
        Expr::Op { op: Op::Div, .. } if position == 0 => several,
        Expr::Op { op: Op::Pow, operands } => of_power(&source.exprs[operands[1]]),
        Expr::Op { op: Op::Div, .. } | Expr::Call { .. } => 3,
        Expr::Reduce { op: ReduceOp::Product, .. } => 2,
        _ => 1,
    };
    before.max(operand).max(own)
}

/// How many numbers a point may have: those of a short last axis; of a flat array 3 or 2, if that gives more points than a point has numbers.
fn widths(layout: &Layout) -> impl Iterator<Item = usize> + '_ {
    let last = layout.shape.last().and_then(|&extent| usize::try_from(extent).ok()).unwrap_or(1);
    let is_row = layout.shape.len() > 1 && (2..=4).contains(&last);
    let candidates = if is_row { [last, 0] } else { [3, 2] };
    let fits = move |width: &usize| *width > 0 && layout.len.is_multiple_of(*width) && layout.len / width > *width;
    candidates.into_iter().filter(fits)
}

/// The elements of one argument.
struct Element<'a> {
    layout: &'a Layout,
    family: Family,
    start: u64,
    width: usize,
    /// Of what departs from the degenerate case: single precision has half the digits.
    size: f64,
}

impl<'a> Element<'a> {
    fn new(layout: &'a Layout, role: Role, family: Family, seed: u64) -> Self {
        let widths: Vec<usize> = if role == Role::Shape { widths(layout).collect() } else { Vec::new() };
        let width = if widths.is_empty() { 1 } else { widths[(seed % widths.len() as u64) as usize] };
        let (Family::Graded(k)
        | Family::Far(k)
        | Family::Flat(k)
        | Family::Thin(k)
        | Family::Box(k)
        | Family::FlatBox(k)
        | Family::ThinBox(k)
        | Family::Spread(k)
        | Family::Cancelling(k)) = family
        else {
            return Self { layout, family, start: seed, width, size: 1.0 };
        };
        let k = if layout.dtype == Dtype::Float32 { (k + 1) / 2 } else { k };
        Self { layout, family, start: hash_with(seed, hash_text(&layout.name)), width, size: libm::exp2(-f64::from(k)) }
    }

    /// A number in [0.5, 1.5) for a purpose.
    fn weight(&self, purpose: u64, idx: usize) -> f64 {
        let hash = hash_with(hash_with(self.start, purpose), idx as u64);
        0.5 + (hash >> 40) as f64 / (1_u64 << 24) as f64
    }

    /// The same of either sign.
    fn signed(&self, purpose: u64, idx: usize) -> f64 {
        let weight = self.weight(purpose, idx);
        if hash_with(hash_with(self.start, purpose), !(idx as u64)) & 1 == 0 { weight } else { -weight }
    }

    /// The element at a flat position that had a `friendly` value.
    fn at(&self, idx: usize, friendly: f64) -> f64 {
        let (row, column) = (idx / self.width, idx % self.width);
        let (size, last) = (self.size, self.width - 1);
        match self.family {
            Family::Friendly => friendly,
            Family::Graded(_) => friendly * libm::pow(size, column as f64 / last.max(1) as f64),
            Family::Far(_) => self.signed(1, column) + size * friendly,
            Family::Flat(_) if column == last => {
                let along = |column| self.signed(1, column) * self.signed(2, row * self.width + column);
                (0..last).map(along).sum::<f64>() + size * friendly
            }
            Family::Flat(_) => self.signed(2, idx),
            Family::Thin(_) => self.signed(1, column) * self.signed(2, row) + size * friendly,
            Family::Box(_) => self.corner(row, |bit| self.side(column, bit)) + size * friendly,
            Family::FlatBox(_) => {
                let side = |bit| match column == last {
                    true => {
                        let along = |column| self.signed(1, column) * self.side(column, bit);
                        (0..last).map(along).sum::<f64>() + size * self.side(last, bit)
                    }
                    false => self.side(column, bit),
                };
                self.corner(row, side) + size / 8.0 * friendly
            }
            Family::ThinBox(_) => {
                let side = |bit| self.signed(1, column) * self.weight(2, bit) + size * self.side(column, bit);
                self.corner(row, side) + size / 8.0 * friendly
            }
            Family::Spread(_) => friendly * libm::pow(size, 2.0 * (self.weight(1, idx) - 1.0)),
            Family::Cancelling(_) => {
                let position: i64 = self.layout.index(idx).iter().sum();
                (1.0 + size * friendly) * if position % 2 == 0 { 1.0 } else { -1.0 }
            }
        }
    }

    /// One number of a side of a box: of its own axis mostly.
    fn side(&self, column: usize, bit: usize) -> f64 {
        let own = if column == bit { 1.0 } else { 0.0 };
        own + 0.25 * self.signed(3, column * usize::BITS as usize + bit)
    }

    /// The corner of a box with this number, of its sides.
    fn corner(&self, row: usize, side: impl Fn(usize) -> f64) -> f64 {
        // Boxes follow each other in long arrays; corners count by the last axis first, as products of loops do.
        let corner = row % (1 << self.width);
        (0..self.width).filter(|bit| corner >> (self.width - 1 - bit) & 1 == 1).map(side).sum()
    }
}
