//! Writes what a plan computes: locals where they are needed, the rest in place.
//!
//! # Input
//! A [`Plan`], and the inames whose loops are open.
//! # Output
//! The statements of each region, and the text of each root, to be written after its region's statements.
//! # Method
//! Instances in increasing order of id, so that operands are written before their uses. An operation is written in place in its one
//! use, or gets a `const` local: if it is used more than once, if its text is deep ([`MAX_HEIGHT`]: compilers limit brackets) or
//! long ([`MAX_SIZE`]), or if it needs statements: reductions are loops with an accumulator, selections whose branches need
//! locals are `if` statements.
//! # Complexity
//! Linear in the instances: every text is copied into longer ones at most [`MAX_HEIGHT`] times.

use nestegg_ir::{Dtype, Expr, ExprId, InameId, Op, ReduceOp};

use super::error::CodegenError;
use super::layout::Code;
use super::plan::{Excess, Instance, MAX_INSTANCES, MAX_REGIONS, Operand, Plan, RegionId};
use super::text::{Precedence, Text};
use super::writer::Writer;

/// Levels of operators in one C expression.
pub(crate) const MAX_HEIGHT: u32 = 20;
/// Names and literals in one C expression.
const MAX_SIZE: u32 = 120;
/// Operands of one n-ary operation that are written in one C expression.
const MAX_OPERANDS: usize = 40;
/// The same where each operand is one more bracket.
const MAX_NESTED_OPERANDS: usize = 6;

/// What was written for a plan.
#[derive(Debug)]
pub(crate) struct Evaluated {
    /// The statements of each region, the reductions' and branches' own excepted.
    pub(crate) regions: Vec<Vec<Code>>,
    /// The value of each root.
    pub(crate) roots: Vec<Text>,
}

impl Writer<'_> {
    /// Plans and writes roots inside the loops over `open`. `n_guards` regions are nested in the root region.
    pub(crate) fn evaluate(
        &mut self,
        roots: &[(ExprId, RegionId)],
        n_guards: usize,
        open: &[InameId],
        place: &dyn Fn() -> String,
    ) -> Result<Evaluated, CodegenError> {
        let mut plan = Plan::with_guards(n_guards);
        let mut failed = None;
        let (kernel, symbols, loops, helpers) = (self.kernel, &self.symbols, &mut self.loops, &mut self.helpers);
        let mut runs = |plan: &Plan, region: RegionId, inames: &[InameId]| {
            let mut around: Vec<InameId> = open.iter().copied().chain(plan.bound_at(region)).collect();
            let mut all = true;
            for &iname in inames {
                around.retain(|&other| other != iname);
                match loops.of(kernel, symbols, helpers, iname, &around) {
                    Ok(one) => all &= one.trip_count.is_some_and(|n| n > 0),
                    Err(error) => {
                        failed.get_or_insert(error);
                        all = false;
                    }
                }
                around.push(iname);
            }
            all
        };
        let placed = plan.place(kernel, &self.facts, roots, &mut runs);
        if let Some(error) = failed {
            return Err(error);
        }
        placed.map_err(|excess| match excess {
            Excess::Instances => CodegenError::TooLarge { place: place(), limit: MAX_INSTANCES },
            Excess::Regions => CodegenError::TooDeep { place: place(), limit: MAX_REGIONS as usize },
        })?;
        let n_regions = plan.regions.len();
        let mut evaluation = Evaluation {
            writer: self,
            texts: vec![None; plan.instances.len()],
            code: vec![Vec::new(); n_regions],
            plan: &plan,
            open,
        };
        for id in (0..plan.instances.len()).rev() {
            evaluation.write(id)?;
        }
        let roots = plan.roots.iter().map(|&root| evaluation.operand(root)).collect();
        Ok(Evaluated { roots, regions: evaluation.code })
    }
}

/// Writing one plan.
struct Evaluation<'w, 'k> {
    writer: &'w mut Writer<'k>,
    plan: &'w Plan,
    open: &'w [InameId],
    /// The text of each instance: to be moved to its one use, or a name.
    texts: Vec<Option<Text>>,
    /// The statements of each region so far.
    code: Vec<Vec<Code>>,
}

