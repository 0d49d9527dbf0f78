//! What compilers make of calls.

/// The functions of `float64` that the C library has for vectors, as glibc since 2.22, with how many arguments they take; those of `float32` have an `f` more.
pub const OF_VECTORS: [(&str, usize); 5] = [("cos", 1), ("exp", 1), ("log", 1), ("pow", 2), ("sin", 1)];

/// Functions that are a few instructions.
const INLINE: [&str; 12] =
    ["abs", "ceil", "copysign", "fabs", "floor", "fma", "fmax", "fmin", "nearbyint", "rint", "sqrt", "trunc"];

/// Whether loops that call a function can run in vector lanes.
#[must_use]
pub fn has_vectors(function: &str) -> bool {
    is_of_vectors(function) || is_inline(function)
}

/// Whether a function is a few instructions, and no call.
#[must_use]
pub fn is_inline(function: &str) -> bool {
    INLINE.contains(&function)
}

/// Whether a function is among [`OF_VECTORS`].
#[must_use]
pub fn is_of_vectors(function: &str) -> bool {
    OF_VECTORS.iter().any(|(name, _)| *name == function)
}
