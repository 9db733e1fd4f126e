#!/bin/sh
# setup.sh [LEVEL ...]: installs the packages of these levels that are missing (Debian 12, Ubuntu 24.04):
# `program` and `training` for what users run, `test`, `browser` (tests of live pages), `check` (fuzzing,
# clang-tidy), `bench`, `slurm` and `package` for developers; without a level the first three. Asks nothing.
# `setup.sh --missing LEVEL ...` only prints what it would install.
set -eu

program_packages="
  cmake ninja-build g++ pkg-config
  libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libzip-dev libxxhash-dev liburing-dev libsqlite3-dev
  libre2-dev libcpp-httplib-dev
"
# Without them the rest is built. Torch computes many times faster on OpenBLAS than on the plain BLAS that
# would come with it. Gloo's headers are for training on several ranks.
training_packages="libtorch-dev libopenblas0-pthread libgloo-dev"
# Python's torch is for the tests that open checkpoints with it and, with NumPy, for those of the Python
# package; SciPy for those that compare statistics, optuna for the example that uses it and for reading its
# journal, protobuf for reading TensorBoard's files.
test_packages="libgtest-dev libgmock-dev clang-format python3-numpy python3-torch python3-scipy python3-optuna
  python3-protobuf"
browser_packages="chromium"
check_packages="clang clang-tidy libomp-dev"
bench_packages="libbenchmark-dev"
# A real Slurm for tests/slurm. The daemons that the packages start at boot are not used.
slurm_packages="slurm-wlm munge"
# To make packages and to try them in a bare system.
package_packages="dpkg-dev file python3 debootstrap"

only_print=""
if [ "${1:-}" = --missing ]; then
  only_print=yes
  shift
fi
[ $# -gt 0 ] || set -- program training test
packages=""
for level in "$@"; do
  case $level in
    program) packages="$packages $program_packages" ;;
    training) packages="$packages $training_packages" ;;
    test) packages="$packages $test_packages" ;;
    browser) packages="$packages $browser_packages" ;;
    check) packages="$packages $check_packages" ;;
    bench) packages="$packages $bench_packages" ;;
    slurm) packages="$packages $slurm_packages" ;;
    package) packages="$packages $package_packages" ;;
    *)
      echo "setup: unknown level $level: program, training, test, browser, check, bench, slurm or package" >&2
      exit 2
      ;;
  esac
done
case "$(. /etc/os-release && echo "$ID")" in
  debian | ubuntu) ;;
  *)
    [ -n "$only_print" ] || echo "setup: not Debian or Ubuntu; install the equivalents of: $packages" >&2
    exit 0
    ;;
esac

missing_of() {
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# available PACKAGE...: these, less what this system has no package for.
available() {
  for package in "$@"; do
    case $package in
      libtorch-dev | libgloo-dev | python3-torch)
        apt-cache show "$package" >/dev/null 2>&1 || {
          echo "setup: this system has no package $package; without libtorch, train and predict are left out" >&2
          continue
        }
        ;;
      libgloo-dev | python3-optuna | python3-protobuf | python3-scipy)
        apt-cache show "$package" >/dev/null 2>&1 || {
          echo "setup: this system has no package $package; what needs it is left out" >&2
          continue
        }
        ;;
    esac
    echo "$package"
  done
}

install() {
  [ $# -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "setup: missing: $*; install them as root, or install sudo" >&2
    exit 1
  fi
  # A bare system does not know any package yet.
  apt-cache show g++ >/dev/null 2>&1 || as_root apt-get update -qq
  # shellcheck disable=SC2046  # a list of words
  set -- $(available "$@")
  [ $# -gt 0 ] || return 0
  echo "setup: installing $*"
  as_root apt-get update -qq
  # Another apt may be at work: wait for it.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq \
    --no-install-recommends "$@" >/dev/null
}

# shellcheck disable=SC2046,SC2086  # lists of words
if [ -n "$only_print" ]; then
  missing_of $packages
  exit 0
fi
# shellcheck disable=SC2046,SC2086
install $(missing_of $packages)
case " $* " in
  *" check "*)
    # libFuzzer and the sanitizers of clang come in a package that is named after clang's version.
    version=$(clang --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
    # shellcheck disable=SC2046
    install $(missing_of "libclang-rt-$version-dev")
    ;;
esac
