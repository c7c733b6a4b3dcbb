# Two commands need nothing but Python >= 3.11 and make:
#   make demo   sets everything up, then measures and lints the embedded example
#   make test   sets everything up, then runs the tests
# Everything lands in .venv/ and examples/images/ of this checkout; both commands can be repeated.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test libraries lint types docs check clean

demo: $(VENV)/.installed-demo
	@$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(TESTS)

# The tests with loaders of accelerate, datasets, Lightning and webdataset, which are skipped where those are missing.
libraries: $(VENV)/.installed-libraries
	$(BIN)/python -m pytest tests/libraries

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/dl-lint .

types: $(VENV)/.installed-lint $(VENV)/.installed-test
	$(BIN)/mypy

# The page of all rules, from their own docstrings.
docs: $(VENV)/.installed-lint
	$(BIN)/python -m dl_lint.catalogue > docs/rules.md.new
	mv docs/rules.md.new docs/rules.md

check: lint types test

# One stamp a dependency group, made anew whenever the declared dependencies change.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/bin/python
	@echo "installing pytest-dataloader and its dependency group '$*' into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group $*
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"

clean:
	rm -rf $(VENV) examples/images
