# Two targets do everything: `make conformance [IMPL=name]` and `make test`.

IMPL ?= reference
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# torch is pinned and installed first: a plain `torch` may bring gigabytes of GPU libraries.
TORCH ?= torch==2.13.0
CONSTRAINTS := constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(PIP) install -c $(CONSTRAINTS)
NEED_TORCH := transformers torchtune
EXTRAS := $(NEED_TORCH) onnx
REAL := transformers torchtune onnx

.PHONY: conformance test lint types unit goldens real site clean

# transformers-gptj needs what transformers needs.
NEEDED := $(filter $(firstword $(subst -, ,$(IMPL))),$(EXTRAS))

conformance: $(VENV)/kit $(NEEDED:%=$(VENV)/%)
	$(BIN)/pytest --impl=$(IMPL)

test: lint types goldens unit conformance real

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy

goldens: $(VENV)/dev
	$(BIN)/posenc goldens --check

unit: $(VENV)/dev
	$(BIN)/pytest -n auto

real: $(REAL:%=$(VENV)/%)
	$(BIN)/pytest -q --impl=transformers --posenc-known=tests/known/transformers.yaml
	$(BIN)/pytest -q --impl=transformers-gptj
	$(BIN)/pytest -q --impl=transformers-dynamic --posenc-known=tests/known/transformers-dynamic.yaml
	$(BIN)/pytest -q --impl=transformers-falcon --posenc-known=tests/known/transformers-falcon.yaml
	$(BIN)/pytest -q --impl=torchtune --posenc-known=tests/known/torchtune.yaml
	$(BIN)/pytest -q --impl=onnx
	$(BIN)/pytest -q --impl=docs/examples/torch_adapter.py

site: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) site dist

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -U pip
	touch $@

$(VENV)/kit: $(VENV)/python pyproject.toml
	$(INSTALL) -e .
	touch $@

$(VENV)/dev: $(VENV)/kit
	$(INSTALL) -e '.[dev,docs]'
	touch $@

$(VENV)/torch: $(VENV)/python
	$(PIP) install $(TORCH)
	touch $@

$(NEED_TORCH:%=$(VENV)/%): $(VENV)/torch

$(EXTRAS:%=$(VENV)/%): $(VENV)/kit
	$(INSTALL) -e '.[$(@F)]'
	touch $@
