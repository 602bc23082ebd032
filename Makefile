# dure: `make run` serves a model, `make test` proves it. `make help` lists more.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

DURE_HOME ?= $(HOME)/.dure
export DURE_HOME
# The binary needs no C compiler. The race detector does: without one the tests
# run without it, and say so.
CC_FOUND := $(shell command -v gcc || command -v clang || command -v cc)
RACE := $(if $(CC_FOUND),-race,)
BACKEND ?= cpu
PAIRS ?= 15
REPEAT ?= 3
FUZZTIME ?= 60s
CLIENTS := $(DURE_HOME)/clients

.PHONY: help build run engine-source voice clients test test-long bench bench-peers fuzz check clean dist

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

# One set of flags, so that what is built, vetted, packed and tested is compiled once.
build: ## build bin/dure
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o cmd/dure/client/$$(go env GOARCH)/dure-client ./cmd/client
	CGO_ENABLED=0 go build -trimpath -o bin/dure ./cmd/dure

run: build ## fetch engine and demo model, then serve them (ENGINE=cpu|vulkan|cuda|source)
	@bin/dure engine install
	@bin/dure pull
	@exec bin/dure serve

engine-source: build ## build engine and peer tools from source (BACKEND=cpu|hip|cuda|vulkan)
	@bin/dure engine build --backend $(BACKEND)

voice: build ## fetch the speech engines: a voice detector, an English voice and recogniser
	@bin/dure voice install

clients: ## fetch the stock OpenAI clients that the tests use
	@.ci/clients $(CLIENTS)

test: build check clients ## everything that must hold: unit, race, end to end with real models
	@bin/dure engine install cpu
	@bin/dure pull smollm2-135m
	@bin/dure pull gemma-3-270m
	@bin/dure pull all-minilm-l6-v2
	@bin/dure voice install
	@test -n "$(RACE)" || echo "SKIPPED the race detector: it needs a C compiler"
	@.ci/test $(RACE)

test-long: test engine-source ## longer oracles, crash loops, and every fuzz target for FUZZTIME each
	@.ci/long $(CLIENTS)
	@$(MAKE) fuzz

fuzz: ## run every fuzz target for FUZZTIME
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep ^Fuzz); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

bench: build engine-source ## measure beside llama-bench and llama-batched-bench (PAIRS=15)
	@bin/dure engine install cpu
	@bin/dure pull smollm2-135m
	ENGINE=cpu bin/dure bench engine smollm2-135m --pairs $(PAIRS)

bench-peers: build engine-source ## a team of agents against dure and llama-server, in turn (REPEAT=3 PAIRS=15)
	@bin/dure engine install cpu
	@bin/dure pull smollm2-135m
	ENGINE=cpu bin/dure bench peers --repeat $(REPEAT) --pairs $(PAIRS)

check: ## formatting and vet
	@test -z "$$(gofmt -l .)" || (echo "not gofmt-ed:"; gofmt -l .; exit 1)
	CGO_ENABLED=0 go vet -trimpath ./...

clean: ## remove what was built here (DURE_HOME stays)
	rm -rf bin cmd/dure/client/*/dure-client

dist: ## release archives for linux/amd64 and arm64 in dist/ (VERSION=, SOURCE_DATE_EPOCH=)
	.ci/dist dist
