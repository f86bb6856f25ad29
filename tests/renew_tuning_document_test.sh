#!/usr/bin/env bash
# scripts/renew_tuning_document puts what a program prints into a document, as far as its marks keep it, and leaves the document alone where a
# command fails. A script stands in whet's place. Argument: the source folder.
set -euo pipefail
renew=$1/scripts/renew_tuning_document
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cat > "$root/whet" << 'WHET'
#!/usr/bin/env bash
case $* in
  "zoo export "*) touch model.onnx ;;
  --version) echo "whet 0.2.0, revision $(cat "$(dirname "$0")/revision"), LLVM 19.1.7, targets cpu, cuda" ;;
  "target --no-measure --json") echo '{"target": "cpu -mcpu=znver4 -threads=2", "processor": "Some Processor"}' ;;
  "tune model.onnx") [ -f model.onnx ] && printf 'head\nround 1\nround 2\nround 3\n| table |\n| row 1 |\nsum\n' ;;
  "explain task 7 --records r") printf 'Task 7\n| 0.1 | 89d9fe2de284cba8 |\n| 0.2 | 58216f40d58af9cd |\n' ;;
  "explain candidate 89d9fe --records r") echo "Candidate 89d9fe2de284cba8" ;;
  "explain layout --records r --json") echo '{"kernels": [{"node": "a"}, {"node": "b"}]}' ;;
  "explain layout a --records r --json") echo '{"kernels": [{"stored": "nhwc", "price": "measured"}]}' ;;
  "explain layout b --records r --json") echo '{"kernels": [{"stored": "nhwc -> nchw32c", "price": "measured"}]}' ;;
  "explain layout b --records r" | "explain layout b --contains nchw32c --records r") echo "b: conv" ;;
  *) echo "whet: $*: not expected" >&2; exit 1 ;;
esac
WHET
chmod +x "$root/whet"
echo 1a2b3c4 > "$root/revision"

# document MARK-OF-TUNE: with output of another run.
document() {
  cat > "$root/page.md" << PAGE
# A run

<!-- renew: the run -->
(An older run.)

<!-- not run: the test has a smaller model -->
\`\`\`sh
whet zoo export net -o model.onnx   # a model
\`\`\`

<!-- renew: $1 -->
\`\`\`console
\$ whet tune model.onnx
old
\`\`\`

<!-- renew: /table/ 2; /^sum/ on -->
\`\`\`text
old
\`\`\`

<!-- renew: first 2 then all -->
<!-- needs: avx512f -->
\`\`\`console
\$ whet explain task 7 --records r
old
\$ whet explain candidate 0183f --records r
old
\`\`\`

<!-- renew -->
\`\`\`console
\$ whet explain layout conv_3 --records r
\$ whet explain layout conv_3 --contains nchw16c --records r
\`\`\`
Behind it.
PAGE
}
fail() {
  echo "$1"
  cat "$root/out" "$root/page.md"
  exit 1
}

document 'first 1; /round/ last'
"$renew" "$root/whet" "$root/page.md" > "$root/out" 2>&1 || fail "expected exit code 0"
cat > "$root/wanted" << 'PAGE'
<!-- renew: first 1; /round/ last -->
```console
$ whet tune model.onnx
head
...
round 3
...
```

<!-- renew: /table/ 2; /^sum/ on -->
```text
| table |
| row 1 |
sum
```

<!-- renew: first 2 then all -->
<!-- needs: avx512f -->
```console
$ whet explain task 7 --records r
Task 7
| 0.1 | 89d9fe2de284cba8 |
...
$ whet explain candidate 89d9fe --records r
Candidate 89d9fe2de284cba8
```

<!-- renew -->
```console
$ whet explain layout b --records r
b: conv
$ whet explain layout b --contains nchw32c --records r
b: conv
```
Behind it.
PAGE
sed -n '/^<!-- renew: first 1/,$p' "$root/page.md" | diff "$root/wanted" - || fail "expected other blocks"
grep -qE '^\(Revision 1a2b3c4, [0-9]{4}-[0-9]{2}-[0-9]{2}, Some Processor \(znver4\), [0-9]+ processors\.\)$' "$root/page.md" || fail "expected the run's line"

# A line that is not there is named, and the rest is renewed.
document 'first 1; /no such line/'
! "$renew" "$root/whet" "$root/page.md" > "$root/out" 2>&1 || fail "expected exit code 1"
grep -qF 'no line has /no such line/' "$root/out" || fail "expected the line that was not found"
grep -qF 'Candidate 89d9fe2de284cba8' "$root/page.md" || fail "expected the other blocks"

# So is a program of sources with changes.
echo 1a2b3c4+ > "$root/revision"
document 'first 1'
! "$renew" "$root/whet" "$root/page.md" > "$root/out" 2>&1 || fail "expected exit code 1"
grep -qF 'sources with changes: revision 1a2b3c4+' "$root/out" || fail "expected the revision"

# A command that fails and a mark of unknown words leave the document as it is.
document 'first 1'
sed -i 's/tune model.onnx/tune other.onnx/' "$root/page.md"
cp "$root/page.md" "$root/before.md"
! "$renew" "$root/whet" "$root/page.md" > "$root/out" 2>&1 || fail "expected exit code 1"
grep -qF '`whet tune other.onnx` ended with exit code 1' "$root/out" || fail "expected the command"
cmp -s "$root/before.md" "$root/page.md" || fail "expected the document as it was"
rm -rf "$(sed -n 's/.*the run is in //p' "$root/out")"
document 'the first line'
cp "$root/page.md" "$root/before.md"
! "$renew" "$root/whet" "$root/page.md" > "$root/out" 2>&1 || fail "expected exit code 1"
grep -qF 'a mark has "the first line"; expected all, first N' "$root/out" || fail "expected the forms of a mark"
cmp -s "$root/before.md" "$root/page.md" || fail "expected the document as it was"
