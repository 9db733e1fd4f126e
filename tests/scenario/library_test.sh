#!/bin/sh
# The training library: named where it is missing, with the loader's reason where it does not load, and found
# by an installed program wherever that lies.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$PLIMSOLL")
library=$build/libplimsoll_train.so
[ -e "$library" ] || skip "this program was built without libtorch"

plimsoll synth --nodes 1000 --edges 5000 --classes 4 --features 8 --out a.plim --quiet
mkdir -p apart/bin apart/lib/plimsoll
cp "$PLIMSOLL" apart/bin
train() {
  rm -rf models
  run "$1" train a.plim --epochs 1 --hidden 8 --fanout 2,2 --save-dir models
}

# The program alone.
train apart/bin/plimsoll
expect 6 "$WORK/apart/bin/libplimsoll_train.so" "$WORK/apart/lib/plimsoll/libplimsoll_train.so" "make install"
grep -q "built without" output && fail "it was built with libtorch"
[ ! -e models ] || fail "a run that cannot start made its folder"

# With a file that is no library, and with one that is not this program's.
head -c 200 /dev/zero >apart/lib/plimsoll/libplimsoll_train.so
train apart/bin/plimsoll
expect 6 "$WORK/apart/lib/plimsoll/libplimsoll_train.so does not load: invalid ELF header" "build again"
cp "$(ldd "$PLIMSOLL" | awk '/libz\.so/ { print $3 }')" apart/lib/plimsoll/libplimsoll_train.so
train apart/bin/plimsoll
expect 6 "apart/lib/plimsoll/libplimsoll_train.so is not the training library of this program"

# Together again.
cp "$library" apart/lib/plimsoll
train apart/bin/plimsoll
expect 0 "Epoch 001"

# What libtorch asks for and does not use is not loaded. A placeholder of what it does use costs time, not the
# training.
if [ -e "$build/placeholders/libavformat.so.59" ]; then
  LD_DEBUG=files "$PLIMSOLL" train a.plim --epochs 1 --hidden 8 --fanout 2,2 --save-dir models --force 2>loaded >output
  grep -q "calling init.*/libtorch_cpu" loaded || fail "libtorch is not loaded"
  ! grep "calling init: /lib.*/lib\(opencv\|avformat\)" loaded >output || fail "OpenCV or FFmpeg is loaded"
  mkdir apart/lib/plimsoll/placeholders
  sed 's/libavformat.so.59/libprotobuf.so.32/' "$build/placeholders/libavformat.so.59" >apart/lib/plimsoll/placeholders/one
  train apart/bin/plimsoll
  expect 0 "Epoch 001"
fi

# Installed into a staging folder.
command -v cmake >/dev/null || skip "no cmake to install with"
run make -s -C "$TESTS/.." install BUILD="$build" DESTDIR="$WORK/stage" PREFIX=/opt/plimsoll
expect 0
for file in bin/plimsoll lib/plimsoll/libplimsoll_train.so share/bash-completion/completions/plimsoll \
  share/zsh/site-functions/_plimsoll share/fish/vendor_completions.d/plimsoll.fish share/doc/plimsoll/README.md \
  share/doc/plimsoll/docs/reference/errors.md; do
  [ -s "stage/opt/plimsoll/$file" ] || fail "$file is not installed"
done
if command -v python3 >/dev/null; then
  # Every command has a page, and options are in it as in its help.
  for words in "" "import ogb" train "slurm exec"; do
    page=stage/opt/plimsoll/share/man/man1/$(echo plimsoll $words | tr ' ' -).1
    [ -s "$page" ] || fail "$page is not installed"
    # shellcheck disable=SC2086  # words
    for option in $(plimsoll $words --help | grep -o '^  --[a-z-]*'); do
      sed 's/\\-/-/g' "$page" | grep -q -- "^\.B.* *$option" || fail "$page does not have $option"
    done
  done
  if command -v groff >/dev/null; then
    for page in stage/opt/plimsoll/share/man/man1/*.1; do
      [ -z "$(groff -k -man -Tutf8 -ww -z "$page" 2>&1)" ] || fail "groff does not like $page"
    done
  fi
fi
bash -n stage/opt/plimsoll/share/bash-completion/completions/plimsoll || fail "the bash completion does not parse"
train stage/opt/plimsoll/bin/plimsoll
expect 0 "Epoch 001"
# Through a link, as a package manager would make it.
ln -s stage/opt/plimsoll/bin/plimsoll linked
train ./linked
expect 0 "Epoch 001"
