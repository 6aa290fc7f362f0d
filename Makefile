# Everything happens in .venv, which is made on first use and brought up to date when the pins change.

PYTHON ?= python3
# Installed first, so that everything else finds the build chosen here (a CPU-only one, for example).
TORCH ?= torch==2.13.0
PYTEST_ARGS ?= -n auto --maxprocesses 8 --dist worksteal
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo demo-t2i test test-fast check docs mutants regressions soak fuzz without conformance lowest readers bench bench-peers dist format clean

# What a demo says at its end: two commands to continue with, each after what it does.
define next
printf '\n%s\n' 'Open the report in a browser. Polymeter is $(BIN)/polymeter; continue with:' && \
	printf '  %s:\n      $(BIN)/polymeter %s\n' '$(1)' '$(2)' '$(3)' '$(4)'
endef

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/.installed-demo ## measure an OCR model on the demo benchmarks, in less than half a minute
	$(BIN)/polymeter run --model ocr --tasks demo --output runs/demo
	@$(call next,all six reading benchmarks,run --model ocr --tasks demo_full,$\
	a benchmark of your own that runs at once,init mine --kind vqa)

demo-t2i: .venv/.installed-demo-t2i ## generate images from prompts, edit images, and measure both
	$(BIN)/polymeter run --model shapes --tasks demo_t2i,demo_edit --output runs/demo-t2i
	@$(call next,four images for each prompt,run --model shapes --tasks demo_t2i --gen-kwargs num_generations=4,$\
	prompts of your own that run at once,init mine-t2i --kind t2i)

test: .venv/.installed ## run all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# What most changes touch: neither models, tasks and other systems, nor whole runs by the command line.
FAST := core data judge metrics report run stats store
test-fast: .venv/.installed ## run the tests that take less than a minute together
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not slow" $(FAST:%=tests/%)

check: .venv/.installed ## check formatting, lint, types and the layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.installed ## build the documentation site in build/docs-site; a dead link or a missing page is an error
	$(BIN)/python -m scripts.docs_site build/docs-pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

mutants: .venv/.installed ## put known faults back, one at a time: the tests must turn red
	$(BIN)/python scripts/mutants.py

regressions: .venv/.installed ## each test of tests/regressions must be red at BASE=<commit> and green here
	$(BIN)/python scripts/regressions.py $(BASE)

soak: .venv/.installed ## kill runs of every kind at random instants, resume them, compare (SOAK_ARGS="--n 20 --seed 1")
	$(BIN)/python -m scripts.soak $(SOAK_ARGS)

fuzz: .venv/.installed ## feed mutated input to everything that reads foreign bytes (FUZZ_ARGS="--target yaml --seconds 60")
	$(BIN)/python -m scripts.fuzz $(FUZZ_ARGS)

without: .venv/.installed ## delete SYSTEM=… from a copy of the tree: everything else must stay green
	$(BIN)/python scripts/without_system.py $(SYSTEM) $(WITHOUT_ARGS)

# Each original has an environment of its own: torch first, what its tasks import, Polymeter, and the original alone.
SUITES ?= lmms-eval evalscope ulmeval lm-eval evalscope-1
SEED ?= 1
conformance: $(SUITES:%=.venv-%/.installed) ## compare with the installed originals (SEED=2 SUITES=lmms-eval CONFORMANCE_ARGS="--only 'mm*'")
	@failed=; for suite in $(SUITES); do \
		.venv-$$suite/bin/python -m conformance $$suite --seed $(SEED) $(CONFORMANCE_ARGS) || failed="$$failed $$suite"; \
	done; test -z "$$failed" || { echo "differs:$$failed"; exit 1; }

# The lowest versions need wheels, so an older Python: make lowest PYTHON=python3.10
lowest: .venv-lowest/.installed ## run the tests of the base install with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n auto -q tests/core tests/reading tests/tasks/yaml

READERS ?= lmms-eval lm-eval evalscope evalscope-1 inspect vlmevalkit
readers: .venv/.installed $(READERS:%=.venv-%/.installed) ## open exported runs with each tool's own readers (READERS="inspect")
	$(BIN)/python -m conformance.readers $(READERS)

bench: .venv/.installed ## run the performance benchmarks (BENCH_ARGS="--only text --save FILE")
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

bench-peers: .venv/.installed .venv-lmms-eval/.installed .venv-evalscope/.installed .venv-lm-eval/.installed ## the same text rows beside other tools
	.venv-lmms-eval/bin/python -m conformance.lmms_eval.templates
	$(BIN)/python -m benchmarks --peers $(BENCH_ARGS)

dist: .venv/.installed-dist ## build the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist

format: .venv/.installed ## format the code and apply safe fixes
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean: ## remove caches and build output; keep .venv and runs/
	rm -rf build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks scripts -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Polymeter needs Python 3.10 or newer: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/python -m pip install --quiet $(TORCH)
	$(BIN)/python -m pip install --quiet --editable '.[ocr,hf,serve,lora,image-gen,image-metrics,excel,anthropic,gemini,math,chinese,video,audio,speech,viewer,prices,ray,wandb,mlflow,tensorboard,hub,modelscope,docs,dev]' --constraint constraints.txt
	@touch .venv/.installed .venv/.installed-demo .venv/.installed-demo-t2i .venv/.installed-dist

.venv-lowest/.installed: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		--only-binary :all: --no-binary polymeter --editable .
	.venv-lowest/bin/python -m pip install --quiet grimp hypothesis pytest pytest-xdist --constraint constraints.txt
	@touch $@

.venv-%/.installed: conformance/requirements-%.txt constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/python -m pip install --quiet $(TORCH)
	.venv-$*/bin/python -m pip install --quiet --editable '.[hf,image-metrics,math,chinese,excel,video,audio]' --constraint constraints.txt
	.venv-$*/bin/python -m pip install --quiet --requirement conformance/requirements-$*.txt
	@if test -f conformance/original-$*.txt; then \
		.venv-$*/bin/python -m pip install --quiet --no-deps --requirement conformance/original-$*.txt; fi
	@touch $@

.venv/.installed-demo: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[ocr]' --constraint constraints.txt
	@touch $@

.venv/.installed-demo-t2i: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/python -m pip install --quiet --editable '.[image-metrics]' --constraint constraints.txt
	@touch $@

.venv/.installed-dist: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/python -m pip install --quiet build hatchling --constraint constraints.txt
	@touch $@
