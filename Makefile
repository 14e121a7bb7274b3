# Runs prebake from a fresh checkout: makes the environment that a target needs, once, and then the target.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
# Two targets must never install into one environment at the same time.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: install convert test lint types imports check sample limits bench clean help

FORMATS := $(sort $(filter-out _%,$(basename $(notdir $(wildcard convert/formats/*.py)))))
PYTHON3 ?= python3

# The user's own words, as typed: make would take a `$` in a path for a variable of its own, so the recipes get them by the environment.
override DATA := $(value DATA)
override OUT := $(value OUT)
export DATA OUT

# A given VENV is somebody's own: used as it is, never made. Otherwise .venv is ours, and the stamps in it say what has been installed.
ifeq ($(strip $(VENV)),)
override VENV := .venv
BASE := .venv/.stamps/base
DEV := .venv/.stamps/dev
else
BASE :=
DEV :=
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
ifeq ($(shell test -x "$(VENV)/bin/python" && echo there),)
$(error VENV=$(VENV) holds no bin/python; leave VENV out and make creates .venv)
endif
endif
endif
BIN := $(VENV)/bin
PYTHON := "$(BIN)/python"
PIP := PIP_ROOT_USER_ACTION=ignore $(PYTHON) -m pip --disable-pip-version-check -qq

# Checked before an environment is made: a typing error should not take half a minute to be told.
ifneq ($(filter convert,$(MAKECMDGOALS)),)
ifneq ($(words $(FORMAT))-$(filter $(FORMAT),$(FORMATS)),1-$(strip $(FORMAT)))
$(error $(if $(FORMAT),FORMAT=$(FORMAT) is not a format,FORMAT= is missing); give one of: $(FORMATS))
endif
endif

# Python itself says that it is too old, in words that name the way out.
OLD := import sys; sys.exit(sys.version_info < (3, 11) and "$(PYTHON3) is older than 3.11; give another: PYTHON3=python3.12")

# pip puts Pillow in, so the swap for Pillow-SIMD comes last; the stamp is written when all went well.
define fill
@echo "prebake: installing into .venv, once ..." >&2
@$(PYTHON) -m pip --version >/dev/null 2>&1 || { $(PYTHON3) -c '$(OLD)' && $(PYTHON3) -m venv .venv; }
@$(PIP) install --editable '.$(EXTRAS)'
@mkdir -p "$(@D)"
@$(PYTHON) scripts/swap_pillow.py "$(@D)/wheels"
@touch "$@"
endef

.venv/.stamps/base: EXTRAS :=
.venv/.stamps/base: pyproject.toml
	$(fill)

.venv/.stamps/dev: EXTRAS := [all,dev]
.venv/.stamps/dev: pyproject.toml
	$(fill)
	@touch "$(@D)/base"

## install    everything: the tool, the readers with torch, what the checks need
install: $(DEV)
ifndef DEV
	@if $(PYTHON) -m pip show --quiet pillow-simd 2>/dev/null; then \
		echo "$(VENV) has Pillow-SIMD, which pip would overwrite: install there by hand (pip install --no-deps -e .)" >&2; exit 1; fi
	@$(PIP) install --editable '.[all]'
endif

## convert    bake DATA into OUT as FORMAT; needs no torch
convert: $(BASE)
	@if [[ -z $$DATA ]]; then \
		DATA=sample; \
		echo "prebake: no DATA=: baking the generated sample (sample/); give DATA=dir for your own" >&2; \
		[[ -d sample ]] || $(PYTHON) scripts/make_sample.py sample; \
	fi; \
	name=$$(CDPATH= cd -- "$$DATA" 2>/dev/null && basename -- "$$PWD" || basename -- "$$DATA"); \
	exec $(PYTHON) -m convert $(FORMAT) $(value ARGS) -- "$$DATA" "$${OUT:-baked/$$name-$(FORMAT)}"

## sample     draw the sample pictures into sample/
sample: $(BASE)
	@$(PYTHON) scripts/make_sample.py sample

## test       the tests; ARGS go to pytest
test: $(DEV)
	@$(PYTHON) -m pytest -q $$($(PYTHON) -c 'import xdist' 2>/dev/null && echo "--numprocesses=2") $(value ARGS)

## lint       ruff: rules and formatting
lint: $(DEV)
	@$(PYTHON) -m ruff check --quiet .
	@$(PYTHON) -m ruff format --check .

## types      mypy --strict
types: $(DEV)
	@$(PYTHON) -m mypy

## imports    which package may import which
imports: $(DEV)
	@"$(BIN)/lint-imports"

## check      lint, types, imports, then test
check: lint types imports test

## limits     measure what this machine allows; ARGS go to scripts/limits.py
limits: $(DEV)
	@$(PYTHON) scripts/limits.py $(value ARGS)

## bench      which format trains fastest here; ARGS go to scripts/bench.py
bench: $(DEV)
	@if [[ -z $$DATA ]]; then \
		DATA=sample; \
		[[ -d sample ]] || $(PYTHON) scripts/make_sample.py sample; \
		exec $(PYTHON) scripts/bench.py --data "$$DATA" --samples 64 --epochs 2 --cold $(value ARGS); \
	fi; \
	exec $(PYTHON) scripts/bench.py --data "$$DATA" $(value ARGS)

## clean      remove build products and caches, never data
clean:
	@rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find convert readers scripts tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "kept: .venv sample baked (to remove these too: rm -r .venv sample baked)"

## help       this page
help:
	@echo "make TARGET [NAME=value ...]"
	@echo
	@sed -n 's/^## /  /p' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  FORMAT     $(FORMATS)"
	@echo "  DATA       folder of pictures (without it: a generated sample)"
	@echo "  OUT        where to bake (without it: baked/<name of DATA>-<FORMAT>)"
	@echo "  ARGS       more options, as in ARGS=\"--size 224\""
	@echo "  VENV       your own environment, used as it is (without it: .venv, made here)"
	@echo "  PYTHON3    the Python that makes .venv (python3)"
	@echo
	@echo "  make convert FORMAT=lmdb DATA=\"my photos\" OUT=baked/train"
