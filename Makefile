# Every recipe works in the checkout with relative paths and starts programs with `python -m`, so that a checkout whose
# path has spaces works too.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
PY := .venv/bin/python

# Extra arguments for pytest: make test ARGS="-k lint -x"
ARGS ?=

# How long a soak is, on each store: kills of processes, simulated fleets, rounds of threads that write at once, months
# of a house that runs itself.
KILLS ?= 1000
SEED ?= 1
SIMULATIONS ?= 200
ROUNDS ?= 400
MONTHS ?= 5

.PHONY: help setup setup-test setup-bench demo test check format format-check lint types imports schemas docs docs-check \
  bench soak requirements clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' Makefile

setup: ## Make .venv with what keisei needs to run
	@sh scripts/setup.sh user

setup-test: ## Add what the tests need
	@sh scripts/setup.sh test

setup-bench: ## Add what the benches measure us against
	@sh scripts/setup.sh bench

demo: setup ## See keisei at work: a play of a hostile agent and a good one
	@$(PY) -I -X utf8 -m keisei demo

test: setup-test ## Run the tests; more arguments in ARGS=
	@$(PY) -m pytest -q -n 2 --dist worksteal $(ARGS)

check: format-check lint types imports schemas test docs-check ## The whole bar: format, lint, types, imports, schemas, tests, docs

format: setup-test ## Format the code
	@$(PY) -m ruff format

format-check: setup-test
	@$(PY) -m ruff format --check

lint: setup-test ## Lint the code
	@$(PY) -m ruff check

types: setup-test ## Check the types of src
	@$(PY) -m mypy

imports: setup-test ## Check that the floors hold
	@$(PY) .venv/bin/lint-imports

schemas: setup ## Compare the published schemas with the last release
	@$(PY) scripts/released.py

docs: setup ## Write the generated pages of docs/
	@$(PY) scripts/docs.py

docs-check: setup
	@$(PY) scripts/docs.py --check

bench: setup-bench ## Measure: every file of bench/ in turn; the queue takes some minutes
	@failed=; for bench in bench/*.py; do \
	  [ -e "$$bench" ] || continue; \
	  echo "== $$bench"; $(PY) "$$bench" || failed="$$failed $$bench"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

soak: setup-test ## Kill runners again and again and see that nothing is lost: KILLS= SEED= SIMULATIONS= ROUNDS= MONTHS=
	@$(PY) -m tests.system.storm --store sqlite --kills $(KILLS) --seed $(SEED)
	@$(PY) -m tests.system.storm --store postgres --kills $(KILLS) --seed $(SEED)
	@$(PY) -m tests.system.month --store sqlite --months $(MONTHS) --seed $(SEED)
	@$(PY) -m tests.system.month --store postgres --months $(MONTHS) --seed $(SEED)
	@KEISEI_KILLS=all $(PY) -m pytest -q -n 2 tests/system/test_kill.py
	@KEISEI_SOAK=1 $(PY) -m pytest -q -n 2 -m soak
	@KEISEI_SIMULATIONS=$(SIMULATIONS) KEISEI_WALKS=$(SIMULATIONS) KEISEI_STORM=$(ROUNDS) \
	  $(PY) -m pytest -q -n 2 tests/store/test_simulation.py tests/store/test_model.py tests/store/test_storm.py

requirements: setup ## Compile the pins of requirements/ anew
	@sh scripts/requirements.sh

clean: ## Remove what the targets above have made
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find src tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
