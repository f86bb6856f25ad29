#!/usr/bin/env bash
# scripts/check_map refuses a map that differs from the tree, and passes one that does not. Argument: the source folder.
set -euo pipefail
check=$1/scripts/check_map
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# A tree of two rooms, `tensor` a pure one, that is as its map has it.
tree() {
  rm -rf "${root:?}"/*
  mkdir -p "$root"/src/{base,tensor} "$root/docs" "$root/tests/golden" "$root/bench"
  printf '$ whet tune --help\n  -h,--help    Print\n  -o,--output TEXT\n  --minutes N=1\n\n$ whet zoo --help\n  --batch N\n' > "$root/tests/golden/help.txt"
  printf 'The options are `--output`, `-o`, `--minutes`, `--batch`, `--help`.\n' > "$root/docs/cli.md"
  printf 'See `src/base/hash.cc`, `src/*/hash.cc`, `src/NAME/` and `build/src/x`.\n\n    $ whet tune m -o f --minutes 1   # --fast\n' > "$root/bench/README.md"
  cat > "$root/ARCHITECTURE.md" << 'MAP'
# Map
[how](docs/how.md#the-second-part), [here](#map), [far](https://example.org/nowhere.md), `[no](link.md)`
```layers
0 base
1 tensor
only llvm/ tensor
```
| room | what it is |
|---|---|
| `base` | all |
| `tensor` P | data |
MAP
  printf '# How\n## The second part\n```\n[a](lambda.md)\n```\n[up](../ARCHITECTURE.md) [room](../src/base)\n' > "$root/docs/how.md"
  echo 'set(all_rooms base tensor)' > "$root/src/CMakeLists.txt"
  echo 'whet_room(base SOURCES hash.cc TESTS hash_test.cc)' > "$root/src/base/CMakeLists.txt"
  printf '#include <fstream>\n' > "$root/src/base/hash.cc"
  printf 'whet_room(tensor\n  SOURCES tensor.cc  # comment\n  DEPENDS base\n  TESTS tensor_test.cc)\n' > "$root/src/tensor/CMakeLists.txt"
  printf '#include "base/hash.h"\n#include <mutex>\n// getenv\n' > "$root/src/tensor/tensor.cc"
  printf '#include <fstream>\n' > "$root/src/tensor/tensor_test.cc"
}
pass() {
  "$check" "$root" > "$root/out" 2>&1 && return
  echo "expected to pass: $1"
  cat "$root/out"
  exit 1
}
# refuse WORDS: the check fails, and says these words.
refuse() {
  if ! "$check" "$root" > "$root/out" 2>&1 && grep -qF -- "$1" "$root/out"; then tree; return; fi
  echo "expected to be refused with: $1"
  cat "$root/out"
  exit 1
}

tree
pass "a tree as its map has it"
mkdir "$root/src/attic"
echo 'whet_room(attic)' > "$root/src/attic/CMakeLists.txt"
refuse "the rooms' table lacks attic"
sed -i 's/^1 tensor$/1 tensor attic/' "$root/ARCHITECTURE.md"
refuse "the list of layers names attic, and src/ has no such folder"
echo '| `base` | again |' >> "$root/ARCHITECTURE.md"
refuse "two rows of base"
echo 'set(all_rooms base log tensor)' > "$root/src/CMakeLists.txt"
refuse "all_rooms names log"

for line in '#include <fstream>' '#include <chrono>' '#include <thread>' '#include <unistd.h>' '#include <sys/mman.h>' '#include "base/parallel.h"'; do
  echo "$line" >> "$root/src/tensor/tensor.cc"
  refuse "tensor is a pure room and may not include"
done
echo 'const char* home = getenv("HOME");' >> "$root/src/tensor/tensor.cc"
refuse "src/tensor/tensor.cc:4: tensor is a pure room and may not use getenv"

sed -i '/base/d' "$root/src/tensor/tensor.cc"
refuse "DEPENDS names base"
echo '#include "base/hash.h"' > "$root/src/tensor/tensor_test.cc"
sed -i '/base/d' "$root/src/tensor/tensor.cc"
refuse "DEPENDS names base"
sed -i '/DEPENDS/d' "$root/src/tensor/CMakeLists.txt"
refuse "DEPENDS lacks base"
sed -i 's/DEPENDS base/DEPENDS base TEST_LINK whet_base/' "$root/src/tensor/CMakeLists.txt"
refuse "TEST_LINK names whet_base"
rm "$root/src/tensor/CMakeLists.txt"
refuse "is missing"

sed -i 's/`--batch`, //' "$root/docs/cli.md"
refuse "docs/cli.md: lacks --batch of whet zoo"
long=$(printf 'word %.0s' {1..60})
printf '| %s |\n    %s\n```\n%s\n```\n<!-- base 1 -->\n%s\n<!-- end -->\n' "$long" "$long" "$long" "$long" >> "$root/docs/how.md"
pass "tables, code and what a script renders may be long"
echo "$long" >> "$root/docs/how.md"
refuse "has 300 characters; 200 are the most"

echo '[gone](docs/gone.md)' > "$root/README.md"
refuse "README.md: the link docs/gone.md leads to no file"
echo '[gone](ARCHITECTURE.md#nothing)' > "$root/README.md"
refuse "leads to no heading of ARCHITECTURE.md"
echo '[gone](#nothing)' >> "$root/docs/how.md"
refuse "docs/how.md: the link #nothing"

for line in '`whet tuen model.onnx`' '    $ whet tuen model.onnx'; do
  echo "$line" > "$root/README.md"
  refuse "README.md: \`whet tuen model.onnx\`: whet has no command tuen"
done
for line in '`whet zoo list --minutes 5`' '    WHET_NUM_THREADS=1 whet zoo list --minutes 5' '```sh\nwhet zoo list --minutes 5\n```'; do
  printf '%b\n' "$line" > "$root/README.md"
  refuse "whet zoo has no option --minutes"
done
echo 'Run `scripts/tset`.' > "$root/bench/README.md"
refuse "bench/README.md: \`scripts/tset\`: there is no scripts/tset"

for line in '// There are so many.' 'int n = 0;  ///< a call by itself' '// As in' '/// All but for one.' '// What the file says.'; do
  printf '%s\n// turn\n' "$line" >> "$root/src/tensor/tensor.cc"
  refuse "src/tensor/tensor.cc:4: "
done
printf 'By\nitself.\n' > "$root/README.md"
refuse 'README.md:1: "By itself" is excluded'
echo 'const char* text = "so many // in turn";  // "so many" is excluded' >> "$root/src/tensor/tensor.cc"
pass "excluded words in texts and in quotes"
