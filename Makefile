# Every target that needs Python shares one virtual environment, installed from the lock.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# `make book TRACE=seren` computes the book from another trace, in a run folder of its own.
TRACE ?=
POWER ?=
PARAMETERS := $(if $(TRACE),-p trace $(TRACE)) $(if $(POWER),-p power $(POWER))
RUN := runs/$(if $(strip $(PARAMETERS)),variant,default)

.DEFAULT_GOAL := help
.PHONY: help book test lint data serve bench accept lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(INSTALLED): requirements.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

book: $(INSTALLED) ## Run the notebooks and build the book: _build/html/index.html
	$(BIN)/python -m aidc run $(PARAMETERS) --out $(RUN)
	AIDC_RUN=$(RUN) $(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@echo "The book is in _build/html/index.html"

test: lint ## Lint, types, import contracts, pytest, and nbval on the notebooks
	$(BIN)/python -m pytest --numprocesses auto --dist loadgroup
	$(BIN)/python -m pytest --nbval notebooks --nbval-sanitize-with tests/notebooks/sanitize.cfg

lint: $(INSTALLED) ## Lint, types and import contracts only
	$(BIN)/ruff check src tests
	$(BIN)/ruff format --check src tests
	$(BIN)/mypy
	$(BIN)/lint-imports

data: $(INSTALLED) ## Fetch and verify the real files (then: make book TRACE=seren)
	$(BIN)/python -m aidc fetch

serve: ## Serve the built book on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

bench: $(INSTALLED) ## Measure time and memory in ratios: reading, audits, optimisation
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench_audit
	$(BIN)/python -m tests.bench_power
	$(BIN)/python -m tests.bench_derived

accept: $(INSTALLED) ## Run with the defaults and promote the results to be committed
	$(BIN)/python -m aidc run --out runs/default
	$(BIN)/python -m aidc accept

lock: ## Write requirements.txt anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra book --extra test --extra build --universal --python-version 3.11 \
	  --quiet --no-emit-index-url --output-file requirements.txt

clean: ## Remove what was built; fetched files and the environment stay
	rm -rf _build runs data/cache/*-standin-* .pytest_cache .mypy_cache .ruff_cache .hypothesis
