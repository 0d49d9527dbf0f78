//! Writes the body of the function: loops, conditions and instructions in the order of the linearization.
//!
//! # Input
//! The tree of the linearization.
//! # Output
//! The statements; every instruction's locals stand in front of it in the same block.
//! # Complexity
//! Linear in the operations written; recursion only over the nesting of the linearization, which the IR limits.

use std::collections::BTreeMap;

use nestegg_ir::linearization::runs_in;
use nestegg_ir::{ArrayId, Assignee, Dtype, ExprId, InameId, InsnId, Instruction, InstructionKind, LoopTree, Op};
use rustc_hash::FxHashMap;

use super::across::InVectors;
use super::error::CodegenError;
use super::evaluate::Evaluated;
use super::facts::element;
use super::lanes::Way;
use super::layout::{Code, harmless};
use super::loops::{Header, Loop};
use super::neighbours::Part;
use super::pairs::Role;
use super::plan::{ROOT, RegionId};
use super::temporaries::{Declaration, Place};
use super::text::{Precedence, Text, stored_type};
use super::writer::{Signature, Writer};

/// How many blocks an instruction may nest in C.
const MAX_BLOCKS: usize = 60;

/// What the statements need to know of temporaries.
#[derive(Debug)]
pub(crate) struct Temporaries {
    /// Where each that is used is declared.
    pub(crate) declarations: BTreeMap<ArrayId, Declaration>,
    /// What is said of each, and whether that was given from outside.
    pub(crate) notes: BTreeMap<ArrayId, (String, bool)>,
}

