#!/bin/sh
# A torch that brings other projects' headers, as a pip-installed one does: ours come first. The headers here
# end the compiler; the libtorch beside them is the real one.
. "$(dirname "$0")/lib.sh"
source=$(realpath "$TESTS/..")
cache=$(dirname "$PLIMSOLL")/CMakeCache.txt
torch=$(sed -n 's/^Torch_DIR:PATH=//p' "$cache" 2>/dev/null)
[ -e "$torch/TorchConfig.cmake" ] || skip "this program was built without libtorch"

# Every header of another project that the program includes.
headers=$(sed -n 's/^  \([a-zA-Z0-9_/]*\.h[p]*\) .*::.*$/\1/p' "$source/cmake/own_headers.cmake")
echo "$headers" | grep -q '^fmt/format.h$' || fail "no list of headers"
for header in $headers; do
  mkdir -p "foreign/include/$(dirname "$header")"
  echo "#error $header of another torch" >"foreign/include/$header"
done
mkdir -p foreign/cmake
cat >foreign/cmake/TorchConfig.cmake <<EOF
include("$torch/TorchConfig.cmake")
list(PREPEND TORCH_INCLUDE_DIRS "$WORK/foreign/include")
get_target_property(places torch INTERFACE_INCLUDE_DIRECTORIES)
set_property(TARGET torch PROPERTY INTERFACE_INCLUDE_DIRECTORIES "$WORK/foreign/include" \${places})
EOF

run cmake -S "$source" -B build -G Ninja -DTorch_DIR="$WORK/foreign/cmake" -DCMAKE_BUILD_TYPE=Debug -DPLIMSOLL_TESTS=OFF
expect 0
grep -q "$WORK/foreign/include" build/build.ninja || fail "the headers are not in the way"
# One file of each kind: json and fmt, zip, and torch.
for object in train/CMakeFiles/plimsoll_train.dir/results.cc.o train/CMakeFiles/plimsoll_train.dir/torch_file_read.cc.o \
  nn/CMakeFiles/plimsoll_nn.dir/adam.cc.o; do
  run ninja -C build "src/learn/$object"
  expect 0
done
grep -q -- "-z,defs" build/build.ninja || fail "an undefined symbol of the training library is no error"
