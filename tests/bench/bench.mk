# The load generator (tests/bench/loadgen) and `make bench`: first the programs that are one file
# each, then scripts/bench, which gets BENCH_ARGS.

LOAD      := $(BUILD)/tests/bench/load
LOAD_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/bench/loadgen/*.c)))

$(LOAD): $(LOAD_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lm

FLOOR := $(BUILD)/tests/bench/floor

$(FLOOR): $(BUILD)/tests/bench/floorloop/floor.o
	$(CC) $(LDFLAGS) -o $@ $^

.PHONY: load
load: $(LOAD) $(FLOOR) ## build the load generator, and the least that a proxy can do

.PHONY: bench
bench: $(BUILD)/ketamad $(BENCH_BINS) $(LOAD) ## ring lookups, then the proxy beside nutcracker and memcached
	@set -e; for program in $(BENCH_BINS); do echo "== $${program##*/}"; $$program; done
	scripts/bench --ketamad $(BUILD)/ketamad --load $(LOAD) $(BENCH_ARGS)
