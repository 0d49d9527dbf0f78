//! What a result depends on, as one number.
//!
//! Each field is written with its name and its length, so that no two different lists of fields give the same bytes.

use std::fmt;

/// The name of an entry: a BLAKE3 hash of everything that the result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(blake3::Hash);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.to_hex().fmt(f)
    }
}

/// Writes a key field by field.
#[derive(Clone, Debug)]
pub struct KeyWriter(blake3::Hasher);

impl KeyWriter {
    /// A key of this program: its version and sources are the first fields.
    #[must_use]
    pub fn of_this_program() -> Self {
        let mut writer = Self(blake3::Hasher::new());
        writer.field("version", env!("CARGO_PKG_VERSION"));
        writer.field("sources", env!("NESTEGG_SOURCES"));
        writer
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: &str) {
        for text in [name, value] {
            self.0.update(&(text.len() as u64).to_le_bytes());
            self.0.update(text.as_bytes());
        }
    }

    /// The key.
    #[must_use]
    pub fn finish(&self) -> Key {
        Key(self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_run_together() {
        let of = |fields: &[(&str, &str)]| {
            let mut writer = KeyWriter::of_this_program();
            fields.iter().for_each(|(name, value)| writer.field(name, value));
            writer.finish()
        };
        assert_eq!(of(&[("a", "bc")]), of(&[("a", "bc")]));
        assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
        assert_ne!(of(&[("a", "b"), ("c", "d")]), of(&[("a", "bcd")]));
        assert_eq!(of(&[]).to_string().len(), 64);
    }
}
