//! A function of many elements that calls the function of one.
//!
//! # Input
//! A kernel of one element with the name of its function, which cannot fail, and the kernel of many: one loop around the same statements, whose
//! arguments have a leading axis of elements, unless all elements share them.
//! # Output
//! The function of many: the loop, and in it a call. So whatever makes the function of one fast makes this one fast.
//! # Complexity
//! Linear in the number of arguments.

use std::collections::BTreeMap;

use nestegg_ir::{InameId, Item, Kernel, LinearizedKernel, LoopTree};

use super::error::CodegenError;
use super::layout::Code;
use super::source::{Function, assemble};
use super::statements::Temporaries;
use super::text::Text;
use super::writer::Writer;
use super::{COptions, extents};

/// The function of `many`, which calls `symbol`, the function of `one`, for each element.
///
/// # Errors
/// If isl cannot give the bounds of the loop.
pub(crate) fn calls(
    one: &Kernel,
    symbol: &str,
    (many, options): (&LinearizedKernel, &COptions),
) -> Result<Function, CodegenError> {
    let LinearizedKernel { kernel, linearization } = many;
    // Without the statements nothing but the interface is left of it.
    let mut kernel = kernel.clone();
    kernel.instructions.clear();
    let Some(Item::For(element)) = linearization.first() else {
        unreachable!("a kernel of many is a loop over elements")
    };
    let (items, tree) = ([], [LoopTree::Loop { iname: *element, body: Vec::new() }]);
    let mut writer = Writer::new(&kernel, (&items, &tree), options)?;
    let temporaries = Temporaries { declarations: BTreeMap::new(), notes: BTreeMap::new() };
    let extents = extents(&mut writer)?;
    let body = vec![Code::line(writer.call_of_one(one, symbol, *element))];
    let lines = writer.enter_loop(*element, &temporaries);
    let statements = writer.loop_over(*element, &[])?.after(lines, body);
    Ok(assemble(&mut writer, &temporaries, &[], (extents, statements)))
}

impl Writer<'_> {
    /// The call for one element. The two kernels have the same parameters and arguments, but for the axes of elements.
    fn call_of_one(&self, one: &Kernel, symbol: &str, element: InameId) -> String {
        let mut list: Vec<String> = one.stated_parameters().map(|id| self.symbols.parameter(id).to_owned()).collect();
        for id in one.arguments() {
            let name = &self.symbols.arrays[id.index()];
            let n_axes = self.kernel[id].shape.len();
            if n_axes == one[id].shape.len() {
                list.push(name.clone());
                continue;
            }
            let mut indices = vec![Text::primary("0".to_owned()); n_axes];
            indices[0] = Text::primary(self.symbols.inames[element.index()].clone());
            let value = self.arrays.element(name, id, &indices).text;
            let is_by_value = one[id].shape.is_empty() && !one[id].is_writable();
            list.push(if is_by_value { value } else { format!("&{value}") });
        }
        format!("(void){symbol}({});", list.join(", "))
    }
}
