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
# A release of a library or a tool, which nobody here has seen, must not make a checkout red.
PINNED := pinned.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(PIP) install -c $(PINNED)
NEED_TORCH := conformer diffusers positional-encodings rotary-embedding-torch timm torchscale \
	torchtune transformers x-transformers
# JAX compiles for every new shape: minutes, so they are judged by name and not in `make real`.
NEED_JAX := equinox keras-hub
EXTRAS := $(NEED_TORCH) $(NEED_JAX) onnx
REAL := conformer diffusers diffusers-flux onnx positional-encodings rotary-embedding-torch \
	rotary-embedding-torch-half rotary-embedding-torch-xpos torch torchscale torchtune \
	torchtune-models torchtune-phi3 transformers transformers-dynamic transformers-falcon \
	transformers-gptj transformers-layers transformers-models x-transformers
# What the tutorials show, judged by docs/examples/test_examples.py.
EXAMPLES := jax triton
IN_REAL := $(filter-out timm torchscale $(NEED_JAX),$(EXTRAS)) $(EXAMPLES)
comma := ,
space := $(subst ,, )

# What is compiled, by compilers that not every machine has.
COMPILED := tests/test_languages.py tests/test_cpp.py
IN_BROWSER := tests/test_browser.py tests/test_explorer_page.py tests/test_reading.py
QUICK := adapters damaged_data elementary failures fresh length practices \
	recorded reference spec version workflows

# Where no bytecode is kept, every pytest that a test starts compiles and rewrites the kit anew.
unexport PYTHONDONTWRITEBYTECODE

# A browser of the system, for the tests of the site; CHROMIUM names another one.
export CHROMIUM ?= chromium-headless-shell
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
APT := $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q

.PHONY: conformance test quick lint types records tests unit browser goldens real real-timm real-code \
	real-length $(REAL:%=real-%) lowest cost chromium languages compilers scoreboard board site versions \
	tag packages fresh clean pins

# transformers-gptj needs what transformers needs.
NEEDED := $(foreach name,torch $(EXTRAS),$(if $(filter $(name) $(name)-%,$(IMPL)),$(name)))
judge = $(BIN)/pytest --impl=$(1) $(addprefix --posenc-known=,$(wildcard tests/known/$(1).yaml))

conformance: cost $(VENV)/kit $(NEEDED:%=$(VENV)/%)
	$(call judge,$(IMPL))

cost:
	@awk '$$1 == "$(IMPL)" { print "$(IMPL): about " $$2 " MB to download the first time;", \
	"with the verdict it takes up to " $$3 " minutes." }' costs.txt

# What keeps one core busy has another beside it; what is over soonest comes first.
BOTH := $(MAKE) --no-print-directory -j 2 --output-sync=recurse
test: lint
	$(BOTH) types goldens conformance
	$(MAKE) --no-print-directory tests
	$(BOTH) lowest real

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
	$(BIN)/python -m posenc_lab.readme
	$(BIN)/python -m posenc_lab.records $(SCHEME)

# Pins the newest releases that fit together, but of what the kit itself needs: of that people have the
# newest, and so must the tests.
RESOLVE = $(BIN)/uv pip compile pyproject.toml -q --no-header --no-annotate --universal \
	--python-version 3.11 --prerelease disallow -c constraints.txt
pins: $(VENV)/dev
	$(RESOLVE) | sed 's/==.*//' >$(VENV)/own
	$(RESOLVE) --all-extras $$(sed 's/^/--no-emit-package /' $(VENV)/own) \
	| grep -v '^cuda-\|^nvidia-' >$(PINNED)

# The kit with the oldest versions that it says it works with, in an environment of their own;
# its cache is empty, so that they read the scheme files too.
lowest: $(LOWEST)/kit
	rm -rf $(LOWEST)/cache
	$(AT_LOWEST) --impl=reference -q
	$(AT_LOWEST) -q -n auto tests/test_plugin.py tests/test_cli.py

goldens: $(VENV)/dev
	$(BIN)/posenc goldens --check

# `unit` and `browser` in one run, so that the site is built once and no core waits.
tests: $(VENV)/dev $(VENV)/torch chromium
	$(BIN)/pytest -n auto --durations=50 $(COMPILED:%=--ignore=%)

