//! Which version of the format a kernel needs.
//!
//! Version 2 adds open extents, bounds that depend on data, more integer types in memory, linear subscripts, and the reductions `any` and `all`. Reading rewrites the last two
//! in terms of version 1. A file that uses an addition must declare version 2; the writer declares the oldest version that holds the kernel.

use nestegg_ir::Kernel;
use nestegg_span::Span;

use super::format::FORMATS;
use crate::syntax::{ArrayKindSyntax, Fold, KernelSyntax, NodeKind};

/// The oldest version that holds a kernel.
pub(crate) fn version(kernel: &Kernel) -> &'static str {
    let has_open_shapes = kernel.parameters.iter().any(|parameter| !parameter.is_stated);
    let has_stored = kernel.arrays.iter().any(|array| array.stored.is_some());
    FORMATS[usize::from(has_open_shapes || has_stored)]
}

/// The first part of a kernel that version 1 does not have, in words.
pub(crate) fn newer(kernel: &KernelSyntax<'_>) -> Option<(&'static str, Span)> {
    let sizes = kernel.arrays.iter().flat_map(|array| array.shape.iter().flatten());
    let mut open = sizes.filter(|&&size| matches!(kernel.nodes[size].kind, NodeKind::Unstated));
    let open = open.next().map(|&size| ("an extent that is not stated", kernel.nodes.span(size)));
    let other = kernel.nodes.iter().find_map(|node| match node.kind {
        NodeKind::Linear(_) => Some(("a linear subscript", node.span)),
        NodeKind::Reduce(Fold::Any | Fold::All, _) => Some(("a reduction of conditions", node.span)),
        _ => None,
    });
    let mut stored = kernel.arrays.iter().filter(|array| array.stored.is_some());
    let mut bounded = kernel.domains.iter().filter(|domain| has_data(kernel, &domain.text));
    let bounded = bounded.next().map(|domain| ("a bound that depends on data", domain.span));
    open.or(other)
        .or(bounded)
        .or_else(|| stored.next().map(|array| ("an integer type other than `int32` and `int64`", array.name.span)))
}

/// Whether the text of a set names a temporary.
fn has_data(kernel: &KernelSyntax<'_>, text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let temporaries = || kernel.arrays.iter().filter(|array| !matches!(array.kind, ArrayKindSyntax::Argument(_)));
    words.filter(|word| !word.is_empty()).any(|word| temporaries().any(|array| array.name.text == word))
}
