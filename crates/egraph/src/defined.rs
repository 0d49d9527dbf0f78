//! Which reads see an element that has a value wherever they may be moved.
//!
//! # Input
//! A kernel, its loop tree, and a read.
//! # Output
//! Whether every element that the read may see at any point of the inames in its indices, from the place where its state
//! of memory begins, was written by then. Arguments that come with values, and tables, always were.
//! # Method
//! Writers count that come before the reader in the innermost sequence that holds both, with no condition of their own. The
//! elements that they write in that sequence must be a superset of those that may be read: plainly so where index and
//! inames are the same, else isl compares the sets.
//! # Complexity
//! One question to isl for each array, indices and writers before, however many reads there are.
//! # Not done
//! Elements that earlier iterations of a loop around both wrote, and those that only writers in different sequences
//! cover together, count as not written: such a read stays where it is.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nestegg_ir::affine::{self, Affine};
use nestegg_ir::domains::{DomainError, Domains};
use nestegg_ir::sequences::{SequenceIdx, Sequences};
use nestegg_ir::{
    ArgumentAccess, ArrayId, ArrayKind, Expr, ExprId, InameId, InameSet, InsnId, Item, Kernel, LinearizedKernel,
};
use nestegg_isl as isl;
use rustc_hash::FxHashMap;

use crate::context::Index;

/// The writers of a kernel's arrays, and where they are.
#[derive(Debug)]
pub struct Definitions<'a> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    sequences: &'a Sequences,
    /// For each array what is written of it by element: the instruction, and the indices where they are affine.
    writers: Vec<Vec<(InsnId, Option<Vec<Affine>>)>>,
    /// For each array the last item of the outermost sequence that writes it.
    last_items: Vec<Option<usize>>,
    /// For each array the first instruction that reads it.
    readers: Vec<Option<InsnId>>,
    /// A name with which no other begins.
    prefix: String,
    /// Answers so far: they do not depend on the reader, but for the writers before it.
    known: RefCell<FxHashMap<Question, bool>>,
}

/// Positions among the writers of an array, with the innermost sequence that each shares with a reader.
type Writers = Vec<(usize, SequenceIdx)>;

/// An array, the indices of a read, and who writes before it.
type Question = (ArrayId, Vec<Affine>, Writers);

impl<'a> Definitions<'a> {
    /// The writers of a kernel's arrays.
    #[must_use]
    pub fn new(linearized: &'a LinearizedKernel, domains: &'a Domains, sequences: &'a Sequences) -> Self {
        let kernel = &linearized.kernel;
        let mut writers: Vec<Vec<(InsnId, Option<Vec<Affine>>)>> = vec![Vec::new(); kernel.arrays.len()];
        for insn in kernel.insn_ids() {
            for assignee in kernel[insn].assignees() {
                let indices = assignee.indices.iter().map(|&index| affine::of(&kernel.exprs, index)).collect();
                writers[assignee.array.index()].push((insn, indices));
            }
        }
        let inames = kernel.inames.iter().map(|iname| &iname.name);
        let names = inames.chain(kernel.parameters.iter().map(|parameter| &parameter.name));
        let prefix = names.max_by_key(|name| name.len()).cloned().unwrap_or_else(|| "d".to_owned());
        let readers = first_readers(linearized);
        let last_items = vec![None; kernel.arrays.len()];
        let mut res =
            Self { kernel, domains, sequences, writers, last_items, readers, prefix, known: RefCell::default() };
        for insn in kernel.insn_ids() {
            let item = res.item(insn);
            for array in kernel[insn].written_arrays() {
                let last = &mut res.last_items[array.index()];
                *last = item.max(*last);
            }
        }
        res
    }

    /// Whether every element of an array has a value from the beginning.
    #[must_use]
    pub fn comes_with_values(&self, array: ArrayId) -> bool {
        !matches!(self.kernel[array].kind, ArrayKind::Temporary | ArrayKind::Argument(ArgumentAccess::Write))
    }

    /// Whether some instruction writes an array that one before it, or one in the same loops, reads.
    #[must_use]
    pub fn changes(&self, array: ArrayId) -> bool {
        let Some(first) = self.readers[array.index()] else { return false };
        self.last_items[array.index()].is_some_and(|last| self.item(first).is_none_or(|first| first <= last))
    }

    /// The item of the outermost sequence that an instruction is in.
    fn item(&self, insn: InsnId) -> Option<usize> {
        self.sequences.item_in(self.sequences.places[insn.index()], 0)
    }

    /// Whether all elements that `insn` may read at these indices have a value.
    ///
    /// # Errors
    /// If isl fails.
    pub fn is_defined(&self, insn: InsnId, array: ArrayId, indices: &[Index]) -> Result<bool, DomainError> {
        if self.comes_with_values(array) {
            return Ok(true);
        }
        self.is_written_before(insn, array, indices, |_| true)
    }

    /// Whether all elements that any instruction may read at these indices have a value: writers outside of all loops and
    /// conditions that other instructions share with them, before the first that reads the array, give it.
    ///
    /// # Errors
    /// If isl fails.
    pub fn is_always_defined(&self, array: ArrayId, indices: &[Index]) -> Result<bool, DomainError> {
        match self.readers[array.index()] {
            _ if self.comes_with_values(array) => Ok(true),
            Some(first) => self.is_written_before(first, array, indices, |common| common == 0),
            None => Ok(false),
        }
    }

