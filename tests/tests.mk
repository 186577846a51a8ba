# Programs that tests need beside the unit tests; included by the Makefile.

DIFFERENTIAL_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/differential/*.c)))

$(BUILD)/tests/differential/differential: $(DIFFERENTIAL_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^

TEST_TOOLS := $(BUILD)/tests/differential/differential

$(BUILD)/tests/load/checkload: $(BUILD)/tests/load/checkload.o
	$(CC) $(LDFLAGS) -o $@ $^

TEST_TOOLS += $(BUILD)/tests/load/checkload

# Preloaded by tests into the daemon: a plain library, whatever the variant.
$(BUILD)/tests/faults/inject.so: tests/faults/inject.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -O1 -g -fPIC -shared -o $@ $< -ldl

TEST_TOOLS += $(BUILD)/tests/faults/inject.so

test-programs: $(TEST_TOOLS)
