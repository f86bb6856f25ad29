#!/usr/bin/env bash
# scripts/make_base repeats only the run that a kill hit, tunes no network that a base has, and refuses a machine that is not quiet.
# It runs a program in whet's place that writes down what it was asked. Argument: the source folder.
set -euo pipefail
make_base=$1/scripts/make_base
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/f/models"
touch "$root/f/models/mlp.onnx" "$root/f/models/dcgan.onnx"  # so that nothing writes them

fail() {
  echo "$1"
  cat "$root/out"
  exit 1
}
cat > "$root/whet" << 'WHET'
#!/usr/bin/env bash
here=$(dirname "$0")
[ "$2" != --help ] || exit 0
echo "$*" >> "$here/asked"
output=${*: -1}
while [ $# -gt 0 ] && [ "$1" != -o ]; do words+=("$1"); shift; done
[ $# -eq 0 ] || output=$2
case ${words[0]} in
  target) echo "{\"vector_bytes\": 64, \"codegen\": $(cat "$here/codegen")}" ;;
  doctor) echo "{\"target\": \"cpu\", \"findings\": [{\"what\": \"load\", \"verdict\": \"$(cat "$here/quiet")\", \"found\": \"others\"}]}" ;;
  tune) [ ! -f "$here/killed" ] || [ "${words[5]}" = 0 ] || exit 1; echo '{}' > "$output" ;;
  repro) echo '{}' > "$output"; echo '{"stay": 9, "out": 1, "agreement": 1.0}' ;;
  records) [ "${words[1]}" = show ] || { echo '{}'; head -c "$(cat "$here/bytes")" /dev/urandom; } > "$output" ;;
esac
WHET
chmod +x "$root/whet"
# make OPTIONS...: into `out`; `asked` gets the tuning runs of this call.
make() {
  : > "$root/asked"
  "$make_base" "$root/f" --networks mlp dcgan --whet "$root/whet" "$@" > "$root/out" 2>&1
}
tuned() { grep -c '^tune ' "$root/asked" || true; }

echo 8 > "$root/codegen"
echo 0 > "$root/bytes"
echo bad > "$root/quiet"
! make || fail "a machine that is not quiet was taken"
grep -q 'not quiet (load: others)' "$root/out" || fail "the sentence does not say why"
touch "$root/killed"  # runs with seed 1 end early
! make --anyway || fail "lost runs were no failure"
grep -q 'mlp is left out: whet tune' "$root/out" || fail "nothing says what was left out"
echo good > "$root/quiet"
rm "$root/killed"
make || fail "it does not go on"
[ "$(tuned)" = 2 ] || fail "it tuned $(tuned) times, and two runs were missing"
grep -q '^next: cp .*/f/cpu-512.jsonl .*/bases/cpu-512.jsonl' "$root/out" || fail "it does not say what to commit"
make || fail "it failed with nothing to do"
[ "$(tuned)" = 0 ] || fail "it tuned again"
make --seconds 20 || fail "it does not tune for another time"
[ "$(tuned)" = 4 ] || fail "it took records of another time: $(tuned) runs"
echo 9 > "$root/codegen"
make || fail "it does not tune for another code generator"
[ "$(tuned)" = 4 ] || fail "it took records of another code generator: $(tuned) runs"
echo 1500000 > "$root/bytes"
! make || fail "it takes a base that is too large"
grep -q 'and 1500000 are allowed' "$root/out" || fail "it does not say that the base is too large"
echo 0 > "$root/bytes"
rm -r "$root/f/records" "$root/f/admitted"
echo '{"base":{"name":"b","made":"2026.12","origins":[{"network":"mlp","target":"cpu"}]},"v":3}' > "$root/base.jsonl"
make --onto "$root/base.jsonl" || fail "it does not make a base larger"
[ "$(tuned)" = 2 ] || fail "it tuned $(tuned) times, and one network was new"
! grep -q 'tune .*mlp' "$root/asked" || fail "it tuned a network that the base has"
! "$make_base" "$root/f" --networks resnet --whet "$root/whet" > "$root/out" 2>&1 || fail "it takes any name"
grep -q 'resnet is no network that teaches' "$root/out" || fail "the name is not said"
