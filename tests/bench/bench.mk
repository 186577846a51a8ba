# The load generator of tests/bench/loadgen, and the whole bench.

LOAD      := $(BUILD)/tests/bench/load
LOAD_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/bench/loadgen/*.c)))

$(LOAD): $(LOAD_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lm

.PHONY: load
load: $(LOAD) ## build the load generator

.PHONY: bench
bench: all $(BENCH_BINS) $(LOAD) ## ring lookups, then the proxy beside nutcracker and memcached
	for bench in $(BENCH_BINS); do $$bench || exit 1; done
	scripts/bench --ketamad $(BUILD)/ketamad --load $(LOAD) $(BENCH_ARGS)
