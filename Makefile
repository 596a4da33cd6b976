# `make` prints this help. `make run` and `make test` do all their own set-up.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := bin/chargehand
VERSION ?= $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/chargehand/chargehand/internal/app.Version=$(VERSION)

.PHONY: help
help: ## print this help
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/chargehand (static, no cgo) with the web UI; CHARGEHAND_UI=off leaves that out
	@scripts/web build
	@mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/... ./examples/picture

.PHONY: setup
setup: ## install and build what tests need: PostgreSQL, Chromium, a Temporal server, an S3 server
	@scripts/setup test

.PHONY: run
run: build ## start a server with the examples, run the tour, leave it running
	@scripts/run

.PHONY: stop
stop: ## end the server that make run left
	@scripts/stop

.PHONY: test
test: ## everything that is checked: set-up, linters, generated files, tests, conformance, crash test
	@scripts/test

.PHONY: test/full
test/full: ## make test, and what takes long: all with the race detector, a million executions, many kills and faults
	@scripts/test full

.PHONY: test/quick
test/quick: ## the Go tests alone, without the race detector and what takes long
	go test -skip '^TestLong' ./...

.PHONY: test/pages
test/pages: build ## the tests of the pages in Chromium alone
	@scripts/test-pages

.PHONY: lint
lint: ## linters, with the import rules; words; references to pages and decisions that are not there
	@scripts/tool golangci-lint
	@scripts/check-references
	@go run ./scripts/checkwords
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt'd:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	.cache/bin/golangci-lint run ./...

.PHONY: workflowcheck
workflowcheck: ## nothing that a Temporal workflow reaches may differ between two replays
	@scripts/tool workflowcheck
	.cache/bin/workflowcheck -config .workflowcheck.yaml ./internal/engine/temporal

.PHONY: generate
generate: ## write the generated files: api/openapi.yaml, docs/reference/{cli,settings,limits,errors}.md, internal/notice/notices.txt, web/src/api/schema.d.ts
	@mkdir -p api
	@scripts/notices
	@$(MAKE) --no-print-directory build
	$(BIN) openapi > api/openapi.yaml
	@[ "$${CHARGEHAND_UI:-on}" = off ] || scripts/web schema
	@set -e; for page in cli settings limits errors; do $(BIN) reference $$page > docs/reference/$${page}.md; done

.PHONY: man
man: build ## write man pages to bin/man
	$(BIN) reference --man bin/man

.PHONY: verify
verify: generate ## fail if a generated file or go.mod is not what the code says
	go mod tidy -diff
	@git diff --exit-code -- api docs/reference/{cli,settings,limits,errors}.md internal/notice/notices.txt web/src/api/schema.d.ts || { echo "generated files differ: run make generate and commit"; exit 1; }

.PHONY: release
release: ## build dist/: binaries that can be built again, byte by byte, lists of what they are made of (CycloneDX), checksums
	@scripts/release "$(VERSION)"

.PHONY: release/check
release/check: ## build a copy of the last commit at another path, and fail if the binary is not the same
	@scripts/release --check "$(VERSION)"

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what is linked in, where the database of them can be reached
	@scripts/vulncheck

.PHONY: bench
bench: build ## load a fresh server on this machine and print the figures
	@scripts/bench

.PHONY: bench/setups
bench/setups: ## measure SQLite, PostgreSQL and Temporal side by side on this machine
	@scripts/bench-setups

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME (default 30s) each
	@scripts/fuzz $${FUZZTIME:-30s}

.PHONY: conformance
conformance: build ## our own scenarios, and the conformance kit if it is here, through the built binary, as tables
	CHARGEHAND_WRITE_TABLES=1 go test -count=1 -run "ConformanceFeatures|KitScenarios" -v ./internal/conformance | grep -E "^ *(---|[a-z_]+_test.go|\|)|^(ok|FAIL)" | grep -v "PASS: .*/"

.PHONY: conformance/kit
conformance/kit: ## the specification's conformance kit (CHARGEHAND_SHARED names the folder that holds it) on each set-up
	@scripts/test kit

.PHONY: crash
crash: build ## kill -9 the server under load, 20 times, and check every promise
	CHARGEHAND_CRASH_KILLS=20 go test -count=1 -timeout 20m -run Crash -v ./internal/blackbox/...

.PHONY: drill
drill: build ## kill nodes and servers under load, on PostgreSQL, S3 and Temporal, and check every promise
	CHARGEHAND_DRILL_ITEMS=2000 CHARGEHAND_DRILL_SINGLES=500 go test -count=1 -timeout 30m -v ./internal/drill/...

.PHONY: clean
clean: ## remove what was built, and the npm packages
	rm -rf bin dist .cache web/node_modules web/tools/node_modules web/e2e/results
	find web/dist -mindepth 1 ! -name .keep -delete
