# SPDX-License-Identifier: Apache-2.0
# A thin front: what each target does is in tools/ and CMakePresets.json.
.POSIX:
.PHONY: help setup build demo install uninstall bundle check format lint asan tsan bench-place clean
PREFIX = /usr/local

help:
	@echo "make demo     set up, build, optimise ResNet-50 here, show what runs where"
	@echo "make check    set up, then all checks: format, lint, layers, builds, tests, sanitizers"
	@echo "make setup    install what is missing: Debian packages, and wheels into .venv"
	@echo "make build    release build, in build/release"
	@echo "make install  install the release build: PREFIX=/usr/local, DESTDIR="
	@echo "make uninstall  remove it again, with the same PREFIX and DESTDIR"
	@echo "make bundle   an archive with all libraries, to be unpacked anywhere: build/bundle/"
	@echo "make format   clang-format all sources"
	@echo "make lint     clang-tidy all sources"
	@echo "make asan     build and test with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan     build and test with ThreadSanitizer"
	@echo "make bench-place  time exact placement by the size of the graph; takes minutes"
	@echo "make clean    remove build/"

setup:
	@tools/setup.sh

build: setup
	@cmake --preset release
	@cmake --build --preset release

demo:
	@tools/demo.sh

install:
	@test -x build/release/bin/collage || { echo "make install: run 'make build' first" >&2; exit 1; }
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

uninstall:
	@tools/uninstall.sh "$(DESTDIR)$(PREFIX)"

bundle: setup
	@tools/bundle.sh

check:
	@tools/check.sh

format:
	@tools/format.sh

lint:
	@tools/setup.sh --check
	@cmake --preset clang
	@cmake --build --preset clang --target collage_onnx_messages
	@tools/lint.sh build/clang

asan tsan:
	@tools/setup.sh --check
	@cmake --preset $@
	@cmake --build --preset $@
	@ctest --preset $@

bench-place:
	@tools/setup.sh --check
	@cmake --preset check >/dev/null
	@cmake --build --preset check --target bench_place collage-solver >/dev/null
	@build/check/bin/bench_place

clean:
	rm -rf build
