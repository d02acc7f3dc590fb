# Every target sets up .venv by itself and refreshes it when pyproject.toml changes.
# Needed beforehand: make and Python 3.11 or newer (another one: make test PYTHON=python3.13).

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint types docs snippets bench papers certify fuzz release clean

help: ## show this list
	@echo "Usage: make TARGET [ARGS=\"...\"]"
	@grep -E '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/'

demo: .venv/demo.stamp ## set up and run the demonstration
	@$(BIN)/python -m kernelweave.demo $(ARGS)

test: .venv/test.stamp ## run the tests; one part of them: make test ARGS="-k smo"
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto $(ARGS)

lint: .venv/lint.stamp ## check style and formatting
	@$(BIN)/ruff check $(ARGS)
	@$(BIN)/ruff format --check $(ARGS)

types: .venv/types.stamp ## check the type annotations
	@$(BIN)/mypy src $(ARGS)

docs: .venv/docs.stamp ## build the documentation into docs/_build
	@$(BIN)/python -m sphinx -b html -W --keep-going --quiet $(ARGS) docs docs/_build
	@echo "Open docs/_build/index.html"

snippets: .venv/docs.stamp ## run every snippet of the documentation; some pages: make snippets ARGS="tables explain"
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/snippets.py $(ARGS)

bench: .venv/bench.stamp ## run the benchmarks
	@$(BIN)/python benchmarks/run.py $(ARGS)

papers: .venv/bench.stamp ## measure the tables and figures of the papers; one row: make papers ARGS="table-4.2 --quick"
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m papers $(ARGS)

certify: .venv/test.stamp ## check certificates on random problems against a cone solver; ARGS="--problems 5000"
	@OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m certify.run --output certify.txt $(ARGS)

fuzz: .venv/test.stamp ## feed damaged files to all readers; for longer: make fuzz ARGS="--inputs 100000 model"
	@$(BIN)/python fuzz/run.py $(ARGS)

release: .venv/release.stamp ## build the sdist and the wheel, and try both in new environments
	@$(BIN)/python packaging/release.py $(ARGS)

clean: ## remove .venv and everything that was built
	@rm -rf .venv build dist fuzz/found docs/_build docs/gallery docs/notebooks .pytest_cache .hypothesis .mypy_cache .ruff_cache
	@find src tests docs examples notebooks benchmarks fuzz -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# One environment; each target adds what it needs and leaves a stamp.
.venv/base.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kernelweave needs Python 3.11 or newer; \
	this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --upgrade pip
	@touch $@

.venv/demo.stamp: pyproject.toml | .venv/base.stamp
	@echo "Installing what 'make demo' needs"
	@$(PIP) install --editable '.[plot]'
	@touch $@

.venv/lint.stamp: pyproject.toml | .venv/base.stamp
	@echo "Installing what 'make lint' needs"
	@$(PIP) install --group lint
	@touch $@

.venv/release.stamp: pyproject.toml | .venv/base.stamp
	@echo "Installing what 'make release' needs"
	@$(PIP) install --group release
	@touch $@

.venv/%.stamp: pyproject.toml | .venv/base.stamp
	@echo "Installing what 'make $*' needs"
	@$(PIP) install --editable . --group $*
	@touch $@
