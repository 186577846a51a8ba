# Programs that tests need beside the unit tests; included by the Makefile.

DIFFERENTIAL_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/differential/*.c)))

$(BUILD)/tests/differential/differential: $(DIFFERENTIAL_OBJS)
	$(CC) $(LDFLAGS) -o $@ $^

TEST_TOOLS := $(BUILD)/tests/differential/differential

$(BUILD)/tests/load/checkload: $(BUILD)/tests/load/checkload.o
	$(CC) $(LDFLAGS) -o $@ $^

TEST_TOOLS += $(BUILD)/tests/load/checkload

test-programs: $(TEST_TOOLS)
