# Everything starts here: `make` lists the commands. Each sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
LIGHT := $(VENV)/.installed-to-run
WORKERS ?= auto
COMPILE = $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace --parallel 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help:
	@echo "make build        compile what has changed; every other command does this first"
	@echo "make run          the paper's evaluation: page, tables and figures in results/paper"
	@echo "make test         lint, types, import contracts and all tests"
	@echo "make test ONLY=tests/graphs/test_graph.py::test_x"
	@echo "                  one test, file or folder, and nothing else"
	@echo "make test-checked all indices of compiled code are checked in some of the tests"
	@echo "make test-memory  AddressSanitizer watches compiled code in fewer of them"
	@echo "make proofs       check the machine-checked proofs (needs Coq)"
	@echo "make docs         build the site into build/site, and check its links"
	@echo "make bench        measure every performance claim"
	@echo "make bench-peers  the same against other libraries, installed for that alone"
	@echo "make release      check the list of what must hold before a version is published"
	@echo "make format       put the code into its standard form"
	@echo "make constraints  renew the pinned versions in constraints.txt"
	@echo "make clean        remove the environment and all caches; results/ stays"
	@echo
	@echo "The first of these sets up $(VENV), once. PYTHON=python3.12 chooses the interpreter,"
	@echo "WORKERS=4 the number of test processes."

# Machine code lies beside its source. Only cores that have changed are compiled.
.PHONY: build
build: $(STAMP)
	@$(COMPILE)

# It needs less than the development tools; where they are, it uses that environment.
.PHONY: run
run: $(firstword $(wildcard $(STAMP)) $(LIGHT))
	@$(COMPILE)
	$(BIN)/crossbandit reproduce

.PHONY: test
ifdef ONLY
test: build
	$(BIN)/python -m pytest $(ONLY)
else
test: build
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo & $(BIN)/mypy && wait $$!
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadgroup
endif

# In copies of the tree: a build with other options is not noticed as another one.
COPY = mkdir -p $@ && git ls-files -z --cached --others --exclude-standard | tar c --null -T - | tar x -C $@
PYTEST = PYTHONPATH=$(CURDIR)/$@/src $(CURDIR)/$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadgroup
OUTSIDE = tests/algorithms/learners/test_checkpoints.py tests/algorithms/learners/test_many.py tests/algorithms/learners/test_snapshots.py \
  tests/algorithms/learners/test_tokens.py tests/applications/test_short_tokens.py tests/limits/test_pacer.py

.PHONY: test-checked
test-checked: build/checked
.PHONY: build/checked
build/checked: $(STAMP)
	@$(COPY)
	cd $@ && CROSSBANDIT_CHECKED=1 $(COMPILE)
	cd $@ && $(PYTEST) -W error::pytest.PytestUnraisableExceptionWarning \
	  tests/core tests/algorithms/learners tests/laws tests/limits tests/applications

.PHONY: test-memory
test-memory: build/memory
.PHONY: build/memory
build/memory: $(STAMP)
	@$(COPY)
	cd $@ && CFLAGS=-fsanitize=address LDFLAGS=-fsanitize=address $(COMPILE)
	cd $@ && LD_PRELOAD=$$(gcc -print-file-name=libasan.so) PYTHONMALLOC=malloc \
	  ASAN_OPTIONS=detect_leaks=0 $(PYTEST) $(OUTSIDE)

.PHONY: proofs
proofs:
	@$(MAKE) --no-print-directory -C proofs check

# Strict: a warning, such as a link that leads nowhere, is an error.
.PHONY: docs
docs: build
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open build/site/index.html."

.PHONY: release
release: build
	$(BIN)/python -m benchmarks.release

.PHONY: bench
bench: build
	$(BIN)/python -m benchmarks

# The peers have an environment of their own: they are compared with, never depended on.
PEERS := .venv-peers

.PHONY: bench-peers
bench-peers: $(PEERS)/.installed
	$(PEERS)/bin/python -m benchmarks peers

$(PEERS)/.installed: benchmarks/peers.txt pyproject.toml constraints.txt
	@$(call require-python)
	@$(PYTHON) -m venv --clear $(PEERS)
	@$(call install,$(PEERS)/bin/python,--constraint constraints.txt --editable '.[all]' -r benchmarks/peers.txt)
	@touch $@

.PHONY: format
format: $(STAMP)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: clean
clean:
	rm -rf $(VENV) $(PEERS) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -type d -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -delete

# ---------------------------------------------------------------------------------- environment
# A stamp is written last and holds the folder's name. Where it is missing or wrong, or the
# interpreter does not start, an install was interrupted, the folder was moved, or Python was
# replaced: then the environment is made anew. A change to the two files below only updates it.
# Cython comes first: cores that were compiled with another one would be compiled again.

INTACT := $(shell $(BIN)/python -c 'import sys; print(open(sys.argv[1]).read())' \
  $(wildcard $(STAMP) $(LIGHT)) 2>/dev/null)

ifneq ($(INTACT),$(CURDIR))
.PHONY: $(STAMP) $(LIGHT)
endif

$(STAMP): NEEDED = 'crossbandit[dev]'
$(LIGHT): NEEDED = --no-compile 'crossbandit[cli]'
$(STAMP) $(LIGHT): pyproject.toml constraints.txt
ifneq ($(INTACT),$(CURDIR))
	@$(call require-python)
	@echo "Setting up $(VENV): once, for a minute or two ..."
	@$(PYTHON) -m venv --clear $(VENV)
else
	@echo "Updating $(VENV) ..."
endif
	@rm -f $(STAMP) $(LIGHT)
	@$(call install,$(BIN)/python,--constraint constraints.txt cython 'setuptools>=77')
	@$(call install,$(BIN)/python,--no-build-isolation --no-deps --editable .)
	@$(call install,$(BIN)/python,--constraint constraints.txt $(NEEDED))
	@printf '%s' "$(CURDIR)" > $@

# Pins are made by the oldest supported Python, so that they suit every later one too.
.PHONY: constraints
constraints:
	@$(call require-python)
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	$(PYTHON) -m venv "$$scratch/venv" && \
	$(call install,"$$scratch/venv/bin/python",'.[dev]') && \
	{ \
	  echo '# The versions that development and the tests use: every package of an environment with'; \
	  echo '# crossbandit and its dev extra, made by Python 3.11. Renew with: make constraints'; \
	  "$$scratch/venv/bin/python" -m pip list --format freeze \
	    --exclude crossbandit --exclude pip --exclude wheel; \
	} > "$$scratch/constraints.txt" && \
	cp "$$scratch/constraints.txt" constraints.txt
	@echo "Renewed constraints.txt; the next command updates $(VENV)."

install = $(1) -m pip install --quiet --quiet --disable-pip-version-check $(2)

define require-python
command -v $(PYTHON) >/dev/null || \
  { echo "There is no '$(PYTHON)'. Install Python 3.11 or later, or name one: make PYTHON=..." >&2; exit 1; }; \
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "Crossbandit needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name a newer one: make PYTHON=..." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
  { echo "'$(PYTHON)' cannot make environments. Install its venv module (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
endef
