#!/usr/bin/env bash
# scripts/check_layers refuses what breaks the list and passes what keeps it. Argument: the source folder.
set -euo pipefail
check=$1/scripts/check_layers
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/src/base" "$root/src/tensor" "$root/src/tuner"
# shellcheck disable=SC2016
printf '# Map\n\n```layers\n0 base\n1 tensor json\n8 tuner runtime\nonly llvm/ codegen\nnever json runtime\n```\n' > "$root/ARCHITECTURE.md"

expect() {  # expect pass|refuse FILE LINE
  printf '%s\n' "$3" > "$root/src/$2"
  if "$check" "$root" > "$root/out" 2>&1; then got=pass; else got=refuse; fi
  rm "$root/src/$2"
  if [ "$got" != "$1" ]; then
    echo "expected $1 for $2: $3"
    cat "$root/out"
    exit 1
  fi
}
expect pass tuner/loop.cc '#include "tensor/tensor.h"'
expect pass tuner/loop.cc '#include <vector>'
expect refuse tensor/tensor.h '#include "tuner/loop.h"'
expect refuse base/hash.h '  #  include "tensor/tensor.h"'
expect refuse tensor/other.cc '#include "json/json.h"'
expect refuse tuner/loop.cc '#include <llvm/IR/Module.h>'
mkdir "$root/src/runtime" "$root/src/attic"
expect refuse runtime/run.cc '#include "json/json.h"'
expect refuse attic/old.cc '#include "base/hash.h"'
printf 'struct Tile {\n' > "$root/src/base/tile.h"
expect refuse tensor/tile.h 'struct Tile {'
expect refuse tensor/tile.h 'class Tile : public Shape {'
expect pass tensor/tile.h 'struct Tile;'
rm "$root/src/base/tile.h"
printf '# Map without a list\n' > "$root/ARCHITECTURE.md"
expect refuse tuner/loop.cc '#include "base/hash.h"'
