# Two commands for users, `make demo` and `make test`; each sets up what it needs. The rest is for
# developers (CONTRIBUTING.md).
.PHONY: help program demo test build setup install wheel deb check-packages fuzz check-all check-asan check-tsan check-limits check-kills check-slurm bench tidy format clean

JOBS ?= $(shell nproc)
export JOBS
BUILD ?= build/release
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 300
PLIMSOLL_KILLS ?= 50

# The program with its training library, and nothing else.
program:
	scripts/build_program.sh

demo: program
	scripts/demo.sh

# The program and all tests.
build:
	scripts/build_program.sh test
	cmake --build --preset release -j $(JOBS)

# Many tests wait more than they compute.
test: build
	ctest --preset release --no-tests=error -j $$((2 * $(JOBS)))

# Installs what is missing; asks nothing.
setup:
	scripts/setup.sh

# Into $(DESTDIR)$(PREFIX): bin, lib/plimsoll, shell completion, manual pages and the documentation.
install: $(BUILD)/plimsoll
	DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"
$(BUILD)/plimsoll:
	scripts/build_program.sh

# The Python package with the program and its libraries, for pip: dist/plimsoll-….whl.
wheel: program
	scripts/make_wheel.py

# The Debian package: dist/plimsoll_….deb, for the system that makes it.
deb: program
	scripts/setup.sh package
	scripts/make_deb.sh

# Both packages in a bare Debian: install, demo, uninstall. Needs root for the chroot, and says what it skips.
check-packages: deb wheel
	scripts/check_packages.sh

# What takes too long for `make test`.
check-all: check-asan check-tsan tidy fuzz check-limits check-kills

# The unit tests under sanitizers: memory and undefined behaviour, then threads.
check-asan: setup
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan --no-tests=error -j $(JOBS)

check-tsan: setup
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --preset tsan --no-tests=error -j $(JOBS)

check-limits: program
	scripts/check_limits.sh build/release/plimsoll

# Batches whose driver is killed at PLIMSOLL_KILLS moments, one experiment at a time and four at once, with
# early stopping; and trainings of which a random rank is killed as often.
check-kills: build
	PLIMSOLL_KILLS=$(PLIMSOLL_KILLS) PLIMSOLL_EXPERIMENTS=40 tests/scenario/run_killed_test.sh $(BUILD)/plimsoll
	PLIMSOLL_KILLS=$(PLIMSOLL_KILLS) tests/scenario/run_jobs_test.sh $(BUILD)/plimsoll
	PLIMSOLL_RANK_KILLS=$(PLIMSOLL_KILLS) tests/scenario/train_ranks_killed_test.sh $(BUILD)/plimsoll

# On a real Slurm of two nodes, which the tests start and stop. PLIMSOLL_REQUEUES=100 for a long run.
check-slurm: build
	scripts/setup.sh slurm
	ctest --preset release --no-tests=error -C slurm -L slurm --output-on-failure

# Every parser, for FUZZ_SECONDS each.
fuzz:
	scripts/setup.sh program training test check
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	cd build/fuzz/tests/fuzz && ls *_fuzz | sed 's/_fuzz$$//' | \
	  xargs -P $(JOBS) -I{} $(CURDIR)/scripts/fuzz.sh {} $(CURDIR)/build/fuzz $(FUZZ_SECONDS)

# The import's inner loops; whole imports against the disk's own speed, at a tenth of papers100M; trainings
# against the machine's, at a sixteenth. The scripts have --help for other sizes.
bench: build
	scripts/setup.sh bench
	cmake --preset bench
	cmake --build --preset bench -j $(JOBS)
	build/release/bench/kernels
	bench/import.sh
	bench/train.sh

# clang-tidy over everything.
tidy:
	scripts/setup.sh program training check
	scripts/check_tidy.sh

format: setup
	clang-format -i $$(git ls-files '*.h' '*.cc')

clean:
	rm -rf build demo dist

help:
	@echo 'make demo          installs what is missing, builds the program, and trains on a small papers100M'
	@echo 'make test          builds everything and runs all tests'
	@echo 'make install       the program into $$DESTDIR$$PREFIX (/usr/local)'
	@echo 'make wheel         dist/plimsoll-….whl for pip: the program, its libraries, the Python package'
	@echo 'make deb           dist/plimsoll_….deb for apt, with completion, manual pages and the Python package'
	@echo 'make check-packages  installs, uses and removes both in a bare Debian'
	@echo 'make program       the program with its training library, and nothing else'
	@echo 'make build         the program and all tests'
	@echo 'make setup         installs the packages that tests need'
	@echo 'make format        clang-format over the tree'
	@echo 'make tidy          clang-tidy over everything'
	@echo 'make check-asan    the unit tests under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make check-tsan    the unit tests under ThreadSanitizer'
	@echo 'make fuzz          libFuzzer on every parser, FUZZ_SECONDS each'
	@echo 'make check-limits  every model at the least limit of its plan'
	@echo 'make check-kills   batches and ranks killed at PLIMSOLL_KILLS (50) moments'
	@echo 'make check-all     the six above'
	@echo 'make check-slurm   jobs on a real Slurm: requeues, preemption, memory'
	@echo 'make bench         import and training against the machine'
	@echo 'make clean         removes build/, demo/ and dist/'
