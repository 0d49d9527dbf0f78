//! Kernels as straight-line code: each element of an output as operations on elements of the arguments.
//!
//! # Input
//! A linearized kernel with parameter values.
//! # Output
//! A [`Tape`] of its operations, which any world plays back on any data, and whose derivatives are known; `None` of a kernel that decides on data, reads
//! integers from memory, or has too many operations.
//! # Method
//! The elements are evaluated on demand in a world whose values are the places of operations on the tape.
//! # Complexity
//! Linear in the operations.

use std::cell::{Cell, RefCell};

use indexmap::{IndexMap, IndexSet};
use nestegg_ir::{ArrayId, LinearizedKernel};

use crate::demand::{Data, Demand, Plan, Value};
use crate::error::Error;
use crate::input::parameter_values;
use crate::memory::Layout;
use crate::source::Source;
use crate::world::{Function, World};

/// The place of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One operation.
pub(crate) enum Node {
    Literal(f64),
    /// An element of an argument, by its number among [`Tape::inputs`].
    Input(usize),
    Add(Place, Place),
    Sub(Place, Place),
    Mul(Place, Place),
    Div(Place, Place),
    Neg(Place),
    Power(Place, i64),
    Call(Function, u64, Vec<Place>),
}

/// An element of an output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Root {
    /// The name of the array.
    pub(crate) array: String,
    /// Its flat position.
    pub(crate) position: usize,
    pub(crate) place: Place,
}

/// The operations of a kernel, operands first.
pub(crate) struct Tape {
    pub(crate) nodes: Vec<Node>,
    /// The elements of arguments that it reads.
    pub(crate) inputs: IndexSet<(ArrayId, Vec<i64>)>,
    /// Those that are written, output by output.
    pub(crate) roots: Vec<Root>,
}

impl Tape {
    /// Records a kernel; `None` if it is not straight-line code of at most so many operations.
    ///
    /// # Errors
    /// If it cannot be evaluated on demand.
    pub(crate) fn record(
        program: &LinearizedKernel,
        parameters: &IndexMap<String, i64>,
        max_nodes: u64,
    ) -> Result<Option<Self>, Error> {
        let kernel = &program.kernel;
        if kernel.has_single() {
            return Ok(None);
        }
        let values = parameter_values(kernel, parameters)?;
        let source = Source::new(kernel, &values)?;
        let plan = Plan::new(program, &values)?.with_stand_ins();
        let layouts = Layout::all(kernel, &source)?;
        let world = Recorder::default();
        world.push(Node::Literal(0.0));
        let mut demand = Demand::new(&world, &plan, &world).with_limit(max_nodes);
        let mut roots = Vec::new();
        for array in kernel.arguments().filter(|&array| kernel[array].is_writable() && kernel[array].dtype.is_float()) {
            let layout = &layouts[array.index()];
            for position in 0..layout.len {
                let place = match demand.element(array, &layout.index(position)) {
                    Ok(Value::Float(place)) => place,
                    Ok(_) => continue,
                    Err(Error::StepLimit { .. }) => return Ok(None),
                    Err(error) => return Err(error),
                };
                if world.has_given_up.get() {
                    return Ok(None);
                }
                roots.push(Root { array: layout.name.clone(), position, place });
            }
        }
        drop(demand);
        Ok(Some(Self { nodes: world.nodes.into_inner(), inputs: world.inputs.into_inner(), roots }))
    }

    /// The value of each operation; `None` if one has none.
    pub(crate) fn play<W: World>(&self, world: &W, inputs: &[W::Float]) -> Option<Vec<W::Float>> {
        let mut res: Vec<W::Float> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let of = |place: &Place| res[place.index()].clone();
            let value = match node {
                Node::Literal(value) => world.literal(*value),
                Node::Input(number) => inputs[*number].clone(),
                Node::Add(a, b) => world.add(of(a), of(b)),
                Node::Sub(a, b) => world.sub(of(a), of(b)),
                Node::Mul(a, b) => world.mul(of(a), of(b)),
                Node::Div(a, b) => world.quotient(of(a), of(b))?,
                Node::Neg(a) => world.neg(of(a)),
                Node::Power(a, exponent) => world.power(of(a), *exponent)?,
                Node::Call(function, result, arguments) => {
                    world.call(function, *result, &arguments.iter().map(of).collect::<Vec<_>>())?
                }
            };
            res.push(value);
        }
        Some(res)
    }

    /// The derivative of an operation in each operand that it depends on smoothly, of the values of all operations; `None` if it is not known.
    pub(crate) fn derivatives(&self, place: usize, values: &[f64]) -> Option<[(Place, f64); 2]> {
        let of = |place: Place| values[place.index()];
        let own = values[place];
        let none = (Place::default(), 0.0);
        Some(match &self.nodes[place] {
            Node::Literal(_) | Node::Input(_) => [none, none],
            Node::Add(a, b) => [(*a, 1.0), (*b, 1.0)],
            Node::Sub(a, b) => [(*a, 1.0), (*b, -1.0)],
            Node::Mul(a, b) => [(*a, of(*b)), (*b, of(*a))],
            Node::Div(a, b) => [(*a, 1.0 / of(*b)), (*b, -own / of(*b))],
            Node::Neg(a) => [(*a, -1.0), none],
            Node::Power(a, exponent) => {
                let below = libm::pow(of(*a), (*exponent - 1) as f64);
                [(*a, *exponent as f64 * below), none]
            }
            Node::Call(function, _, arguments) => {
                let [a] = arguments[..] else { return None };
                let slope = match function.name.as_str() {
                    "sqrt" => 0.5 / own,
                    "exp" => own,
                    "log" => 1.0 / of(a),
                    "sin" => libm::cos(of(a)),
                    "cos" => -libm::sin(of(a)),
                    "fabs" | "abs" => of(a).signum(),
                    _ => return None,
                };
                [(a, slope), none]
            }
        })
    }

    /// The operands of an operation.
    pub(crate) fn operands(&self, place: usize) -> Vec<Place> {
        match &self.nodes[place] {
            Node::Literal(_) | Node::Input(_) => Vec::new(),
            Node::Add(a, b) | Node::Sub(a, b) | Node::Mul(a, b) | Node::Div(a, b) => vec![*a, *b],
            Node::Neg(a) | Node::Power(a, _) => vec![*a],
            Node::Call(_, _, arguments) => arguments.clone(),
        }
    }
}