# Some of what posenc init and posenc repro are tried on is written in PyTorch.
unit: $(VENV)/dev $(VENV)/torch
	$(BIN)/pytest -n auto --durations=50 $(IN_BROWSER:%=--ignore=%) $(COMPILED:%=--ignore=%)

browser: $(VENV)/dev chromium
	$(BIN)/pytest -n auto --durations=30 $(IN_BROWSER)

chromium:
	@command -v "$(CHROMIUM)" >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends chromium-headless-shell; } \
	&& command -v "$(CHROMIUM)" >/dev/null \
	|| { echo "The site is tested in Chromium. $(CHROMIUM) is not there and apt-get could not" \
	"install it: install Chromium, or set CHROMIUM to the path of a browser built on it." >&2; \
	exit 1; }

# Beside `make test`, so that nobody needs three compilers to change a line of Python.
languages: $(VENV)/dev compilers
	$(BIN)/pytest -n auto $(COMPILED)

compilers:
	@{ command -v g++ && command -v rustc && command -v go && command -v javac \
	&& command -v Rscript; } >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends default-jdk-headless g++ \
	golang-go r-base-core rustc; } \
	|| { echo "This needs g++, rustc, go, javac and Rscript, and apt-get could not install them." >&2; \
	exit 1; }

# Every judge is a target, so that `make -j 2 real` has two of them at work; what takes longest is first.
# A thread of torch that waits for another one keeps its core busy, unless it is told not to.
real: export OMP_WAIT_POLICY = passive
real: real-code $(REAL:%=real-%) real-timm real-length

$(REAL:%=real-%): real-%: $(VENV)/real
	$(call judge,$*) -q

real-timm:
	$(MAKE) --no-print-directory conformance IMPL=timm PYTEST_ADDOPTS=-q

real-code: $(VENV)/real
	$(BIN)/pytest -q docs/examples lab/real

real-length: $(VENV)/real
	$(BIN)/python -m posenc_lab.length --smoke

# Judges what is out of date among the libraries of lab/scoreboard/libraries.yaml, or ONLY these of them.
scoreboard: $(VENV)/dev
	nice $(BIN)/python -m scoreboard $(ONLY)

# The same whether it is out of date or not, for the job of each week.
board: $(VENV)/dev
	$(BIN)/python -m scoreboard --all $(ONLY)

site: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The site as one version beside the others, on the branch gh-pages: that of a tag REF is the latest,
# any other is called dev. site-versions is what is published then. The page of a missing page is
# looked for at the root, where no version is. PUSH=--push takes the branch to where it came from.
NAMED = $(if $(filter v%,$(REF)),$(REF:v%=%),dev)
MIKE = NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(BIN):$$PATH" mike
versions: $(VENV)/dev
	$(MIKE) deploy $(PUSH) --allow-empty --update-aliases $(NAMED) $(if $(filter dev,$(NAMED)),,latest)
	first=$$(git cat-file -e gh-pages:latest 2>/dev/null && echo latest || echo dev) \
	&& $(MIKE) set-default $(PUSH) --allow-empty $$first \
	&& rm -rf site-versions && mkdir site-versions && git archive gh-pages | tar -x -C site-versions \
	&& cp site-versions/$$first/404.html site-versions/404.html

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
	rm -rf .venv .venv-board .venv-timm $(LOWEST) site site-versions dist dist-spec

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

# All of them at once: two installers must not write into one environment.
$(VENV)/real: $(VENV)/torch $(VENV)/torchscale
	$(INSTALL) -e '.[$(subst $(space),$(comma),$(strip $(IN_REAL)))]'
	touch $(IN_REAL:%=$(VENV)/%) $@

# torchscale pins old releases of libraries that what is judged of it does not import.
$(VENV)/torchscale: $(VENV)/kit
	$(PIP) install --no-deps torchscale==0.3.0
	touch $@

# keras-hub requires TensorFlow, gigabytes that it does not import where the backend is JAX.
$(VENV)/keras-hub: $(VENV)/kit
	$(INSTALL) -e '.[keras-hub]'
	$(PIP) install --no-deps keras-hub==0.32.0
	touch $@

$(filter-out $(VENV)/torchscale $(VENV)/keras-hub,$(patsubst %,$(VENV)/%,$(EXTRAS) $(EXAMPLES))): $(VENV)/kit
	$(INSTALL) -e '.[$(@F)]'
	touch $@
