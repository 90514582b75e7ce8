# `make demo` on a fresh clone: environment, install, one trained model. Everything else is below it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Each stamp is newer than what it depends on, so a second call installs nothing.
$(VENV)/base.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all,dev,judges]"
	touch $@

$(VENV)/bench.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[all,bench]"
	touch $@

.PHONY: demo test test-all lint bench clean

demo: $(VENV)/base.stamp
	$(BIN)/gradlab train digits-mlp

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto -m "not slow and not gpu" -q

test-all: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto -q

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp
	$(BIN)/gradlab bench train

clean:
	rm -rf $(VENV) build dist
