//! The syntax tree of a print: sections put together.

use nestegg_dump::syntax::{
    ArrayKindSyntax, ArraySyntax, ConditionSyntax, InstructionKindSyntax, InstructionSyntax, KernelSyntax, Name, Nodes,
    ParameterSyntax, TableSyntax, TagsSyntax,
};
use nestegg_dump::{Errors, ReadError};
use nestegg_ir::{ArgumentAccess, InameTag, Op};
use nestegg_span::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::arrays::{self, Array, ArrayKind};
use crate::expr::{E, Kind, rebuilt};
use crate::instructions::{self, Action, Instruction};
use crate::layout::Layout;
use crate::problem::{self, Known};
use crate::rules::{self, Rule};
use crate::sections::{self, Line, Print, Sections};
use crate::types::Types;
use crate::write::Writer;
use crate::{data, inline};

/// A kernel of a print, its substitution rules expanded.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) at: Span,
    /// Arguments in their order, then temporaries.
    pub(crate) arrays: Vec<Array>,
    pub(crate) domains: Vec<Domain>,
    pub(crate) tags: Vec<Tags>,
    pub(crate) instructions: Vec<Instruction>,
}

/// A domain: `[parameters] -> body`.
#[derive(Clone, Debug)]
pub(crate) struct Domain {
    /// Those that the body names.
    pub(crate) parameters: Vec<String>,
    pub(crate) inames: Vec<String>,
    /// A set in isl's notation, from its brace.
    pub(crate) body: String,
    pub(crate) at: Span,
}

/// The tags of an iname.
#[derive(Clone, Debug)]
pub(crate) struct Tags {
    pub(crate) name: String,
    pub(crate) tags: Vec<InameTag>,
    pub(crate) at: Span,
}

impl Kernel {
    /// All names that mean something in it.
    pub(crate) fn names(&self) -> FxHashSet<String> {
        let inames = self.domains.iter().flat_map(|domain| domain.inames.iter());
        inames.chain(self.arrays.iter().map(|array| &array.name)).cloned().collect()
    }
}

/// Reads a plain print.
pub(crate) fn read(text: &str) -> Result<KernelSyntax<'static>, Errors> {
    let alone = |error: Box<ReadError>| {
        let mut errors = Errors::default();
        errors.push(*error);
        errors
    };
    let print = sections::cut(text).map_err(alone)?;
    let mut errors = Errors::default();
    let kernels = print.kernels.iter().map(|sections| parsed(sections, &mut errors)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let kernel = inline::entry(kernels).map_err(alone)?;
    built(&kernel, &print).map_err(alone)
}

/// Reads the lines of a kernel.
fn parsed(sections: &Sections<'_>, errors: &mut Errors) -> Kernel {
    let mut take = |error: Box<ReadError>| errors.push(*error);
    let mut arrays = Vec::new();
    for line in &sections.arguments {
        arrays::argument(*line).map_or_else(&mut take, |array| arrays.push(array));
    }
    for line in &sections.temporaries {
        arrays::temporary(*line).map_or_else(&mut take, |array| arrays.push(array));
    }
    let mut domains = Vec::new();
    for line in &sections.domains {
        domain(*line).map_or_else(&mut take, |domain| domains.push(domain));
    }
    let mut tags = Vec::new();
    for line in &sections.tags {
        tagged(*line).map_or_else(&mut take, |found| tags.push(found));
    }
    let mut instructions = Vec::new();
    instructions::read(&sections.instructions).map_or_else(&mut take, |found| instructions = found);
    expand(&sections.rules, &mut instructions).unwrap_or_else(&mut take);
    let name = sections.name.map_or("", |name| name.text).to_owned();
    Kernel { name, at: sections.name.map_or(Span::point(0), Line::span), arrays, domains, tags, instructions }
}

