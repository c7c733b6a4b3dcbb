# Two commands need nothing but Python >= 3.11 and make:
#   make demo   sets everything up, then measures and lints the embedded example
#   make test   sets everything up, then runs the tests
# Everything lands in .venv/ and examples/images/ of this checkout; both commands can be repeated.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# The tests start hundreds of processes, each of which would compile our modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all matrix libraries lint types docs site vscode dist models proof check clean

demo: $(VENV)/.installed-demo
	@$(BIN)/python examples/demo.py

# Tests that measure time, and those that look at the whole system, are one group each and do not disturb each other.
# Tests wait for a third of their time: three processes for two CPUs.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, 3 * (os.cpu_count() or 1) // 2))')
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder --durations 10

test: $(VENV)/.installed-test
	$(PYTEST) -m "not slow" $(TESTS)

# The slow variants too. BUDGET=600 begins no test after ten minutes, and says what it left out.
test-all: $(VENV)/.installed-test
	$(PYTEST) $(if $(BUDGET),--time-budget $(BUDGET)) $(TESTS)

# The contract of each check under each torch, Python and pytest that people have, and the table of docs/compatibility.md;
# with ONLY="oldest newest" those rows alone, and no table.
matrix: $(VENV)/bin/python
	$(BIN)/python benchmarks/matrix/run.py $(if $(ONLY),--only $(ONLY),--write)

# The tests with loaders of other libraries, each skipped where its library is missing.
libraries: $(VENV)/.installed-libraries
	$(BIN)/python -m pytest tests/libraries

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/dl-lint .

types: $(VENV)/.installed-lint $(VENV)/.installed-test
	$(BIN)/mypy

# The page of all rules, from their own docstrings and what `make proof` measured.
docs: $(VENV)/.installed-lint
	$(BIN)/python -m dl_lint.engine.catalogue > docs/rules.md.new
	mv docs/rules.md.new docs/rules.md

# The extension for VS Code, editors/vscode/dl-lint.vsix, tested with the server of this environment. Needs node and npm.
vscode: $(VENV)/.installed-test
	cd editors/vscode && npm ci --no-audit --no-fund && npm run build && DL_LINT=$(abspath $(BIN))/dl-lint npm test && npm run package

# The documentation site, in site/. A broken link is an error.
site: $(VENV)/.installed-docs
	$(BIN)/python -m mkdocs build --strict --quiet

# Wheels and sdists of both distributions, in dist/, checked as PyPI checks them.
dist: $(VENV)/.installed-release
	rm -rf dist
	$(BIN)/python -m build --outdir dist lint
	DL_LINT_BY_NAME=1 $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*

# The stubs that are made of what the installed torch, numpy and pandas say of themselves.
models: $(VENV)/.installed-test
	$(BIN)/python -W ignore benchmarks/model_stubs.py

# What breaking each rule costs, or with RULE=DL301 one of them (several in quotes): half an hour for all. The result is
# kept in lint/dl_lint/engine/effects.json, and on the page of all rules.
proof: $(VENV)/.installed-proof
	$(BIN)/python benchmarks/proof/run.py --write $(RULE); status=$$?; $(MAKE) docs && exit $$status

check: lint types test

# One stamp a dependency group, made anew whenever the declared dependencies change.
$(VENV)/.installed-%: pyproject.toml lint/pyproject.toml | $(VENV)/bin/python
	@echo "installing pytest-dataloader and its dependency group '$*' into $(VENV)"
	@DL_LINT_BY_NAME=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable lint --editable . --group $*
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"

clean:
	rm -rf $(VENV) examples/images
