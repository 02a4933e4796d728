# The commands of this repository. `make run` and `make test` need Rust and Node, and set up all else.
# `make help` lists the targets that have a line with two hashes above them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
CARGO ?= cargo
NPM ?= npm
CHROMIUM ?= /usr/bin/chromium
# Debian's Chromium without windows, in which the tests of the pages take 60 % of the CPU time.
HEADLESS_SHELL ?= /usr/bin/chromium-headless-shell
TEST_CHROMIUM ?= $(firstword $(wildcard $(HEADLESS_SHELL)) $(CHROMIUM))
DRILL ?=
PROMTOOL ?= /usr/bin/promtool
CLIPPY_DRIVER ?= $(shell rustup which clippy-driver 2>/dev/null || command -v clippy-driver)
# Clippy compiles the crates of the workspace, so that lints need no second compilation of all dependencies.
# Errors of the Azure crates would capture a backtrace each, a quarter of the CPU time over the emulator; panics still print theirs.
LINTED = RUSTC_WORKSPACE_WRAPPER='$(CURDIR)/.ci/rustc' CLIPPY_DRIVER='$(CLIPPY_DRIVER)' CLIPPY_ARGS='-Dwarnings__CLIPPY_HACKERY__' INSTA_UPDATE=no RUST_LIB_BACKTRACE=0
# Tests make thousands of small directories and wait for each write. In memory that takes half of the time, where there is room.
TEST_TMPDIR ?= $(shell [ "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 4194304 ] 2>/dev/null && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
# Many tests wait for a process of their own.
TEST_THREADS ?= $(shell echo $$(( $$(nproc) * 3 / 2 )))
# The file that npm writes once all packages are there. Tools write to the directory, too, and the pages would be built again.
WEB_PACKAGES := web/node_modules/.package-lock.json
BENCH_USERS ?= 50
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 1
FUZZ_TARGETS ?= request document variables identifiers websocket
LIVE_FILES ?= 20000
LIVE_SUBSCRIBERS ?= 10000
MODELS ?= 1..300
SCALE_DIR ?= target/scale
SCALE_USERS ?= 1000 10000
SCHEMATHESIS_EXAMPLES ?= 1000
SCHEMATHESIS_SEED ?= 1
SEED ?=
SEEDS ?= 100
BUG ?=
SINCE ?= HEAD
SOAK_MINUTES ?= 5
SOAK_ROUNDS ?= 6
SOAK_SEED ?= 1
# The tests that can run over Azure Cosmos DB, too, as Microsoft's in-memory emulator has it, by parts of their names: all but the tests
# of a data directory and its operations socket, of bytes as they were written, of charges by the model, those that choose their store, and
# those of whole models, which take minutes there; and all but those that count changes that no reader has looked for yet, which an account does not say without
# a request.
BOTH_STORES := api:: commands:: graphql:: models_agree:: operations:: projections:: served:: webstore::
ONE_STORE := api::backup:: api::compare:: api::compare_account:: api::cli:: api::full_disk:: api::operations:: api::readme:: copy:: properties:: \
	request_charges:: \
	served::generated:: served::strangers:: \
	the_status_counts_what_waits_and_how_long what_was_written_and_not_projected_is_pending_and_grows_old \
	projections_show_what_waits_for_them an_item_in_another_form_is_left_to_the_executor
# Those that `make test` runs there: commands, projections and reads, beside the store contract, which always runs over every adapter. The
# API above them is the same code over both stores. `make second-store-test SECOND_STORE='domain http_api'` runs all, and so does `make flaky`.
SECOND_STORE ?= domain

.PHONY: help bench-peer test-programs embedded-test second-store-test doc-test pages-test alert-test-and-browser account-run flaky check program alert-drill unit-drill alert-test promtool audit scale simulate soak soak-http schemathesis fuzz fuzz-markdown cargo-fuzz cosmos-test run build test bench bench-short generated-models fmt web web-test rust-test browser-test chromium test-browser machete package deny screenshots lighthouse clean

## Serve a demo blog at http://127.0.0.1:8080 from ./data, which the first start fills
run:
	$(MAKE) --jobs=2 web program
	$(CARGO) run --locked --quiet --bin onehop -- serve --demo

## Build the release binary target/release/onehop, with the pages inside
build: web
	$(CARGO) build --release --bin onehop

# SINCE is the commit to compare with.
## Check quickly what changed: format, lints, unused dependencies, unit tests, tests named after changed files: SINCE
check: machete
	CARGO='$(CARGO)' NPM='$(NPM)' .ci/check $(SINCE)

# Two at a time, since one of them leaves a core idle: the web beside the compiler; the pages, the second store and the documentation
# beside the tests over the embedded store.
## Run everything that has to pass
test:
	$(MAKE) --jobs=2 --output-sync=target web-test test-programs alert-test-and-browser
	$(MAKE) --jobs=2 --output-sync=target embedded-test pages-test second-store-test doc-test

# The store's hot paths, likes on one hot post, refusals, many subscribers, and a load run over HTTP beside its ceiling.
## Measure speed: BENCH_USERS, LIVE_SUBSCRIBERS, LIVE_FILES
bench: web
	$(CARGO) bench --bench store
	$(CARGO) bench --bench hot_post
	$(CARGO) bench --bench hostile
	ulimit -n $(LIVE_FILES) && $(CARGO) bench --bench live -- --subscribers $(LIVE_SUBSCRIBERS)
	$(CARGO) bench --bench load -- --users $(BENCH_USERS)

# For before and after a change: BEFORE is a release binary, which is measured in turns with this one.
## Measure requests over HTTP quickly: BENCH_USERS, BEFORE
bench-short: web
	$(CARGO) bench --bench load -- --short --users $(BENCH_USERS) $(if $(BEFORE),--before $(abspath $(BEFORE)))

# Needs the programs of PostgreSQL; PG_BIN names their directory.
## Measure commands beside Mercurius with PostgreSQL
bench-peer: web
	benches/peers/mercurius/run --users 1000 --texts long --random --only C2,C3,C4

# Fills a data directory for each number of users, unless that is done, and reads both.
## Measure what ten times the data changes: SCALE_USERS, SCALE_DIR
scale: build
	for users in $(SCALE_USERS); do \
		target/release/onehop seed --texts long --physical-partitions 70 --users $$users --data $(SCALE_DIR)/$$users; \
	done
	$(CARGO) bench --bench scale -- $(SCALE_USERS:%=--data $(abspath $(SCALE_DIR))/%) $(SCALE_USERS:%=--users %)

## Run random commands, faults, splits and process deaths: SOAK_MINUTES, SOAK_SEED
soak:
	SOAK_MINUTES=$(SOAK_MINUTES) SOAK_SEED=$(SOAK_SEED) $(CARGO) test --test domain -- --ignored --nocapture every_episode_ends_well

# Prints how many planted bugs were found, the runs with violations, and the share of runs in which each fault occurred. SEED plays
# one run again: its trace, and the smallest run that fails in the same way. BUG selects a planted bug for that.
## Simulate runs in virtual time, and look for planted bugs: SEEDS, SEED, BUG
simulate: BUILD = RUSTFLAGS='--cfg planted' CARGO_TARGET_DIR=target/simulation
simulate: RUN = $(CARGO) test --locked --profile simulation --test simulation -- --ignored --exact --nocapture
simulate:
	@status=0; \
	$(BUILD) SIMULATION_SEEDS=$(SEEDS) SIMULATION_SEED=$(SEED) ONEHOP_PLANTED=$(BUG) $(RUN) runner::simulate || status=1; \
	if [ -z "$(SEED)" ]; then \
		$(BUILD) $(RUN) runner::fifty_seeds_play_the_same_runs_again || status=1; \
		$(BUILD) $(RUN) runner::planted_bugs_are_found || status=1; \
	fi; \
	exit $$status

# Stops or kills the release binary after each of SOAK_ROUNDS rounds of ten seconds.
## Run valid, invalid and hostile traffic against the server: SOAK_MINUTES, SOAK_ROUNDS, SOAK_SEED
soak-http: build
	cd web && ONEHOP_BIN=$(CURDIR)/target/release/onehop SOAK_MINUTES=$(SOAK_MINUTES) SOAK_ROUNDS=$(SOAK_ROUNDS) SOAK_SEED=$(SOAK_SEED) $(NPM) run test:soak

# Over both stores, and the pages in Chromium. FLAKY_BUSY busy loops run beside the tests; FLAKY_TESTS are parts of names.
## Run every test many times: FLAKY_RUNS, FLAKY_BROWSER_RUNS, FLAKY_STORES, FLAKY_TESTS, FLAKY_BUSY, FLAKY_MINUTES
flaky: web/dist/index.html test-browser program
	CARGO='$(CARGO)' NPM='$(NPM)' CHROMIUM=$(TEST_CHROMIUM) ONEHOP_BIN=$(CURDIR)/target/debug/onehop BOTH_STORES='$(BOTH_STORES)' ONE_STORE='$(ONE_STORE)' .ci/flaky

# Fails where a request finds a fault of the server's. Needs Python 3.10, and the network once.
## Send generated requests from the schema: SCHEMATHESIS_EXAMPLES, SCHEMATHESIS_SEED
schemathesis: target/schemathesis/bin/schemathesis web
	$(CARGO) build --locked --bin onehop
	target/schemathesis/bin/python tests/schemathesis/run.py target/debug/onehop $(SCHEMATHESIS_EXAMPLES) $(SCHEMATHESIS_SEED)

# Each model is a function of its number, and driven like the models of the tests. `make test` drives the first five.
## Serve generated models, and compare their answers with their items: MODELS
generated-models:
	$(LINTED) TMPDIR='$(TEST_TMPDIR)' ONEHOP_GENERATED_MODELS=$(MODELS) $(CARGO) test --locked --workspace --test http_api -- --nocapture served::generated

# Without a sanitizer, which would need a nightly Rust.
## Fuzz all parsers of outside input, FUZZ_SECONDS for each of FUZZ_TARGETS, and the Markdown
fuzz: fuzz-markdown cargo-fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		$(CARGO) fuzz run --dev --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) -timeout=5 -rss_limit_mb=1024; \
	done

## Fuzz the Markdown of the pages: FUZZ_SECONDS, FUZZ_SEED
fuzz-markdown: $(WEB_PACKAGES)
	cd web && FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) $(NPM) run test:fuzz

