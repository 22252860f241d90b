# Everything a contributor types. `make` alone lists the targets.

CARGO ?= cargo
PYTHON ?= python3
REMBRANDT = target/release/rembrandt
DEMO = target/demo/debtags.safetensors

.PHONY: help demo build test fmt clippy doc unit deny-if-installed bench data deny deny-policy deny-advisories

help:
	@echo 'make demo    embed the tags of Debian packages and show neighbours of a few of them'
	@echo 'make test    every check: format, lints, documentation, tests, licences and advisories'
	@echo 'make bench   the benchmarks'
	@echo 'make data    rebuild data/debtags from the package index of a Debian machine'
	@echo 'make deny    check licences, sources and advisories; installs cargo-deny if it is missing'

# ---- demo: make prints each command before it runs it, so the output shows what to type ----

demo: build
	@mkdir -p $(dir $(DEMO))
	$(REMBRANDT) embed data/debtags/train.txt.gz -k 100 -o $(DEMO)
	$(REMBRANDT) inspect $(DEMO)
	$(REMBRANDT) neighbors $(DEMO) game::strategy
	$(REMBRANDT) neighbors $(DEMO) implemented-in::python
	$(REMBRANDT) neighbors $(DEMO) protocol::smtp

build:
	$(CARGO) build --release --locked --package rembrandt-cli

# ---- test: cheap checks first; the recipe lines keep that order even under `make -j` ----

test:
	@$(MAKE) --no-print-directory fmt
	@$(MAKE) --no-print-directory clippy
	@$(MAKE) --no-print-directory doc
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory deny-if-installed

fmt:
	$(CARGO) fmt --all -- --check

clippy:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# One package at a time: the library and the binary are both called rembrandt, and would collide in target/doc.
doc: export RUSTDOCFLAGS = -D warnings
doc:
	$(CARGO) doc --no-deps --locked --package rembrandt-cli
	$(CARGO) doc --no-deps --locked --package rembrandt

# Unit, integration and documentation tests.
unit:
	$(CARGO) test --workspace --locked

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
