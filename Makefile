# Two commands matter: `make demo` and `make test`. Each sets up the machine, builds and runs.
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 10

# Another clone of the same sources finds its objects in the cache, whatever folder it lies in.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: help setup build demo test test-release test-sanitized test-fuzz test-tsan test-faults bench lint clean
help:
	@echo "make demo       build, train the demo and print its result"
	@echo "make test       build and run every test (release, sanitizers, fuzzers for a bounded time)"
	@echo "make test-tsan  the suites in which threads meet, under the thread sanitizer (not part of make test)"
	@echo "make bench      the speed tables beside their peers (long; makes its own Python environment)"
	@echo "make lint       clang-format and clang-tidy"

setup:
	@scripts/setup

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: build
	@examples/demo/run

test: test-release test-sanitized
	@echo "make test: all green"

test-release: build
	ctest --test-dir build --output-on-failure -j $(JOBS)

# Long loops over numbers, which take minutes without optimisation, run in test-release alone. SANITIZED='*' runs them here too.
SANITIZED ?= -ExactSparse.AgreesWithLong*:ExactSparse.StaysOnTheBall*:AdmmSharingSensitivity.IsNever*:Accountant.Extreme*:Metamorphic.No*:Metamorphic.One*:Metamorphic.K*:Metamorphic.Larger*:Metamorphic.Delta*:Metamorphic.Small*:Metamorphic.Cont*:LossComposition.LargeSteps*:HiddenCount.*Move*:Tasks/SgdOnEveryLoss.ComesClose*:PrivateFrankWolfe.LazyEnds*:FedIterHt.Needs*:Doors.NoisyMax*:Doors.TheBestTwo*:NoisyTotalTest.EveryEntry*:ParseNumber.AgreesWithStrtod*:ParseNumber.RoundsMid*:Tasks/SgdOnEveryLoss.ReachesTheOptimum*:Optima.OfSmooth*

test-sanitized: setup
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target unit_tests fuzzers
	FUZZ_SECONDS=$(FUZZ_SECONDS) GTEST_FILTER='$(SANITIZED)' ctest --test-dir build-dev --output-on-failure -j $(JOBS) -L 'unit|fuzz'

test-fuzz: setup
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target fuzzers
	FUZZ_SECONDS=$(FUZZ_SECONDS) ctest --test-dir build-dev --output-on-failure -j $(JOBS) -L fuzz

# Where threads meet: kernels, readers, rounds, gRPC with ten thousand malformed frames, sites, and several at one ledger. Of the
# readers and of privacy the loops over numbers, which one thread does, are left out.
TSAN_PARTS = Csv*:Libsvm*:Load*:PackedColumns*:RawTable*:Convert*:Generate*:Split*:GateTest*:LedgerTest*:PlanChargesTest*:*TamperedLedger*:EpsilonAcross*:PairwiseMasks*:SecureGenerator*
test-tsan: setup
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS) --target test_core test_linalg test_secure test_rounds test_transport_grpc test_catalog test_data test_privacy
	PARLEY_LONG=1 ctest --test-dir build-tsan --output-on-failure -j $(JOBS) -R '^(core|linalg|secure|rounds|transport_grpc|catalog)$$'
	GTEST_FILTER='$(TSAN_PARTS)' ctest --test-dir build-tsan --output-on-failure -j $(JOBS) -R '^(data|privacy)$$'

# A hundred runs in which someone is killed at a random moment; ten thousand malformed frames.
test-faults: build
	PARLEY_LONG=1 build/tests/transport/test_transport_grpc --gtest_filter='Hostile*:Broken*'
	PARLEY=$(CURDIR)/build/parley PARLEY_FAULTS=100 python3 -m unittest discover -s tests/cli -p faults_test.py
	PARLEY=$(CURDIR)/build/parley PARLEY_FAULTS=100 PARLEY_LONG=1 python3 -m unittest discover -s tests/cli -p private_daemons_test.py

bench: build
	@scripts/setup bench
	@bench/run

lint:
	@scripts/setup lint
	@scripts/lint

clean:
	rm -rf build build-dev build-tsan demo-out
