# Two commands for users, `make demo` and `make test`; each sets up what it needs. The rest is for
# developers (CONTRIBUTING.md).
.PHONY: demo test build setup check-asan check-tsan bench tidy format clean

JOBS ?= $(shell nproc)

build: setup
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

demo: build
	scripts/demo.sh

test: build
	cmake --preset fuzz
	cmake --build --preset fuzz -j $(JOBS)
	ctest --test-dir build/release --output-on-failure -j $(JOBS)

# Installs what is missing; asks nothing.
setup:
	scripts/setup.sh

# The unit tests under sanitizers: memory and undefined behaviour, then threads.
check-asan: setup
	cmake --preset asan
	cmake --build --preset asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS) -L unit

check-tsan: setup
	cmake --preset tsan
	cmake --build --preset tsan -j $(JOBS)
	ctest --test-dir build/tsan --output-on-failure -j $(JOBS) -L unit

# The import's inner loops; whole imports against the disk's own speed, at a tenth of papers100M; trainings against
# the machine's, at a sixteenth. The scripts have --help for other sizes.
bench: build
	cmake --preset release -DPLIMSOLL_BENCH=ON
	cmake --build --preset release -j $(JOBS)
	build/release/bench/kernels
	bench/import.sh
	bench/train.sh

# clang-tidy over everything, the rooms that `make test` leaves out for their time too: a quarter of an hour on two cores.
tidy: build
	scripts/check_tidy.sh build/release all

format: setup
	clang-format -i $$(git ls-files '*.h' '*.cc')

clean:
	rm -rf build demo
