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
# The same bytes wherever the tree lies.
REPRODUCIBLE := -ffile-prefix-map=$(CURDIR)=.

CFLAGS_release  := -O2 -g -D_FORTIFY_SOURCE=2
# Counters compiled out, to measure what they cost.
CFLAGS_nocount  := $(CFLAGS_release) -DKETAMAD_NO_COUNTERS
CFLAGS_asan     := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_tsan     := -O1 -g -fsanitize=thread
CFLAGS_valgrind := -O1 -g
CFLAGS_coverage := -O0 -g --coverage -fprofile-update=atomic
CFLAGS_fuzz     := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
ifeq ($(VARIANT),fuzz)
CC := clang
endif

override CFLAGS := -std=c11 -D_GNU_SOURCE -DKETAMAD_VERSION='"$(VERSION)"' -Isrc $(PKG_CFLAGS) \
          $(WARNINGS) $(HARDEN) $(REPRODUCIBLE) $(CFLAGS_$(VARIANT)) $(CFLAGS)
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
REPLAY_BINS := $(FUZZ_SRCS:tests/fuzz/fuzz_%.c=$(BUILD)/tests/fuzz/replay_%)

.PHONY: all
all: $(PROGRAMS) ## build ketamad and ketamactl

# Holds the flags; touched only when they change, and everything is compiled again then. Warnings
# are left out: they change no code.
FLAGS := $(CC) $(filter-out $(WARNINGS),$(CFLAGS) $(LDFLAGS))
.PHONY: FORCE
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS))' >$@

$(BUILD)/src/control/page.o: src/control/page/index.html # its bytes are in there

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(LIB): $(LIB_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/ketamad: $(BUILD)/src/main.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/ketamactl: $(BUILD)/src/ketamactl.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(BUILD)/tests/unit/%.o: tests/unit/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(CHECK_CFLAGS) -Itests -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(CHECK_LIBS) $(PKG_LIBS)

.PHONY: unit
unit: $(UNIT_BINS) ## build the unit tests

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) $(BENCH_LIBS_$(*F))

# A fuzz target with a main of its own: runs the files it is given, with any compiler.
$(BUILD)/tests/fuzz/replay_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay_main.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(PKG_LIBS)

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB)
	$(CC) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(PKG_LIBS)

# What the simulated worker stands between.
SIM_OBJS := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/fuzz/sim_*.c)))
$(BUILD)/tests/fuzz/replay_worker $(BUILD)/tests/fuzz/fuzz_worker: $(SIM_OBJS)

# ---- tests

.PHONY: test-programs
test-programs: all $(UNIT_BINS) $(REPLAY_BINS)

.PHONY: check
check: ## build and run every test; the last line is `N passed, N failed`
	@$(MAKE) -s -j$(JOBS) VARIANT=$(VARIANT) test-programs
	@scripts/run-tests --variant $(VARIANT) --jobs $(JOBS)

.PHONY: check-asan check-tsan check-valgrind
check-asan: ## unit, corpus and proxy tests under AddressSanitizer and UBSan
check-tsan: ## the same under ThreadSanitizer
check-valgrind: ## the same under valgrind
check-asan check-tsan check-valgrind:
	@$(MAKE) -s -j$(JOBS) VARIANT=$(@:check-%=%) test-programs
	@scripts/run-tests --variant $(@:check-%=%) --jobs $(JOBS) --parts unit,corpus,proxy

FUZZ_SECONDS ?= 60
FUZZ_TARGET  ?=
.PHONY: fuzz
fuzz: ## fuzz every target, or FUZZ_TARGET, for FUZZ_SECONDS (60) each
	@$(MAKE) -s -j$(JOBS) VARIANT=fuzz fuzz-programs
	@scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGET)

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_BINS)

.PHONY: coverage
coverage: ## run the tests counting lines, print the share reached by folder
	@find build/coverage -name '*.gcda' -delete 2>/dev/null || true
	@$(MAKE) -s -j$(JOBS) VARIANT=coverage test-programs
	@scripts/run-tests --variant coverage --jobs $(JOBS)
	@scripts/coverage

# ---- the text of it

.PHONY: lint
lint: ## formatting, layers, docs, static analysis; no warning is allowed
	@scripts/lint --jobs $(JOBS)

.PHONY: format
format: ## let clang-format lay out all C files
	@find src tests -name '*.[ch]' -print0 | xargs -0 clang-format -i

.PHONY: scan
scan: ## look for faults with clang's static analyzer; a finding fails
	@rm -rf build/scan
	scan-build --status-bugs -o build/scan/report $(MAKE) -s -j$(JOBS) VARIANT=scan all

.PHONY: check-reproducible
check-reproducible: ## build all and the package twice, elsewhere and at another time: the same bytes?
	@scripts/check-reproducible

# ---- installing

SBINDIR    := $(PREFIX)/sbin
BINDIR     := $(PREFIX)/bin
MANDIR     := $(PREFIX)/share/man
DOCDIR     := $(PREFIX)/share/doc/ketamad
COMPDIR    := $(PREFIX)/share/bash-completion/completions
UNITDIR    ?= $(PREFIX)/lib/systemd/system
MAN_PAGES  := $(wildcard docs/man/*.[158])
COMPLETION := $(wildcard scripts/completion/*.bash)
EXAMPLES   := $(wildcard ketama.conf.example)
UNITS      := $(wildcard conf/ketamad.service)

.PHONY: install
install: all ## install below DESTDIR and PREFIX (/usr/local)
	install -d $(DESTDIR)$(SBINDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(DOCDIR)
	install -m 755 $(BUILD)/ketamad $(DESTDIR)$(SBINDIR)/ketamad
	install -m 755 $(BUILD)/ketamactl $(DESTDIR)$(BINDIR)/ketamactl
	$(foreach page,$(MAN_PAGES),install -D -m 644 $(page) \
	    $(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page))$(newline))
	$(foreach file,$(EXAMPLES),install -m 644 $(file) $(DESTDIR)$(DOCDIR)/$(newline))
	$(foreach file,$(COMPLETION),install -D -m 644 $(file) \
	    $(DESTDIR)$(COMPDIR)/$(basename $(notdir $(file)))$(newline))
	$(foreach file,$(UNITS),install -d $(DESTDIR)$(UNITDIR)$(newline))
	$(foreach file,$(UNITS),sed 's|/usr/sbin/|$(SBINDIR)/|g' $(file) \
	    >$(DESTDIR)$(UNITDIR)/$(notdir $(file))$(newline))

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(SBINDIR)/ketamad $(DESTDIR)$(BINDIR)/ketamactl
	rm -f $(foreach page,$(MAN_PAGES),\
	    $(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page)))
	rm -f $(foreach file,$(COMPLETION),$(DESTDIR)$(COMPDIR)/$(basename $(notdir $(file))))
	rm -f $(foreach file,$(UNITS),$(DESTDIR)$(UNITDIR)/$(notdir $(file)))
	rm -rf $(DESTDIR)$(DOCDIR)

.PHONY: deb
deb: ## build a Debian package in build/deb
	@scripts/deb

.PHONY: clean
clean: ## remove everything built
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo 'VARIANT=release|asan|tsan|valgrind|coverage|fuzz|scan|nocount  JOBS=2  PREFIX=/usr/local  DESTDIR='

define newline


endef

# tests/bench/bench.mk has the bench target.
-include tests/tests.mk tests/bench/bench.mk
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.SECONDARY:
