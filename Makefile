# Two targets do everything: `make conformance [IMPL=name]` and `make test`; `make quick` is what one
# runs while one writes.
# `make fresh [SUITE=trixie] [ONLY='timm onnx']` does the same on a bare Debian.

IMPL ?= reference
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' reference/posenc/__init__.py)
PYTHON ?= python3
# PyPI's torchvision is built for GPUs. Beside torch for CPUs it cannot be imported as it is, and
# whatever looks for it there breaks; timm, which needs it, has an environment of its own.
VENV := $(if $(filter timm,$(IMPL)),.venv-timm,.venv)
BIN := $(VENV)/bin
LOWEST := .venv-lowest
AT_LOWEST := XDG_CACHE_HOME=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/pytest
# torch is pinned and installed first: a plain `torch` may bring gigabytes of GPU libraries.
TORCH ?= torch==2.13.0
CONSTRAINTS := constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(PIP) install -c $(CONSTRAINTS)
NEED_TORCH := conformer diffusers positional-encodings rotary-embedding-torch timm torchscale \
	torchtune transformers x-transformers
# JAX compiles for every new shape: minutes, so they are judged by name and not in `make real`.
NEED_JAX := equinox keras-hub
EXTRAS := $(NEED_TORCH) $(NEED_JAX) onnx
REAL := conformer diffusers diffusers-flux onnx positional-encodings rotary-embedding-torch \
	rotary-embedding-torch-half rotary-embedding-torch-xpos torch torchscale torchtune \
	torchtune-phi3 transformers transformers-dynamic transformers-falcon transformers-gptj \
	transformers-layers x-transformers
# What the tutorials show, judged by docs/examples/test_examples.py.
EXAMPLES := jax triton

IN_BROWSER := tests/test_browser.py tests/test_explorer_page.py
QUICK := adapters damaged_data elementary failures fresh length practices \
	recorded reference spec version workflows

# A browser of the system, for the tests of the site; CHROMIUM names another one.
export CHROMIUM ?= chromium
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
APT := $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q

.PHONY: conformance test quick lint types records unit browser goldens real lowest cost chromium site \
	tag packages fresh clean

# transformers-gptj needs what transformers needs.
NEEDED := $(foreach name,torch $(EXTRAS),$(if $(filter $(name) $(name)-%,$(IMPL)),$(name)))
judge = $(BIN)/pytest --impl=$(1) $(addprefix --posenc-known=,$(wildcard tests/known/$(1).yaml))

conformance: cost $(VENV)/kit $(NEEDED:%=$(VENV)/%)
	$(call judge,$(IMPL))

cost:
	@awk '$$1 == "$(IMPL)" { print "$(IMPL): about " $$2 " MB to download the first time;", \
	"with the verdict it takes up to " $$3 " minutes." }' costs.txt

test: lint types goldens unit browser conformance lowest real

# In a minute on two cores: no browser, hardly a process of its own, no goldens, no miniatures.
quick: lint types
	$(BIN)/pytest -q -n 2 $(QUICK:%=tests/test_%.py)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache >$(VENV)/imports || { cat $(VENV)/imports; false; }

types: $(VENV)/dev
	$(BIN)/mypy

# Writes anew what is generated from the rest of the checkout and kept beside it.
records: $(VENV)/dev
	$(BIN)/python -m tests.signatures
	$(BIN)/python -m benchmarks.records $(SCHEME)

# The kit with the oldest versions that it says it works with, in an environment of their own;
# its cache is empty, so that they read the scheme files too.
lowest: $(LOWEST)/kit
	rm -rf $(LOWEST)/cache
	$(AT_LOWEST) --impl=reference -q
	$(AT_LOWEST) -q tests/test_plugin.py tests/test_cli.py

goldens: $(VENV)/dev
	$(BIN)/posenc goldens --check

# Some of what posenc init and posenc repro are tried on is written in PyTorch.
unit: $(VENV)/dev $(VENV)/torch
	$(BIN)/pytest -n auto $(IN_BROWSER:%=--ignore=%)

browser: $(VENV)/dev chromium
	$(BIN)/pytest -n auto $(IN_BROWSER)

chromium:
	@command -v "$(CHROMIUM)" >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends chromium; } \
	&& command -v "$(CHROMIUM)" >/dev/null \
	|| { echo "The site is tested in Chromium. $(CHROMIUM) is not there and apt-get could not" \
	"install it: install Chromium, or set CHROMIUM to the path of a browser built on it." >&2; \
	exit 1; }

define line


endef

real: $(patsubst %,$(VENV)/%,$(filter-out timm $(NEED_JAX),$(EXTRAS)) $(EXAMPLES))
	$(foreach name,$(REAL),$(call judge,$(name)) -q$(line)	)
	$(MAKE) --no-print-directory conformance IMPL=timm PYTEST_ADDOPTS=-q
	$(BIN)/pytest -q docs/examples
	$(BIN)/python -m benchmarks.length --smoke

site: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The tag that is published must be the version.
tag:
	@[ "$$TAG" = "v$(VERSION)" ] || { echo "The tag is $$TAG; the version is $(VERSION)." >&2; exit 1; }

# What a release consists of.
packages: $(VENV)/dev
	rm -rf dist dist-spec
	$(BIN)/python -m build --outdir dist
	mkdir dist-spec
	tar -czf dist-spec/posenc-spec-$(VERSION).tar.gz spec LICENSE

# The commands of the README on a Debian of its own; SUITE and ONLY choose, see there.
fresh:
	.ci/fresh

clean:
	rm -rf .venv .venv-timm $(LOWEST) site dist dist-spec

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -U pip
	touch $@

$(VENV)/kit: $(VENV)/python pyproject.toml reference/posenc/__init__.py # which has the version
	$(INSTALL) -e .
	touch $@

$(VENV)/dev: $(VENV)/kit
	$(INSTALL) -e '.[dev,docs]'
	touch $@

$(LOWEST)/kit: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install -q -c $(LOWEST)/constraints.txt -e . jsonschema pytest-xdist
	touch $@

$(VENV)/torch: $(VENV)/python
	$(PIP) install $(TORCH)
	touch $@

$(NEED_TORCH:%=$(VENV)/%) $(VENV)/triton: $(VENV)/torch

# torchscale pins old releases of libraries that what is judged of it does not import.
$(VENV)/torchscale: $(VENV)/kit
	$(PIP) install --no-deps torchscale
	touch $@

# keras-hub requires TensorFlow, gigabytes that it does not import where the backend is JAX.
$(VENV)/keras-hub: $(VENV)/kit
	$(INSTALL) -e '.[keras-hub]'
	$(PIP) install --no-deps keras-hub
	touch $@

$(filter-out $(VENV)/torchscale $(VENV)/keras-hub,$(patsubst %,$(VENV)/%,$(EXTRAS) $(EXAMPLES))): $(VENV)/kit
	$(INSTALL) -e '.[$(@F)]'
	touch $@