fn domain(line: Line<'_>) -> Known<Domain> {
    let at = line.text.find('{').ok_or_else(|| problem::syntax("a set", line.span()))?;
    let (head, body) = (line.part(0..at), line.part(at..line.text.len()));
    let in_brackets = |text: &str| -> Vec<String> {
        let open = text.find('[').map_or(0, |at| at + 1);
        let close = text.find(']').unwrap_or(text.len());
        words(text.get(open..close).unwrap_or_default()).map(|(_, word)| word.to_owned()).collect()
    };
    let mut parameters = in_brackets(head.text);
    let used: FxHashSet<&str> = words(body.text).map(|(_, word)| word).collect();
    parameters.retain(|name| used.contains(name.as_str()));
    Ok(Domain { parameters, inames: in_brackets(body.text), body: body.text.to_owned(), at: line.span() })
}

/// The words of a text and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let start = at + rest.find(|c: char| c.is_ascii_alphabetic() || c == '_')?;
            let before = text.get(..start)?.chars().next_back();
            let rest = text.get(start..)?;
            let end = start + rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            at = end;
            // isl writes products without a sign: `4i` is a number and a word.
            if before.is_none_or(|c| !c.is_ascii_alphabetic() && c != '_') {
                return Some((start, text.get(start..end)?));
            }
        }
    })
}

/// A text in isl's notation with other names.
pub(crate) fn with_names(text: &str, renamed: &FxHashMap<String, String>) -> String {
    let mut res = String::new();
    let mut done = 0;
    for (at, word) in words(text) {
        res.push_str(text.get(done..at).unwrap_or_default());
        res.push_str(renamed.get(word).map_or(word, String::as_str));
        done = at + word.len();
    }
    res.push_str(text.get(done..).unwrap_or_default());
    res
}

fn tagged(line: Line<'_>) -> Known<Tags> {
    let (name, rest) = line.split(":").ok_or_else(|| problem::syntax("`INAME: TAGS`", line.span()))?;
    let mut tags = Vec::new();
    for tag in rest.text.split(", ") {
        let parallel = ["g.", "l.", "ilp"].iter().any(|start| tag.starts_with(start));
        match tag {
            "vec" => tags.push(InameTag::Vec),
            "forceseq" | "ord" => tags.push(InameTag::Sequential),
            _ if tag.starts_with("unr") => tags.push(InameTag::Unroll),
            _ if parallel => tags.push(InameTag::Parallel),
            _ => {}
        }
    }
    tags.dedup();
    Ok(Tags { name: name.text.to_owned(), tags, at: line.span() })
}

/// Puts substitution rules in place of their uses.
fn expand(lines: &[Line<'_>], instructions: &mut [Instruction]) -> Known<()> {
    let mut rules: FxHashMap<String, Rule> = FxHashMap::default();
    for line in lines {
        let rule = rules::rule(*line)?;
        rules.insert(rule.name.clone(), rule);
    }
    if rules.is_empty() {
        return Ok(());
    }
    // A rule that uses others is expanded by as many rounds as there are rules, unless it uses itself.
    let mut change = |expr: &E| applied(expr, &rules);
    let mut expanded = |expr: &mut E| -> Known<()> {
        for _ in 0..=rules.len() {
            let new = rebuilt(expr, &mut change)?;
            if std::rc::Rc::ptr_eq(&new, expr) {
                return Ok(());
            }
            *expr = new;
        }
        Err(problem::unsupported("a substitution rule that uses itself", expr.at, ""))
    };
    for insn in instructions {
        insn.predicates.iter_mut().try_for_each(&mut expanded)?;
        if let Action::Assign { left, right } = &mut insn.action {
            left.iter_mut().try_for_each(&mut expanded)?;
            expanded(right)?;
        }
    }
    Ok(())
}

/// What takes the place of a use of a rule.
fn applied(expr: &E, rules: &FxHashMap<String, Rule>) -> Known<Option<E>> {
    let (Kind::Call(name) | Kind::Name(name)) = &expr.kind else { return Ok(None) };
    let Some(Rule { formals, body, .. }) = rules.get(name) else { return Ok(None) };
    if formals.len() != expr.of.len() {
        let what = format!("{} arguments, as the rule `{name}` has", formals.len());
        return Err(problem::syntax(&what, expr.at));
    }
    let mut formal = |part: &E| -> Known<Option<E>> {
        Ok(match &part.kind {
            Kind::Name(name) => formals.iter().position(|formal| formal == name).map(|at| expr.of[at].clone()),
            _ => None,
        })
    };
    rebuilt(body, &mut formal).map(Some)
}

/// The data that stand beside a print.
struct Given {
    tables: FxHashMap<String, TableSyntax>,
    assumptions: Option<Domain>,
}

fn given(kernel: &Kernel, print: &Print<'_>) -> Known<Given> {
    let mut res = Given { tables: FxHashMap::default(), assumptions: None };
    for line in &print.data {
        let (name, value) = line.split(":").ok_or_else(|| problem::syntax("`NAME: VALUES`", line.span()))?;
        if name.text == data::ASSUMPTIONS {
            res.assumptions = Some(domain(value)?);
            continue;
        }
        let is_known = |array: &Array| array.kind == ArrayKind::Temporary && array.name == name.text;
        if !kernel.arrays.iter().any(is_known) {
            return Err(problem::syntax("the name of a temporary, or `assumptions`", name.span()));
        }
        res.tables.insert(name.text.to_owned(), data::table(value)?);
    }
    Ok(res)
}

/// The names of arrays in an expression.
fn arrays_in(expr: &E, see: &mut dyn FnMut(&str)) {
    expr.visit(&mut |part| {
        if let Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name) = &part.kind {
            see(name);
        }
    });
}