/// The world of places on a tape; its data are inputs.
#[derive(Default)]
struct Recorder {
    nodes: RefCell<Vec<Node>>,
    inputs: RefCell<IndexSet<(ArrayId, Vec<i64>)>>,
    /// Where each input is, in their order.
    places: RefCell<Vec<Place>>,
    /// Something was asked for that depends on the data.
    has_given_up: Cell<bool>,
}

impl Recorder {
    fn push(&self, node: Node) -> Place {
        let mut nodes = self.nodes.borrow_mut();
        let place = u32::try_from(nodes.len()).unwrap_or_else(|_| {
            self.has_given_up.set(true);
            0
        });
        nodes.push(node);
        Place(place)
    }

    fn give_up<T: Default>(&self) -> T {
        self.has_given_up.set(true);
        T::default()
    }
}

impl Data<Place> for Recorder {
    fn float(&self, array: ArrayId, index: &[i64]) -> Place {
        let (number, is_new) = self.inputs.borrow_mut().insert_full((array, index.to_vec()));
        if is_new {
            let place = self.push(Node::Input(number));
            self.places.borrow_mut().push(place);
        }
        self.places.borrow()[number]
    }

    fn int(&self, _array: ArrayId, _index: &[i64]) -> i64 {
        self.give_up()
    }
}

impl World for Recorder {
    type Float = Place;

    const ROUNDS: bool = false;

    fn literal(&self, value: f64) -> Place {
        self.push(Node::Literal(value))
    }

    fn integer(&self, value: i64) -> Place {
        self.push(Node::Literal(value as f64))
    }

    fn truncate(&self, _value: Place) -> Option<i64> {
        self.give_up()
    }

    fn round_single(&self, _value: Place) -> Place {
        self.give_up()
    }

    fn add(&self, a: Place, b: Place) -> Place {
        self.push(Node::Add(a, b))
    }

    fn sub(&self, a: Place, b: Place) -> Place {
        self.push(Node::Sub(a, b))
    }

    fn mul(&self, a: Place, b: Place) -> Place {
        self.push(Node::Mul(a, b))
    }

    fn neg(&self, a: Place) -> Place {
        self.push(Node::Neg(a))
    }

    fn quotient(&self, a: Place, b: Place) -> Option<Place> {
        Some(self.push(Node::Div(a, b)))
    }

    fn less(&self, _a: Place, _b: Place) -> bool {
        self.give_up()
    }

    fn equal(&self, _a: Place, _b: Place) -> bool {
        self.give_up()
    }

    fn min(&self, _a: Place, _b: Place) -> Place {
        self.give_up()
    }

    fn max(&self, _a: Place, _b: Place) -> Place {
        self.give_up()
    }

    fn infinity(&self, _negative: bool) -> Place {
        self.give_up()
    }

    fn power(&self, base: Place, exponent: i64) -> Option<Place> {
        Some(self.push(Node::Power(base, exponent)))
    }

    fn power_any(&self, _base: Place, _exponent: Place) -> Option<Place> {
        self.has_given_up.set(true);
        Some(Place::default())
    }

    fn floor_div(&self, _a: Place, _b: Place) -> Option<Place> {
        self.has_given_up.set(true);
        Some(Place::default())
    }

    fn modulo(&self, _a: Place, _b: Place) -> Option<Place> {
        self.has_given_up.set(true);
        Some(Place::default())
    }

    fn call(&self, function: &Function, result: u64, arguments: &[Place]) -> Option<Place> {
        Some(self.push(Node::Call(function.clone(), result, arguments.to_vec())))
    }

    fn oracle(&self, _hash: u64) -> Option<Place> {
        None
    }

    fn hash(&self, value: Place) -> u64 {
        u64::from(value.0)
    }

    fn name(&self) -> &'static str {
        "places on a tape"
    }
}
