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