    /// Whether writers before an instruction, in sequences that both are in and that count, write all elements at these indices.
    fn is_written_before(
        &self,
        insn: InsnId,
        array: ArrayId,
        indices: &[Index],
        counts: impl Fn(SequenceIdx) -> bool,
    ) -> Result<bool, DomainError> {
        let plain = indices.iter().map(|index| match index {
            Index::Affine(affine) => Some(affine.clone()),
            Index::Child => None,
        });
        let Some(read) = plain.collect::<Option<Vec<Affine>>>() else { return Ok(false) };
        let before = |(position, (writer, indices)): (usize, &(InsnId, Option<Vec<Affine>>))| {
            indices.as_ref()?;
            Some((position, self.common_before(*writer, insn).filter(|&common| counts(common))?))
        };
        let writers: Writers = self.writers[array.index()].iter().enumerate().filter_map(before).collect();
        let key = (array, read, writers);
        if let Some(&known) = self.known.borrow().get(&key) {
            return Ok(known);
        }
        let res = self.is_written(array, &key.1, &key.2)?;
        self.known.borrow_mut().insert(key, res);
        Ok(res)
    }

    /// Whether these writers write all elements of an array at these indices.
    fn is_written(&self, array: ArrayId, read: &[Affine], writers: &Writers) -> Result<bool, DomainError> {
        let mut inames: InameSet = read.iter().flat_map(Affine::inames).collect::<Vec<InameId>>().into_iter().collect();
        for iname in inames.clone().iter() {
            inames.extend(self.domains.enclosing(iname).iter());
        }
        let mut written: BTreeMap<SequenceIdx, Vec<isl::Set>> = BTreeMap::new();
        for &(position, common) in writers {
            let (writer, Some(indices)) = &self.writers[array.index()][position] else { continue };
            let fixed = &self.sequences.list[common].loops;
            let around: InameSet = inames.iter().chain(fixed.iter().copied()).collect::<Vec<_>>().into_iter().collect();
            let own = self.kernel[*writer].within_set();
            if *indices == read && own == around {
                return Ok(true);
            }
            written.entry(common).or_default().push(self.elements(&own, fixed, indices)?);
        }
        for (common, sets) in written {
            let read = self.elements(&inames, &self.sequences.list[common].loops, read)?;
            let mut all = sets[0].clone();
            for set in &sets[1..] {
                all = all.union(set)?;
            }
            if read.is_subset(&all)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The innermost sequence that holds both instructions, if `writer` always runs before `reader` there.
    fn common_before(&self, writer: InsnId, reader: InsnId) -> Option<SequenceIdx> {
        let (own, other) = (self.sequences.places[writer.index()], self.sequences.places[reader.index()]);
        let common = self.sequences.common(own.0, other.0);
        let (list, is_before) =
            (&self.sequences.list, self.sequences.item_in(own, common)? < self.sequences.item_in(other, common)?);
        let is_unconditional =
            self.kernel[writer].predicates.is_empty() && list[own.0].conditions.len() == list[common].conditions.len();
        (is_before && is_unconditional).then_some(common)
    }

    /// The elements at `indices` for all points of `inames`, for each point of `fixed`: a set over `fixed` and the indices.
    fn elements(&self, inames: &InameSet, fixed: &[InameId], indices: &[Affine]) -> Result<isl::Set, DomainError> {
        let mut all = inames.clone();
        all.extend(fixed.iter().copied());
        let dims: Vec<String> = (0..indices.len()).map(|dim| format!("{}_{dim}", self.prefix)).collect();
        let mut names: Vec<&str> = fixed.iter().map(|&iname| self.kernel[iname].name.as_str()).collect();
        names.extend(dims.iter().map(String::as_str));
        let set = self.domains.of(&all)?;
        let mut set = set.insert_dims(set.n_dim()?, &names[fixed.len()..])?;
        for (dim, index) in dims.iter().zip(indices) {
            let affine = self.domains.affine(index)?.sub(&isl::Affine::new(0, [(dim.clone(), 1)])?)?;
            let known: Vec<String> = set.dim_names()?.into_iter().chain(set.param_names()?).collect();
            let missing: Vec<&str> =
                affine.names().into_iter().filter(|name| !known.iter().any(|known| known == name)).collect();
            if !missing.is_empty() {
                set = set.with_params(&missing)?;
            }
            set = set.constrain_by(&isl::Constraint::equality(affine))?;
        }
        Ok(set.project_onto(&names)?)
    }
}

/// For each array the first instruction that reads it.
fn first_readers(linearized: &LinearizedKernel) -> Vec<Option<InsnId>> {
    let kernel = &linearized.kernel;
    let mut res = vec![None; kernel.arrays.len()];
    // What an instruction before has seen, it has read.
    let mut seen = vec![false; kernel.exprs.len()];
    let mut pending: Vec<ExprId> = Vec::new();
    let mut note = |insn: InsnId, roots: &mut dyn Iterator<Item = ExprId>| {
        pending.extend(roots);
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            if let Expr::Access { array, .. } = &kernel.exprs[id] {
                res[array.index()].get_or_insert(insn);
            }
            pending.extend(kernel.exprs[id].children());
        }
    };
    let mut open: Vec<ExprId> = Vec::new();
    for item in &linearized.linearization {
        match item {
            Item::If(condition) => open.push(*condition),
            Item::Run(insn) => note(*insn, &mut open.drain(..).chain(kernel[*insn].expressions())),
            Item::For(_) | Item::End(_) | Item::EndIf => {}
        }
    }
    res
}
