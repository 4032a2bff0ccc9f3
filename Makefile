# One environment for everything, built on first use and again when a pyproject.toml or constraints.txt changes.
PYTHON ?= python3
PYTEST_ARGS ?=
# Test processes, each on one thread: as many as there are cores, and no more than the tests' memory allows.
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
BIN := .venv/bin
MADE := .venv/.made

.DEFAULT_GOAL := help
.PHONY: help demo test test-core test-slow check docs docs-fast wheel-test digests clean

help:
	@echo "make demo      train, translate, score and draw an alignment on the built-in corpus"
	@echo "make test      the tests (PYTEST_ARGS='-k beam' for some of them)"
	@echo "make test-core the tests of what lies outside lab/ and serve/"
	@echo "make test-slow the tests that take minutes"
	@echo "make check     ruff, mypy, pyright and the direction of imports"
	@echo "make docs      the site, with its chapters executed, in build/site"
	@echo "make docs-fast the same without executing the chapters: for a look at the prose"
	@echo "make wheel-test install the wheel in an empty environment and try it"
	@echo "make digests   accept edited equations as those that the kernels equal, if the tests of equality pass"
	@echo "make clean     remove the environment and every cache"

demo: $(MADE)
	@$(BIN)/rnnsearch demo

test: $(MADE)
	@$(BIN)/pytest -q -n $(JOBS) $(PYTEST_ARGS)

test-core: $(MADE)
	@$(BIN)/pytest -q -n $(JOBS) tests --ignore=tests/lab --ignore=tests/serve $(PYTEST_ARGS)

test-slow: $(MADE)
	@$(BIN)/pytest -q -n $(JOBS) -m slow $(PYTEST_ARGS)

check: $(MADE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src
	$(BIN)/mypy --strict tests/typing
	MYPYPATH=benchmarks:scripts:tests $(BIN)/mypy --explicit-package-bases benchmarks scripts/*.py
	@if $(BIN)/pyright --version >/dev/null 2>&1; then \
	  echo "$(BIN)/pyright"; export PYRIGHT_PYTHON_IGNORE_WARNINGS=1; $(BIN)/pyright --pythonpath $(BIN)/python && \
	    PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright --verifytypes rnnsearch.extending --ignoreexternal; \
	  else echo "pyright could not be fetched from npm: mypy alone has checked the public types" >&2; fi
	$(BIN)/lint-imports --no-logo --no-cache

docs: $(MADE)
	$(BIN)/python scripts/docsite

docs-fast: $(MADE)
	$(BIN)/python scripts/docsite --fast

wheel-test: $(MADE)
	$(BIN)/python scripts/wheel_test.py

digests: $(MADE)
	$(BIN)/python scripts/digests.py

$(MADE): pyproject.toml models/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "rnnsearch needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo not there): name another one, as in 'make PYTHON=python3.11 test'" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module: install it (Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "building .venv (once; a minute or more, torch is large) ..." >&2
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e ./models
	@touch $@

clean:
	rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
