# The commands of a developer's day. `make` alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help setup up test lint fmt schema messages screenshots bench
.PHONY: lint-format lint-rules lint-types lint-imports lint-templates lint-migrations lint-schema

BIN := .venv/bin
export PYTHON

help: ## What there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -e 's/:.*## /\t/' | expand -t 14

setup: python ## Make .venv with the pinned packages
	@$(python3) dev/environment.py

up: python ## Set up whatever is missing, then run everything until Ctrl-C
	@$(python3) dev/environment.py --runtime
	@exec $(BIN)/python -m dev.up

test: setup ## Set up whatever is missing, then test on SQLite and PostgreSQL (ARGS="-k word")
	@exec $(BIN)/python -m dev.test_run $(ARGS)

lint: setup ## Format, rules, types, import layers, templates, migrations, event schema
	@$(MAKE) --no-print-directory --keep-going \
		lint-format lint-rules lint-types lint-imports lint-templates lint-migrations lint-schema

lint-format:
	$(BIN)/ruff format --check .

lint-rules:
	$(BIN)/ruff check .

lint-types:
	$(BIN)/mypy

lint-imports:
	$(BIN)/lint-imports --no-logo

lint-templates:
	$(BIN)/djlint templates --lint

lint-migrations:
	$(BIN)/python manage.py makemigrations --check --dry-run

lint-schema:
	$(BIN)/python manage.py event_schema --check

fmt: setup ## Format the code, mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: setup ## Write docs/event.schema.json anew from the event types
	$(BIN)/python manage.py event_schema

messages: setup ## Bring the translations up to date with the code and compile them
	$(BIN)/python -m dev.messages

screenshots: setup ## Pictures of the main pages, into docs/screenshots
	$(BIN)/python -m dev.screenshots $(ARGS)

bench: setup ## Every benchmark, in under half an hour; one: make bench-NAME (ARGS="--quick")
	@exec $(BIN)/python -m bench $(ARGS)

BENCHMARKS := publish relay consume latency pages growth dead-letters
.PHONY: $(BENCHMARKS:%=bench-%)
$(BENCHMARKS:%=bench-%): setup
	@exec $(BIN)/python -m bench.$(subst -,_,$(@:bench-%=%)) $(ARGS)

python3 = $(or $(PYTHON),python3)

.PHONY: python
python:
	@command -v $(python3) >/dev/null || { \
		echo "There is no $(python3). The project needs Python 3.11, 3.12 or 3.13:" >&2; \
		echo "  Debian, Ubuntu: apt-get install python3 python3-venv" >&2; \
		echo "  macOS:          brew install python@3.13" >&2; \
		exit 3; }
