#!/usr/bin/env bash
# scripts/render_benchmarks writes the tables of its rows and refuses a page that differs. Argument: the source folder.
set -euo pipefail
render=$1/scripts/render_benchmarks
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bench/results" "$root/docs"

fail() {
  echo "$1"
  cat "$root/out"
  exit 1
}
row() {  # row FIGURE NAME VALUES REVISION
  echo "{\"figure\": \"$1\", \"name\": \"$2\", \"values\": $3, \"unit\": null, \"command\": \"bench/x\", \"revision\": \"$4\", \"machine\": \"m\","
  echo "\"date\": \"2026-11-24\", \"peer\": \"Peer 1\", \"runs\": null, \"conditions\": \"quiet\"}"
}
network="network, tuned for 2 minutes"
rows() {
  echo "[$(row "$network" net '{"trials": 1234, "whet": 1.005, "peer": 23.95, "ratio": 0.5, "least": 0.45, "most": 0.55}' abc),"
  echo "$(row "$network" older '{"whet": 9.0}' old),"
  echo "$(row "$network: geometric mean" all '{"ratio": 0.5}' abc),"
  echo "$(row "kernels: geometric mean" 'all problems' '{"ratio": 1.159}' abc)]"
}
rows > "$root/bench/results/m.json"
echo '[{"machine": "m", "title": "A machine", "text": "Two processors."}]' > "$root/bench/results/machines.json"
printf 'No chart.\n' > "$root/README.md"
printf 'Before.\n<!-- machine m, networks abc, kernels abc -->\n<!-- end -->\nBehind.\n' > "$root/docs/benchmarks.md"

! "$render" --check "$root" > "$root/out" 2>&1 || fail "a page without its tables passed"
"$render" "$root" > "$root/out" 2>&1 || fail "the page was not rendered"
cp "$root/docs/benchmarks.md" "$root/out"
for line in 'Before.' 'Behind.' '### A machine' '| net | 1,234 | 1.01 | 24.0 | 0.50 | 0.45..0.55 | - |' '| geometric mean | | | | **0.500** | | |'; do
  grep -qxF "$line" "$root/docs/benchmarks.md" || fail "no line: $line"
done
grep -qF 'all problems **1.16**' "$root/docs/benchmarks.md" || fail "the kernels are missing"
! grep -qF older "$root/docs/benchmarks.md" || fail "a row of another revision was rendered"
"$render" --check "$root" > "$root/out" 2>&1 || fail "the rendered page was refused"
sed -i 's/1.01/1.02/' "$root/docs/benchmarks.md"
! "$render" --check "$root" > "$root/out" 2>&1 || fail "a changed figure passed"
sed -i 's/"unit": null, //' "$root/bench/results/m.json"
! "$render" "$root" > "$root/out" 2>&1 || fail "a row without a unit passed"
grep -q 'm.json, row 1' "$root/out" || fail "the sentence does not name the row"