/// What an instruction reads or writes, and what it writes.
fn accesses(insn: &Instruction) -> (FxHashSet<String>, FxHashSet<String>) {
    let (mut touched, mut written) = (FxHashSet::default(), FxHashSet::default());
    let mut see = |name: &str| {
        touched.insert(name.to_owned());
    };
    for predicate in &insn.predicates {
        arrays_in(predicate, &mut see);
    }
    match &insn.action {
        Action::Assign { left, right } => {
            arrays_in(right, &mut see);
            for expr in left {
                arrays_in(expr, &mut see);
                if let Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name) = &expr.kind {
                    written.insert(name.clone());
                }
            }
        }
        Action::Code { reads, writes, .. } => {
            touched.extend(reads.iter().chain(writes).cloned());
            written.extend(writes.iter().cloned());
        }
    }
    (touched, written)
}

/// All expressions of an instruction.
fn expressions(insn: &Instruction) -> impl Iterator<Item = &E> {
    let (left, right) = match &insn.action {
        Action::Assign { left, right } => (left.as_slice(), Some(right)),
        Action::Code { .. } => (&[] as &[E], None),
    };
    insn.predicates.iter().chain(left).chain(right)
}

/// Domains of inames that instructions use, and of those that these depend on.
fn used_domains(kernel: &Kernel) -> Vec<&Domain> {
    let mut used: FxHashSet<&str> = FxHashSet::default();
    for insn in &kernel.instructions {
        used.extend(insn.within.iter().map(String::as_str));
        for expr in expressions(insn) {
            let mut inames = Vec::new();
            reduced(expr, &mut inames);
            used.extend(inames);
        }
    }
    let inames: FxHashSet<&str> =
        kernel.domains.iter().flat_map(|domain| domain.inames.iter().map(String::as_str)).collect();
    loop {
        let is_used = |domain: &&Domain| domain.inames.iter().any(|iname| used.contains(iname.as_str()));
        let found: Vec<&Domain> = kernel.domains.iter().filter(is_used).collect();
        let outer: Vec<&str> = found
            .iter()
            .flat_map(|domain| domain.parameters.iter().map(String::as_str))
            .filter(|name| inames.contains(name) && !used.contains(name))
            .collect();
        if outer.is_empty() {
            return found;
        }
        used.extend(outer);
    }
}

