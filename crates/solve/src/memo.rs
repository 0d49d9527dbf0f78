//! Answers of solvers that are kept.
//!
//! The seeds of a search differ in a few values and share most systems, so the same question is asked again and again.
//! An answer depends on its question alone; whether it was kept changes nothing but the time.
//!
//! # Input
//! Questions: all that an answer depends on, floats by their bits.
//! # Output
//! The answers. Two threads that ask at once both compute: one that waited for the other could wait for work of its own.
//! # Complexity
//! Hashing a question is linear in its size. A memo keeps at most [`CAPACITY`] words of questions and forgets those not asked lately.

use std::hash::Hash;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Words that the questions of a memo have at most, all together.
pub const CAPACITY: u64 = 1 << 22;

/// Questions that a memo is made for at first.
const N_QUESTIONS: usize = 1 << 10;

/// A question of a size.
pub(crate) trait Question: Clone + Eq + Hash {
    /// Its words, about.
    fn n_words(&self) -> u64;
}

#[derive(Clone)]
struct ByWords;

impl<Q: Question, A> Weighter<Q, A> for ByWords {
    fn weight(&self, question: &Q, _: &A) -> u64 {
        question.n_words().max(1)
    }
}

/// The answers to questions of one kind.
pub(crate) struct Memo<Q, A>(Cache<Q, A, ByWords>);

impl<Q: Question, A: Clone> Memo<Q, A> {
    pub(crate) fn new() -> Self {
        Self(Cache::with_weighter(N_QUESTIONS, CAPACITY, ByWords))
    }

    /// The answer to a question, made if it is not there.
    pub(crate) fn answer(&self, question: Q, make: impl FnOnce() -> A) -> A {
        if let Some(answer) = self.0.get(&question) {
            return answer;
        }
        let answer = make();
        self.0.insert(question, answer.clone());
        answer
    }
}

/// The bits of floats.
pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}
