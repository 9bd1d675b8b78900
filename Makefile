# Two commands matter: `make demo` and `make test`. Each sets up the machine, builds and runs.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10

# Another clone of the same sources finds its objects in the cache, whatever folder it lies in.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

CTEST := ctest --output-on-failure -j $(JOBS)

.NOTPARALLEL:
.PHONY: help build demo quick test format test-release test-benches test-without tidy test-sanitized test-fuzz test-tsan \
        test-faults audit bench lint install package test-package clean

help:
	@echo "make demo            build the program, train the demo and print its result"
	@echo "make build           build the program only: build/parley"
	@echo "make quick           build, and run the tests that are labelled quick"
	@echo "make test            every check below but those that say otherwise"
	@echo "make format          the format of the sources"
	@echo "make test-release    every test in the release build"
	@echo "make test-benches    every benchmark program for a second"
	@echo "make test-without    a build without gRPC, MPI and PostgreSQL, which says what is missing"
	@echo "make tidy            clang-tidy on the four sources that changed last"
	@echo "make test-sanitized  unit tests under the address and undefined-behaviour sanitizers, and the fuzzers"
	@echo "make test-fuzz       the fuzzers alone; FUZZ_SECONDS=130 FUZZ_SEED=0 for longer, from a new seed"
	@echo "make test-tsan       the tests in which threads meet, under the thread sanitizer (not part of make test)"
	@echo "make test-faults     a hundred runs with kills, ten thousand malformed frames (not part of make test)"
	@echo "make audit           every private algorithm attacked at length (an hour or so; not part of make test)"
	@echo "make bench           the speed tables beside their peers (long; makes its own Python environment)"
	@echo "make lint            the format, and clang-tidy on every source (long)"
	@echo "make install         the program, its man pages and completion, to PREFIX (/usr/local) below DESTDIR"
	@echo "make package         the Debian packages parley and parley-site, in build/packages"
	@echo "make test-package    installs, runs and purges them on this machine, as root (not part of make test)"
	@echo "make clean           remove what was built"

build:
	@scripts/setup build
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target parley

demo: build
	@examples/demo/run

# What needs the tests' packages; nothing when they are there.
.PHONY: _setup _release _dev
_setup:
	@scripts/setup build test

_release: _setup
	@cmake --preset release -DPARLEY_TESTS=ON -DPARLEY_WITH_GRPC=ON -DPARLEY_WITH_MPI=ON -DPARLEY_WITH_POSTGRES=ON \
	         -DPARLEY_WITH_PYTHON=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)

_dev: _setup
	@cmake --preset dev -DPARLEY_WITH_PYTHON=OFF >/dev/null

quick: _release
	$(CTEST) --test-dir build -L quick

test: format test-release test-benches test-without test-sanitized tidy
	@echo "make test: all green"

format: _setup
	@scripts/lint format

test-release: _release
	$(CTEST) --test-dir build

test-benches: _release
	@cmake --build --preset release -j $(JOBS) --target benches
	@bench/briefly.py build/bench

test-without: _setup
	@cmake --preset release -B build-without -DPARLEY_WITH_GRPC=OFF -DPARLEY_WITH_MPI=OFF -DPARLEY_WITH_POSTGRES=OFF \
	         -DPARLEY_WITH_PYTHON=OFF >/dev/null
	@cmake --build build-without -j $(JOBS) --target parley
	$(CTEST) --test-dir build-without -L without

tidy: _setup
	@scripts/lint changed

test-sanitized: _dev
	@cmake --build --preset dev -j $(JOBS) --target unit_tests fuzzers
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(CTEST) --test-dir build-dev -L 'unit|fuzz'

test-fuzz: _dev
	@cmake --build --preset dev -j $(JOBS) --target fuzzers
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(CTEST) --test-dir build-dev -L fuzz

# Kernels, readers, rounds, gRPC with ten thousand malformed frames, sites, and several at one ledger.
test-tsan: _setup
	@cmake --preset tsan -DPARLEY_WITH_PYTHON=OFF >/dev/null
	@cmake --build --preset tsan -j $(JOBS) --target threads_tests
	PARLEY_LONG=1 $(CTEST) --test-dir build-tsan -L threads

test-faults: _release
	PARLEY_LONG=1 PARLEY_FAULTS=100 $(CTEST) --test-dir build -L faults

audit: _release
	PARLEY_LONG=1 build/tests/audits/test_audits --file=/tests/audits/catalog_test.cpp

bench:
	@scripts/setup build bench
	@bench/run

PREFIX ?= /usr/local
install: build
	@cmake --build --preset release --target manual
	@DESTDIR="$(DESTDIR)" cmake --install build --component parley --prefix "$(PREFIX)"

package: build
	@scripts/setup build package
	@cmake --build --preset release --target manual
	@cpack --config build/CPackConfig.cmake -B build/packages

test-package: package
	@tests/packages/life build/packages

lint:
	@scripts/setup build lint
	@scripts/lint

clean:
	rm -rf build build-dev build-tsan build-without build-lint demo-out
