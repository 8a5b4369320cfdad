# Two commands do everything: `make run` and `make test`. Both install what is missing (scripts/setup).

CMD ?= $${SHELL:-bash}
GUARD := target/release/openclaw-guard

.PHONY: help run demo build test test-escape test-full test-foreign test-machines soak fuzz bench bench-check bench-report lint setup deb dist clean

help:
	@echo "make run [CMD='bash -c \"echo hi\"']  build, and start the guard on a shell or on CMD"
	@echo "make demo                            build, and show a denial and a question, on temporary files"
	@echo "make deb                             a package for Debian and Ubuntu, in target/debian"
	@echo "make dist [PROCESSORS=aarch64]       a release: a program without a C library in a tarball, and the package"
	@echo "make test                            the gate: lint, unit and end-to-end tests, as root and as a user"
	@echo "make test-escape [LAYERS=--layers]   the attacks, under each choice of tiers; then without each layer"
	@echo "make test-full [SHARD=1/3]           adds foreign suites, real gateways, licences and unused dependencies"
	@echo "make test-machines [NAME='A B']     in virtual machines with other kernels (docs/machines.md)"
	@echo "make test-foreign [ARGS=--list]      other projects' test suites, natively and guarded, compared case by case"
	@echo "make soak                            the timed races, the long loops, 100,000 cases of each property, mutants"
	@echo "make fuzz [SECONDS=1200]             each fuzz target for so long (scripts/fuzz SECONDS TARGET: one)"
	@echo "make bench                           what a decision costs"
	@echo "make bench-report                    every benchmark, its tables and pictures (docs/benchmarks.md)"
	@echo "make bench-check [UPDATE=--update]   instructions of the hot path against the committed figures"

setup:
	@scripts/setup build

build: setup
	@scripts/build

# The command must not inherit the variables that make sets for its own children.
run: build
	@unset MAKEFLAGS MFLAGS; $(GUARD) -- $(CMD)

demo: build
	@unset MAKEFLAGS MFLAGS; $(GUARD) demo

deb:
	@scripts/deb

dist:
	@scripts/dist $(PROCESSORS)

# Cargo itself keeps the direction of the crates.
lint:
	@scripts/import-circles approvals/src bench/src cli/src fuzz/oracles/src openclaw/src policy/src shim/src supervisor/src
	@scripts/crate-graph --check
	@scripts/type-names approvals/src bench/src cli/src fuzz/oracles/src openclaw/src policy/src shim/src supervisor/src
	@scripts/house-names
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

test:
	@scripts/setup test
	@scripts/test --lint

test-escape:
	@scripts/setup full
	@scripts/test-escape $(LAYERS)

test-full:
	@scripts/setup full
	@scripts/test-full $(SHARD)

test-machines:
	@scripts/setup machines
	@scripts/build-tests
	@scripts/machines run $(NAME)

test-foreign:
	@scripts/setup test
	@scripts/build
	@GUARD=$(GUARD) scripts/test-foreign $(ARGS)

soak:
	@scripts/setup test
	@GUARD_SOAK=1 GUARD_RACE_SECONDS=180 scripts/test
	@scripts/mutants

fuzz:
	@scripts/fuzz $(SECONDS)

bench:
	@cargo bench --locked -p guard-bench

bench-check:
	@scripts/setup test
	@scripts/bench-check $(UPDATE)

bench-report:
	@scripts/setup bench
	@scripts/bench-report

clean:
	cargo clean