## Run the store contract over a live account: ONEHOP_TEST_COSMOS_ENDPOINT, ONEHOP_TEST_COSMOS_KEY
cosmos-test:
	$(CARGO) test --locked --workspace --test store -- --ignored contract::suite::account::

# Prints its budget first, and goes on with ACCOUNT_RUN=--yes. It makes a database of its own; ACCOUNT_RUN='--yes --drop' deletes it in the
# end. The endpoint and the key are those of docs/configuration.md.
## Measure request charges of an account: ACCOUNT_RUN, ONEHOP_COSMOS_ENDPOINT, ONEHOP_COSMOS_KEY
account-run: build
	target/release/onehop charges measure $(ACCOUNT_RUN)

# The crates that others can add: each is packaged, and built from its package and the packages of the others.
## Package the library crates, and build them from their packages
package:
	$(CARGO) package --locked --workspace --exclude onehop --exclude onehop-pages --exclude onehop-testing --exclude onehop-helpdesk

# Names what it could not check because the network does not reach it.
## Check licences, sources and known vulnerabilities of the dependencies
audit: deny $(WEB_PACKAGES)
	CARGO='$(CARGO)' NPM='$(NPM)' .ci/audit

## Take pictures of every page, light and dark, wide and narrow, in target/screenshots
screenshots: build chromium
	cd web && CHROMIUM=$(CHROMIUM) node scripts/with-server.js ../target/release/onehop node scripts/screenshots.js ../target/screenshots

