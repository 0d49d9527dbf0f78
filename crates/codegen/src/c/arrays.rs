//! How arrays lie in memory, and the text of their elements.
//!
//! Arguments and temporaries from the heap are one pointer with row-major indices flattened; tables and other
//! temporaries are C arrays; a scalar is a variable, or a pointer if the caller reads it afterwards. What holds lanes is the same with
//! vectors as elements; an argument that does has a copy of one block.

use nestegg_ir::affine::{self, Affine, Var};
use nestegg_ir::{ArgumentAccess, Array, ArrayId, ArrayKind, Dtype, ExprId, Exprs, Kernel};

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::error::CodegenError;
use super::lanes::{Held, Lanes};
use super::literal::long;
use super::symbols::Symbols;
use super::text::{Precedence, Text};

/// Bytes above which a temporary comes from the heap.
const MAX_ON_STACK: i64 = 64 << 10;
/// Bytes of all temporaries together above which further ones come from the heap.
const MAX_STACK: i64 = 512 << 10;

/// The size of one dimension.
#[derive(Clone, Debug)]
pub(crate) enum Extent {
    /// A number.
    Number(i64),
    /// An expression in the parameters.
    Text(Text),
    /// Nobody says: the first dimension of an argument, of which only the others matter to where an element is.
    Unstated,
}

/// Where an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// A scalar variable.
    Variable,
    /// A pointer to one element.
    Pointer,
    /// A pointer to elements in row-major order, from the caller.
    Flat,
    /// The same from the heap.
    Heap,
    /// An array of C.
    Nested,
}

/// One array's place and shape.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Where it is.
    pub(crate) storage: Storage,
    /// Its sizes.
    pub(crate) extents: Vec<Extent>,
}

impl Layout {
    /// How many elements of row-major memory lie before the one at these indices, if that is affine.
    pub(crate) fn place(&self, exprs: &Exprs, indices: &[ExprId]) -> Option<Affine> {
        let mut res = Affine::constant(0);
        for (at, (&index, extent)) in indices.iter().zip(&self.extents).enumerate() {
            let size = match extent {
                Extent::Number(size) => *size,
                _ if at == 0 => 1,
                _ => return None,
            };
            res = res.times(size)?.plus(&affine::of(exprs, index)?, 1)?;
        }
        Some(res)
    }
}

/// The copy of a block of an argument, as vectors.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// Its name.
    pub(crate) name: String,
    /// Its place and shape.
    pub(crate) layout: Layout,
    /// The pointer to the block.
    pub(crate) pointer: String,
    /// Where a short block is borrowed to, and whether that comes from the heap.
    pub(crate) rest: String,
    /// Whether [`Copy::rest`] comes from the heap.
    pub(crate) rest_on_heap: bool,
    /// The number of values of an element.
    pub(crate) size: i64,
}

/// All arrays' places and shapes.
#[derive(Clone, Debug)]
pub(crate) struct Arrays {
    layouts: Vec<Layout>,
    /// Variables that hold sizes which are more than affine, with their expressions.
    pub(crate) extents: Vec<(String, ExprId)>,
    /// The values of these variables in C.
    pub(crate) extent_texts: Vec<String>,
    /// What holds lanes, and what the lane is called.
    lanes: Option<(Rc<Lanes>, String)>,
    /// The copies of arguments that hold lanes, by their names.
    pub(crate) copies: FxHashMap<ArrayId, Copy>,
    /// Whether elements are vectors, where they hold lanes, or single lanes.
    pub(crate) is_vector: bool,
    /// Bytes of the temporaries that are C arrays.
    on_stack: i64,
}

impl Arrays {
    /// The layouts of a kernel's arrays. Affine sizes are written in place, others get a variable.
    pub(crate) fn of(kernel: &Kernel, symbols: &mut Symbols) -> Result<Self, CodegenError> {
        let mut res = Self {
            layouts: Vec::with_capacity(kernel.arrays.len()),
            extents: Vec::new(),
            extent_texts: Vec::new(),
            lanes: None,
            copies: FxHashMap::default(),
            is_vector: false,
            on_stack: 0,
        };
        for id in kernel.array_ids() {
            let array = &kernel[id];
            let mut extents = Vec::with_capacity(array.shape.len());
            for &size in &array.shape {
                extents.push(res.extent(kernel, symbols, array, size)?);
            }
            let bytes =
                n_elements(&extents).and_then(|n| n.checked_mul(i64::try_from(array.dtype.size()).unwrap_or(8)));
            let storage = match (&array.kind, array.shape.is_empty()) {
                (ArrayKind::Argument(ArgumentAccess::Read), true) | (ArrayKind::Temporary, true) => Storage::Variable,
                (ArrayKind::Argument(_), true) => Storage::Pointer,
                (ArrayKind::Argument(_), false) => Storage::Flat,
                (ArrayKind::Table(_), true) => Storage::Variable,
                (ArrayKind::Table(_), false) => Storage::Nested,
                (ArrayKind::Temporary, false) => res.place(bytes),
            };
            res.layouts.push(Layout { storage, extents });
        }
        Ok(res)
    }

