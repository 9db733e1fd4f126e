#!/bin/sh
# Installs the packages that building and testing need, where they are missing (Debian 12, Ubuntu 24.04).
# Asks nothing; does nothing where everything is there.
set -eu

packages="
  cmake ninja-build g++ pkg-config
  libcli11-dev libfmt-dev nlohmann-json3-dev zlib1g-dev libzip-dev libxxhash-dev libgtest-dev
  clang clang-format clang-tidy
  libbenchmark-dev
"
case "$(. /etc/os-release && echo "$ID")" in
  debian | ubuntu) ;;
  *)
    echo "setup: not Debian or Ubuntu; install the equivalents of:$packages" >&2
    exit 0
    ;;
esac
# libFuzzer's runtime comes with the package of clang's own version.
missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: missing$missing; install them as root, or install sudo" >&2
    exit 1
  }
  as_root="sudo"
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086  # the list is words
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
