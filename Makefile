# Needs Python 3.11 or newer and make. Everything is written inside git-ignored folders of this clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test check bench clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.installed-all
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n 2 tests

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-bench
	$(BIN)/python tests/benchmarks/run.py

clean:
	rm -rf $(VENV) .acms .bench .benchmarks .demo .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find acms_adapters strategies examples tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is %s. Try: make PYTHON=python3.12" % sys.version.split()[0])'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# One stamp per extra. pip's own cache lies outside the clone, so it is not used.
$(VENV)/.installed-%: pyproject.toml $(VENV)/.created
	@echo 'Installing the extra "$*" and what it needs; the first time takes minutes.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --editable '.[$*]'
	@touch $@
