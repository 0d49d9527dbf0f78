//! Orders and cycles of small graphs.

/// How many cycles are found, at most: one breaks many.
const MAX_CYCLES: usize = 8;

/// The vertices of a graph, successors first, and some of its cycles if there are any.
///
/// Depth-first with a list of open vertices; vertices on a cycle come in some order. Linear in the graph.
pub(super) fn successors_first(n: usize, successors: impl Fn(usize) -> Vec<usize>) -> (Vec<usize>, Vec<Vec<usize>>) {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; n];
    let (mut order, mut cycles) = (Vec::with_capacity(n), Vec::new());
    let mut open: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
    for root in 0..n {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::Open;
        open.push((root, successors(root).into_iter()));
        while let Some((vertex, rest)) = open.last_mut() {
            let vertex = *vertex;
            match rest.next() {
                Some(next) => match states[next] {
                    State::New => {
                        states[next] = State::Open;
                        open.push((next, successors(next).into_iter()));
                    }
                    State::Open if cycles.len() < MAX_CYCLES => {
                        let start = open.iter().position(|(other, _)| *other == next).unwrap_or(0);
                        cycles.push(open[start..].iter().map(|(vertex, _)| *vertex).collect());
                    }
                    State::Open | State::Done => {}
                },
                None => {
                    states[vertex] = State::Done;
                    order.push(vertex);
                    open.pop();
                }
            }
        }
    }
    (order, cycles)
}

/// A cycle in words: `a → b → a`; the middle of a long one is left out.
pub(super) fn describe<'a>(cycle: &[usize], name: impl Fn(usize) -> &'a str) -> String {
    /// The most vertices that are named.
    const MAX_NAMED: usize = 8;
    let mut words: Vec<&str> = cycle.iter().take(MAX_NAMED).map(|&vertex| name(vertex)).collect();
    if cycle.len() > MAX_NAMED {
        words.push("…");
    }
    words.extend(cycle.first().map(|&vertex| name(vertex)));
    words.join(" → ")
}
