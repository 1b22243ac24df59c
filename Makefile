# `make conformance [IMPL=name]` judges; `make test` is what one waits for. Beside it, each in minutes:
# `make test-site`, `make test-torch`; `make test-all` runs everything to the end, `make nightly` more.
# `make fresh [SUITE=trixie] [ONLY='timm onnx']` judges and tests on a bare Debian.

IMPL ?= reference
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' reference/posenc/__init__.py)
PYTHON ?= python3
BIN := .venv/bin
LOWEST := .venv-lowest
UV := $(BIN)/python .ci/uv.py
# A release of a library or a tool, which nobody here has seen, must not make a checkout red; nor may an
# index give another file than the one that was seen. What builds the kit is pinned too.
PINNED := .ci/pinned.txt
INSTALL := $(UV) pip install -q -p .venv -c $(PINNED) -b $(PINNED)
BUILDERS := .ci/build.txt

# What is compiled, by compilers that not every machine has.
COMPILED := tests/languages/test_languages.py tests/languages/test_cpp.py
# What `make test` leaves to the targets beside it.
BESIDE := tests/site tests/languages tests/pytorch
PYTEST := $(BIN)/pytest -n auto --dist loadgroup --durations=20

# Of eight tests in a long list the commit draws one: a fault of the kit that makes 50 of the 3,281 wrong
# miniatures pass is missed with a probability of (7/8)^50 = 0.13 %. See tests/shares.py.
SHARE ?= 8

# Where no bytecode is kept, every pytest that a test starts compiles and rewrites the kit anew.
unexport PYTHONDONTWRITEBYTECODE
# Each worker has one core: threads that torch or NumPy start beside it wait for each other.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export OMP_WAIT_POLICY = passive

# A browser of the system, for the tests of the site; CHROMIUM names another one.
export CHROMIUM ?= chromium-headless-shell
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
APT := $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q

.PHONY: conformance test test-site test-torch test-all nightly lint types types-all records pins lowest \
	goldens chromium languages compilers real scoreboard gpu board matrix site versions tag packages \
	fresh clean coverage gate

# A library is judged in an environment of its own, which lab/scoreboard/libraries.yaml describes.
conformance: .venv/kit
	$(BIN)/python -m scoreboard.conformance $(IMPL)

# What keeps one core busy has another beside it; what fails soonest comes first.
BOTH := $(MAKE) --no-print-directory -j 2 --output-sync=recurse

# Neither torch nor a browser nor a compiler.
test:
	$(BOTH) lint types goldens
	POSENC_SHARE=$(SHARE) $(PYTEST) -m 'not torch and not nightly' $(BESIDE:%=--ignore=%)

# The site, in a browser; and what else runs JavaScript. PAGES=8 looks at every eighth page.
PAGES ?= 1
test-site: .venv/dev .venv/browser chromium
	$(BOTH) types-all site
	POSENC_SITE=$(CURDIR)/site POSENC_SHARE=$(PAGES) $(PYTEST) \
	-m 'not nightly' tests/site tests/languages $(COMPILED:%=--ignore=%)

# Some of what posenc init and posenc repro are tried on is written in PyTorch, as people write.
test-torch: .venv/dev .venv/torch
	$(PYTEST) -m torch --ignore=tests/site --ignore=tests/languages tests

# Everything, and nothing of it remembered from the last time.
test-all: export POSENC_LAB_STORE = fresh
test-all: .venv/browser .venv/torch chromium
	$(BOTH) lint types-all goldens lowest site
	POSENC_SITE=$(CURDIR)/site $(PYTEST) tests $(COMPILED:%=--ignore=%)
	$(MAKE) --no-print-directory real

# Records that were made with other code are measured again, as many as MINUTES are enough for.
MINUTES ?= 30
FUZZED ?= 3600
nightly: test-all languages
	$(BIN)/python -m posenc_lab.field people
	$(BIN)/python -m posenc_lab.field kernels
	$(BIN)/python -m posenc_lab.records --verify $(MINUTES)
	$(BIN)/python -m posenc_lab.fuzzing --seconds $(FUZZED) --seed $$(date +%j) --keep .venv/found
	$(BIN)/python -m posenc_lab.hostile
	$(MAKE) --no-print-directory coverage

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports --no-cache >.venv/imports || { cat .venv/imports; false; }

# Types of what is shipped; of all Python in the checkout.
types: .venv/dev
	$(BIN)/mypy conformance reference

types-all: .venv/dev
	$(BIN)/mypy

# Writes anew what is generated from the rest of the checkout and kept beside it.
records: .venv/dev
	$(BIN)/python -m tests.signatures
	$(BIN)/python -m posenc_lab.readme
	$(BIN)/python -m posenc_lab.records $(SCHEME)
	$(BIN)/python -m tests.shares

# Pins the newest releases that fit together, but of what the kit itself needs: of that people have the
# newest, and so must the tests.
pins: .venv/dev
	$(BIN)/python -m scoreboard.pins

# The kit with the oldest versions that it says it works with; its cache is empty, so that they read
# the scheme files too.
lowest: $(LOWEST)/kit
	rm -rf $(LOWEST)/cache
	XDG_CACHE_HOME=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/pytest --impl=reference -q -n auto
	XDG_CACHE_HOME=$(CURDIR)/$(LOWEST)/cache $(LOWEST)/bin/pytest -q -n auto tests/runs/test_plugin.py tests/commands/test_cli.py

goldens: .venv/dev
	$(BIN)/posenc goldens --check

chromium:
	@command -v "$(CHROMIUM)" >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends chromium-headless-shell; } \
	&& command -v "$(CHROMIUM)" >/dev/null \
	|| { echo "The site is tested in Chromium. $(CHROMIUM) is not there and apt-get could not" \
	"install it: install Chromium, or set CHROMIUM to the path of a browser built on it." >&2; \
	exit 1; }

# Beside `make test`, so that nobody needs three compilers to change a line of Python.
languages: .venv/dev .venv/browser compilers
	$(BIN)/pytest -n auto $(COMPILED)

compilers:
	@{ command -v g++ && command -v rustc && command -v go && command -v javac \
	&& command -v Rscript; } >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends default-jdk-headless g++ \
	golang-go r-base-core rustc; } \
	|| { echo "This needs g++, rustc, go, javac and Rscript, and apt-get could not install them." >&2; \
	exit 1; }

# The libraries that the kit has adapters of, and what pages show of others' code.
real: .venv/dev .venv/lab
	$(PYTEST) --dist worksteal lab/real docs/examples

real-%:
	$(MAKE) --no-print-directory conformance IMPL=$*

# Judges what is out of date: the libraries of lab/scoreboard/libraries.yaml, or ONLY these of them, and
# the ENGINES of lab/scoreboard/deployed/engines.yaml, as they are deployed.
scoreboard: .venv/dev
	$(if $(ENGINES),,nice $(BIN)/python -m scoreboard $(ONLY))
	$(if $(ONLY),,nice $(BIN)/python -m scoreboard.deployed $(ENGINES))

# Judges what needs a GPU, where there is one. HERE=1 installs nothing: it judges what the Python that
# GPU_PYTHON names has, in which the kit is installed.
GPU_PYTHON ?= $(BIN)/python
gpu: $(if $(HERE),,.venv/dev)
	PYTHONPATH=lab $(GPU_PYTHON) -m scoreboard --gpu $(if $(HERE),--here) $(ONLY)
	$(GPU_PYTHON) -m pytest -q lab/gpu

# The same whether it is out of date or not, for the job of each week.
board: .venv/dev
	$(BIN)/python -m scoreboard --all $(ONLY)

# The same names as the jobs of a workflow.
matrix: .venv/kit
	$(BIN)/python -m scoreboard.table >>"$${GITHUB_OUTPUT:-/dev/stdout}"

# Of SAMPLE changes of the rooms that judge, drawn by the date, the tests must find nine in ten. Each week.
SAMPLE ?= 100
gate: .venv/dev
	$(BIN)/python -m posenc_lab.gate --sample $(SAMPLE)

# How much of the kit and of the reference these tests reach, which take minutes; it may not fall below
# what pyproject.toml says. A test that is left out because it has passed reaches nothing.
COVERED := adapters arrays asked badge bounded cli damaged_data difference document elementary \
	error_model explain export failures frequencies invariant known load predictors models named pattern \
	positions precision followups process programs protocol recover remote_process scorecard spec state \
	subject truth_cache variations
coverage: export POSENC_LAB_STORE = fresh
coverage: .venv/dev
	rm -f .coverage .coverage.*
	$(BIN)/pytest -q -n auto --cov --cov-report= --cov-fail-under=0 $(foreach each,$(COVERED),$(wildcard tests/*/test_$(each).py))
	$(BIN)/pytest -q -n auto --cov --cov-append --impl=reference

site: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The site as one version beside the others, on the branch gh-pages: that of a tag REF is the latest,
# any other is called dev. site-versions is what is published then. The page of a missing page is
# looked for at the root, where no version is. PUSH=--push takes the branch to where it came from.
NAMED = $(if $(filter v%,$(REF)),$(REF:v%=%),dev)
MIKE = NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(BIN):$$PATH" mike
versions: .venv/dev
	$(MIKE) deploy $(PUSH) --allow-empty --update-aliases $(NAMED) $(if $(filter dev,$(NAMED)),,latest)
	first=$$(git cat-file -e gh-pages:latest 2>/dev/null && echo latest || echo dev) \
	&& $(MIKE) set-default $(PUSH) --allow-empty $$first \
	&& rm -rf site-versions && mkdir site-versions && git archive gh-pages | tar -x -C site-versions \
	&& cp site-versions/$$first/404.html site-versions/404.html

# The tag that is published must be the version.
tag:
	@[ "$$TAG" = "v$(VERSION)" ] || { echo "The tag is $$TAG; the version is $(VERSION)." >&2; exit 1; }

# What a release consists of; whoever builds the same commit gets the same bytes.
packages: .venv-build/done
	rm -rf dist dist-spec
	.venv-build/bin/python -m build --no-isolation --outdir dist
	mkdir dist-spec
	git archive -o dist-spec/posenc-spec-$(VERSION).tar.gz HEAD spec LICENSE

# The commands of the README on a Debian of its own; SUITE and ONLY choose, see there.
fresh:
	.ci/fresh

clean:
	rm -rf .venv .venv-board .venv-build $(LOWEST) site site-versions dist dist-spec

# pip brings uv, so that nobody needs more than Python; uv brings the rest.
.venv/uv: $(PINNED)
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/p' $(PINNED) >.venv/uv.txt
	$(BIN)/python -m pip --disable-pip-version-check -q install --require-hashes -r .venv/uv.txt
	touch $@

# A few packages, each known by its hash: nothing else can touch what is released.
.venv-build/done: $(BUILDERS)
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip --disable-pip-version-check -q install --require-hashes \
	--only-binary :all: -r $(BUILDERS)
	touch $@

.venv/kit: .venv/uv pyproject.toml reference/posenc/__init__.py # which has the version
	$(INSTALL) -e . pytest-xdist
	touch $@

.venv/dev: .venv/kit
	$(INSTALL) -e '.[dev,docs]'
	touch $@

.venv/browser: .venv/kit
	$(INSTALL) -e '.[browser]'
	touch $@

# torch alone, and before what asks for it: where pip knows of a build for CPUs, it stays that one.
.venv/torch: .venv/uv
	$(INSTALL) torch
	touch $@

.venv/lab: .venv/kit .venv/torch
	$(INSTALL) -e '.[lab]'
	touch $@

$(LOWEST)/kit: .venv/uv pyproject.toml
	$(UV) venv -q --clear -p $(BIN)/python $(LOWEST)
	$(UV) pip install -q -p $(LOWEST) --resolution lowest-direct -e .
	$(UV) pip install -q -p $(LOWEST) jsonschema pytest-xdist
	touch $@
