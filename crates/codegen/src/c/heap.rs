//! Memory for large temporaries and for large copies of arguments: one block of the heap.
//!
//! # Output
//! Statements that take the block at the top of the function, and that give it back at its end; the function returns 1 if there is not enough memory.
//! # Why
//! The C library keeps a block that is given back for the next call. Of several blocks it gives some back to the system, whose fresh pages take longer than what is computed
//! in them. What stays in cache is fastest: temporaries share memory where one is read for the last time before the other is written.
//! # Complexity
//! Quadratic in the temporaries.
//! # Not done
//! Temporaries of the same outermost loop share nothing.

use nestegg_ir::linearization::runs_in;
use nestegg_ir::order::arrays_read;
use nestegg_ir::walk::arrays_below;
use nestegg_ir::{ArrayId, Kernel, LoopTree};
use rustc_hash::FxHashMap;

use super::arrays::{Copy, Extent, Storage, n_elements, n_elements_text};
use super::layout::Code;
use super::statements::Temporaries;
use super::writer::Writer;

/// The block, and what is in it.
pub(crate) struct Heap {
    parts: Vec<Part>,
    /// The name of the block, and of its first byte on a boundary of vectors.
    block: String,
    first: String,
}

/// Memory in the block that arrays have one after the other.
struct Part {
    /// The name of its first byte's number in the block.
    start: String,
    /// The type of the elements, their bytes, and how many there are.
    ty: String,
    size: i64,
    n_elements: Count,
    arrays: Vec<Held>,
    /// The outermost statement after which it is free; `None` if it never is.
    until: Option<usize>,
}

/// A number of elements.
#[derive(Clone, PartialEq)]
enum Count {
    Number(i64),
    Text(String),
}

/// An array in a part.
struct Held {
    name: String,
    note: Option<String>,
    is_zeroed: bool,
}

impl Heap {
    pub(crate) fn new(writer: &mut Writer<'_>, temporaries: &Temporaries, tree: &[LoopTree]) -> Self {
        let ids = temporaries.declarations.keys().copied();
        let on_heap: Vec<ArrayId> = ids.filter(|&id| writer.arrays.layout(id).storage == Storage::Heap).collect();
        let uses = if on_heap.is_empty() { FxHashMap::default() } else { uses(writer.kernel, tree) };
        let is_zeroed = |id: ArrayId| temporaries.declarations[&id].is_conditional;
        let live = |id: ArrayId| {
            let (first, last) = uses.get(&id).copied().unwrap_or_default();
            (if is_zeroed(id) { 0 } else { first }, last)
        };
        let mut lives: Vec<(ArrayId, (usize, usize))> = on_heap.into_iter().map(|id| (id, live(id))).collect();
        lives.sort_by_key(|&(_, (first, _))| first);
        let mut parts: Vec<Part> = Vec::new();
        for (id, (first, last)) in lives {
            let held = Held {
                name: writer.symbols.arrays[id.index()].clone(),
                note: temporaries.notes.get(&id).map(|(note, _)| note.clone()),
                is_zeroed: is_zeroed(id),
            };
            let is_held = writer.arrays.is_held(id);
            let ty = writer.element_type(&writer.kernel[id], is_held);
            let size = element_size(writer, id, is_held);
            let n_elements = Count::of(&writer.arrays.layout(id).extents);
            let is_free = |part: &&mut Part| {
                part.ty == ty
                    && part.until.is_some_and(|until| until < first)
                    && part.n_elements.is_comparable_with(&n_elements)
            };
            if let Some(part) = parts.iter_mut().find(is_free) {
                part.n_elements = part.n_elements.max(n_elements);
                part.until = Some(last);
                part.arrays.push(held);
            } else {
                parts.push(Part { start: String::new(), ty, size, n_elements, arrays: vec![held], until: Some(last) });
            }
        }
        parts.extend(writer.kernel.arguments().flat_map(|id| of_copy(writer, id)));
        let mut res = Self { parts, block: String::new(), first: String::new() };
        if !res.is_empty() {
            let names = &mut writer.symbols.names;
            (res.block, res.first) = (names.fresh("heap"), names.fresh("first"));
            res.parts[1..].iter_mut().for_each(|part| part.start = names.fresh("start"));
        }
        res
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Takes the block.
    pub(crate) fn taken(&self) -> Vec<Code> {
        let Some(last) = self.parts.last() else { return Vec::new() };
        let Self { parts, block, first } = self;
        let mut res = Vec::new();
        for (part, next) in parts.iter().zip(&parts[1..]) {
            res.push(Code::line(format!("const size_t {} = {};", next.start, part.end())));
        }
        // `aligned_alloc` of glibc asks the system again for each call.
        res.push(Code::line(format!("char *const {block} = malloc({} + {});", last.end(), ALIGNMENT - 1)));
        res.push(Code::Block { head: format!("if (!{block})"), body: vec![Code::line("return 1;")] });
        res.push(Code::line(format!("char *const {first} = {block} + (-(uintptr_t){block} & {});", ALIGNMENT - 1)));
        for Part { start, ty, arrays, n_elements, .. } in parts {
            let place = if start.is_empty() { first.clone() } else { format!("({first} + {start})") };
            for Held { name, note, is_zeroed } in arrays {
                res.extend(note.clone().map(Code::Comment));
                // No two names of one place may promise that they are its only ones.
                res.push(Code::line(match &arrays[0].name {
                    owner if owner == name => format!("{ty} *restrict {name} = ({ty} *){place};"),
                    owner => format!("{ty} *const {name} = {owner};"),
                }));
                if *is_zeroed {
                    res.push(Code::line(format!("memset({name}, 0, {}*sizeof({ty}));", n_elements.text())));
                }
            }
        }
        res
    }

    /// Gives the block back.
    pub(crate) fn given_back(&self) -> Vec<Code> {
        if self.is_empty() { Vec::new() } else { vec![Code::line(format!("free({});", self.block))] }
    }
}

/// Vectors of all machines, and pairs of lines of the cache, begin at multiples of so many bytes.
const ALIGNMENT: i64 = 128;

impl Part {
    /// The first byte after it, at least one line of the cache after its last: arrays of a power of two would all compete for the same lines.
    fn end(&self) -> String {
        let size = match &self.n_elements {
            Count::Number(n) => {
                (n.saturating_mul(self.size) / ALIGNMENT * ALIGNMENT).saturating_add(2 * ALIGNMENT).to_string()
            }
            Count::Text(text) => format!("({text}*{} + {})/{ALIGNMENT}*{ALIGNMENT}", self.size, 2 * ALIGNMENT - 1),
        };
        if self.start.is_empty() { size } else { format!("{} + {size}", self.start) }
    }
}

impl Count {
    fn of(extents: &[Extent]) -> Self {
        n_elements(extents).map_or_else(|| Self::Text(n_elements_text(extents)), Self::Number)
    }