/// The inames of reductions in an expression.
fn reduced<'e>(expr: &'e E, found: &mut Vec<&'e str>) {
    if let Kind::Reduce(_, inames) = &expr.kind {
        found.extend(inames.iter().map(String::as_str));
    }
    for operand in &expr.of {
        reduced(operand, found);
    }
}

/// How the format holds the arrays.
fn layouts(kernel: &Kernel, tables: &FxHashMap<String, TableSyntax>) -> Known<FxHashMap<String, Layout>> {
    let by_name = inline::by_name(&kernel.arrays);
    let mut linear: FxHashSet<String> = FxHashSet::default();
    for expr in kernel.instructions.iter().flat_map(expressions) {
        expr.visit(&mut |part| {
            if let Kind::Linear(name) = &part.kind
                && by_name.get(name.as_str()).is_some_and(|array| array.shape.len() != 1)
            {
                linear.insert(name.clone());
            }
        });
    }
    let mut res = FxHashMap::default();
    for array in kernel.arrays.iter().filter(|array| array.kind != ArrayKind::Value) {
        let layout = Layout::of(array, linear.contains(&array.name))?;
        if tables.contains_key(&array.name) && !layout.is_plain() {
            return Err(problem::unsupported("a table that is read by linear subscripts", array.at, ""));
        }
        res.insert(array.name.clone(), layout);
    }
    Ok(res)
}

/// The scalars that sizes of loops or arrays depend on.
fn parameters(
    kernel: &Kernel,
    domains: &[&Domain],
    assumptions: Option<&Domain>,
    layouts: &FxHashMap<String, Layout>,
) -> Known<FxHashSet<String>> {
    let inames: FxHashSet<&String> = kernel.domains.iter().flat_map(|domain| domain.inames.iter()).collect();
    let mut found: Vec<(String, Span)> = Vec::new();
    for domain in domains.iter().copied().chain(assumptions) {
        found.extend(domain.parameters.iter().map(|name| (name.clone(), domain.at)));
    }
    for array in &kernel.arrays {
        for extent in layouts.get(&array.name).map(|layout| layout.shape.as_slice()).unwrap_or_default() {
            arrays_in(extent, &mut |name| found.push((name.to_owned(), array.at)));
        }
    }
    found.retain(|(name, _)| !inames.contains(name));
    let by_name = inline::by_name(&kernel.arrays);
    for (name, at) in &found {
        match by_name.get(name.as_str()) {
            Some(array) if array.kind == ArrayKind::Value => {}
            Some(_) => {
                return Err(problem::unsupported(&format!("a bound or size that depends on data (`{name}`)"), *at, ""));
            }
            None => return Err(problem::unknown_name(name, *at)),
        }
    }
    Ok(found.into_iter().map(|(name, _)| name).collect())
}

/// The ids before each instruction: those that touch the same data, one of them writing, unless others order them.
fn dependences(kernel: &Kernel, tables: &FxHashSet<&str>) -> Vec<Vec<usize>> {
    let by_name = inline::by_name(&kernel.arrays);
    let mut touching: FxHashMap<String, Vec<(usize, bool)>> = FxHashMap::default();
    let mut before: Vec<Vec<u64>> = Vec::new();
    let mut res = Vec::new();
    for (at, insn) in kernel.instructions.iter().enumerate() {
        let (touched, written) = accesses(insn);
        let mut touched: Vec<String> = touched
            .into_iter()
            .filter(|name| by_name.contains_key(name.as_str()) && !tables.contains(name.as_str()))
            .collect();
        touched.sort();
        let mut conflicts: Vec<usize> = touched
            .iter()
            .flat_map(|name| {
                touching.get(name).into_iter().flatten().filter(|(_, writes)| *writes || written.contains(name))
            })
            .map(|&(other, _)| other)
            .collect();
        conflicts.sort_unstable();
        conflicts.dedup();
        let mut reached = vec![0_u64; at / 64 + 1];
        let mut direct = Vec::new();
        for &other in conflicts.iter().rev() {
            if reached[other / 64] >> (other % 64) & 1 == 0 {
                direct.push(other);
                reached[other / 64] |= 1 << (other % 64);
                for (word, more) in reached.iter_mut().zip(&before[other]) {
                    *word |= more;
                }
            }
        }
        before.push(reached);
        for name in touched {
            let writes = written.contains(&name);
            touching.entry(name).or_default().push((at, writes));
        }
        res.push(direct);
    }
    res
}

