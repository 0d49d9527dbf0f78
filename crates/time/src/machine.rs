//! Machines: the constants that turn counts into nanoseconds.
//!
//! A machine is a processor with a compiler and its flags. The constants are an input like any other, so that the same file gives the same
//! answers everywhere.

use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

macro_rules! constants {
    ($($variant:ident $name:literal $least:literal $most:literal $doc:literal)+) => {
        /// A constant of a machine.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Constant {
            $(#[doc = $doc] $variant,)+
        }

        impl Constant {
            /// Every constant, in the order of machine files.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name in machine files.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// What it says.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),+ }
            }

            /// The least and the greatest value that it may have.
            #[must_use]
            pub fn range(self) -> (f64, f64) {
                match self { $(Self::$variant => ($least, $most)),+ }
            }
        }
    };
}

constants! {
    VectorBytes "vector-bytes" 4.0 1024.0 "bytes of the vectors that the compiler uses"
    Registers "registers" 4.0 1024.0 "vector registers"
    Reassociates "reassociates" 0.0 1.0 "1 if the compiler may regroup sums and products and divide by multiplying, 0 if not"
    Fuses "fuses" 0.0 1.0 "1 if products and sums become fused operations, 0 if not"
    UnrollTrips "unroll-trips" 0.0 1e6 "loops inside others with at most so many iterations are unrolled"
    UnrollOperations "unroll-operations" 0.0 1e9 "and become at most so many operations"
    Arithmetic "arithmetic" 0.0 1e6 "ns for a sum, product or fused operation, scalar or vector"
    Load "load" 0.0 1e6 "ns for a load from the first cache"
    Store "store" 0.0 1e6 "ns for a store to the first cache"
    Issue "issue" 0.0 1e6 "ns for an instruction of any kind"
    Lane "lane" 0.0 1e6 "ns for each lane of a vector that is put together from elements"
    Latency "latency" 0.0 1e6 "ns from a sum to the next that needs it"
    Divide "divide" 0.0 1e6 "ns for a quotient of scalars"
    DivideVector "divide-vector" 0.0 1e6 "ns for a quotient of vectors"
    Root "root" 0.0 1e6 "ns for a square root of a scalar; of a vector it is longer as quotients are"
    Exponential "exponential" 0.0 1e6 "ns for a call of exp or log"
    Trigonometric "trigonometric" 0.0 1e6 "ns for a call of sin or cos"
    Power "power" 0.0 1e6 "ns for a call of pow"
    Function "function" 0.0 1e6 "ns for a call of another function"
    CallLanes "call-lanes" 1.0 64.0 "how many of these calls a vector function does in the time of one"
    Branch "branch" 0.0 1e6 "ns for a condition"
    LoopEntry "loop-entry" 0.0 1e6 "ns for entering and leaving a loop"
    Call "call" 0.0 1e6 "ns for calling the kernel"
    Overlap "overlap" 0.0 1.0 "how much of the time of all resources but the busiest is not hidden behind it"
    CodeOperations "code-operations" 0.0 1e12 "instructions of straight-line code that the processor keeps decoded"
    Fetch "fetch" 0.0 1e6 "ns for each instruction beyond"
    L1Bytes "l1-bytes" 0.0 1e15 "bytes of the first cache"
    L2Bytes "l2-bytes" 0.0 1e15 "bytes of the second cache"
    L3Bytes "l3-bytes" 0.0 1e15 "bytes of the last cache that one core can use"
    L2Byte "l2-byte" 0.0 1e6 "ns for a byte from or to the second cache"
    L3Byte "l3-byte" 0.0 1e6 "ns for a byte from or to the last cache"
    MemoryByte "memory-byte" 0.0 1e6 "ns for a byte from or to memory"
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The command of the compiler for which the constants hold.
    pub compiler: String,
    /// Its flags.
    pub flags: String,
    values: Vec<f64>,
}

impl Index<Constant> for Machine {
    type Output = f64;

    fn index(&self, constant: Constant) -> &f64 {
        &self.values[constant as usize]
    }
}

impl IndexMut<Constant> for Machine {
    fn index_mut(&mut self, constant: Constant) -> &mut f64 {
        &mut self.values[constant as usize]
    }
}

/// The machine that is taken where none is named.
pub const DEFAULT_MACHINE: &str = "zen3-gcc";

/// Machines that come with nestegg: names and texts.
const BUILT_IN: &[(&str, &str)] = &[
    ("zen3-gcc", include_str!("../../../machines/zen3-gcc.machine")),
    ("zen5-gcc", include_str!("../../../machines/zen5-gcc.machine")),
    ("zen5-gcc-strict", include_str!("../../../machines/zen5-gcc-strict.machine")),
];

impl Machine {
    /// A machine with these constants, in the order of [`Constant::ALL`].
    ///
    /// # Panics
    /// If there are not as many values as constants.
    #[must_use]
    pub fn new(compiler: String, flags: String, values: Vec<f64>) -> Self {
        assert_eq!(values.len(), Constant::ALL.len(), "each constant has a value");
        Self { compiler, flags, values }
    }

    /// The text of a machine that comes with nestegg.
    #[must_use]
    pub fn built_in(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// The names of the machines that come with nestegg.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The text of a machine file; reading it gives the same machine.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("compiler = {}\nflags = {}\n", self.compiler, self.flags);
        for &constant in Constant::ALL {
            text += &format!("{:<18} = {:<10} # {}\n", constant.name(), self[constant], constant.doc());
        }
        text
    }

    /// The bytes of the vectors that the compiler uses.
    #[must_use]
    pub fn vector_bytes(&self) -> u64 {
        self[Constant::VectorBytes] as u64
    }

    /// The length of vectors of elements of so many bytes, at least 1.
    #[must_use]
    pub(crate) fn lanes(&self, bytes: u64) -> f64 {
        (self[Constant::VectorBytes] / bytes.max(1) as f64).floor().max(1.0)
    }
}

/// The machine of [`DEFAULT_MACHINE`].
impl Default for Machine {
    fn default() -> Self {
        static DEFAULT: LazyLock<Machine> = LazyLock::new(|| {
            let text = Machine::built_in(DEFAULT_MACHINE).unwrap_or_default();
            Machine::read(&nestegg_span::Source::new(DEFAULT_MACHINE, text))
                .expect("the files that come with nestegg are read by a test")
        });
        DEFAULT.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_come_with_nestegg_are_read_and_written() {
        for name in Machine::names() {
            let text = Machine::built_in(name).unwrap();
            let machine = Machine::read(&nestegg_span::Source::new(name, text)).unwrap();
            let again = Machine::read(&nestegg_span::Source::new(name, machine.to_text())).unwrap();
            assert_eq!(machine, again);
        }
        let default =
            Machine::read(&nestegg_span::Source::new("", Machine::built_in(DEFAULT_MACHINE).unwrap())).unwrap();
        assert_eq!(Machine::default(), default);
    }
}
