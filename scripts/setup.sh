#!/bin/sh
# Installs the packages that building and testing need, where they are missing (Debian 12, Ubuntu 24.04).
# Asks nothing; does nothing where everything is there.
set -eu

packages="
  cmake ninja-build g++ pkg-config
  libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libzip-dev libxxhash-dev liburing-dev libsqlite3-dev
  libre2-dev
  libgtest-dev libgmock-dev
  clang clang-format clang-tidy
  libbenchmark-dev
"
# For training. Without them the rest is built; torch computes many times faster on OpenBLAS than on the plain BLAS
# that would come with it. Python's torch is for the tests that open checkpoints with it.
training_packages="libtorch-dev libopenblas0-pthread python3-torch"
case "$(. /etc/os-release && echo "$ID")" in
  debian | ubuntu) ;;
  *)
    echo "setup: not Debian or Ubuntu; install the equivalents of:$packages" >&2
    exit 0
    ;;
esac
missing_of() {
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

install() {
  [ $# -gt 0 ] || return 0
  as_root=""
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "setup: missing: $*; install them as root, or install sudo" >&2
      exit 1
    }
    as_root="sudo"
  fi
  echo "setup: installing $*"
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" \
    >/dev/null
}

# shellcheck disable=SC2046,SC2086  # lists of words
install $(missing_of $packages)
for package in $(missing_of $training_packages); do
  if apt-cache show "$package" >/dev/null 2>&1; then
    install "$package"
  else
    echo "setup: this system has no package $package; without libtorch, train and predict are left out" >&2
  fi
done
# libFuzzer and the sanitizers of clang come in a package that is named after clang's version.
version=$(clang --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
# shellcheck disable=SC2046
install $(missing_of "libclang-rt-$version-dev")
