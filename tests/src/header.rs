//! The header of a filetest: which commands run on the kernel in the file.
//!
//! # Input
//! The text of a `.knl` file. Its header is the comment lines at its top of the form
//! `# test: COMMAND key=value…`; a prose comment then says why the file exists.
//! # Output
//! The commands in order. Anything that is not understood is an error: a misspelt option must not pass for a test.

use std::collections::BTreeMap;

/// What begins a line of the header.
const PREFIX: &str = "# test:";

/// One command of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCommand {
    /// Its name.
    pub name: String,
    /// Its options. A key given several times keeps all values, in order.
    pub options: BTreeMap<String, Vec<String>>,
}

impl TestCommand {
    /// The command as it stands in the header.
    #[must_use]
    pub fn title(&self) -> String {
        let options =
            self.options.iter().flat_map(|(key, values)| values.iter().map(move |value| format!(" {key}={value}")));
        format!("{}{}", self.name, options.collect::<String>())
    }

    /// The last value of an option.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).and_then(|values| values.last()).map(String::as_str)
    }

    /// Options of the form `param=n:1000`.
    ///
    /// # Errors
    /// If one is not of that form.
    pub fn parameters(&self) -> Result<Vec<(String, i64)>, String> {
        let given = self.options.get("param").map(Vec::as_slice).unwrap_or_default();
        given
            .iter()
            .map(|text| {
                let (name, value) = text.split_once(':').ok_or(format!("`param={text}` is not `param=name:value`"))?;
                Ok((name.to_owned(), value.parse().map_err(|_| format!("`{value}` is not a whole number"))?))
            })
            .collect()
    }

    /// Refuses options that the command does not have.
    ///
    /// # Errors
    /// If there is one.
    pub fn allow(&self, keys: &[&str]) -> Result<(), String> {
        match self.options.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(format!("`{}` has no option `{key}`; it has {}", self.name, keys.join(", "))),
        }
    }
}

/// The commands of a file.
///
/// # Errors
/// If there is none, an option is not `key=value`, or the prose that says why the file exists is missing.
pub fn parse(text: &str) -> Result<Vec<TestCommand>, String> {
    let mut commands = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(words) = lines.peek().and_then(|line| line.strip_prefix(PREFIX)) {
        let mut words = words.split_whitespace();
        let name = words.next().ok_or("a `# test:` line names a command")?.to_owned();
        let mut options: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for word in words {
            let (key, value) = word.split_once('=').ok_or(format!("`{word}` is not `key=value`"))?;
            options.entry(key.to_owned()).or_default().push(value.to_owned());
        }
        commands.push(TestCommand { name, options });
        lines.next();
    }
    if commands.is_empty() {
        return Err(format!("the file does not begin with `{PREFIX} COMMAND`"));
    }
    match lines.next() {
        Some(prose) if prose.starts_with("# ") => Ok(commands),
        _ => Err("a comment after the header says why the file exists".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_options_are_read() {
        let commands = parse("# test: count param=n:5 param=m:6\n# test: run seed=1\n# Why.\nkernel k\n").unwrap();
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[0].title(), "count param=n:5 param=m:6");
        assert_eq!(commands[0].parameters(), Ok(vec![("n".to_owned(), 5), ("m".to_owned(), 6)]));
        assert_eq!(commands[1].option("seed"), Some("1"));
        assert!(commands[1].allow(&["param"]).is_err());
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(parse("kernel k\n").is_err());
        assert!(parse("# test:\n# Why.\n").is_err());
        assert!(parse("# test: count n\n# Why.\n").is_err());
        assert!(parse("# test: count\nkernel k\n").is_err());
    }
}
