# One command a target; what the commands do is in pipelines/, tests/ and tools/.

PYTHON ?= python3
CONFIG ?= examples/build.toml
TEST_WORKERS ?= auto
RUN = .venv/bin/

LOCK = --quiet --upgrade --universal --python-version 3.10 --generate-hashes --no-header --no-emit-index-url

.PHONY: help build test soak flink lock lint types bench bench-scale fuzz mutation picture dataflow clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: .venv/ready ## build what CONFIG says (CONFIG=examples/build.toml)
	$(RUN)kiltetl build "$(CONFIG)" $(ARGS)

test: .venv/ready-dev ## run the tests, TEST_WORKERS=auto side by side, but for the long ones
	$(RUN)python -m pytest -n $(TEST_WORKERS) --dist worksteal -m "not soak and not flink" $(ARGS)

soak: .venv/ready-dev ## run the long tests
	$(RUN)python -m pytest -n $(TEST_WORKERS) --dist worksteal -m soak $(ARGS)

lint: .venv/ready-dev ## ruff: style and format
	$(RUN)ruff check . && $(RUN)ruff format --check .

types: .venv/ready-dev ## mypy, strict, and pyright
	$(RUN)mypy -p kiltetl && $(RUN)mypy -p tools && $(RUN)pyright --pythonpath $(RUN)python

bench: .venv/ready-dev ## speed, all rivals in one run
	$(RUN)python -m tools.bench

bench-scale: .venv/ready-dev ## memory on 0.2 and 2 GB of XML
	$(RUN)python -m tools.bench_scale

fuzz: .venv/ready-dev ## 50,000 random pages through the page parser
	$(RUN)python -m tools.fuzz_wikitext --pages 50000

flink: .venv/flink/ready ## the graphs on Flink: the same bytes as here; needs Java and Maven
	$(RUN)python -m pytest -m flink $(ARGS)

lock: .venv/ready-dev ## resolve all dependencies anew: requirements.lock, requirements-dev.lock
	$(RUN)uv pip compile setup.py $(LOCK) --output-file requirements.lock
	$(RUN)uv pip compile setup.py --extra dev $(LOCK) --output-file requirements-dev.lock

mutation: .venv/ready-dev ## change single lines: a test has to notice each
	$(RUN)python -m tools.mutation $(ARGS)

picture: .venv/ready-dev ## the picture of the report on the front page; needs Chromium
	$(RUN)python -m tools.picture

dataflow: .venv/ready-gcp ## submit CONFIG to Dataflow: PROJECT= REGION= BUCKET= CONFIG=
	$(RUN)kiltetl build "$(CONFIG)" -- --runner=DataflowRunner --project=$(PROJECT) --region=$(REGION) --temp_location=gs://$(BUCKET)/temp --setup_file=./setup.py $(ARGS)

clean: ## remove the environment and what was built
	rm -rf .venv out build dist *.egg-info

# the versions of requirements.lock, each held against its hash; then this checkout
PIP = $(RUN)pip install --quiet --disable-pip-version-check

.venv/ready: setup.py pyproject.toml requirements.lock
	$(PYTHON) -m venv .venv && $(PIP) --require-hashes -r requirements.lock && $(PIP) --no-deps --editable . && touch $@

.venv/ready-dev: .venv/ready requirements-dev.lock
	$(PIP) --require-hashes -r requirements-dev.lock && touch $@

.venv/flink/ready: deploy/flink/pom.xml .venv/ready-dev
	mvn -q -B -f deploy/flink/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/.venv/flink && touch $@

.venv/ready-gcp: .venv/ready
	$(RUN)pip install --quiet --disable-pip-version-check --editable '.[gcp]' build && touch $@