# The least scores are 95, 100, 100 and 95.
## Run Lighthouse on the feed, a post and the comparison
lighthouse: build chromium
	cd web && CHROMIUM=$(CHROMIUM) node scripts/with-server.js ../target/release/onehop node scripts/lighthouse.js

## Format the Rust and the web
fmt: $(WEB_PACKAGES)
	$(CARGO) fmt --all
	cd web && $(NPM) run --silent fmt

## Remove all that was built
clean:
	rm -rf target web/dist web/node_modules

## List the targets
help:
	@awk '/^## /{line = substr($$0, 4); next} /^[a-z-]+:/ && line {split($$0, target, ":"); printf "make %-14s %s\n", target[1], line} {line = ""}' Makefile

# --- parts ---------------------------------------------------------------------------------------------------------

web: web/dist/index.html

# The binary of the dev profile, which make test builds, too. It reads the pages from web/dist when it runs.
program:
	$(CARGO) build --locked --bin onehop

$(WEB_PACKAGES): web/package.json web/package-lock.json
	cd web && $(NPM) ci --no-fund --no-audit
	touch $@

web/dist/index.html: $(WEB_PACKAGES) schema.graphql $(shell find web/src web/public web/build -type f 2>/dev/null) $(wildcard web/*.html web/*.ts web/*.js web/*.json)
	cd web && $(NPM) run build
	touch web/dist/index.html

## Check and test the web
web-test: web/dist/index.html
	cd web && $(NPM) run fmt:check && $(NPM) run check && $(NPM) run lint && $(NPM) test

# Needs no npm: a debug build reads the pages from web/dist when it runs, and says so where there are none.
## Check and test the Rust
rust-test: embedded-test second-store-test doc-test

test-programs:
	$(CARGO) fmt --all --check
	$(LINTED) $(CARGO) test --locked --workspace --tests --no-run

embedded-test: test-programs
	$(LINTED) TMPDIR='$(TEST_TMPDIR)' $(CARGO) test --locked --workspace --tests --no-fail-fast -- --test-threads $(TEST_THREADS)

second-store-test: test-programs
	$(LINTED) TMPDIR='$(TEST_TMPDIR)' ONEHOP_TEST_STORE=cosmos $(CARGO) test --locked --workspace --no-fail-fast $(SECOND_STORE:%=--test %) \
		-- --test-threads $(TEST_THREADS) $(BOTH_STORES) $(ONE_STORE:%=--skip %)

# One after the other: both may install a package.
alert-test-and-browser: alert-test
	$(MAKE) test-browser

doc-test:
	$(LINTED) $(CARGO) test --locked --workspace --doc
	$(LINTED) $(CARGO) build --locked --workspace --bench '*'

# With the binary that the tests of the Rust have built. A build of the binary alone would compile the client of Azure Cosmos DB, and all that
# uses it, once more without the emulator.
## Test the pages in Chromium
browser-test: test-programs
	$(MAKE) pages-test

pages-test: web/dist/index.html test-browser
	cd web && TMPDIR='$(TEST_TMPDIR)' ONEHOP_BIN=$(CURDIR)/target/debug/onehop CHROMIUM=$(TEST_CHROMIUM) $(NPM) run test:browser

# Needs root on Linux. DRILL names scenarios: full-disk killed.
## Make real faults on real servers, and measure the seconds until each alert: DRILL
alert-drill: promtool program
	$(CARGO) build --locked --package onehop-testing --example account_server
	PROMETHEUS=/usr/bin/prometheus .ci/alert-drill target/debug/onehop $(DRILL)

# Needs root on Linux, and systemd-nspawn.
## Install the systemd unit in a container with a systemd of its own, and check what it promises
unit-drill: program
	.ci/unit-drill target/debug/onehop

## Replay the alert rules with Prometheus' promtool
alert-test: promtool
	$(PROMTOOL) test rules deploy/prometheus-alerts.test.yml

target/schemathesis/bin/schemathesis: tests/schemathesis/requirements.txt
	python3 -m venv target/schemathesis
	target/schemathesis/bin/pip install --quiet --requirement $<
	touch $@

cargo-fuzz:
	@$(CARGO) fuzz --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz

machete:
	@$(CARGO) machete --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-machete

deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-deny

chromium:
	@test -x $(CHROMIUM) || (apt-get update && apt-get install -y --no-install-recommends chromium)

# Chromium itself where the package is missing.
test-browser:
	@test -x $(HEADLESS_SHELL) || (apt-get update && apt-get install -y --no-install-recommends chromium-headless-shell) || $(MAKE) chromium

promtool:
	@test -x $(PROMTOOL) || (apt-get update && apt-get install -y --no-install-recommends prometheus)
