# ketamad: `make help` lists the targets. Everything is built below build/<variant>.

VARIANT ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   := build/$(VARIANT)
VERSION := $(shell cat VERSION)
JOBS    ?= 2

PKGS := libevent libxxhash inih libmd
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
PKG_LIBS   := $(shell pkg-config --libs $(PKGS)) -pthread -lm
CHECK_CFLAGS = $(shell pkg-config --cflags check)
CHECK_LIBS   = $(shell pkg-config --libs check)

WARNINGS := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes \
            -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wno-missing-field-initializers
ifeq ($(CI),true)
WARNINGS += -Werror
endif
HARDEN := -fstack-protector-strong -fPIE -fno-strict-aliasing
LDHARDEN := -pie -Wl,-z,relro -Wl,-z,now

CFLAGS_release  := -O2 -g -D_FORTIFY_SOURCE=2
CFLAGS_asan     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan     := -O1 -g -fsanitize=thread
CFLAGS_valgrind := -O1 -g
CFLAGS_coverage := -O0 -g --coverage
CFLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
ifeq ($(VARIANT),fuzz)
CC := clang
endif

override CFLAGS := -std=c11 -D_GNU_SOURCE -DKETAMAD_VERSION='"$(VERSION)"' -Isrc $(PKG_CFLAGS) \
          $(WARNINGS) $(HARDEN) $(CFLAGS_$(VARIANT)) $(CFLAGS)
override LDFLAGS := $(CFLAGS_$(VARIANT)) $(LDHARDEN) $(LDFLAGS)

LIB_SRCS  := $(sort $(wildcard src/base/*.c src/ring/*.c src/proto/*.c src/config/*.c \
                             src/topology/*.c src/proxy/*.c src/control/*.c src/cli/*.c))
LIB_OBJS  := $(LIB_SRCS:%.c=$(BUILD)/%.o)
LIB       := $(BUILD)/libketama.a
PROGRAMS  := $(BUILD)/ketamad $(BUILD)/ketamactl
BENCH_LIBS_bench_ring := -lmemcached -lhashkit
UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BINS := $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/tests/unit/%)
BENCH_SRCS := $(sort $(wildcard tests/bench/*.c))
BENCH_BINS := $(BENCH_SRCS:tests/bench/%.c=$(BUILD)/tests/bench/%)
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/tests/fuzz/%)

.PHONY: all
all: $(PROGRAMS) ## build ketamad and ketamactl

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIB): $(LIB_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/ketamad: $(BUILD)/src/main.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/ketamactl: $(BUILD)/src/ketamactl.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/tests/unit/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CHECK_CFLAGS) -Itests -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(CHECK_LIBS) $(PKG_LIBS)

.PHONY: unit
unit: $(UNIT_BINS) ## build the unit tests

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) $(BENCH_LIBS_$(*F))

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(LIB)
	$(CC) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

.PHONY: clean
clean: ## remove everything built
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.SECONDARY:
