# `make conformance [IMPL=name]` judges an implementation. `make test` checks a change in minutes,
# `make test-site` and `make test-torch` the site and PyTorch; `make test-all` runs every test, `make nightly`
# also fuzzes and measures. `make fresh [SUITE=trixie] [ONLY='timm onnx']` runs them on a bare Debian.

IMPL ?= reference
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' reference/posenc/__init__.py)
PYTHON ?= python3
BIN := .venv/bin
LOWEST := .venv-lowest
UV := $(BIN)/python .ci/uv.py
# Pin versions and hashes of libraries and tools, so that a new release or a different file on an index
# cannot break a checkout. Build requirements are pinned too.
PINNED := .ci/pinned.txt
INSTALL := $(UV) pip install -q -p .venv -c $(PINNED) -b $(PINNED)
BUILDERS := .ci/build.txt

# Tests that need compilers.
COMPILED := tests/languages/test_languages.py tests/languages/test_cpp.py
# Tests of other targets than `make test`.
BESIDE := tests/site tests/languages tests/pytorch
PYTEST := $(BIN)/pytest -n auto --dist loadgroup --durations=20

# The commit hash draws one test in eight from long lists: a fault of the kit that lets 50 wrong miniatures
# pass is missed with a probability of (7/8)^50 = 0.13 %. See tests/shares.py.
SHARE ?= 8

# Without cached bytecode, each pytest that a test starts compiles the kit again.
unexport PYTHONDONTWRITEBYTECODE
# One thread per worker: threads of torch or NumPy would compete for its core.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export OMP_WAIT_POLICY = passive

# The browser for tests of the site.
export CHROMIUM ?= chromium-headless-shell
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
APT := $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q

.PHONY: conformance test test-site test-torch test-all nightly lint types types-all records pins lowest \
	goldens chromium languages compilers real scoreboard gpu board matrix site versions tag packages \
	fresh clean coverage gate

# Each library has its own environment, described in lab/scoreboard/libraries.yaml.
conformance: .venv/kit
	$(BIN)/python -m scoreboard.conformance $(IMPL)

# Two single-core jobs at a time, the quickest to fail first. No output is held back: each line shows at once.
BOTH := $(MAKE) --no-print-directory -j 2

# Needs no PyTorch, browser or compiler.
test:
	$(BOTH) lint types goldens
	POSENC_SHARE=$(SHARE) $(PYTEST) -m 'not torch and not nightly' $(BESIDE:%=--ignore=%)

# The site in a browser, and other JavaScript. PAGES=8 visits every eighth page.
PAGES ?= 1
test-site: .venv/dev .venv/browser chromium
	$(BOTH) types-all site
	POSENC_SITE=$(CURDIR)/site POSENC_SHARE=$(PAGES) $(PYTEST) \
	-m 'not nightly' tests/site tests/languages $(COMPILED:%=--ignore=%)

# Includes PyTorch code as inputs of posenc init and posenc repro.
test-torch: .venv/dev .venv/torch
	$(PYTEST) -m torch --ignore=tests/site --ignore=tests/languages tests

# Everything, without cached results.
test-all: export POSENC_LAB_STORE = fresh
test-all: .venv/browser .venv/torch chromium
	$(BOTH) lint types-all goldens lowest site
	POSENC_SITE=$(CURDIR)/site $(PYTEST) tests $(COMPILED:%=--ignore=%)
	$(MAKE) --no-print-directory real

# Measures outdated records again, for up to MINUTES minutes.
MINUTES ?= 30
FUZZED ?= 3600
nightly: test-all languages
	$(BIN)/python -m posenc_lab.field people
	$(BIN)/python -m posenc_lab.field kernels
	$(BIN)/python -m posenc_lab.field reports
	$(BIN)/python -m posenc_lab.deployed.outside
	$(BIN)/python -m posenc_lab.records --verify $(MINUTES)
	$(BIN)/python -m posenc_lab.fuzzing --seconds $(FUZZED) --seed $$(date +%j) --keep .venv/found
	$(BIN)/python -m posenc_lab.hostile
	POSENC_LAB_STORE=fresh POSENC_DRAW=budgets POSENC_COSTS=.venv/costs.json $(MAKE) --no-print-directory test
	$(BIN)/python -m tests.costs --budgets .venv/costs.json
	$(MAKE) --no-print-directory coverage

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/lint-imports --no-cache >.venv/imports || { cat .venv/imports; false; }

# `types` checks what is shipped, `types-all` all Python.
types: .venv/dev
	$(BIN)/mypy conformance reference

types-all: .venv/dev
	$(BIN)/mypy

# Regenerates committed files that are derived from others.
records: .venv/dev
	$(BIN)/python -m tests.signatures
	$(BIN)/python -m posenc_lab.readme
	$(BIN)/python -m posenc_lab.records $(SCHEME)
	$(BIN)/python -m tests.shares

# Pins the newest compatible releases, except for the kit's own dependencies: users install their newest
# releases, so the tests do too.
pins: .venv/dev
	$(BIN)/python -m scoreboard.pins

# The lowest dependency versions that pyproject.toml allows, with an empty cache, so that they parse the
# scheme files too.
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

# Not in `make test`: a change of Python needs no compilers.
languages: .venv/dev .venv/browser compilers
	$(BIN)/pytest -n auto $(COMPILED)

compilers:
	@{ command -v g++ && command -v rustc && command -v go && command -v javac \
	&& command -v Rscript; } >/dev/null \
	|| { $(APT) update && $(APT) install -y --no-install-recommends default-jdk-headless g++ \
	golang-go r-base-core rustc; } \
	|| { echo "This needs g++, rustc, go, javac and Rscript, and apt-get could not install them." >&2; \
	exit 1; }

# Libraries with registered adapters, and third-party code shown on pages.
real: .venv/dev .venv/lab
	$(PYTEST) --dist worksteal lab/real docs/examples

real-%:
	$(MAKE) --no-print-directory conformance IMPL=$*

# Judges outdated rows: libraries of lab/scoreboard/libraries.yaml (or ONLY these) and deployed engines of
# lab/scoreboard/deployed/engines.yaml (or ENGINES).
scoreboard: .venv/dev
	$(if $(ENGINES),,nice $(BIN)/python -m scoreboard $(ONLY))
	$(if $(ONLY),,nice $(BIN)/python -m scoreboard.deployed $(ENGINES))

# Judges libraries that need a GPU. HERE=1 installs nothing and uses the packages of GPU_PYTHON, which must
# include the kit.
GPU_PYTHON ?= $(BIN)/python
gpu: $(if $(HERE),,.venv/dev)
	PYTHONPATH=lab $(GPU_PYTHON) -m scoreboard --gpu $(if $(HERE),--here) $(ONLY)
	$(GPU_PYTHON) -m pytest -q lab/gpu

# Judges all rows, outdated or not; the weekly job.
board: .venv/dev
	$(BIN)/python -m scoreboard --all $(ONLY)

# Prints the libraries as the job matrix of a workflow.
matrix: .venv/kit
	$(BIN)/python -m scoreboard.table >>"$${GITHUB_OUTPUT:-/dev/stdout}"

# Weekly mutation test: of SAMPLE changes to the judging code, drawn by date, the tests must detect 90 %.
SAMPLE ?= 100
gate: .venv/dev
	$(BIN)/python -m posenc_lab.gate --sample $(SAMPLE)

# Coverage of kit and reference by tests that take minutes, at least `fail_under` of pyproject.toml. Cached
# results would not count, so the store is fresh.
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

# Deploys the site as one version on the branch gh-pages: `latest` for a tag REF, otherwise `dev`, and
# exports the branch to site-versions. Hosts look for 404.html at the root, outside of all versions.
# PUSH=--push pushes the branch.
NAMED = $(if $(filter v%,$(REF)),$(REF:v%=%),dev)
MIKE = NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(BIN):$$PATH" mike
versions: .venv/dev
	$(MIKE) deploy $(PUSH) --allow-empty --update-aliases $(NAMED) $(if $(filter dev,$(NAMED)),,latest)
	first=$$(git cat-file -e gh-pages:latest 2>/dev/null && echo latest || echo dev) \
	&& $(MIKE) set-default $(PUSH) --allow-empty $$first \
	&& rm -rf site-versions && mkdir site-versions && git archive gh-pages | tar -x -C site-versions \
	&& cp site-versions/$$first/404.html site-versions/404.html

# The published tag must match the version.
tag:
	@[ "$$TAG" = "v$(VERSION)" ] || { echo "The tag is $$TAG; the version is $(VERSION)." >&2; exit 1; }

# Builds a release reproducibly: the same commit gives the same bytes.
packages: .venv-build/done
	rm -rf dist dist-spec
	.venv-build/bin/python -m build --no-isolation --outdir dist
	mkdir dist-spec
	git archive -o dist-spec/posenc-spec-$(VERSION).tar.gz HEAD spec LICENSE

# Runs the README's commands on a bare Debian; .ci/fresh explains SUITE and ONLY.
fresh:
	.ci/fresh

clean:
	rm -rf .venv .venv-board .venv-build $(LOWEST) site site-versions dist dist-spec

# pip installs uv, uv the rest, so Python is the only requirement.
.venv/uv: $(PINNED)
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/p' $(PINNED) >.venv/uv.txt
	$(BIN)/python -m pip --disable-pip-version-check -q install --require-hashes -r .venv/uv.txt
	touch $@

# Only hashed packages take part in building a release.
.venv-build/done: $(BUILDERS)
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/python -m pip --disable-pip-version-check -q install --require-hashes \
	--only-binary :all: -r $(BUILDERS)
	touch $@

.venv/kit: .venv/uv pyproject.toml reference/posenc/__init__.py # for the version
	$(INSTALL) -e . pytest-xdist
	touch $@

.venv/dev: .venv/kit
	$(INSTALL) -e '.[dev,docs]'
	touch $@

.venv/browser: .venv/kit
	$(INSTALL) -e '.[browser]'
	touch $@

# Install torch first: where pip's index has a CPU build, later installs keep it.
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