impl Evaluation<'_, '_> {
    fn write(&mut self, id: usize) -> Result<(), CodegenError> {
        let plan = self.plan;
        let instance = &plan.instances[id];
        let dtype = self.writer.facts.dtype(instance.expr);
        let expr = &self.writer.kernel.exprs[instance.expr];
        let has_code = instance.inner.iter().any(|&region| !self.code[region].is_empty());
        let text = match expr {
            Expr::Reduce { op, inames, body } => self.reduction(instance, *op, inames, *body, dtype)?,
            Expr::Op { op: Op::If, operands } if has_code => self.branches(instance, operands, dtype),
            Expr::Op { op: op @ (Op::And | Op::Or), operands } if has_code => self.condition(instance, *op, operands),
            _ => {
                let mut texts: Vec<Text> = instance.operands.iter().map(|&operand| self.operand(operand)).collect();
                if self.writer.gathers(instance.expr) {
                    // Indices are read once for each lane.
                    for (text, &index) in texts.iter_mut().zip(expr.children()) {
                        if self.writer.is_varying(index) && (text.height > 0 || text.precedence < Precedence::Primary) {
                            let dtype = self.writer.facts.dtype(index);
                            *text = self.local(instance.region, index, dtype, text);
                        }
                    }
                }
                let text = self.operation(instance, texts, dtype);
                let long = text.height > MAX_HEIGHT || text.size > MAX_SIZE;
                if instance.n_uses > 1 || long {
                    self.local(instance.region, instance.expr, dtype, &text)
                } else {
                    text
                }
            }
        };
        self.texts[id] = Some(text);
        Ok(())
    }

    /// The text of an operand, which is used up unless it is a name.
    fn operand(&mut self, operand: Operand) -> Text {
        match operand {
            Operand::Cheap(expr) => self.writer.facts.cheap(expr).cloned().unwrap_or_else(|| Text::primary("0")),
            Operand::Instance(id) if self.plan.instances[id].n_uses > 1 => {
                self.texts[id].clone().unwrap_or_else(|| Text::primary("0"))
            }
            Operand::Instance(id) => self.texts[id].take().unwrap_or_else(|| Text::primary("0")),
        }
    }

    /// A new local with that value.
    fn local(&mut self, region: RegionId, expr: ExprId, dtype: Dtype, value: &Text) -> Text {
        let name = self.writer.symbols.names.fresh("s");
        let ty = self.writer.type_of(expr, dtype);
        self.code[region].push(Code::line(format!("const {ty} {name} = {};", value.text)));
        Text::primary(name)
    }

    /// An operation; one with many operands in several steps.
    fn operation(&mut self, instance: &Instance, texts: Vec<Text>, dtype: Dtype) -> Text {
        let kernel = self.writer.kernel;
        let most = match &kernel.exprs[instance.expr] {
            Expr::Op { op: Op::Min | Op::Max | Op::And | Op::Or, .. } if self.writer.is_varying(instance.expr) => {
                usize::MAX
            }
            Expr::Op { op: Op::Min | Op::Max, .. } => MAX_NESTED_OPERANDS,
            Expr::Op { op: Op::Add | Op::Mul | Op::And | Op::Or | Op::BitAnd | Op::BitOr | Op::BitXor, .. } => {
                MAX_OPERANDS
            }
            _ => usize::MAX,
        };
        let Expr::Op { op, operands } = &kernel.exprs[instance.expr] else {
            return self.writer.operation(instance.expr, texts);
        };
        if texts.len() <= most {
            return self.writer.operation(instance.expr, texts);
        }
        let mut converted: std::collections::VecDeque<Text> =
            operands.iter().zip(texts).map(|(&id, text)| self.writer.convert(id, text, dtype)).collect();
        loop {
            let first: Vec<Text> = converted.drain(..converted.len().min(most)).collect();
            let text = self.writer.join(*op, dtype, first);
            if converted.is_empty() {
                return text;
            }
            let partial = self.local(instance.region, instance.expr, dtype, &text);
            converted.push_front(partial);
        }
    }

    /// The inames whose loops are open in a region.
    fn open_at(&self, region: RegionId) -> Vec<InameId> {
        self.open.iter().copied().chain(self.plan.bound_at(region)).collect()
    }

