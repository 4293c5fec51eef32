# Everything is installed into .venv and the data folder; nothing else on the machine changes, but for `deps` as root.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
DATA ?= data
PORT ?= 8000
HOST ?= 127.0.0.1
ROOTLESS ?=
# Two processes of tests for each core: half of their time they wait. What is marked `serial` runs after them, alone.
JOBS ?= $(shell echo $$((2 * $$(nproc))))
TOGETHER = -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Independent readers that tests run as processes of their own; nothing of them is ever installed with us (fwshift is GPL).
PEERS := build/peers
export ROOTLESS
# Some machines set it: then each of the many processes that tests start would compile all of our modules again.
unexport PYTHONDONTWRITEBYTECODE

# A broken index or proxy setting of the machine is the machine's business: pip and cargo read their usual configuration.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CARGO := MAKEFLAGS= cargo --quiet
MANIFEST := native_capture/Cargo.toml
RUST_SOURCES := $(shell find native_capture \( -name target -o -path native_capture/fuzz \) -prune -o \( -name '*.rs' -o -name '*.toml' -o -name '*.pyi' -o -name '*.txt' -o -name Cargo.lock \) -print 2>/dev/null)

.PHONY: help run test deps bench soak corpus lint demo-net lock setup setup-test clean test-rust test-python test-serial test-postgres peers mutants

help:
	@echo "make run      set up, then the whole service with the sample network (PORT=8000 HOST=127.0.0.1 DATA=data)"
	@echo "make test     set up, then all tests (ROOTLESS=1 leaves out what needs root)"
	@echo "make deps     print missing Debian packages; as root, install them"
	@echo "make lint     formatters, linters, types, import contracts"
	@echo "make corpus   coverage over the corpus (POLICYHUB_CORPUS)"
	@echo "make demo-net the live loop in network namespaces (root)"
	@echo "make mutants  wrong decisions that the tests notice (ROOMS=\"domain sonic\" SEED=1 SAMPLE=40)"
	@echo "make bench    measurements   make soak   full kill, fuzz, crash and peer sets   make lock   new requirement locks"

run:
	@.ci/deps run
	@$(MAKE) --no-print-directory setup
	@exec $(BIN)/policyhub up --demo --data "$(DATA)" --host "$(HOST)" --port "$(PORT)"

test:
	@.ci/deps run test
	@$(MAKE) --no-print-directory setup-test
	@$(MAKE) --no-print-directory --keep-going -j2 --output-sync=target lint test-rust && first=0 || first=$$?; \
	 $(MAKE) --no-print-directory --keep-going -j1 test-python test-serial test-postgres && exit $$first

deps:
	@.ci/deps run test bench

# ---- set-up: stamps say what is done already

setup: $(VENV)/.run $(VENV)/.native $(VENV)/.project
	@:
setup-test: $(VENV)/.test $(VENV)/.native $(VENV)/.project
	@:

$(BIN)/python:
	@python=$$(.ci/toolchain); echo "setup: $(VENV) with $$($$python --version)"; "$$python" -m venv $(VENV)

$(VENV)/.run: requirements.lock | $(BIN)/python
	@if [[ ! -e $(VENV)/.test ]]; then echo "setup: Python packages"; $(PIP) install --require-hashes -r requirements.lock; fi
	@touch $@

$(VENV)/.test: requirements-test.lock | $(BIN)/python
	@echo "setup: Python packages, with those of the tests"
	@$(PIP) install --require-hashes -r requirements-test.lock
	@touch $@

$(VENV)/.native: $(RUST_SOURCES) | $(BIN)/python
	@.ci/toolchain >/dev/null
	@[[ -x $(BIN)/maturin ]] || $(PIP) install --require-hashes -r requirements.lock
	@echo "setup: packet engine (Rust)"
	@cd native_capture && VIRTUAL_ENV="$(CURDIR)/$(VENV)" "$(CURDIR)/$(BIN)/maturin" develop --release --locked --quiet
	@touch $@

$(VENV)/.project: pyproject.toml | $(BIN)/python $(VENV)/.native
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# ---- checks

lint: setup-test
	@echo "lint: ruff";          $(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@echo "lint: mypy";          $(BIN)/mypy --no-error-summary policyhub flowguard
	@echo "lint: imports";       $(BIN)/lint-imports --no-logo >/dev/null || $(BIN)/lint-imports --no-logo
	@echo "lint: migrations";    DJANGO_SETTINGS_MODULE=policyhub.conf.settings.test $(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run >/dev/null
	@echo "lint: cargo fmt";     cargo fmt --manifest-path $(MANIFEST) --all --check
	@echo "lint: cargo clippy";  $(CARGO) clippy --manifest-path $(MANIFEST) --workspace --all-targets --locked -- -D warnings

test-rust:
	@echo "test: Rust"
	@$(CARGO) test --manifest-path $(MANIFEST) --workspace --exclude native-capture --locked --quiet

test-python:
	@echo "test: Python on SQLite"
	@$(BIN)/pytest -q $(TOGETHER) -m "not serial"

test-serial:
	@echo "test: what keeps promises in seconds, alone"
	@$(BIN)/pytest -q -m "serial" tests/scenarios || [[ $$? == 5 && -n "$(ROOTLESS)" ]] # 5: nothing is left without root

test-postgres:
	@echo "test: what uses the database, on PostgreSQL"
	@POLICYHUB_TEST_DB=postgres $(BIN)/pytest -q $(TOGETHER) -m "db and not browser and not serial"

corpus: setup-test
	@$(BIN)/pytest -q -m corpus

bench: setup-test
	@.ci/deps run test bench
	@$(MAKE) --no-print-directory $(PEERS)/nfstream/.done || echo "bench: NFStream could not be installed"
	@$(BIN)/pytest -q -s -m bench

# Each reader in an environment of its own: fwshift 35 MB, genie 800 MB.
peers: $(PEERS)/fwshift/.done $(PEERS)/genie/.done
	@:

$(PEERS)/%/.done: tests/corpus/locks/%.lock
	@echo "setup: $* (an independent reader, for tests)"
	@rm -rf $(@D) && "$$(.ci/toolchain)" -m venv $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

soak: setup-test peers
	@.ci/deps run test soak
	@.ci/fuzz 600
	@$(BIN)/pytest -q -s -m soak
	@POLICYHUB_TEST_DB=postgres $(BIN)/pytest -q -s -m "soak and db"

# Without ROOMS: the domain, what vendors share, and every platform with thirty golden cases. A room below 80 % fails.
ROOMS ?=
SEED ?= 1
SAMPLE ?= 40
mutants: setup-test
	@$(BIN)/python -m tests.mutants $(ROOMS) --seed $(SEED) --sample $(SAMPLE)

demo-net: setup
	@.ci/deps run test
	@[[ $$(id -u) == 0 ]] || { echo "demo-net needs root: it makes network namespaces" >&2; exit 2; }
	@exec $(BIN)/python -m flowguard.lab.net.loop

# ---- upkeep

lock:
	@[[ -x build/lock/bin/uv ]] || { $$(.ci/toolchain) -m venv build/lock && build/lock/bin/pip install --quiet uv; }
	@.ci/lock build/lock/bin/uv

clean:
	@rm -rf build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
