#!/bin/sh
# plimsoll torch: what it finds, what it refuses, and that a library it has built is used, kept and removed.
# The compiler is a stand-in that gives the library of this build; scripts/check_packages.sh compiles it in
# earnest.
. "$(dirname "$0")/lib.sh"
library=$(dirname "$PLIMSOLL")/libplimsoll_train.so
[ -e "$library" ] || skip "this program was built without libtorch"
export XDG_CACHE_HOME="$WORK/own-cache"
unset PLIMSOLL_PYTHON

# A Python that answers as one with this torch would.
python_with() {
  printf '#!/bin/sh\necho '\''%s'\''\n' "$1" >python
  chmod +x python
}
mkdir -p site/torch/include/torch/csrc/api/include/torch
answer='{"version": "2.11.0+cu128", "folder": "'$WORK'/site/torch", "cuda": "12.8", "abi": true}'

run plimsoll torch --python "$WORK/none"
expect 0 "training   $library" "built for  the libtorch of its build" "state      it loads" "there is no $WORK/none"
run plimsoll torch build --python "$WORK/none"
expect 6 "install Python"
printf '#!/bin/sh\nexit 1\n' >python
chmod +x python
run plimsoll torch build --python ./python
expect 6 "has no torch" "pip install torch"
python_with '{"version": "2.3.0", "folder": "/nowhere", "cuda": "", "abi": false}'
run plimsoll torch build --python ./python
expect 3 "torch 2.3.0" "old C++ interface" "2.7 or later"
python_with "$answer"
run plimsoll torch build --python ./python
expect 6 "torch's headers" "torch/torch.h"
touch site/torch/include/torch/csrc/api/include/torch/torch.h
[ ! -e own-cache/plimsoll/torch ] || [ -z "$(ls -A own-cache/plimsoll/torch)" ] || fail "a refused build left something"

# Tools on an otherwise empty PATH.
mkdir tools
for tool in sh cat mkdir cp echo sleep; do ln -s "$(command -v $tool)" tools/$tool; done
run env PATH="$WORK/tools" "$PLIMSOLL" torch build --python ./python
expect 6 "a C++ compiler" "cmake (Debian" "make or ninja"
cat >tools/cmake <<END
#!/bin/sh
echo "\$*" >>$WORK/calls
case \$1 in
  -S) mkdir -p "\$4" ;;
  --build) if [ -e $WORK/broken ]; then echo "error: no such header"; exit 1; fi; cp $library "\$2/" ;;
esac
END
printf '#!/bin/sh\n' >tools/c++
printf '#!/bin/sh\n' >tools/make
chmod +x tools/cmake tools/c++ tools/make
build() {
  run env PATH="$WORK/tools" "$PLIMSOLL" torch build --python ./python "$@"
}

# A build that fails shows why and leaves nothing that would be used.
touch broken
build
expect 6 "error: no such header" "compiling failed with exit code 1"
rm broken
run plimsoll torch --python ./python
expect 0 "training   $library"
ls -R own-cache | grep -q "libplimsoll_train" && fail "a failed build left a library"

# One that does not.
build --jobs 3
expect 0 "torch 2.11.0+cu128, with CUDA 12.8" "train and predict now use $WORK/own-cache/plimsoll/torch/"
grep -q -- "-DPLIMSOLL_TORCH_FOLDER=$WORK/site/torch" calls || fail "another torch"
grep -q -- "-j 3" calls || fail "other jobs"
run plimsoll torch --python ./python
expect 0 "training   $WORK/own-cache/plimsoll/torch/" "built for  torch 2.11.0+cu128, with CUDA 12.8, in $WORK/site/torch"
count=$(wc -l <calls)
build
expect 0 "built already; --force builds it again"
[ "$(wc -l <calls)" -eq "$count" ] || fail "it was built again"
plimsoll synth --nodes 1000 --edges 5000 --classes 4 --features 8 --out a.plim --quiet
run plimsoll train a.plim --epochs 1 --hidden 8 --fanout 2,2 --save-dir models --device cpu
expect 0 "Epoch 001"

# Another program, or the same at another place, does not use it.
mkdir -p elsewhere/bin
cp "$PLIMSOLL" elsewhere/bin/
run elsewhere/bin/plimsoll torch --python ./python
expect 0 "training   not possible"

# A library that no longer loads says what to do; remove goes back to the one before.
library_built=$(realpath own-cache/plimsoll/torch/*/chosen-*/libplimsoll_train.so)
echo broken >"$library_built"
run plimsoll train a.plim --epochs 1 --hidden 8 --fanout 2,2 --save-dir models2
expect 6 "does not load" "plimsoll torch build"
run plimsoll torch remove
expect 0 "removed what torch build had made"
run plimsoll torch --python ./python
expect 0 "training   $library"
run plimsoll torch remove
expect 0 "torch build has made nothing"
