# `make demo` shows what disklab does, and `make test` runs the tests. On a bare Debian machine,
# both first install the packages that are missing (install/needs), or print the command that does.

PREFIX  ?= /usr/local
DISKLAB := $(or $(CARGO_TARGET_DIR),target)/release/disklab
SHARE   := $(DESTDIR)$(PREFIX)/share/disklab
# With pipefail, a recipe fails if any command of a pipe fails.
SHELL      := bash
.SHELLFLAGS := -o pipefail -c
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

.PHONY: build demo test test-kernels test-rust test-python test-fuzz test-6.12 test-mutants \
	test-dist lint install wheel dist notebook

build:
	@install/needs
	cargo build --release

demo: build
	$(DISKLAB) kernel build
	$(DISKLAB) run lab/suites/read-policy-quick.toml

# Everything is compiled first. Then two things run side by side, twice: builds of guest kernels
# beside checks that need no kernel, and cargo's tests beside those of the Python package. Most
# tests wait for one guest, which is one thread. install/needs installs what the tests need; a test
# that is skipped all the same prints the reason.
test: export PATH := /usr/lib/ccache:$(PATH)
test:
	@install/needs test
	cargo build --workspace --all-targets
	@rm -rf $(TESTED) && mkdir -p $(TESTED) && ln $(TARGET)/debug/disklab $(TESTED)/
	@$(PART)test-kernels & $(PART)test-fuzz; $(PART)lint; $(PART)wheel; wait
	@test ! -e $(TESTED)/test-kernels.failed
	cargo build --workspace
	@$(PART)test-rust & $(PART)test-python; wait
	@echo; cat $(TESTED)/*.log | \
		grep -E '^(test result:|make: .* took )|(passed|failed).* in [0-9.]+s' | \
		grep -v ' 0 passed; 0 failed'; \
	failed=$$(cd $(TESTED) && ls | sed -n 's/\.failed//p'); \
	for what in $$failed; do $(FAILURES) $(TESTED)/$$what.log; done; \
	test -z "$$failed" || { echo make: failed: $$failed >&2; false; }

# Runs a part of `make test`. A log keeps its output and its time, and a file NAME.failed its
# failure, so that the other parts run all the same.
PART := $(MAKE) --no-print-directory PROFILE=dev part-
part-%:
	@began=$$(date +%s); \
	$(MAKE) --no-print-directory $* $(MADE) 2>&1 | tee $(TESTED)/$*.log || \
		touch $(TESTED)/$*.failed; \
	echo "make: $* took $$(($$(date +%s) - began)) s" | tee -a $(TESTED)/$*.log

# The wheel's build replaces the program, which cargo's tests run beside the Python package's.
part-test-python: MADE := --assume-old=wheel

# TESTED is the folder of the logs. FAILURES prints the messages of failed tests again, below pages
# of other lines.
TESTED   := $(or $(CARGO_TARGET_DIR),target)/tested
FAILURES := sed -nE \
	-e '/^(failures:|=+ FAILURES =+)$$/,/^(test result:|=+ .* in [0-9.]+s)/p' \
	-e '/^(error|warning)/,/^$$/p'

# Tests boot kernels of these series. Tests that need only one take the first.
SERIES ?= 7.3 7.2

# Builds the guest kernels that the tests boot: one of each series, and the newest with mainline's
# btrfs, of which ccache compiles only btrfs. The link in $(TESTED) keeps the program, which the
# wheel's build replaces meanwhile.
test-kernels: export DISKLAB_HOME := $(CURDIR)
test-kernels:
	set -e; for series in $(SERIES); do $(TESTED)/disklab kernel build --kernel $$series; done
	$(TESTED)/disklab kernel build --mainline-btrfs

test-rust:
	DISKLAB_TEST_SERIES="$(SERIES)" DISKLAB_NEED_GUEST=1 DISKLAB_NEED_BROWSER=1 \
		cargo test --workspace --no-fail-fast

# Runs the tests with guests on Linux 6.12, which `make test` leaves out to save time. Four are
# skipped: three expect numbers of later kernels, and one traces the kernel, which traces its own
# programs.
test-6.12: export PATH := /usr/lib/ccache:$(PATH)
test-6.12: export DISKLAB_HOME := $(CURDIR)
test-6.12:
	@install/needs test
	cargo build --workspace --all-targets
	$(TARGET)/debug/disklab kernel build --kernel 6.12
	$(TARGET)/debug/disklab kernel build --kernel 6.12 --mainline-btrfs
	DISKLAB_TEST_SERIES=6.12 DISKLAB_NEED_GUEST=1 cargo test -p disklab-runner --test guests -- \
		--skip a_cache_answers_for_its_disks --skip defrag_moves_data \
		--skip reads_and_writes_are_told_apart --skip no_file_of_the_host_is_read_unseen

# Runs the fuzzers with the xtask of the tests' build; `cargo xtask` would compile an optimised one.
test-fuzz:
	cargo build --workspace
	$(TARGET)/debug/xtask fuzz

# Makes target/wheel/*.whl, one file for pip: the program with all that it needs, and the Python
# package.
PROFILE ?= release
TARGET  := $(or $(CARGO_TARGET_DIR),target)
BUILT   := $(TARGET)/$(if $(filter dev,$(PROFILE)),debug,release)
WHEEL   := $(TARGET)/wheel
wheel:
	@install/python
	cargo build --profile $(PROFILE) --package disklab --package disklab-guest
	rm -rf $(WHEEL)
	$(MAKE) --no-print-directory install PREFIX= DESTDIR=$(WHEEL)/data/data DISKLAB=$(BUILT)/disklab
	rm -r $(WHEEL)/data/data/bin
	cd python && $(abspath $(TARGET))/python/bin/maturin build --quiet --profile $(PROFILE) \
		--out $(abspath $(WHEEL))

# Tests the wheel in a bare environment, and the package on clusters on this machine.
test-python: wheel
	DISKLAB_NEED_GUEST=1 DISKLAB_WHEEL=$$(echo $(WHEEL)/*.whl) \
		DISKLAB_PROGRAM=$(CURDIR)/$(BUILT)/disklab \
		PYTHONPATH=python/src $(TARGET)/python/bin/python -m pytest -q -rs python
	$(TARGET)/python/bin/ruff check python
	$(TARGET)/python/bin/ruff format --check python
	cd python && $(abspath $(TARGET))/python/bin/mypy

# Tests whether `disklab compare` sees mutated kernels: three broken trees, and 20 mutations of
# btrfs's read policies that are built in one tree.
test-mutants: export PATH := /usr/lib/ccache:$(PATH)
test-mutants: build
	$(DISKLAB) kernel build
	guest-kernel/mutants/mutants.py --program $(abspath $(DISKLAB)) --work $(TARGET)/mutants

# Runs docs/seek-ratio.ipynb again, from the sweep on.
notebook: wheel
	$(TARGET)/python/bin/pip --quiet install matplotlib nbconvert ipykernel
	PATH=$(abspath $(TARGET))/python/bin:$$PATH DISKLAB_PROGRAM=$(CURDIR)/$(BUILT)/disklab \
		PYTHONPATH=$(CURDIR)/python/src \
		jupyter nbconvert --to notebook --execute --inplace docs/seek-ratio.ipynb

# The build finds the report's panels without a `mod`, so cargo fmt does not see them.
lint:
	cargo fmt --all --check
	rustfmt --check --edition 2024 crates/report/src/panels/*.rs
	cargo clippy --workspace --all-targets -- -D warnings
	install/deny

# Makes a release in target/dist: a tarball, a Debian package and a wheel, each with a built kernel.
dist:
	@install/needs
	@install/python
	cargo build --profile $(PROFILE) --package disklab --package disklab-guest
	DISKLAB=$(BUILT)/disklab install/dist

# Tests the release as a user has it, from the files alone.
test-dist: dist
	install/try-release $(TARGET)/dist/*.deb $(TARGET)/dist/*-linux.tar.xz $(TARGET)/dist/*.whl

# Installs the program after `make build`. It needs no cargo, which root may not have. KERNEL names
# the folder of a built kernel, to install it too.
install:
	@test -x $(DISKLAB) || { echo "make: $(DISKLAB) is not there; run 'make build' first" >&2; false; }
	install -D $(DISKLAB) $(DESTDIR)$(PREFIX)/bin/disklab
	install -D -m 644 $(dir $(DISKLAB))libdisklab_guest.so \
		$(DESTDIR)$(PREFIX)/lib/disklab/libdisklab_guest.so
	rm -rf $(SHARE)/lab $(SHARE)/guest-kernel $(SHARE)/read-policies $(SHARE)/kernels
	rm -rf $(SHARE)/schemas
	mkdir -p $(SHARE)
	cp -r lab guest-kernel $(SHARE)/
	$(if $(KERNEL),mkdir $(SHARE)/kernels && cp -r $(KERNEL) $(SHARE)/kernels/)
	$(if $(DOC),mkdir -p $(SHARE)/../doc/disklab && cp $(DOC) $(SHARE)/../doc/disklab/)
	mkdir $(SHARE)/read-policies
	cp read-policies/*.[ch] $(SHARE)/read-policies/
	cp -r crates/disklab/schemas $(SHARE)/
