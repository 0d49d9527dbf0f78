//! One step of a unit.

use std::sync::Arc;

use nestegg_ir::ReduceOp;
use nestegg_ir::types::Type;
use smallvec::SmallVec;

use crate::demand::code::{AccessCode, DimCode, FormCode, Instr, LoopCode};
use crate::demand::run::{Next, Stop, UnitFrame, is_gap};
use crate::demand::search::{Element, Instance};
use crate::demand::{Data, Demand, Value};
use crate::error::Trap;
use crate::node::Binary;
use crate::source::floor_div;
use crate::world::World;

impl<W: World, D: Data<W::Float>> Demand<'_, '_, W, D> {
    /// `None` if it is no `i64`.
    fn form(&self, frame: &UnitFrame, form: &FormCode) -> Option<i64> {
        let ints = &self.ints[frame.ints..];
        let wide = || {
            let terms = form.terms.iter();
            let sum: i128 =
                terms.map(|&(reg, coefficient)| i128::from(coefficient) * i128::from(ints[reg as usize])).sum();
            i64::try_from(sum + i128::from(form.constant)).ok()
        };
        let narrow = form.terms.iter().try_fold(form.constant, |sum, &(reg, coefficient)| {
            sum.checked_add(coefficient.checked_mul(ints[reg as usize])?)
        });
        narrow.or_else(wide)
    }

    fn element_of(&self, frame: &UnitFrame, access: &AccessCode) -> Result<Element, Trap> {
        let dim = |dim: &DimCode| match dim {
            DimCode::Form(form) => self.form(frame, form).unwrap_or(i64::MAX),
            DimCode::Reg(reg) => self.ints[frame.ints + *reg as usize],
        };
        let element: Element = access.dims.iter().map(dim).collect();
        match self.outside(access.array, &element) {
            None => Ok(element),
            Some(trap) => Err(trap),
        }
    }

    /// One step of the unit on top; what is next if it waits.
    #[allow(clippy::too_many_lines)]
    #[inline(always)]
    pub(super) fn step(&mut self, frame: &UnitFrame, pc: &mut usize) -> Result<Option<Next<W::Float>>, Stop<W::Float>> {
        let plan = self.plan;
        let world = self.world;
        let unit = &plan.units[frame.unit];
        let instr = &unit.code[*pc];
        *pc += 1;
        self.steps += 1;
        macro_rules! float {
            ($reg:expr) => {
                self.floats[frame.floats + $reg as usize]
            };
        }
        macro_rules! int {
            ($reg:expr) => {
                self.ints[frame.ints + $reg as usize]
            };
        }
        let fits = |value: Option<i64>, ty: Type| {
            let value = value.filter(|&value| ty != Type::Int32 || i32::try_from(value).is_ok());
            value.ok_or(Stop::Trap(Trap::IntegerOverflow))
        };
        match instr {
            Instr::Literal { dst, literal } => float!(*dst) = self.literals[*literal].clone(),
            Instr::Form { dst, form, ty } => int!(*dst) = fits(self.form(frame, form), *ty)?,
            Instr::Read { dst, access, is_float } => {
                let element = self.element_of(frame, access).map_err(Stop::Trap)?;
                match self.initial(access.array, &element) {
                    Some(Value::Float(value)) if *is_float => float!(*dst) = value,
                    Some(Value::Int(value)) => int!(*dst) = value,
                    _ => {
                        let array = plan.kernel[access.array].name.clone();
                        return Err(Stop::Trap(Trap::Uninitialised { array, index: element.to_vec() }));
                    }
                }
            }
            Instr::Load { dst, access } => {
                let element = self.element_of(frame, access).map_err(Stop::Trap)?;
                let Some((place, loops)) = &access.state else { return Ok(None) };
                let loops: Instance = loops.iter().map(|&reg| int!(reg)).collect();
                self.save(*pc, *dst, false);
                let depth = self.frames.len();
                match self.search(access.array, element, *place, &loops).map_err(Stop::Error)? {
                    Next::Deliver(Ok(value)) if self.frames.len() == depth => match value {
                        Value::Float(value) => float!(*dst) = value,
                        Value::Int(value) => int!(*dst) = value,
                        Value::Unwritten => {}
                    },
                    Next::Deliver(Err(error)) if self.frames.len() == depth => return Err(Stop::Error(error)),
                    next => return Ok(Some(next)),
                }
            }
            Instr::FloatNeg { dst, a } => float!(*dst) = world.neg(float!(*a).clone()),
            Instr::IntNeg { dst, a, ty } => int!(*dst) = fits(int!(*a).checked_neg(), *ty)?,
            Instr::Not { dst, a } => int!(*dst) = i64::from(int!(*a) == 0),
            Instr::BitNot { dst, a } => int!(*dst) = !int!(*a),
            Instr::IntToFloat { dst, a } => float!(*dst) = world.integer(int!(*a)),
            Instr::FloatToInt { dst, a, ty } => {
                let value = float!(*a).clone();
                int!(*dst) = match ty {
                    Type::Bool => i64::from(!world.equal(value, world.literal(0.0))),
                    _ if W::ROUNDS => fits(world.truncate(value), *ty)?,
                    _ => match world.truncate(value) {
                        Some(value) => fits(Some(value), *ty)?,
                        None => {
                            let reason = format!("cast of a float to {ty:?} in {}", world.name());
                            return Err(Stop::Trap(Trap::Unsupported(reason)));
                        }
                    },
                }
            }
            Instr::IntToInt { dst, a, ty } => {
                int!(*dst) = match ty {
                    Type::Bool => i64::from(int!(*a) != 0),
                    _ => fits(Some(int!(*a)), *ty)?,
                }
            }
            Instr::Float { op, dst, a, b } => {
                let (a, b) = (float!(*a).clone(), float!(*b).clone());
                let no_inverse = || Stop::Trap(Trap::NoInverse);
                float!(*dst) = match op {
                    Binary::Add => world.add(a, b),
                    Binary::Sub => world.sub(a, b),
                    Binary::Mul => world.mul(a, b),
                    Binary::Div => world.quotient(a, b).ok_or_else(no_inverse)?,
                    Binary::FloorDiv => world.floor_div(a, b).ok_or_else(no_inverse)?,
                    Binary::Mod => world.modulo(a, b).ok_or_else(no_inverse)?,
                    Binary::Power => world.power_any(a, b).ok_or_else(no_inverse)?,
                    other => return Err(Stop::Trap(Trap::Unsupported(format!("operation {other:?} on floats")))),
                };
            }
            Instr::Int { op, dst, a, b, ty } => {
                let (a, b) = (int!(*a), int!(*b));
                int!(*dst) = integer(*op, a, b, *ty).map_err(Stop::Trap)?;
            }
            Instr::Compare { op, dst, a, b } => {
                let (a, b) = (float!(*a).clone(), float!(*b).clone());
                int!(*dst) = i64::from(match op {
                    Binary::Lt => world.less(a, b),
                    Binary::Le => world.less_equal(a, b),
                    Binary::Eq => world.equal(a, b),
                    _ => !world.equal(a, b),
                });
            }
            Instr::Round { reg } => {
                if W::ROUNDS {
                    float!(*reg) = world.round_single(float!(*reg).clone());
                }
            }
            Instr::FloatPower { dst, a, exponent } => {
                let power = world.power(float!(*a).clone(), *exponent);
                float!(*dst) = power.ok_or(Stop::Trap(Trap::NoInverse))?;
            }
            Instr::IntPower { dst, a, exponent, ty } => {
                int!(*dst) = match int!(*a) {
                    base @ (0 | 1) if *exponent > 0 => base,
                    base => fits(u32::try_from(*exponent).ok().and_then(|exponent| base.checked_pow(exponent)), *ty)?,
                }
            }
            Instr::FloatCopy { dst, a } => float!(*dst) = float!(*a).clone(),
            Instr::IntCopy { dst, a } => int!(*dst) = int!(*a),
            Instr::IntSet { dst, value } => int!(*dst) = *value,
            Instr::Call { unit, args, dst, is_try } => {
                let key = self.key(*unit, args.iter().map(|&reg| int!(reg)));
                match self.memo.get(*unit, key) {
                    Some(Ok(Value::Float(value))) => float!(*dst) = value.clone(),
                    Some(Ok(Value::Int(value))) => int!(*dst) = *value,
                    Some(Ok(Value::Unwritten)) => {}
                    Some(Err(error)) if *is_try && is_gap(error) => int!(*dst) = 2,
                    Some(Err(error)) => return Err(Stop::Error(Arc::clone(error))),
                    None => {
                        self.save(*pc, *dst, *is_try);
                        let point: Instance = args.iter().map(|&reg| int!(reg)).collect();
                        self.enter(*unit, key, point.into_iter());
                        return Ok(Some(Next::Run));
                    }
                }
            }
            Instr::Function { function, result, args, dst } => {
                let function = &plan.functions[*function];
                let values: SmallVec<[W::Float; 3]> = args.iter().map(|&reg| float!(reg).clone()).collect();
                match world.call(function, *result, &values) {
                    Some(value) => float!(*dst) = value,
                    None => {
                        let reason = format!("function `{}` has no value in {}", function.name, world.name());
                        return Err(Stop::Trap(Trap::Unsupported(reason)));
                    }
                }
            }
            Instr::Jump { to } => *pc = *to,
            Instr::JumpIf { a, value, to } => {
                if int!(*a) == *value {
                    *pc = *to;
                }
            }
            Instr::See { decision, a } => self.coverage.see(*decision, int!(*a)),
            Instr::FloatExtremum { is_max, acc, a, winner, idx } => {
                let (old, new) = (float!(*acc).clone(), float!(*a).clone());
                let wins = match is_max {
                    true => world.less(old.clone(), new.clone()),
                    false => world.less(new.clone(), old.clone()),
                };
                if wins {
                    int!(*winner) = *idx;
                }
                float!(*acc) = if *is_max { world.max(old, new) } else { world.min(old, new) };
            }
            Instr::IntExtremum { is_max, acc, a, winner, idx } => {
                let (old, new) = (int!(*acc), int!(*a));
                if if *is_max { new > old } else { new < old } {
                    int!(*winner) = *idx;
                    int!(*acc) = new;
                }
            }
            Instr::LoopInit { code, cur, end, is_dense, exit } => match self.range(frame, &unit.loops[*code]) {
                None => *pc = *exit,
                Some((lo, hi, dense)) => {
                    int!(*end) = hi;
                    int!(*is_dense) = i64::from(dense);
                    match self.next_value(frame, &unit.loops[*code], lo, hi, dense) {
                        None => *pc = *exit,
                        Some(value) => int!(*cur) = value,
                    }
                }
            },
            Instr::LoopNext { code, cur, end, is_dense, body } => {
                self.check_limit().map_err(Stop::Error)?;
                let (from, hi, dense) = (int!(*cur).saturating_add(1), int!(*end), int!(*is_dense) != 0);
                if let Some(value) = self.next_value(frame, &unit.loops[*code], from, hi, dense) {
                    int!(*cur) = value;
                    *pc = *body;
                }
            }
            Instr::FloatStart { op, acc } => {
                float!(*acc) = match op {
                    ReduceOp::Sum => world.literal(0.0),
                    ReduceOp::Product => world.literal(1.0),
                    ReduceOp::Min => world.infinity(false),
                    ReduceOp::Max => world.infinity(true),
                }
            }
            Instr::FloatJoin { op, acc, a, is_first, is_single } => {
                let (old, new) = (float!(*acc).clone(), float!(*a).clone());
                let round = |value| if W::ROUNDS && *is_single { world.round_single(value) } else { value };
                let is_start = std::mem::replace(&mut int!(*is_first), 0) != 0;
                float!(*acc) = match op {
                    ReduceOp::Sum => round(world.add(old, new)),
                    ReduceOp::Product => round(world.mul(old, new)),
                    ReduceOp::Min | ReduceOp::Max if is_start => new,
                    ReduceOp::Min => world.min(old, new),
                    ReduceOp::Max => world.max(old, new),
                };
            }
            Instr::IntJoin { op, acc, a, ty } => {
                let (old, new) = (int!(*acc), int!(*a));
                let joined = match op {
                    ReduceOp::Sum => old.checked_add(new),
                    ReduceOp::Product => old.checked_mul(new),
                    ReduceOp::Min => Some(old.min(new)),
                    ReduceOp::Max => Some(old.max(new)),
                };
                int!(*acc) = fits(joined, *ty)?;
            }
            Instr::Return { a } => {
                let value = match unit.is_float {
                    true => Value::Float(float!(*a).clone()),
                    false => Value::Int(int!(*a)),
                };
                return Err(Stop::Value(value));
            }
        }
        Ok(None)
    }

    fn look(&mut self, frame: &UnitFrame, code: &LoopCode) {
        for &(iname, reg) in &code.inputs {
            self.env[iname.index()] = self.ints[frame.ints + reg as usize];
        }
    }

    fn range(&mut self, frame: &UnitFrame, code: &LoopCode) -> Option<(i64, i64, bool)> {
        self.look(frame, code);
        code.bounds.range(&mut self.env)
    }

    /// The least value from `from` to `hi`.
    fn next_value(&mut self, frame: &UnitFrame, code: &LoopCode, from: i64, hi: i64, is_dense: bool) -> Option<i64> {
        if is_dense {
            return (from <= hi).then_some(from);
        }
        self.look(frame, code);
        (from..=hi).find(|&value| code.bounds.holds(&mut self.env, value))
    }
}

/// An operation on two integers or truth values, with the width of its type.
fn integer(op: Binary, a: i64, b: i64, ty: Type) -> Result<i64, Trap> {
    let value = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::FloorDiv | Binary::Mod if b == 0 => return Err(Trap::IntegerDivisionByZero),
        Binary::FloorDiv => floor_div(a, b),
        Binary::Mod => floor_div(a, b).map(|quotient| a.wrapping_sub(quotient.wrapping_mul(b))),
        Binary::Shl | Binary::Shr => {
            let width = if ty == Type::Int64 { 64 } else { 32 };
            match (u32::try_from(b).ok().filter(|&b| b < width), op) {
                (None, _) => return Err(Trap::ShiftOutOfRange),
                (Some(b), Binary::Shr) => Some(a >> b),
                (Some(b), _) => i64::try_from(i128::from(a) << b).ok(),
            }
        }
        Binary::Lt => return Ok(i64::from(a < b)),
        Binary::Le => return Ok(i64::from(a <= b)),
        Binary::Eq => return Ok(i64::from(a == b)),
        Binary::Ne => return Ok(i64::from(a != b)),
        Binary::BitAnd => return Ok(a & b),
        Binary::BitOr => return Ok(a | b),
        Binary::BitXor => return Ok(a ^ b),
        other => return Err(Trap::Unsupported(format!("operation {other:?} on integers"))),
    };
    value.filter(|&value| ty != Type::Int32 || i32::try_from(value).is_ok()).ok_or(Trap::IntegerOverflow)
}
