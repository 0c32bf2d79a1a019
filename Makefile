# The two commands that matter: make demo and make test. Each sets up what is missing first.

SHELL = /bin/sh
GO = go
CACHE = .cache
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS = -s -w -X main.version=$(VERSION)

.PHONY: help demo test bench build generate lint clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile | expand -t 20

demo: ## run real deliveries through a private PostgreSQL, start to end
	@sh .ci/setup demo
	@sh docs/demo/run.sh

# Race detector on, so cgo on; the binary itself is built without. The limit is for slow machines:
# what hangs is ended by its own test long before.
test: ## all tests, on PostgreSQL servers that they start themselves
	@sh .ci/setup test
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./...
	CGO_ENABLED=0 $(GO) -C pkg/bench test ./...

# Ratios of one run, in turns with a peer: what else the machine does falls on both. All of it takes an
# hour and 30 GB of disk; BENCH='-only 1,4 -rounds 3' chooses, go run . -h in pkg/bench lists the flags.
bench: ## ratios against psql, xargs, River, graphile-worker and pg-boss, each in one run
	@sh .ci/setup bench
	CGO_ENABLED=0 $(GO) -C pkg/bench run . $(BENCH)
	CGO_ENABLED=0 $(GO) test ./pkg/intake -run '^$$' -bench .

build: ## the binary, ./todoctl
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o todoctl .

generate: ## rewrite completions, man pages, reference and the schema dump
	@sh .ci/setup demo
	$(GO) generate ./...

lint: ## what CI runs beside the tests
	@sh .ci/run lint

clean: ## remove what was built
	rm -rf todoctl todoctl.exe dist $(CACHE)