impl Writer<'_> {
    /// The statements of a tree inside the loops over `open`.
    pub(crate) fn statements(
        &mut self,
        tree: &[LoopTree],
        temporaries: &Temporaries,
        open: &mut Vec<InameId>,
    ) -> Result<Vec<Code>, CodegenError> {
        let mut code = Vec::new();
        let groups = if open.is_empty() { self.groups(tree) } else { FxHashMap::default() };
        for node in tree {
            match node {
                LoopTree::Loop { iname, body } if self.lanes.as_ref().is_some_and(|lanes| lanes.lane == *iname) => {
                    self.threads.pass();
                    code.extend(self.lanes_of(*iname, body, temporaries, open)?);
                }
                LoopTree::Loop { iname, body } => {
                    if let Some(tiles) = self.mirrored(*iname, body) {
                        code.extend(tiles);
                        continue;
                    }
                    let one = self.loop_over(*iname, open)?;
                    let mut whole = self.flat(*iname, body);
                    let mut begun = None;
                    if whole.is_none() {
                        match self.across(&one, (*iname, body), temporaries, open)? {
                            Some(InVectors::All(vectors)) => whole = Some(vectors),
                            Some(InVectors::Begun(vectors)) => begun = Some((vectors, true)),
                            None => {}
                        }
                    }
                    if whole.is_none() && begun.is_none() {
                        whole = self.rows(&one, (*iname, body), temporaries, open)?;
                    }
                    let lines = self.enter_loop(*iname, temporaries);
                    let is_plain = lines.is_empty() && one.mark.is_none();
                    let summing = if is_plain { self.summing_of(*iname, body, temporaries) } else { None };
                    let vectors = match &summing {
                        Some(summing) => self.in_accumulators(summing, &one, body, open)?,
                        None => begun.filter(|_| is_plain),
                    };
                    let mark = summing.filter(|_| vectors.is_none()).map(|summing| self.mark_of_sums(&summing));
                    open.push(*iname);
                    let mut body = self.statements(body, temporaries, open)?;
                    open.pop();
                    let vectors =
                        vectors.map(|(vectors, has_rest)| one.in_two(vectors, has_rest.then(|| body.clone())));
                    if self.lanes.as_ref().is_some_and(|lanes| lanes.block == *iname) {
                        body = self.packed(body)?;
                    }
                    self.leave_loop(&lines);
                    let plain = one.after(lines.into_iter().chain(mark).collect(), body);
                    code.extend(match whole.or(vectors) {
                        Some(vectors) => Code::either(vectors, plain),
                        None => plain,
                    });
                }
                LoopTree::Branch { condition, body } => {
                    let place = || "a condition of the linearization".to_owned();
                    let evaluated = self.evaluate(&[(*condition, ROOT)], 0, open, &place)?;
                    let Evaluated { mut regions, mut roots } = evaluated;
                    code.append(&mut regions[ROOT]);
                    let condition = self.as_condition(*condition, roots.swap_remove(0));
                    let body = self.statements(body, temporaries, open)?;
                    code.push(Code::Block { head: format!("if ({})", condition.text), body });
                }
                LoopTree::Run(insn) if let Some(part) = groups.get(insn) => match part {
                    Part::Leads(group) => code.extend(self.together(group, temporaries, open)?),
                    Part::Waits => {}
                },
                LoopTree::Run(insn) => match self.pairs.clone().as_ref().and_then(|pairs| pairs.roles.get(insn)) {
                    None => code.extend(self.instruction(*insn, temporaries, open)?),
                    Some(Role::Leads(couple)) => code.extend(self.couple(couple, temporaries, open)?),
                    Some(Role::Follows) => {}
                },
            }
        }
        Ok(code)
    }

    /// The statements of a loop over lanes: vectors where they can be, else loops over the lanes.
    fn lanes_of(
        &mut self,
        lane: InameId,
        body: &[LoopTree],
        temporaries: &Temporaries,
        open: &mut Vec<InameId>,
    ) -> Result<Vec<Code>, CodegenError> {
        let Some(lanes) = self.lanes.clone() else { return Ok(Vec::new()) };
        let (ty, name) = (self.symbols.iname_dtype(lane).c_name(), self.symbols.inames[lane.index()].clone());
        let end = Text::primary(lanes.width.to_string());
        let header = Header { ty, name, first: "0".to_owned(), end, is_inclusive: false, step: 1 };
        let full = Loop { header, entry: None, guard: None, trip_count: Some(lanes.width), mark: None };
        let mut code = Vec::new();
        open.push(lane);
        // Instructions that run lane by lane, and whether all lanes are there.
        let mut alone: (Vec<Code>, bool) = (Vec::new(), true);
        for insn in runs_in(body) {
            if lanes.is_vector[insn.index()] {
                self.close(&full, lane, open, &mut alone, &mut code)?;
                self.switch();
                let statements = self.instruction(insn, temporaries, open);
                self.switch();
                code.extend(statements?);
                code.extend(self.flushed(insn));
            } else {
                let is_full = lanes.is_full[insn.index()];
                if alone.1 != is_full {
                    self.close(&full, lane, open, &mut alone, &mut code)?;
                }
                alone.1 = is_full;
                let statements = self.instruction(insn, temporaries, open)?;
                // Locals of one instruction are not those of the next, but their names differ.
                alone.0.extend(statements);
            }
        }
        self.close(&full, lane, open, &mut alone, &mut code)?;
        open.pop();
        Ok(code)
    }

    /// The loop over lanes around instructions that run lane by lane; `full` if all lanes are there.
    fn close(
        &mut self,
        full: &Loop,
        lane: InameId,
        open: &[InameId],
        (body, is_full): &mut (Vec<Code>, bool),
        code: &mut Vec<Code>,
    ) -> Result<(), CodegenError> {
        let body = std::mem::take(body);
        if !body.is_empty() {
            let around: Vec<InameId> = open.iter().copied().filter(|&iname| iname != lane).collect();
            code.extend(if *is_full { full.around(body) } else { self.loop_over(lane, &around)?.around(body) });
        }
        Ok(())
    }

    fn as_condition(&self, id: ExprId, text: Text) -> Text {
        self.convert(id, text, Dtype::Bool)
    }

    pub(super) fn instruction(
        &mut self,
        insn: InsnId,
        temporaries: &Temporaries,
        open: &[InameId],
    ) -> Result<Vec<Code>, CodegenError> {
        let kernel = self.kernel;
        let instruction = &kernel[insn];
        let place = || format!("instruction `{}`", instruction.id);
        let (masks, guards): (Vec<ExprId>, Vec<ExprId>) =
            instruction.predicates.iter().partition(|&&predicate| self.is_varying(predicate));
        let n_guards = guards.len();
        let mut roots: Vec<(ExprId, RegionId)> =
            guards.iter().enumerate().map(|(at, &predicate)| (predicate, at)).collect();
        roots.extend(masks.iter().map(|&mask| (mask, n_guards)));
        let update = if masks.is_empty() { update(self, instruction) } else { None };
        match &instruction.kind {
            InstructionKind::Assignment { expression, .. } => {
                roots.push((update.map_or(*expression, |update| update.1), n_guards));
            }
            InstructionKind::Call { arguments, .. } => roots.extend(arguments.iter().map(|&a| (a, n_guards))),
            InstructionKind::Opaque { .. } => {}
        }
        for assignee in instruction.assignees() {
            roots.extend(assignee.indices.iter().map(|&index| (index, n_guards)));
        }
        let Evaluated { mut regions, roots: texts } = self.evaluate(&roots, n_guards, open, &place)?;
        let mut texts = texts.into_iter();
        let mut conditions: Vec<Text> = guards
            .iter()
            .chain(&masks)
            .zip(texts.by_ref())
            .map(|(&predicate, text)| self.as_condition(predicate, text))
            .collect();
        let masks = conditions.split_off(n_guards);
        let (statement, declaration) = match &instruction.kind {
            InstructionKind::Assignment { assignee, expression } => {
                self.assignment(insn, (assignee, *expression), update, masks, &mut texts, temporaries)
            }
            InstructionKind::Call { assignees, function, arguments } => {
                let name = &kernel[*function];
                (vec![Code::line(self.call_statement(name, assignees, arguments, &mut texts))], None)
            }
            InstructionKind::Opaque { code, .. } => {
                let comment = Code::Comment(format!("opaque instruction {}, as given", instruction.id));
                let body = vec![comment, Code::Raw(code.trim_end().to_owned())];
                (vec![Code::Block { head: String::new(), body }], None)
            }
        };
        let mut code = std::mem::take(&mut regions[n_guards]);
        code.extend(declaration);
        code.extend(statement);
        let code = guarded(code, conditions, regions);
        if Code::depth(&code) > MAX_BLOCKS {
            return Err(CodegenError::TooDeep { place: place(), limit: MAX_BLOCKS });
        }
        Ok(code)
    }

    /// `x = …;`, `x += …;`, or the declaration of a temporary with its comment.
    fn assignment(
        &mut self,
        insn: InsnId,
        (assignee, expression): (&Assignee, ExprId),
        update: Option<(&'static str, ExprId)>,
        masks: Vec<Text>,
        texts: &mut dyn Iterator<Item = Text>,
        temporaries: &Temporaries,
    ) -> (Vec<Code>, Option<Code>) {
        let dtype = self.kernel[assignee.array].dtype;
        let value = texts.next().unwrap_or_else(|| Text::primary("0"));
        let source = update.map_or(expression, |update| update.1);
        let mut value = self.convert(source, value, dtype);
        if let Some(narrow) = self.kernel[assignee.array].stored {
            value = Text::prefix(&format!("({})", stored_type(narrow)), value);
        }
        let target = self.target(assignee, texts);
        let is_held = self.arrays.is_held(assignee.array);
        let is_added = self.lanes.as_ref().is_some_and(|lanes| lanes.ways.get(&assignee.array) == Some(&Way::Added));
        if is_added && update.is_some_and(|(operator, _)| operator == "-") {
            value = Text::negation(value);
        }
        let update = if is_added { None } else { update };
        if is_held && !self.arrays.is_vector && dtype == Dtype::Bool {
            value = Text::prefix("-", value);
        }
        if self.arrays.is_vector && !self.is_varying(source) && update.is_none() {
            value = self.splat(value, dtype);
        }
        if !masks.is_empty() {
            let mask = if masks.len() == 1 {
                masks[0].clone()
            } else {
                Text::chain("&", Precedence::Bits, Precedence::Prefix, &masks)
            };
            value = self.select(mask, &value, &target, dtype);
        }
        let declared = temporaries.declarations.get(&assignee.array);
        match (declared.map(|declared| declared.place), update) {
            (Some(Place::At { insn: first, constant }), None) if first == insn => {
                let qualifier = if constant { "const " } else { "" };
                let ty = self.element_type(&self.kernel[assignee.array], is_held);
                let mut declaration = format!("{qualifier}{ty} {} = {};", target.text, value.text);
                let comment = match temporaries.notes.get(&assignee.array) {
                    Some((note, true)) => Some(Code::Comment(note.clone())),
                    // The definition says what it is; the name of its instruction helps to find it in the dump.
                    _ => {
                        declaration.push_str(&format!(" /* {} */", harmless(&self.kernel[insn].id)));
                        None
                    }
                };
                let mut code = vec![Code::line(declaration)];
                if declared.is_some_and(|declared| !declared.is_read) {
                    code.push(Code::line(format!("(void){};", target.text)));
                }
                (code, comment)
            }
            // Compilers complain of a variable that is assigned to itself.
            (_, None) if target.text == value.text => (Vec::new(), None),
            (_, Some((operator, _))) => {
                (vec![Code::line(format!("{} {operator}= {};", target.text, value.text))], None)
            }
            (_, None) => (vec![Code::line(format!("{} = {};", target.text, value.text))], None),
        }
    }

    fn target(&self, assignee: &Assignee, texts: &mut dyn Iterator<Item = Text>) -> Text {
        let indices: Vec<Text> = texts.take(assignee.indices.len()).collect();
        element(&self.symbols, &self.arrays, assignee.array, &indices)
    }

    /// A call of a function with one or several results.
    fn call_statement(
        &mut self,
        name: &str,
        assignees: &[Assignee],
        arguments: &[ExprId],
        texts: &mut dyn Iterator<Item = Text>,
    ) -> String {
        let values: Vec<Text> = texts.take(arguments.len()).collect();
        let targets: Vec<Text> = assignees.iter().map(|assignee| self.target(assignee, texts)).collect();
        let of_assignee = |writer: &Self, at: usize| writer.kernel[assignees[at].array].dtype;
        let signature = self.signatures.get(name).cloned();
        if let ([target], false) = (targets.as_slice(), matches!(signature, Some(Signature::Several { .. }))) {
            let single = !arguments.is_empty() && arguments.iter().all(|&a| self.facts.dtype(a) == Dtype::Float32);
            let dtype = if single { Dtype::Float32 } else { Dtype::Float64 };
            let value = self.call(name, dtype, arguments, values).cast(dtype, of_assignee(self, 0));
            return format!("{} = {};", target.text, value.text);
        }
        let mut list: Vec<String> = match signature {
            Some(Signature::Several { arguments: dtypes, .. }) => arguments
                .iter()
                .zip(values)
                .zip(dtypes)
                .map(|((&id, value), dtype)| self.convert(id, value, dtype).text)
                .collect(),
            _ => values.into_iter().map(|value| value.text).collect(),
        };
        list.extend(targets.iter().map(|target| format!("&{}", target.at_least(Precedence::Primary))));
        format!("{name}({});", list.join(", "))
    }
}

