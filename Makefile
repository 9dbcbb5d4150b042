# Shortcuts for what CONTRIBUTING.md describes. .ci/run is where the steps are.

.PHONY: check test race lint fmt fuzz-short fuzz-long crash bench bench-compare generate-clean

check: ## everything that must hold before a change lands
	.ci/run

test: ## the tests
	go test ./...

race: ## the tests, short, under the race detector
	.ci/run race

lint: ## go vet and the linters, in the pinned versions
	.ci/run vet format lint

fmt: ## format all code
	"$$(go -C internal/tools tool -n gofumpt)" -w .

fuzz-short: ## every decoder, a few seconds each
	.ci/run fuzz

fuzz-long: ## every decoder, FUZZ_MINUTES (10) in sum over as many runs as that takes
	.ci/fuzz-long

# The long forms take hours in all and may be stopped at any time: the ledger
# folder keeps what has passed.
CRASH_SEEDS ?= 5000
KILL_ROUNDS ?= 100

crash: ## power cuts, kills, faults and damage, in their long forms
	go test -count=1 -timeout 0 -run '^TestCrash$$' . -crash.count=$(CRASH_SEEDS) -long.ledger=ledger/crash
	go test -count=1 -timeout 0 -run '^TestKill$$' . -kill.rounds=$(KILL_ROUNDS)
	go test -count=1 -timeout 0 -run '^TestFault$$' . -fault.all -long.ledger=ledger/fault
	go test -count=1 -timeout 0 -run '^TestFlip' . -flip.all
	go test -count=1 -timeout 0 -run Crash ./wal -crash-rounds=$(CRASH_SEEDS)

BENCH ?= .
COUNT ?= 10
OUT ?= new.bench.out

bench: ## micro-benchmarks, repeated so that they can be compared: BENCH=Get COUNT=10
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... | tee $(OUT)

bench-compare: ## what changed from old.bench.out to new.bench.out
	"$$(go -C internal/tools tool -n benchstat)" old.bench.out new.bench.out

generate-clean: ## what is generated is what is committed
	go generate ./...
	git diff --exit-code
