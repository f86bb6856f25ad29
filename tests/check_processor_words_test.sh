#!/usr/bin/env bash
# scripts/check_processor_words refuses a new place that names the processor, and a count that was not written down. Argument: the source folder.
set -euo pipefail
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
check=$root/check
mkdir -p "$root"/src/{base,cli,lower/cpu,lower/testing,target}

# allowing ROW...: the script with these rows as its list.
allowing() {
  sed "/^ALLOWED = {/,/^}/d" "$1/scripts/check_processor_words" > "$check"
  shift
  { echo 'ALLOWED = {'; [ $# -eq 0 ] || printf '    %s,\n' "$@"; echo '}'; } > "$root/list"
  sed -i "/^EXEMPT_ROOMS/r $root/list" "$check"
  chmod +x "$check"
}
expect() {  # expect pass|refuse FILE TEXT
  printf '%s\n' "$3" > "$root/src/$2"
  if "$check" "$root" > "$root/out" 2>&1; then got=pass; else got=refuse; fi
  rm "$root/src/$2"
  if [ "$got" != "$1" ]; then
    echo "expected $1 for $2: $3"
    cat "$root/out"
    exit 1
  fi
}

allowing "$1"
for words in 'bool avx512 = true;' 'emit_zmm();emit(zmm1);' '#include <elf.h>' 'Elf64_Sym symbol;' 'int vector_registers;' 'const char* x = "x86-64";' \
             'int count_of_cores_here;' 'struct UsableCores {};' 'CoreKind kind;' 'LLVMInitialize(X86Target);' 'R_X86_64_PC32' 'int core;'; do
  expect refuse lower/tile.cc "$words"
done
for words in '// avx512 has 32 registers' '/* x86
 and cores */ int a;' 'int scores, registers, score_of, self, shelf, encore;' 'Scored scored;' 'int vector_lanes;'; do
  expect pass lower/tile.cc "$words"
done
expect refuse base/url.h 'const char* a = "http://"; int cores;'
for file in cli/target.cc lower/cpu/tile.cc lower/tile_test.cc lower/testing/tile.h target/cpu.cc target/cpu_table.h; do
  expect pass "$file" 'int cores;'
done
expect refuse target/table.cc 'int cores;'

# A ratchet: no more than is allowed, and a lower count is written down.
allowing "$1" '"lower": 2'
expect pass lower/tile.cc 'int cores, core;'
expect refuse lower/tile.cc 'int cores, core, avx2;'
expect refuse lower/tile.cc 'int cores;'
grep -q 'write it down' "$root/out"
printf 'int cores;\n' > "$root/src/lower/tile.cc"
"$check" --update "$root" > /dev/null
grep -q '"lower": 1,' "$check"
"$check" "$root" > /dev/null
printf 'int cores, core;\n' > "$root/src/lower/tile.cc"
if "$check" --update "$root" > /dev/null; then echo "--update raised a count"; exit 1; fi
