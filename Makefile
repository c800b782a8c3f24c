# The front door. `make` prints what there is; README.md shows the way in.
# Variables: YES=1 no questions · JOBS=n parallel compiles · SETUP=skip use what is installed · ARGS="…" passed to the program
#            DEMO_EXIT=1 BUYERS=n UNITS=n SALE=file for `make demo` and `make cluster-demo` · RABBIT=3 for `make cluster`
SHELL := /bin/sh
.SHELLFLAGS := -eu -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup setup-web setup-cluster cluster cluster-demo cluster-down test-cluster demo run test check bench format tsan mutants fuzz clean proof proof-report simulate

ARGS ?=
# Debian's own interpreter where there is one: the packages of tools/packages/ belong to it.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
export YES JOBS DEMO_EXIT SETUP

SETUP_QUIETLY = [ "$${SETUP:-}" = skip ] || QUIET=1 tools/setup.sh
DEMO_FLAGS = $(if $(BUYERS),--buyers $(BUYERS)) $(if $(UNITS),--units $(UNITS)) $(if $(SALE),--sale '$(SALE)') \
             $(if $(PORT),--port $(PORT)) $(if $(ADMIN_PORT),--admin-port $(ADMIN_PORT))

CLUSTER_FOLDER ?= build/cluster
CLUSTER = $(PYTHON) tools/cluster/cluster.py

help: ## print this
	@printf 'make …\n'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16
	@printf 'Variables: YES=1  JOBS=n  SETUP=skip  ARGS="…"  and for demo: DEMO_EXIT=1  BUYERS=n  UNITS=n  SALE=examples/…\n'

demo: ## build and watch a flash sale sell exactly its stock; Ctrl-C ends it
	@$(SETUP_QUIETLY) build
	@tools/build.sh release seckill
	@exec build/release/seckill demo $(DEMO_FLAGS) $(ARGS)

run: ## build and serve with demo logins: seckill serve --demo
	@$(SETUP_QUIETLY) build
	@tools/build.sh release seckill
	@exec build/release/seckill serve --demo $(ARGS)

cluster: ## Redis Cluster, RabbitMQ, MariaDB, nginx, 2 api and 2 worker nodes on free loopback ports; RABBIT=3
	@$(SETUP_QUIETLY) build cluster
	@tools/build.sh release seckill
	@exec $(CLUSTER) up --folder '$(CLUSTER_FOLDER)' --binary build/release/seckill $(if $(RABBIT),--rabbit $(RABBIT)) $(ARGS)

cluster-demo: ## a crowd buys at the running cluster, then a verdict for each promise
	@exec $(CLUSTER) demo --folder '$(CLUSTER_FOLDER)' -- $(DEMO_FLAGS) $(ARGS)

cluster-down: ## stop what `make cluster` started and delete its data
	@exec $(CLUSTER) down --folder '$(CLUSTER_FOLDER)'

test-cluster: ## black-box tests on real engines, with kills, pauses and restarts; ONLY=pattern
	@$(SETUP_QUIETLY) build test cluster
	@tools/build.sh dev seckill
	@exec $(PYTHON) tests/cluster/run.py --binary build/dev/seckill $(if $(ONLY),--only '$(ONLY)') $(ARGS)

test: ## every test with sanitizers, then style, models, engines and black-box tests; ends with "N passed, N failed"
	@$(SETUP_QUIETLY) build test proof cluster
	@tools/build.sh dev
	@exec $(PYTHON) tools/test.py $(ARGS)

check: ## format, clang-tidy, layers, style and the fast tests: before every commit
	@$(SETUP_QUIETLY) build test
	@exec $(PYTHON) tools/check.py $(ARGS)

bench: ## measure and compare with the bars; writes build/bench/report.json
	@$(SETUP_QUIETLY) build bench
	@if grep -qs '^SECKILL_BUILD_BENCH:[A-Z]*=ON' build/release/CMakeCache.txt; then tools/build.sh release; \
	else CMAKE_ARGS=-DSECKILL_BUILD_BENCH=ON tools/build.sh release; fi
	@exec $(PYTHON) bench/run.py $(ARGS)

tsan: ## the tests in which threads meet, under ThreadSanitizer: any report fails its test
	@$(SETUP_QUIETLY) build test
	@tools/build.sh tsan concurrent_tests
	@exec ctest --test-dir build/tsan --output-on-failure --parallel 2 -L concurrent $(ARGS)

proof: ## check the protocol models with spin, and that every named mistake in them breaks a promise
	@$(SETUP_QUIETLY) proof
	@exec $(PYTHON) proof/run.py $(ARGS)

simulate: ## the protocols under faults and crashes: SEEDS=n MINUTES=m FIRST=n WORLD=embedded|cluster RECORD=1
	@$(SETUP_QUIETLY) build test
	@tools/build.sh sim simulate
	@exec build/sim/simulate $(if $(WORLD),--world $(WORLD)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(FIRST),--first $(FIRST)) $(if $(RECORD),--record tests/simulation/record.json) $(ARGS)

proof-report: ## write docs/proof.md from the last test results and the records of longer runs
	@exec $(PYTHON) tools/proof_report.py $(ARGS)

fuzz: ## hostile input for MINUTES=m (10) over all harnesses; MERGE=1 keeps new seeds, RECORD=1 notes the minutes
	@$(SETUP_QUIETLY) build test
	@tools/build.sh fuzz fuzzers
	@exec $(PYTHON) tools/fuzz.py $(if $(MINUTES),--minutes $(MINUTES)) $(if $(MERGE),--merge) $(if $(RECORD),--record) $(ARGS)

mutants: ## break the product on purpose, line by line, and see that a test notices; SLICE=i/n ONLY=name FRESH=1
	@$(SETUP_QUIETLY) build test
	@exec $(PYTHON) tools/mutants.py $(if $(SLICE),--slice $(SLICE)) $(if $(ONLY),--only '$(ONLY)') $(if $(FRESH),--fresh) $(ARGS)

format: ## rewrite the C++ files in the house format
	@git ls-files -co --exclude-standard 'src/*.cpp' 'src/*.hpp' 'tests/*.cpp' 'tests/*.hpp' 'bench/*.cpp' 'bench/*.hpp' \
	  'cmake/*.hpp' | xargs -r clang-format-19 -i

setup: ## install what a build and its tests need, after saying what and how much
	@tools/setup.sh build test bench

setup-cluster: ## install the servers that `make cluster` and its tests start; none is enabled as a service
	@tools/setup.sh cluster

setup-web: ## install what rebuilding the web pages needs
	@tools/setup.sh web

clean: ## remove the build folder
	@rm -rf build
