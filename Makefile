# Shortcuts for what CONTRIBUTING.md describes. .ci/run is where the steps are.

.PHONY: check test race lint fmt fuzz-short fuzz-long crash soak bench bench-compare generate-clean

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
# keeps what has passed, and each form ends by itself after ten minutes. Run it
# again to go on.
CRASH_SEEDS ?= 50000
LONG = go test -count=1 -v -timeout 30m . -long.ledger=ledger/long.jsonl -long.commit=$$(git rev-parse --short=12 HEAD)

crash: ## power cuts, kills, faults and damage: ten minutes of each form, until all is done
	$(LONG) -run '^TestCrash$$' -crash.count=$(CRASH_SEEDS)
	$(LONG) -run '^TestCrashGroup$$' -crash.count=5000
	$(LONG) -run '^TestMetamorphic$$' -crash.count=2000
	$(LONG) -run '^TestFault$$' -fault.all
	$(LONG) -run '^TestCrashTwice$$' -crash.count=1024
	$(LONG) -run '^TestFlip|^TestDamage' -flip.all
	$(LONG) -run '^TestReadFaults$$' -crash.count=200
	$(LONG) -run '^TestKill$$' -kill.rounds=1000
	$(LONG) -run '^TestMutants$$' -mutants.seeds=20000
	go test -count=1 -timeout 30m -run Crash ./wal -crash-rounds=5000

SOAK_MINUTES ?= 60

soak: ## a mixed load that is killed and reopened, ten minutes at a time
	$(LONG) -run '^TestSoak$$' -soak.minutes=$(SOAK_MINUTES)

BENCH ?= .
COUNT ?= 10
PKG ?= ./...
REF ?= HEAD~1

bench: ## micro-benchmarks, repeated: BENCH=Get COUNT=10 PKG=./sstable
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

bench-compare: ## the same on this tree and on commit REF, in turns, and what changed: REF=main~3
	.ci/bench-compare '$(REF)' '$(BENCH)' '$(COUNT)' '$(PKG)'

generate-clean: ## what is generated is what is committed
	go generate ./...
	git diff --exit-code
