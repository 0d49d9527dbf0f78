//! The hub of nestegg: the [`Kernel`], its expressions, and its order.
//!
//! A [`Kernel`] is plain data in loopy's model; a [`LinearizedKernel`] is a kernel whose instructions have an order.
//! Stages are types: code that needs an order takes the latter. This crate does not know that e-graphs or schedules are
//! computed; it only holds their results.

pub mod affine;
pub mod calls;
pub mod count;
pub mod data_bounds;
pub mod definedness;
pub mod domains;
pub mod expr;
pub mod ids;
pub mod inline;
pub mod join;
pub mod kernel;
pub mod licence;
pub mod linearization;
pub mod meetings;
pub mod names;
pub mod number;
pub mod order;
pub mod sequences;
pub mod sets;
pub mod types;
pub mod unstated;
pub mod verify;
pub mod walk;

pub use expr::{Arity, Expr, Exprs, Op, ReduceOp, Rewritten};
pub use ids::{ArrayId, DomainId, ExprId, FunctionId, InameId, InameSet, InsnId, ParameterId, SubstitutionId};
pub use kernel::{
    ArgumentAccess, Array, ArrayKind, Assignee, Domain, Iname, InameTag, Instruction, InstructionKind, Kernel,
    LinearizedKernel, Parameter, Program, Substitution,
};
pub use licence::{Licence, Semantics, Traps};
pub use linearization::{Item, Linearization, LoopTree, SummingLoop};
pub use number::{Dtype, Float, Number, Stored};