    /// Where a local array of so many bytes goes.
    fn place(&mut self, bytes: Option<i64>) -> Storage {
        match bytes {
            Some(bytes) if bytes <= MAX_ON_STACK && self.on_stack.saturating_add(bytes) <= MAX_STACK => {
                self.on_stack += bytes;
                Storage::Nested
            }
            _ => Storage::Heap,
        }
    }

    /// Gives arrays that hold lanes vectors as elements.
    pub(crate) fn hold(&mut self, kernel: &Kernel, symbols: &mut Symbols, lanes: &Rc<Lanes>) {
        for id in kernel.array_ids() {
            let extents = lanes.inner(id, &self.layouts[id.index()].extents).to_vec();
            match lanes.held[id.index()] {
                Held::Not => {}
                Held::Last => {
                    let layout = &mut self.layouts[id.index()];
                    if extents.is_empty() {
                        layout.storage = Storage::Variable;
                    }
                    layout.extents = extents;
                }
                Held::First | Held::Interleaved => {
                    let element = i64::try_from(kernel[id].dtype.size()).unwrap_or(8).checked_mul(lanes.width);
                    let bytes = element.and_then(|bytes| n_elements(&extents)?.checked_mul(bytes));
                    let is_small = self.place(bytes) == Storage::Nested;
                    let storage = match (extents.is_empty(), is_small) {
                        (true, _) => Storage::Variable,
                        (false, true) => Storage::Nested,
                        (false, false) => Storage::Heap,
                    };
                    let size = n_elements(&extents).unwrap_or(1);
                    let mut claim = |suffix: &str| symbols.names.claim(&format!("{}_{suffix}", kernel[id].name));
                    let (name, pointer, rest) = (claim("lanes"), claim("block"), claim("rest"));
                    let rest_on_heap = self.place(bytes) == Storage::Heap;
                    let layout = Layout { storage, extents };
                    self.copies.insert(id, Copy { name, layout, pointer, rest, rest_on_heap, size });
                }
            }
        }
        self.lanes = Some((lanes.clone(), symbols.inames[lanes.lane.index()].clone()));
    }

    fn extent(
        &mut self,
        kernel: &Kernel,
        symbols: &mut Symbols,
        array: &Array,
        size: ExprId,
    ) -> Result<Extent, CodegenError> {
        if kernel.is_unstated(size) {
            return Ok(Extent::Unstated);
        }
        let affine = affine::of(&kernel.exprs, size);
        if let Some(number) = affine.as_ref().and_then(Affine::as_constant) {
            return if number >= 0 {
                Ok(Extent::Number(number))
            } else {
                Err(CodegenError::Size { array: array.name.clone() })
            };
        }
        if let Some(affine) = affine.filter(|affine| affine.inames().next().is_none()) {
            return Ok(Extent::Text(affine_text(symbols, &affine)));
        }
        let known = self.extents.iter().find(|known| known.1 == size).map(|known| known.0.clone());
        let name = known.unwrap_or_else(|| {
            let name = symbols.names.fresh("extent");
            self.extents.push((name.clone(), size));
            name
        });
        Ok(Extent::Text(Text::primary(name)))
    }

    /// An array's place and shape.
    pub(crate) fn layout(&self, array: ArrayId) -> &Layout {
        &self.layouts[array.index()]
    }

    /// Whether an array holds lanes.
    pub(crate) fn is_held(&self, array: ArrayId) -> bool {
        self.lanes.as_ref().is_some_and(|(lanes, _)| lanes.holds(array))
    }

    /// The element of an array at some indices.
    pub(crate) fn element(&self, name: &str, array: ArrayId, indices: &[Text]) -> Text {
        let Some((lanes, lane)) = self.lanes.as_ref().filter(|(lanes, _)| lanes.holds(array)) else {
            return Self::element_of(name, self.layout(array), indices);
        };
        let indices = lanes.inner(array, indices);
        let vector = match self.copies.get(&array) {
            Some(Copy { name, layout, .. }) => Self::element_of(name, layout, indices),
            None => Self::element_of(name, self.layout(array), indices),
        };
        if self.is_vector { vector } else { Text { text: format!("{}[{lane}]", vector.text), ..vector } }
    }

    /// An element of an array of this name and layout.
    pub(crate) fn element_of(name: &str, layout: &Layout, indices: &[Text]) -> Text {
        let text = match layout.storage {
            Storage::Variable => name.to_owned(),
            Storage::Pointer => format!("{name}[0]"),
            Storage::Nested => {
                let list: Vec<String> = indices.iter().map(|index| format!("[{}]", index.text)).collect();
                format!("{name}{}", list.concat())
            }
            Storage::Flat | Storage::Heap => format!("{name}[{}]", flat(indices, &layout.extents).text),
        };
        Text { size: 1, ..Text::primary(text) }.over(indices)
    }
}

