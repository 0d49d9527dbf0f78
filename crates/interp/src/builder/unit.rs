//! Instructions to units: which nodes each evaluates, in which groups, under which mask.
//!
//! A node is evaluated by the first unit that needs it. Nodes that read what the unit's own instruction stores at other
//! points are its *chain*, evaluated point by point; a mask or an address that would be in a chain is a refusal.

use nestegg_ir::types::Type;
use nestegg_ir::{ExprId, InsnId, InstructionKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::builder::{Builder, DepsId, Entry, Refusal, Typed, Value};
use crate::error::Error;
use crate::node::{Action, Binary, Group, NodeId, SCALAR, SetId, Skip, Unit};

impl Builder<'_, '_, '_> {
    /// Adds a unit that only computes values, at one point: a condition, or what a call needs.
    pub(crate) fn add_values(&mut self, insn: Option<InsnId>, exprs: &[ExprId], dtypes: &[Type]) -> Result<(), Error> {
        let scalar = SetId::new(SCALAR);
        self.forget_all();
        let mut roots = Vec::with_capacity(exprs.len());
        for (idx, &expr) in exprs.iter().enumerate() {
            let typed = self.value(expr, &[], scalar)?;
            let node = self.materialise(typed)?;
            self.check_inames(node, scalar)?;
            roots.push(match dtypes.get(idx) {
                Some(&ty) => self.convert(node, ty),
                None => node,
            });
        }
        let groups = self.schedule(&roots);
        let action = Action::Values(roots);
        let skip = Skip::default();
        self.units.push(Unit { insn, set: scalar, mask: None, mask_groups: Vec::new(), groups, action, skip });
        Ok(())
    }

    /// Adds an assignment.
    pub(crate) fn add_assignment(&mut self, entry: &Entry) -> Result<(), Refusal> {
        self.assignment(entry).map_err(|refusal| match refusal {
            Refusal::Error(Error::Unsupported { reason, .. }) => {
                let instruction = self.context.source.instructions[entry.insn.index()].id.clone();
                Refusal::Error(Error::Unsupported { instruction, reason })
            }
            other => other,
        })
    }

    fn assignment(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let source = self.context.source;
        let instruction = &source.instructions[entry.insn.index()];
        let InstructionKind::Assignment { assignee, expression } = &instruction.kind else {
            return Err(Refusal::NotABlock);
        };
        if !entry.volatile.is_empty() {
            self.forget_all();
        }
        let set = self.set(entry.loops.clone())?;
        let mask = self.mask(entry, &instruction.predicates, set)?;
        let mask_groups = match mask {
            Some(mask) => self.schedule(&[mask]),
            None => Vec::new(),
        };
        let value = self.value(*expression, &entry.volatile, set)?;
        let value = self.materialise(value)?;
        let dtype = Type::from(self.context.kernel[assignee.array].dtype);
        let value = self.convert(value, dtype);
        let forwarded = Typed { ty: dtype, value: Value::Node(value) };
        self.check_inames(value, set)?;
        let value = self.expand(value, set);
        for &index in &assignee.indices {
            self.value(index, &entry.volatile, set)?;
        }
        let (address, _) = self.address(assignee.array, &assignee.indices, 0, Some(set))?;
        let mut operands = Vec::new();
        address.for_each_operand(|operand| operands.push(operand));
        for &operand in &operands {
            self.check_inames(operand, set)?;
        }

        let is_chained = self.chained(&entry.volatile, mask.iter().chain(&operands))?;
        let mut roots = operands;
        roots.push(value);
        let chain: Vec<NodeId> = self.pending(&roots).into_iter().filter(|node| is_chained[node.index()]).collect();
        if chain.iter().any(|&node| self.set_of(node) != set) {
            return Err(Refusal::NotABlock);
        }
        for node in &chain {
            self.is_scheduled[node.index()] = true;
            self.nodes[node.index()].op.for_each_operand(|operand| roots.push(operand));
        }
        let groups = self.schedule(&roots);
        let action = Action::Store { array: assignee.array, address, value, chain };
        let skip = Skip::default();
        self.units.push(Unit { insn: Some(entry.insn), set, mask, mask_groups, groups, action, skip });

        self.next_version += 1;
        self.versions.insert(assignee.array, self.next_version);
        if entry.is_forwarded || !entry.volatile.is_empty() {
            self.forget_all();
        }
        for known in self.readers.remove(&assignee.array).unwrap_or_default() {
            self.values.remove(&known);
        }
        if entry.is_forwarded {
            for &(_, access) in &source.writes[entry.insn.index()] {
                self.forwarded.insert(access, forwarded);
            }
        }
        Ok(())
    }

    /// Which nodes read what this instruction stores at other points. `forbidden` may not.
    fn chained<'n>(
        &self,
        volatile: &[ExprId],
        forbidden: impl Iterator<Item = &'n NodeId>,
    ) -> Result<Vec<bool>, Refusal> {
        let mut is_chained = vec![false; self.nodes.len()];
        if volatile.is_empty() {
            return Ok(is_chained);
        }
        for &access in volatile {
            for nest in 0..self.nests.len() {
                if let Some(Typed { value: Value::Node(node), .. }) = self.values.get(&(access, nest)) {
                    is_chained[node.index()] = true;
                }
            }
        }
        for (idx, node) in self.nodes.iter().enumerate() {
            let mut depends = is_chained[idx];
            node.op.for_each_operand(|operand| depends |= is_chained[operand.index()]);
            is_chained[idx] = depends;
        }
        for node in forbidden {
            if is_chained[node.index()] {
                return Err(Refusal::NotABlock);
            }
        }
        Ok(is_chained)
    }

    fn mask(&mut self, entry: &Entry, predicates: &[ExprId], set: SetId) -> Result<Option<NodeId>, Error> {
        let mut mask = None;
        for &condition in entry.conditions.iter().chain(predicates) {
            let typed = self.value(condition, &entry.volatile, set)?;
            let node = self.materialise(typed)?;
            let node = self.convert(node, Type::Bool);
            mask = Some(match mask {
                None => node,
                Some(before) => self.binary(Binary::And, before, node, Type::Bool)?,
            });
        }
        match mask {
            None => Ok(None),
            Some(mask) => {
                self.check_inames(mask, set)?;
                Ok(Some(self.expand(mask, set)))
            }
        }
    }

    /// Whether a value depends on no iname outside its loop.
    fn check_inames(&self, value: NodeId, set: SetId) -> Result<(), Error> {
        let allowed = &self.sets[set.index()].inames;
        match self.sets[self.set_of(value).index()].inames.iter().find(|iname| !allowed.contains(iname)) {
            None => Ok(()),
            Some(&iname) => {
                let name = &self.context.kernel[iname].name;
                Err(self.unsupported(&format!("iname `{name}` is used outside its loop")))
            }
        }
    }

    /// The nodes that `roots` need and that no earlier unit evaluates, operands first.
    fn pending(&self, roots: &[NodeId]) -> Vec<NodeId> {
        let mut seen = FxHashSet::default();
        let mut stack: Vec<NodeId> = roots.to_vec();
        while let Some(node) = stack.pop() {
            if !self.is_scheduled[node.index()] && seen.insert(node) {
                self.nodes[node.index()].op.for_each_operand(|operand| stack.push(operand));
            }
        }
        let mut res: Vec<NodeId> = seen.into_iter().collect();
        res.sort_unstable();
        res
    }

    fn schedule(&mut self, roots: &[NodeId]) -> Vec<Group> {
        let mut by_deps: Vec<(usize, DepsId, Vec<NodeId>)> = Vec::new();
        let mut position: FxHashMap<DepsId, usize> = FxHashMap::default();
        for node in self.pending(roots) {
            self.is_scheduled[node.index()] = true;
            let deps = self.node_deps[node.index()];
            let idx = *position.entry(deps).or_insert_with(|| {
                by_deps.push((self.deps[deps as usize].len(), deps, Vec::new()));
                by_deps.len() - 1
            });
            by_deps[idx].2.push(node);
        }
        // What a node depends on, its operands depend on less or the same: fewer dependences come first.
        by_deps.sort_by_key(|group| group.0);
        by_deps
            .into_iter()
            .map(|(_, deps, nodes)| {
                self.n_clocks += 1;
                Group { deps: self.deps[deps as usize].clone(), nodes, clock: self.n_clocks - 1 }
            })
            .collect()
    }
}
