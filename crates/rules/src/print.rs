//! Printing forms as rule files have them: reading what is printed, below a header, gives an equal form.

use std::fmt::{self, Write};

use indexmap::IndexMap;

use crate::book::{Mention, Phase, Rule, RuleKind, RuleSet, Strategy};
use crate::name::Name;
use crate::vocabulary::OptionValue;

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_doc(f, &self.doc)?;
        match &self.kind {
            RuleKind::Pattern { lhs, rhs, when, is_two_way } => {
                let arrow = if *is_two_way { "<-> " } else { "" };
                write!(f, "(rule {} {lhs} {arrow}{rhs}", self.name)?;
                if let Some(when) = when {
                    write!(f, " :when {when}")?;
                }
            }
            RuleKind::Guided { apply, limits } => {
                write!(f, "(guided {} :apply {apply}", self.name)?;
                for (limit, value) in limits {
                    write!(f, " :limit ({limit} {value})")?;
                }
            }
        }
        for tag in &self.tags {
            write!(f, " :tag {tag}")?;
        }
        f.write_char(')')
    }
}

impl fmt::Display for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_doc(f, &self.doc)?;
        write!(f, "(ruleset {}", self.name)?;
        for member in &self.members {
            write!(f, " {}", member.name)?;
        }
        f.write_char(')')
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_doc(f, &self.doc)?;
        write!(f, "(strategy {}", self.name)?;
        if let Some(extends) = &self.extends {
            write!(f, " :extends {}", extends.name)?;
        }
        write_options(f, &self.options)?;
        write_names(f, " :off (", &self.off)?;
        write_names(f, "\n  (without ", &self.without)?;
        for phase in &self.phases {
            write!(f, "\n  {phase}")?;
        }
        f.write_char(')')
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "(phase {}", self.name)?;
        write_names(f, " :rules (", &self.rules)?;
        write!(f, " :passes {} :nodes {}", self.passes, self.nodes)?;
        write_names(f, " :off (", &self.off)?;
        f.write_char(')')
    }
}

/// Writes a comment, with nothing between it and the form.
fn write_doc(f: &mut fmt::Formatter<'_>, doc: &str) -> fmt::Result {
    for line in doc.lines() {
        writeln!(f, "{}", format!(";; {line}").trim_end())?;
    }
    Ok(())
}

fn write_options(f: &mut fmt::Formatter<'_>, options: &IndexMap<Name, OptionValue>) -> fmt::Result {
    options.iter().try_for_each(|(name, value)| write!(f, " :option ({name} {value})"))
}

/// Writes `before`, the names and a parenthesis, if there are names.
fn write_names(f: &mut fmt::Formatter<'_>, before: &str, names: &[Mention]) -> fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = names.iter().map(|mention| mention.name.as_str()).collect();
    write!(f, "{before}{})", names.join(" "))
}