/// The number of elements, if it is a number of 64 bits.
pub(crate) fn n_elements(extents: &[Extent]) -> Option<i64> {
    extents.iter().try_fold(1_i64, |n, extent| match extent {
        Extent::Number(size) => n.checked_mul(*size),
        Extent::Text(_) | Extent::Unstated => None,
    })
}

/// The number of elements as a `size_t`; an unstated extent, which no local array has, counts as one.
pub(crate) fn n_elements_text(extents: &[Extent]) -> String {
    let factors: Vec<String> = extents
        .iter()
        .map(|extent| match extent {
            Extent::Number(size) => format!("(size_t){size}"),
            Extent::Text(text) => format!("(size_t){}", text.at_least(Precedence::Prefix)),
            Extent::Unstated => "(size_t)1".to_owned(),
        })
        .collect();
    factors.join("*")
}

/// The row-major index.
fn flat(indices: &[Text], extents: &[Extent]) -> Text {
    let long_index = n_elements(extents).is_none_or(|n| n > i64::from(i32::MAX)) && extents.len() > 1;
    let widen = |index: &Text| if long_index { index.clone().cast(Dtype::Int32, Dtype::Int64) } else { index.clone() };
    let inner: Option<Vec<i64>> = extents
        .iter()
        .skip(1)
        .map(|extent| match extent {
            Extent::Number(size) => Some(*size),
            Extent::Text(_) | Extent::Unstated => None,
        })
        .collect();
    let Some(inner) = inner else { return horner(indices, extents, widen) };
    let inner_size = inner.iter().fold(1_i64, |n, &size| n.saturating_mul(size));
    let mut terms = Vec::with_capacity(indices.len());
    let mut offset = 0_i64;
    for (at, index) in indices.iter().enumerate() {
        let stride = inner.iter().skip(at).fold(1_i64, |stride, &size| stride.saturating_mul(size));
        match index.text.parse::<i64>() {
            Ok(number) => offset = offset.saturating_add(number.saturating_mul(stride)),
            Err(_) if stride == 1 => terms.push(index.clone()),
            // What lies within one index of the first dimension fits 32 bits, or is widened too.
            Err(_) if at > 0 && inner_size <= i64::from(i32::MAX) => {
                terms.push(Text::product(&[index.clone(), long(stride)]));
            }
            Err(_) => terms.push(Text::product(&[widen(index), long(stride)])),
        }
    }
    if offset != 0 || terms.is_empty() {
        terms.push(long(offset));
    }
    if terms.len() == 1 { terms.swap_remove(0) } else { spread(&terms) }
}

/// A sum of integers; unlike one of floats it needs no parentheses around its terms.
fn spread(terms: &[Text]) -> Text {
    let terms: Vec<Text> = terms
        .iter()
        .map(|term| match term.precedence {
            Precedence::Sum => Text { precedence: Precedence::Product, ..term.clone() },
            _ => term.clone(),
        })
        .collect();
    Text::sum(&terms)
}

/// `((i0*n1 + i1)*n2 + i2)…`.
fn horner(indices: &[Text], extents: &[Extent], widen: impl Fn(&Text) -> Text) -> Text {
    let mut res: Option<Text> = None;
    for (index, extent) in indices.iter().zip(extents) {
        res = Some(match res {
            None => widen(index),
            Some(outer) if outer.text == "0" => index.clone(),
            Some(outer) => {
                let size = match extent {
                    Extent::Number(size) => long(*size),
                    Extent::Text(text) => text.clone(),
                    // The first extent has no part in where an element is.
                    Extent::Unstated => long(1),
                };
                spread(&[Text::product(&[outer, size]), index.clone()])
            }
        });
    }
    res.unwrap_or_else(|| long(0))
}

/// An affine expression in parameters.
fn affine_text(symbols: &Symbols, affine: &Affine) -> Text {
    let mut terms: Vec<Text> = affine
        .terms
        .iter()
        .map(|&(var, coefficient)| {
            let name = match var {
                Var::Parameter(parameter) => Text::primary(symbols.parameter(parameter)),
                Var::Iname(iname) => Text::primary(symbols.inames[iname.index()].as_str()),
            };
            match coefficient {
                1 => name,
                -1 => Text::negation(name),
                _ => Text::product(&[long(coefficient), name]),
            }
        })
        .collect();
    if affine.constant != 0 || terms.is_empty() {
        terms.push(long(affine.constant));
    }
    if terms.len() == 1 { terms.swap_remove(0) } else { Text::sum(&terms) }
}
