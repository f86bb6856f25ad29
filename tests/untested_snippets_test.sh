#!/usr/bin/env bash
# scripts/untested_snippets lists blocks with a reason, and refuses those without one. Argument: the source folder.
set -euo pipefail
check=$1/scripts/untested_snippets
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# A tree of two documents: one is run, the other is not.
tree() {
  rm -rf "${root:?}"/*
  mkdir -p "$root/docs" "$root/tests"
  printf 'set(run_documents README docs/how)\n' > "$root/tests/CMakeLists.txt"
  printf '```sh\nwhet tasks m\n```\n' > "$root/README.md"
  printf '# How\n\n```console\n$ whet tune m\n```\n\n```text\n1 ms\n```\n\n- a list\n\n    of two paragraphs\n\n<!-- run sh\ntouch m\n-->\n' > "$root/docs/how.md"
  printf '<!-- none run: it is far away -->\n\n    whet tune far\n\n```python\nfar()\n```\n' > "$root/docs/far.md"
}
pass() {
  "$check" "$root" > "$root/out" 2>&1 && return
  echo "expected to pass: $1"
  cat "$root/out"
  exit 1
}
# has LINE: it printed that.
has() {
  grep -qF -- "$1" "$root/out" && return
  echo "expected the line: $1"
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
pass "documents whose blocks are run, or have a reason"
has "docs/far.md:3: whet tune far"
has "    it is far away"
has "2 blocks are run by tests, 2 are not; 1 show what was printed."
printf '\n<!-- not run: it takes an hour -->\n```sh\nwhet tune m --minutes 60\n```\n' >> "$root/README.md"
pass "a block with a reason of its own"
has "    it takes an hour"

tree
printf '\n    whet tune m\n' >> "$root/README.md"
refuse "README.md:5: \`whet tune m\`: the block is not fenced"
printf '\n```json\n{}\n```\n' >> "$root/README.md"
refuse "README.md:6: \`{}\`: the block is json"
printf '\n```text\n$ whet tune m\n```\n' >> "$root/README.md"
refuse "commands behind \`$ \` are in a block of console"
printf '<!-- not run: no block -->\n\nText.\n' >> "$root/README.md"
refuse "no block follows <!-- not run: no block -->"
printf '```sh\nwhet tasks m\n```\n' > "$root/docs/new.md"
refuse "docs/new.md:2: \`whet tasks m\`: no test runs this document"
printf 'set(run_documents README docs/how docs/gone)\n' > "$root/tests/CMakeLists.txt"
refuse "run_documents lists docs/gone.md"
printf 'Nothing.\n' > "$root/docs/how.md"
refuse "docs/how.md: run_documents of tests/CMakeLists.txt lists it, and it has nothing to run"
printf '<!-- none run: why -->\n' >> "$root/README.md"
refuse "says that nothing is run"