    /// Whether it is known which of the two is greater.
    fn is_comparable_with(&self, other: &Self) -> bool {
        self == other || matches!((self, other), (Self::Number(_), Self::Number(_)))
    }

    /// The greater of two of which that is known.
    fn max(&self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(n), Self::Number(m)) => Self::Number((*n).max(m)),
            (_, other) => other,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Number(n) => n.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// For each array that is read or written the first and the last statement that does so, of the outermost ones.
fn uses(kernel: &Kernel, tree: &[LoopTree]) -> FxHashMap<ArrayId, (usize, usize)> {
    let reads = arrays_read(kernel);
    let mut res: FxHashMap<ArrayId, (usize, usize)> = FxHashMap::default();
    for (at, node) in tree.iter().enumerate() {
        let mut note = |array: ArrayId| res.entry(array).or_insert((at, at)).1 = at;
        for insn in runs_in(std::slice::from_ref(node)) {
            reads[insn.index()].iter().copied().for_each(&mut note);
            kernel[insn].written_arrays().into_iter().for_each(&mut note);
        }
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            if let LoopTree::Branch { condition, .. } = node {
                arrays_below(&kernel.exprs, [*condition]).into_iter().for_each(&mut note);
            }
            if let LoopTree::Branch { body, .. } | LoopTree::Loop { body, .. } = node {
                pending.extend(body);
            }
        }
    }
    res
}

/// Bytes of an element, which may be one for each lane.
fn element_size(writer: &Writer<'_>, id: ArrayId, is_held: bool) -> i64 {
    let width = writer.lanes.as_ref().filter(|_| is_held).map_or(1, |lanes| lanes.width);
    writer.kernel[id].dtype.size() as i64 * width
}

/// What the heap holds of the copy of an argument that holds lanes.
fn of_copy(writer: &Writer<'_>, id: ArrayId) -> Vec<Part> {
    let (Some(lanes), Some(copy)) = (&writer.lanes, writer.arrays.copies.get(&id)) else { return Vec::new() };
    let Copy { name, layout, rest, rest_on_heap, size, .. } = copy;
    let (ty, scalar) = (writer.element_type(&writer.kernel[id], true), writer.kernel[id].dtype.c_name());
    let part = |name: &str, (ty, is_held): (&str, bool), n_elements: Count| {
        let size = element_size(writer, id, is_held);
        let arrays = vec![Held { name: name.to_owned(), note: None, is_zeroed: false }];
        Part { start: String::new(), ty: ty.to_owned(), size, n_elements, arrays, until: None }
    };
    let mut res = Vec::new();
    if layout.storage == Storage::Heap {
        res.push(part(name, (&ty, true), Count::of(&layout.extents)));
    }
    if lanes.limit.is_some() && *rest_on_heap {
        res.push(part(rest, (scalar, false), Count::Number(size * lanes.width)));
    }
    res
}