# The table of bench/base/run is there where its marker is.
rows > "$root/bench/results/m.json"
printf '<!-- base abc -->\n<!-- end -->\n' > "$root/docs/benchmarks.md"
arms='"default": 1.0, "base": 0.6, "quick": 0.55, "seconds 0": 0.52, "seconds 1": 0.5, "seconds 2": 0.51, "minutes": 0.48, "onnxruntime": 1.2'
echo "[{\"date\": \"2026-12-01\", \"revision\": \"abc\", \"machine\": \"A\", \"command\": \"bench/base/run F\", \"peer\": \"Peer 1\", \"networks\":
[{\"network\": \"net\", \"ms\": {\"default\": 8.0}, \"ratio\": {$arms}}], \"summary\": {\"ratio\": {$arms}, \"base_by_onnxruntime\": 0.5}}]" > "$root/bench/results/base.json"
"$render" "$root" > "$root/out" 2>&1 || fail "the table of the base was not rendered"
for line in '| net | 8.00 | 0.60 | 0.55 | 0.51 (0.50..0.52) | 0.48 | 0.50 |' '| geometric mean | | **0.600** | 0.550 | 0.510 | 0.480 | **0.500** |'; do
  grep -qxF -- "$line" "$root/docs/benchmarks.md" || fail "no line: $line"
done

# The chart has what the rows have.
chart() { printf 'Before.\n<!-- chart base abc%s -->\n<!-- end -->\nBehind.\n' "$1" > "$root/README.md"; }
chart ''
! "$render" --check "$root" > "$root/out" 2>&1 || fail "a README without its chart passed"
"$render" "$root" > "$root/out" 2>&1 || fail "the chart was not rendered"
"$render" --check "$root" > "$root/out" 2>&1 || fail "the rendered chart was refused"
cp "$root/README.md" "$root/out"
for words in 'Geometric means of the bars: 2.00 × untuned, 2.35 × ten seconds, 2.50 × tuned ([base.json](bench/results/base.json), A, revision abc, 2026-12-01).' Before. Behind.; do
  grep -qF -- "$words" "$root/README.md" || fail "README lacks: $words"
done
grep -qF '>net</text>' "$root/docs/speed.svg" || fail "the chart lacks its network"
! grep -qF '>bf16</text>' "$root/docs/speed.svg" || fail "the chart has bf16, of which there is no row"
sed -i 's/2[.]5 ×/2.6 ×/' "$root/docs/speed.svg"
! "$render" --check "$root" > "$root/out" 2>&1 || fail "a changed chart passed"

chart ' precision def'
! "$render" "$root" > "$root/out" 2>&1 || fail "a chart of rows that are not there passed"
grep -q 'precision.json has no row of revision def' "$root/out" || fail "the sentence does not name the file"
echo '[{"date": "2026-12-02", "revision": "def", "machine": "A", "network": "zoo:bert", "precision": "bf16", "ms": {"f32": 2.0, "bf16": 1.0, "onnxruntime": 3.0},
"by_onnxruntime": {"median": 0.25, "least": 0.2, "most": 0.3}, "right": true}, {"date": "2026-12-02", "revision": "def", "machine": "A", "product": "1x4x4"}]' > "$root/bench/results/precision.json"
"$render" "$root" > "$root/out" 2>&1 || fail "the chart of two files was not rendered"
cp "$root/README.md" "$root/out"
grep -qF '4.00 × bf16' "$root/README.md" || fail "README lacks the mean of bf16"
grep -qF '1.5 ×</text>' "$root/docs/speed.svg" || fail "the chart lacks the f32 time of a network that has bf16"

# A network of any size is a bar, without the machine that both files have; of several revisions the later one wins, and text comes before pictures.
chart ',new sizes ghi'
! "$render" "$root" > "$root/out" 2>&1 || fail "a chart of a revision that is not there passed"
grep -q 'base.json has no row of revision new' "$root/out" || fail "the sentence does not name the revision"
chart ' sizes ghi'
echo '[{"date": "2026-12-02", "revision": "ghi", "machine": "A", "memory": []}]' > "$root/bench/results/sizes.json"
! "$render" "$root" > "$root/out" 2>&1 || fail "a chart of a run without requests passed"
echo '[{"date": "2026-12-02", "revision": "ghi", "machine": "A", "memory": []}, {"date": "2026-12-02", "revision": "ghi", "machine": "A",
"requests": [{"network": "encoder", "size": "n", "sizes": "1..512", "ratio": 0.8}]}]' > "$root/bench/results/sizes.json"
cat > "$root/twice.py" << 'END'
import json, sys
runs = json.load(open(sys.argv[1]))
later = json.loads(json.dumps(runs[0]))
later["revision"], later["networks"][0]["ratio"]["onnxruntime"] = "new", 2.4
json.dump(runs + [later], open(sys.argv[1], "w"))
END
python3 "$root/twice.py" "$root/bench/results/base.json"
chart ',new sizes ghi'
"$render" "$root" > "$root/out" 2>&1 || fail "the chart of two revisions was not rendered"
cp "$root/README.md" "$root/out"
grep -qF '[base.json](bench/results/base.json), A, revision abc and new, 2026-12-01; [sizes.json](bench/results/sizes.json), revision ghi, 2026-12-02).' \
  "$root/README.md" || fail "README does not name the revisions"
cp "$root/docs/speed.svg" "$root/out"
grep -qF '4.0 ×</text>' "$root/docs/speed.svg" || fail "the later revision did not win"
[ "$(grep -oE '>(net|encoder, tokens 1..512)</text>' "$root/docs/speed.svg" | tr -d '\n')" = '>encoder, tokens 1..512</text>>net</text>' ] ||
  fail "the network of any size is not there, or not before the others"