/// Conditions around code, outermost first; those without locals between them are one `if`.
fn guarded(mut code: Vec<Code>, conditions: Vec<Text>, mut regions: Vec<Vec<Code>>) -> Vec<Code> {
    let mut together: Vec<Text> = Vec::new();
    for (at, condition) in conditions.into_iter().enumerate().rev() {
        together.insert(0, condition);
        let before = std::mem::take(&mut regions[at]);
        if before.is_empty() && at > 0 {
            continue;
        }
        let condition = match together.len() {
            1 => together[0].text.clone(),
            _ => Text::chain("&&", Precedence::And, Precedence::Comparison, &together).text,
        };
        together.clear();
        let block = Code::Block { head: format!("if ({condition})"), body: code };
        code = before;
        code.push(block);
    }
    code
}

/// The operator and operand of `x op= operand`, if an assignment is that and C computes it in the same dtype.
fn update(writer: &Writer<'_>, instruction: &Instruction) -> Option<(&'static str, ExprId)> {
    let InstructionKind::Assignment { assignee, expression } = &instruction.kind else { return None };
    if writer.kernel[assignee.array].stored.is_some() {
        return None;
    }
    let (op, rest) = instruction.update(&writer.kernel.exprs)?;
    let operator = match op {
        Op::Add => "+",
        Op::Sub => "-",
        _ => "*",
    };
    (writer.facts.dtype(*expression) == writer.kernel[assignee.array].dtype).then_some((operator, rest))
}
