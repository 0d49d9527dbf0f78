//! The loop tree: nests, conditions, and what is in them.

use nestegg_ir::linearization::LoopTree;
use nestegg_ir::{InameId, InameTag, Instruction};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, Scope, ScopeKind};

impl Builder<'_> {
    /// All instructions of the kernel.
    pub(crate) fn fill(&mut self) {
        while self.n_instructions > 0 {
            self.statement();
        }
        let writes_argument =
            |insn: &Instruction| insn.written_arrays().iter().any(|&array| self.kernel[array].is_argument());
        if !self.kernel.instructions.iter().any(writes_argument) {
            self.assign_argument();
        }
    }

    fn n_loops(&self) -> u32 {
        self.loops().count() as u32
    }

    /// One statement: an instruction, or something with instructions in it.
    fn statement(&mut self) {
        let n_loops = self.n_loops();
        let may_nest = u32::from(n_loops < self.knobs.depth && self.n_branches() < 3);
        let sequential = self.innermost_sequential();
        let knobs = &self.knobs;
        let weights = [
            if n_loops == 0 { 25 } else { 45 },
            may_nest * if n_loops == 0 { 160 } else { 30 },
            u32::from(knobs.temporary),
            u32::from(knobs.accumulation) * u32::from(n_loops > 0),
            may_nest * u32::from(knobs.accumulation) / 2,
            u32::from(knobs.update),
            60 * u32::from(sequential.is_some()),
            may_nest * u32::from(knobs.predicate) / 2,
            u32::from(knobs.call),
            u32::from(knobs.opaque) * u32::from(n_loops == 0 && self.scopes.len() == 1),
            u32::from(knobs.element) * u32::from(n_loops < 2),
        ];
        match self.weighted(&weights) {
            1 => self.nest(),
            2 => self.define_temporary(),
            3 => self.accumulate(),
            4 => self.initialise_and_accumulate(|builder, accumulate| {
                let n_open = builder.open_loops();
                if builder.chance(20) {
                    builder.body();
                }
                accumulate(builder);
                builder.close(n_open);
            }),
            5 => {
                if !self.update() {
                    self.assign_argument();
                }
            }
            6 => match sequential {
                Some(iname) => self.recurrence(iname),
                None => self.assign_argument(),
            },
            7 => self.branch(),
            8 => self.call_instruction(),
            9 => self.opaque(),
            10 => self.element_tensors(),
            _ => self.assign_argument(),
        }
    }

    fn n_branches(&self) -> usize {
        self.scopes.iter().filter(|scope| matches!(scope.kind, ScopeKind::Branch(_))).count()
    }

    fn innermost_sequential(&self) -> Option<InameId> {
        self.scopes.iter().rev().find_map(|scope| match scope.kind {
            ScopeKind::Loop { iname, is_sequential: true } => Some(iname),
            _ => None,
        })
    }

    /// One to three statements.
    fn body(&mut self) {
        let n = 1 + self.weighted(&[5, 4, 2, 1]);
        for idx in 0..n {
            if idx > 0 && self.n_instructions == 0 {
                break;
            }
            self.statement();
        }
    }

    /// Loops with statements in them.
    fn nest(&mut self) {
        let n_open = self.open_loops();
        self.body();
        self.close(n_open);
    }

    fn open_loops(&mut self) -> usize {
        let left = self.knobs.depth.saturating_sub(self.n_loops()).max(1);
        let n = 1 + self.below(u64::from(left)) as usize;
        for _ in 0..n {
            self.open_loop();
        }
        n
    }

    fn open_loop(&mut self) {
        let iname = self.loop_iname();
        self.opened.insert(iname);
        if self.chance(self.knobs.sequential) && !self.kernel.is_sequential(iname) {
            self.kernel[iname].tags.push(InameTag::Sequential);
        }
        let is_sequential = self.kernel.is_sequential(iname);
        self.open(ScopeKind::Loop { iname, is_sequential });
    }

    /// An iname for a loop. In a kernel without linearization each iname has one loop: which instructions share it
    /// is then beyond doubt.
    fn loop_iname(&mut self) -> InameId {
        let iname = self.any_iname(self.knobs.reopened);
        if self.is_unordered && self.opened.contains(iname) { self.new_iname() } else { iname }
    }

    /// A loop whose iterations have no order.
    pub(crate) fn open_unordered(&mut self, iname: InameId) {
        self.open(ScopeKind::Loop { iname, is_sequential: false });
    }

    fn open(&mut self, kind: ScopeKind) {
        self.scopes.push(Scope { kind, body: Vec::new(), uses: FxHashMap::default() });
    }

    /// A condition around statements. Its reads must not be what the statements write where it becomes a predicate of each.
    fn branch(&mut self) {
        self.begin();
        let loops: Vec<InameId> = self.loops().collect();
        let (condition, fact) = if !loops.is_empty() && self.chance(40) {
            let (condition, fact) = self.edge_condition(&loops);
            (condition, Some(fact))
        } else if self.is_unordered {
            (self.affine_condition(), None)
        } else {
            (self.condition(2), None)
        };
        self.open(ScopeKind::Branch(condition));
        self.facts.extend(fact);
        self.body();
        if fact.is_some() {
            self.facts.pop();
        }
        self.close(1);
    }

    /// Closes the innermost scopes.
    pub(crate) fn close(&mut self, n_scopes: usize) {
        for _ in 0..n_scopes {
            let Some(scope) = self.scopes.pop() else { return };
            self.leave(scope.kind);
            let Some(outer) = self.scopes.last_mut() else { return };
            match scope.kind {
                _ if scope.body.is_empty() => {}
                ScopeKind::Loop { iname, .. } => outer.body.push(LoopTree::Loop { iname, body: scope.body }),
                ScopeKind::Branch(condition) if !self.is_unordered => {
                    outer.body.push(LoopTree::Branch { condition, body: scope.body });
                }
                ScopeKind::Branch(_) | ScopeKind::Kernel => outer.body.extend(scope.body),
            }
        }
    }
}