fn name(text: &str, span: Span) -> Name<'static> {
    Name { text: text.to_owned().into(), span }
}

/// Makes the syntax tree.
fn built(kernel: &Kernel, print: &Print<'_>) -> Known<KernelSyntax<'static>> {
    let Given { mut tables, assumptions } = given(kernel, print)?;
    let domains = used_domains(kernel);
    let layouts = layouts(kernel, &tables)?;
    let parameters = parameters(kernel, &domains, assumptions.as_ref(), &layouts)?;

    let mut types = Types::default();
    for array in &kernel.arrays {
        types.declare(&array.name, array.dtype);
    }
    let assignments: Vec<(&str, &E)> = kernel
        .instructions
        .iter()
        .filter_map(|insn| match &insn.action {
            Action::Assign { left, right } => match left.as_slice() {
                [left] => match &left.kind {
                    Kind::Name(name) | Kind::Subscript(name) | Kind::Linear(name) => Some((name.as_str(), right)),
                    _ => None,
                },
                _ => None,
            },
            Action::Code { .. } => None,
        })
        .collect();
    let inames: FxHashSet<&str> =
        kernel.domains.iter().flat_map(|domain| domain.inames.iter().map(String::as_str)).collect();
    types.infer(&assignments)?;

    let mut res =
        KernelSyntax { name: Some(name(&kernel.name, kernel.at)), span: kernel.at, ..KernelSyntax::default() };
    let mut nodes = Nodes::default();
    let is_iname = |name: &str| inames.contains(name);
    let mut writer = Writer { nodes: &mut nodes, types: &types, layouts: &layouts, is_iname: &is_iname, n_nodes: 0 };

    let (mut written, mut touched) = (FxHashSet::default(), FxHashSet::default());
    for insn in &kernel.instructions {
        let (all, own) = accesses(insn);
        touched.extend(all);
        written.extend(own);
    }
    let mut arrays: Vec<&Array> = kernel.arrays.iter().filter(|array| array.kind != ArrayKind::Temporary).collect();
    let mut temporaries: Vec<&Array> =
        kernel.arrays.iter().filter(|array| array.kind == ArrayKind::Temporary).collect();
    temporaries.sort_by(|a, b| a.name.cmp(&b.name));
    arrays.extend(temporaries);
    for array in arrays {
        let dtype = types.of_name(&array.name).dtype();
        if array.kind == ArrayKind::Value && parameters.contains(&array.name) {
            let name = name(&array.name, array.at);
            res.parameters.push(ParameterSyntax { name, dtype: Some((dtype, array.at)), estimate: None });
            continue;
        }
        let shape = layouts.get(&array.name).map(|layout| layout.shape.as_slice()).unwrap_or_default();
        let shape = shape.iter().map(|extent| writer.index(extent)).collect::<Known<Vec<_>>>()?;
        let kind = match array.kind {
            ArrayKind::Value => ArrayKindSyntax::Argument(ArgumentAccess::Read),
            ArrayKind::Argument(access) => ArrayKindSyntax::Argument(access),
            ArrayKind::Temporary => match tables.remove(&array.name) {
                Some(_) if written.contains(&array.name) => {
                    return Err(problem::unsupported("a table that is written", array.at, ""));
                }
                Some(table) => ArrayKindSyntax::Table(table),
                None if touched.contains(&array.name) && !written.contains(&array.name) => {
                    let help = format!(
                        "nothing writes `{0}`, so it is a table: give its values, with `--data FILE` of a JSON object or an `.npz` archive \
                         that has `{0}`, or with a line `{0}: [...]` in a section `DATA:` at the end",
                        array.name
                    );
                    return Err(problem::lost(&format!("the values of the table `{}`", array.name), array.at, &help));
                }
                None => ArrayKindSyntax::Temporary,
            },
        };
        res.arrays.push(ArraySyntax {
            name: name(&array.name, array.at),
            dtype: Some(dtype),
            stored: None,
            shape: Some(shape),
            kind,
        });
    }
    let text = |domain: &Domain| match domain.parameters.as_slice() {
        [] => domain.body.clone(),
        parameters => format!("[{}] -> {}", parameters.join(", "), domain.body),
    };
    res.assumptions = assumptions.as_ref().map(|domain| name(&text(domain), domain.at));
    res.domains = domains.iter().map(|domain| name(&text(domain), domain.at)).collect();
    let position: FxHashMap<&str, usize> = domains
        .iter()
        .flat_map(|domain| domain.inames.iter().map(String::as_str))
        .enumerate()
        .map(|(at, iname)| (iname, at))
        .collect();
    let mut tags: Vec<&Tags> =
        kernel.tags.iter().filter(|tags| position.contains_key(tags.name.as_str()) && !tags.tags.is_empty()).collect();
    tags.sort_by_key(|tags| position.get(tags.name.as_str()).copied());
    res.tags = tags
        .iter()
        .map(|tags| TagsSyntax {
            name: name(&tags.name, tags.at),
            tags: tags.tags.iter().map(|&tag| (tag, tags.at)).collect(),
        })
        .collect();

    let is_table = |array: &&ArraySyntax<'_>| matches!(array.kind, ArrayKindSyntax::Table(_));
    let table_names: FxHashSet<&str> = res.arrays.iter().filter(is_table).map(|array| &*array.name.text).collect();
    let depends_on = dependences(kernel, &table_names);
    let mut instructions = Vec::new();
    for (insn, depends_on) in kernel.instructions.iter().zip(depends_on) {
        let mut ids: Vec<&Instruction> = depends_on.iter().map(|&at| &kernel.instructions[at]).collect();
        ids.sort_by(|a, b| a.id.cmp(&b.id));
        let mut within = insn.within.clone();
        within.sort_by_key(|iname| position.get(iname.as_str()).copied());
        instructions.push(InstructionSyntax {
            id: name(&insn.id, insn.at),
            kind: action(insn, &types, &mut writer)?,
            within: within.iter().map(|iname| name(iname, insn.at)).collect(),
            depends_on: ids.iter().map(|other| name(&other.id, insn.at)).collect(),
            predicates: predicates(insn, &mut writer)?,
        });
    }
    res.instructions = instructions;
    res.nodes = nodes;
    Ok(res)
}

fn predicates(insn: &Instruction, writer: &mut Writer<'_>) -> Known<Vec<ConditionSyntax>> {
    let mut res = Vec::new();
    for predicate in &insn.predicates {
        let parts = match &predicate.kind {
            Kind::Op(Op::And) => predicate.of.as_slice(),
            _ => std::slice::from_ref(predicate),
        };
        for part in parts {
            res.push(ConditionSyntax { node: writer.condition(part)?, is_negated: false });
        }
    }
    Ok(res)
}

fn action(insn: &Instruction, types: &Types, writer: &mut Writer<'_>) -> Known<InstructionKindSyntax<'static>> {
    Ok(match &insn.action {
        Action::Assign { left, right } => {
            let [assignee] = left.as_slice() else {
                return Err(problem::unsupported("an instruction with several results", insn.at, ""));
            };
            let dtype = types.of(assignee).dtype();
            InstructionKindSyntax::Assignment {
                assignee: writer.element(assignee)?,
                expression: writer.value(right, dtype)?,
            }
        }
        Action::Code { code, reads, writes } => {
            let names = |names: &[String]| names.iter().map(|text| name(text, insn.at)).collect();
            let reads: Vec<String> = reads.iter().filter(|name| !(writer.is_iname)(name)).cloned().collect();
            InstructionKindSyntax::Opaque { code: code.clone(), reads: names(&reads), writes: names(writes) }
        }
    })
}
