# Recipes for the desk. Nothing needs them: continuous integration runs `.ci/run`.

# Lists the recipes.
default:
  @just --list

# Exactly what continuous integration runs.
[group: 'check']
ci:
  .ci/run

[group: 'check']
lint:
  cargo fmt --all --check
  cargo clippy --release --workspace --all-targets -- -D warnings

# All tests, as in the README.
[group: 'test']
test:
  ./setup --tests && cargo test --release --workspace

# The tests of one crate: `just crate ir`.
[group: 'test']
crate NAME:
  cargo test --release -p nestegg-{{NAME}}

# The filetests whose name holds a word: `just file convert`.
[group: 'test']
file *NAMES:
  cargo test --release -p nestegg-tests --test filetests -- {{NAMES}}

# The tests of the Python package; the arguments are pytest's.
[group: 'test']
python *ARGS:
  python/test {{ARGS}}

# Writes every snapshot and the README's examples anew; read the difference before you commit.
[group: 'test']
snap:
  INSTA_UPDATE=always cargo test --release -p nestegg-tests --test filetests
  INSTA_UPDATE=always cargo test --release -p nestegg --test readme

# Operations at each level against the published figures, over all fixtures.
[group: 'bench']
bench-operations *ARGS:
  cargo run --release -p nestegg-bench -- operations {{ARGS}}

# Seconds and memory of each stage against the size of the kernel.
[group: 'bench']
bench-scaling *ARGS:
  cargo run --release -p nestegg-bench -- scaling {{ARGS}}

# Run time of the emitted C, output against input.
[group: 'bench']
bench-runtime *ARGS:
  cargo run --release -p nestegg-bench -- runtime {{ARGS}}
