#!/usr/bin/env bash
# scripts/test_changed runs a test again exactly where something that decides its result changed. Argument: the source folder.
set -euo pipefail
script=$1/scripts/test_changed
root=$(realpath "$(mktemp -d)")
trap 'rm -rf "$root"' EXIT

# A tree of one room with a quick test, a slow one, and one that reads a folder.
mkdir -p "$root"/{scripts,src/sum/testdata,corpus}
cp "$script" "$root/scripts/test_changed"
cd "$root"
git init -q
echo /build/ > .gitignore
echo 1 > corpus/one
echo 1 > src/sum/testdata/golden
echo 'int main() { return 0; }' > src/sum/sum_test.c
touch src/sum/CMakeLists.txt
cat > CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(tree C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
enable_testing()
add_executable(sum_test src/sum/sum_test.c)
add_test(NAME sum COMMAND sum_test)
add_test(NAME sum_slow COMMAND sum_test slow)
add_test(NAME corpus COMMAND sum_test ${CMAKE_SOURCE_DIR}/corpus)
set_tests_properties(sum PROPERTIES LABELS quick)
CMAKE
cat > CMakePresets.json << 'JSON'
{"version": 6, "configurePresets": [{"name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev"}],
 "buildPresets": [{"name": "dev", "configurePreset": "dev"}], "testPresets": [{"name": "dev", "configurePreset": "dev"}]}
JSON

# expect LAST_LINE WHEN ARGUMENT...
expect() {
  local line=$1 when=$2 last
  shift 2
  last=$(scripts/test_changed "$@" 2>&1 | tail -n 1) || true
  [ "$last" = "$line" ] || { echo "$when: $last, not $line"; exit 1; }
}
expect "1 passed, 0 failed" "the quick one alone" --quick sum
expect "2 passed, 0 failed" "those that have not run yet"
expect "0 passed, 0 failed" "nothing changed"
echo 2 > corpus/two
expect "1 passed, 0 failed" "a file more in a folder that a test reads"
echo 2 > src/sum/testdata/golden
expect "3 passed, 0 failed" "other data"
touch src/sum/sum_test.c
expect "0 passed, 0 failed" "a program of the same bytes"
echo 'int main() { return 1; }' > src/sum/sum_test.c
expect "0 passed, 3 failed" "a program that fails"
expect "0 passed, 3 failed" "what failed is run again"
! scripts/test_changed > /dev/null 2>&1 || { echo "a failure has the status of success"; exit 1; }
echo 'int main() { return }' > src/sum/sum_test.c
! scripts/test_changed > /dev/null 2>&1 || { echo "a build that fails has the status of success"; exit 1; }
[ "$(scripts/test_changed sun 2>&1)" = "test_changed: sun is no room: there is no src/sun/CMakeLists.txt" ] || { echo "no word of an unknown room"; exit 1; }
