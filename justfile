# What one types often. `just` lists it.

default:
    @just --list --unsorted

# The whole loop on the built-in stand-in agent.
demo:
    cargo run -- demo

# The pictures of the README: the demo as it plays, the dashboard with a blocked session.
pictures:
    cargo build --bin hopty --example pictures
    target/debug/examples/pictures docs/pictures

# Everything that CI runs.
ci:
    bash .ci/run

# All tests, the real Claude Code included where npm is there.
test *ARGS:
    cargo test {{ARGS}}

# The quick half: units, laws, screens, documents; no agent at all.
quick:
    cargo test --lib --test architecture --test docs --test verbs --test claude_screens

# One case of the main job on both agents: just case item_003_a_signal_file_hands_over
case NAME:
    cargo test --test chain {{NAME}}

# Format, lint, documentation.
lint:
    cargo fmt
    cargo clippy --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

# Write the tables of docs/ that are made from the code again.
tables:
    HOPTY_WRITE_TABLES=1 cargo test --test docs

# What hopty costs between a program and a terminal, against every tool of its kind that is installed: just relay latency
relay *ARGS="all":
    cargo bench --bench relay -- {{ARGS}}

# How long it takes to come back to a session, and what is there again, against every tool of its kind that is installed.
attach *ARGS:
    cargo bench --bench attach -- {{ARGS}}

# What many idle sessions cost.
fleet SESSIONS="200":
    HOPTY_BENCH_SESSIONS={{SESSIONS}} cargo bench --bench fleet

# The supervisor's laws with another seed, by default a random one.
laws SEED=`date +%s`:
    HOPTY_LAWS_SEED={{SEED}} cargo test --lib laws

# Every property of the unit tests with random input, more of it than the tests take: just search 20000
search CASES="10000":
    PROPTEST_CASES={{CASES}} cargo test --lib -- --skip laws

# Random input, a million for each target: just fuzz 1000000
fuzz INPUTS="1000000":
    HOPTY_FUZZ_INPUTS={{INPUTS}} HOPTY_FUZZ_SEED=`date +%s` cargo test --release --test fuzz -- --nocapture

# Today's client with a host from before the screen model, and the other way round.
compat:
    bash .ci/compat

# Licences, duplicates and sources, and the advisories, which need a network.
audit:
    cargo deny check
