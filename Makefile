# Shortcuts for what CONTRIBUTING.md describes. .ci/run is where the steps are.

.PHONY: check test race lint fmt fuzz-short crash bench bench-compare generate-clean

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

# How many histories the crash tests try; -count=1 since they draw new ones.
CRASH_ROUNDS ?= 200

crash: ## crash, fault and damage tests, longer than in an ordinary run
	go test -count=1 -run 'Crash|Kill|Fault|Damage|Corrupt' ./...
	go test -count=1 -run Crash ./wal -args -crash-rounds=$(CRASH_ROUNDS)

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
