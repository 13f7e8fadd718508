# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/installed  ## ingest the sample jobs and write their reports
	$(BIN)/tracelake ingest sample_traces --store demo/store
	$(BIN)/tracelake report --store demo/store --output demo/report
	@echo "open demo/report/index.html"

test: $(VENV)/installed  ## all tests that need no outside files
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) demo
