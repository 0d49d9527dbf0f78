//! The code of units: typed steps on registers of floats and of integers.

use std::sync::Arc;

use nestegg_ir::types::Type;
use nestegg_ir::{ArrayId, InameId, ReduceOp};

use crate::demand::node::{NodeId, Place};
use crate::domain::Bounds;
use crate::node::Binary;

/// A register: of floats, or of integers.
pub(super) type Reg = u32;

/// An affine integer of registers.
#[derive(Clone, Debug)]
pub(super) struct FormCode {
    pub(super) constant: i64,
    pub(super) terms: Vec<(Reg, i64)>,
}

#[derive(Clone, Debug)]
pub(super) enum DimCode {
    Form(FormCode),
    Reg(Reg),
}

/// One element of an array; of one that the kernel writes as it is at a place, for the loops around it.
#[derive(Clone, Debug)]
pub(super) struct AccessCode {
    pub(super) array: ArrayId,
    pub(super) dims: Vec<DimCode>,
    pub(super) state: Option<(Place, Vec<Reg>)>,
}

/// The values of a reduction iname.
#[derive(Clone, Debug)]
pub(super) struct LoopCode {
    pub(super) bounds: Arc<Bounds>,
    /// The inames that they depend on, with their registers.
    pub(super) inputs: Vec<(InameId, Reg)>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    Literal {
        dst: Reg,
        literal: usize,
    },
    Form {
        dst: Reg,
        form: FormCode,
        ty: Type,
    },
    Read {
        dst: Reg,
        access: AccessCode,
        is_float: bool,
    },
    Load {
        dst: Reg,
        access: AccessCode,
    },
    FloatNeg {
        dst: Reg,
        a: Reg,
    },
    IntNeg {
        dst: Reg,
        a: Reg,
        ty: Type,
    },
    Not {
        dst: Reg,
        a: Reg,
    },
    BitNot {
        dst: Reg,
        a: Reg,
    },
    IntToFloat {
        dst: Reg,
        a: Reg,
    },
    FloatToInt {
        dst: Reg,
        a: Reg,
        ty: Type,
    },
    IntToInt {
        dst: Reg,
        a: Reg,
        ty: Type,
    },
    Float {
        op: Binary,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Int {
        op: Binary,
        dst: Reg,
        a: Reg,
        b: Reg,
        ty: Type,
    },
    Compare {
        op: Binary,
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Round {
        reg: Reg,
    },
    FloatPower {
        dst: Reg,
        a: Reg,
        exponent: i64,
    },
    IntPower {
        dst: Reg,
        a: Reg,
        exponent: i64,
        ty: Type,
    },
    FloatCopy {
        dst: Reg,
        a: Reg,
    },
    IntCopy {
        dst: Reg,
        a: Reg,
    },
    IntSet {
        dst: Reg,
        value: i64,
    },
    /// The value of a unit; of a condition whose value nobody knows 2, if `is_try`.
    Call {
        unit: usize,
        args: Box<[Reg]>,
        dst: Reg,
        is_try: bool,
    },
    Function {
        function: usize,
        result: u64,
        args: Box<[Reg]>,
        dst: Reg,
    },
    Jump {
        to: usize,
    },
    JumpIf {
        a: Reg,
        value: i64,
        to: usize,
    },
    /// Sees the outcome of a condition.
    See {
        decision: usize,
        a: Reg,
    },
    /// Makes `acc` the extremum of both, and notes in `winner` if it is the second.
    FloatExtremum {
        is_max: bool,
        acc: Reg,
        a: Reg,
        winner: Reg,
        idx: i64,
    },
    IntExtremum {
        is_max: bool,
        acc: Reg,
        a: Reg,
        winner: Reg,
        idx: i64,
    },
    LoopInit {
        code: usize,
        cur: Reg,
        end: Reg,
        is_dense: Reg,
        exit: usize,
    },
    LoopNext {
        code: usize,
        cur: Reg,
        end: Reg,
        is_dense: Reg,
        body: usize,
    },
    /// Starts a reduction of floats.
    FloatStart {
        op: ReduceOp,
        acc: Reg,
    },
    FloatJoin {
        op: ReduceOp,
        acc: Reg,
        a: Reg,
        is_first: Reg,
        is_single: bool,
    },
    IntJoin {
        op: ReduceOp,
        acc: Reg,
        a: Reg,
        ty: Type,
    },
    Return {
        a: Reg,
    },
}

/// The code of one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Unit {
    /// Its point: the first integer registers.
    pub(super) inames: Vec<InameId>,
    pub(super) code: Vec<Instr>,
    pub(super) loops: Vec<LoopCode>,
    pub(super) n_floats: usize,
    pub(super) n_ints: usize,
    pub(super) is_float: bool,
    /// The instruction in which it stands first.
    pub(super) instruction: usize,
}

/// What may be decided on: conditions, and operands of extrema.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) node: NodeId,
    pub(super) n_outcomes: u32,
}