    /// A loop with an accumulator.
    fn reduction(
        &mut self,
        instance: &Instance,
        op: ReduceOp,
        inames: &[InameId],
        body: ExprId,
        dtype: Dtype,
    ) -> Result<Text, CodegenError> {
        let stem = match op {
            ReduceOp::Sum => "sum",
            ReduceOp::Product => "product",
            ReduceOp::Min => "least",
            ReduceOp::Max => "greatest",
        };
        let name = self.writer.symbols.names.fresh(stem);
        let value = self.operand(instance.operands[0]);
        let value = self.writer.convert(body, value, dtype);
        let mut code = std::mem::take(&mut self.code[instance.inner[0]]);
        code.push(Code::line(match op {
            ReduceOp::Sum => format!("{name} += {};", value.text),
            ReduceOp::Product => format!("{name} *= {};", value.text),
            ReduceOp::Min | ReduceOp::Max => {
                let operands = vec![Text::primary(name.as_str()), value];
                format!("{name} = {};", self.writer.helpers.extremum(op == ReduceOp::Min, operands, dtype).text)
            }
        }));
        let mut around = self.open_at(instance.region);
        let mut loops = Vec::with_capacity(inames.len());
        for &iname in inames {
            around.retain(|&other| other != iname);
            loops.push(self.writer.loop_over(iname, &around)?);
            around.push(iname);
        }
        for one in loops.iter().rev() {
            code = one.around(code);
        }
        let start = Writer::neutral(op, dtype);
        let region = &mut self.code[instance.region];
        region.push(Code::line(format!("{} {name} = {};", dtype.c_name(), start.text)));
        region.extend(code);
        Ok(Text::primary(name))
    }

    /// A selection by statements.
    fn branches(&mut self, instance: &Instance, operands: &[ExprId], dtype: Dtype) -> Text {
        let name = self.writer.symbols.names.fresh("s");
        let condition = self.operand(instance.operands[0]);
        let condition = self.writer.convert(operands[0], condition, Dtype::Bool);
        let mut branch = |at: usize| {
            let value = self.operand(instance.operands[at]);
            let value = self.writer.convert(operands[at], value, dtype);
            let value = self.writer.spread_like(instance.expr, operands[at], dtype, value);
            let mut code = std::mem::take(&mut self.code[instance.inner[at - 1]]);
            code.push(Code::line(format!("{name} = {};", value.text)));
            code
        };
        let (then, otherwise) = (branch(1), branch(2));
        let region = &mut self.code[instance.region];
        let ty = self.writer.type_of(instance.expr, dtype);
        region.push(Code::line(format!("{ty} {name};")));
        region.push(Code::Choice { condition: condition.text, then, otherwise });
        Text::primary(name)
    }

    /// `and` and `or` by statements: what later operands need runs only if the earlier ones leave the answer open.
    fn condition(&mut self, instance: &Instance, op: Op, operands: &[ExprId]) -> Text {
        let name = self.writer.symbols.names.fresh("s");
        let texts: Vec<Text> = instance
            .operands
            .iter()
            .zip(operands)
            .map(|(&operand, &id)| {
                let text = self.operand(operand);
                self.writer.convert(id, text, Dtype::Bool)
            })
            .collect();
        // Stretches of operands without statements between them.
        let mut stretches: Vec<(Vec<Code>, Vec<Text>)> = vec![(Vec::new(), Vec::new())];
        for (at, text) in texts.into_iter().enumerate() {
            let code = if at == 0 { Vec::new() } else { std::mem::take(&mut self.code[instance.inner[at - 1]]) };
            match stretches.last_mut() {
                Some((_, last)) if code.is_empty() && last.len() < MAX_OPERANDS => last.push(text),
                _ => stretches.push((code, vec![text])),
            }
        }
        let open = if op == Op::And { name.clone() } else { format!("!{name}") };
        let mut inner: Vec<Code> = Vec::new();
        for (at, (mut code, texts)) in stretches.into_iter().enumerate().rev() {
            let value =
                if texts.len() == 1 { texts[0].text.clone() } else { self.writer.join(op, Dtype::Bool, texts).text };
            let declaration = if at == 0 { "bool " } else { "" };
            code.push(Code::line(format!("{declaration}{name} = {value};")));
            if !inner.is_empty() {
                code.push(Code::Block { head: format!("if ({open})"), body: std::mem::take(&mut inner) });
            }
            inner = code;
        }
        self.code[instance.region].extend(inner);
        Text::primary(name)
    }
}
