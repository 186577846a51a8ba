# The load generator (tests/bench/loadgen) and what `make bench` runs after the programs that are
# one file each. BENCH_ARGS goes to scripts/bench.

LOAD      := $(BUILD)/tests/bench/load
LOAD_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/bench/loadgen/*.c)))
BENCH_RUN  = scripts/bench --ketamad $(BUILD)/ketamad --load $(LOAD) $(BENCH_ARGS)

$(LOAD): $(LOAD_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^ -lm

.PHONY: load
load: $(LOAD) ## build the load generator

bench: $(LOAD)
