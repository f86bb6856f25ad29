#!/usr/bin/env bash
# What the commands print, held against the files of this folder: each has its commands behind `$`, and below each what it printed and, where
# it is not 0, its exit code. WHET_RENEW_GOLDEN=1 writes the files anew; the difference is for a person to read.
#   golden.sh PAGE WHET SOURCE_DIR     PAGE is a function below whose name begins with page_
set -euo pipefail
page=$1 whet=$2 source=$3
golden=$source/tests/golden/$page.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source/tests/golden/records.jsonl" "$source/tests/models/blazeface_front.onnx" "$source/src/records/testdata/v1.jsonl" "$work"
printf 'no model at all\n' > "$work/text.onnx"
head -c 200000 "$work/blazeface_front.onnx" > "$work/cut.onnx"
: > "$work/empty.jsonl"
mkfifo "$work/pipe"
cp "$source/src/records/testdata/v3.jsonl" "$work/base.jsonl"
cd "$work"
unset WHET_NUM_THREADS COLUMNS
export LC_ALL=C.UTF-8

# show ARGUMENT...: the command, its output and its exit code.
show() {
  local status=0
  printf '$ whet'
  [ $# -eq 0 ] || printf ' %q' "$@"
  printf '\n'
  "$whet" "$@" > out 2>&1 || status=$?
  cat out
  [ "$status" -eq 0 ] || printf '(exit code %d)\n' "$status"
  printf '\n'
}

target=(--target "cpu -mcpu=haswell -threads=1")
commands=(tasks sizes space tune compile run bench profile records diff repro report explain target doctor devices zoo check serve measure-host help completion)

page_help() {
  show --help
  local command
  for command in "${commands[@]}"; do show "$command" --help; done
  for command in error progress metrics task candidate passes layout cover precision sizes; do show explain "$command" --help; done
}

page_models() {
  show tasks blazeface_front.onnx "${target[@]}"
  show tasks zoo:mlp "${target[@]}" --json
  show tasks zoo:mlp "${target[@]}" --op dense
  show space blazeface_front.onnx --task 0 "${target[@]}"
  show explain layout --model zoo:mlp
  show explain layout maxpool0 --model zoo:resnet-18
  show target --list
  show zoo list
}

page_records() {
  local action
  for action in show stats best distill; do show records $action records.jsonl; done
  show records show v1.jsonl
  show records stats v1.jsonl
  show records show v1.jsonl records.jsonl
  show records stats records.jsonl --json
  show records best records.jsonl --json
  for action in show best; do show records $action base.jsonl; done
  show records pack base.jsonl --without resnet18
  show records pack records.jsonl --model blazeface_front.onnx -o own.jsonl
  show records best own.jsonl
  show records pack own.jsonl base.jsonl -o both.jsonl
  show records pack records.jsonl -o none.jsonl
  show records merge records.jsonl base.jsonl -o all.jsonl
  show records merge all.jsonl own.jsonl -o all.jsonl
  show records pack all.jsonl -o again.jsonl
  show records best again.jsonl
  show diff base.jsonl own.jsonl
}

page_explain() {
  local code
  show explain metrics
  show explain progress
  for code in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do show explain error $code; done
  show explain error 6 --json
  show explain layout --model zoo:mlp --json
  show explain passes --model blazeface_front.onnx
  show explain task 0 --model blazeface_front.onnx --records records.jsonl "${target[@]}" --no-base
  show records pack records.jsonl --model blazeface_front.onnx -o own.jsonl
  sed -i 's/,"foreign":true//' own.jsonl  # as a Haswell packs it, whatever this machine is
  show explain task 2 --model blazeface_front.onnx --base own.jsonl "${target[@]}"
  show explain candidate 0ab07aa101702fc2 --model blazeface_front.onnx --records records.jsonl "${target[@]}"
}
# What this machine allows is measured when it is asked for, and so are the passes.
normalize_explain() {
  awk '
    /^Limits on this machine/ { print; print "  ..."; limits = 1; next }
    limits && /^  / { next }
    /^\$ whet/ { timed = /explain passes/ }
    timed { gsub(/ +[0-9]+\.[0-9]+/, " ...") }
    { limits = 0; sub(/ GFLOPS\. .*/, " GFLOPS. ..."); print }
  '
}

# On a terminal, without its colours.
page_terminal() {
  local columns
  for columns in 80 120; do
    printf '== a terminal of %s columns\n' $columns
    for words in "tasks zoo:resnet-18" "explain layout --model zoo:resnet-18" "space zoo:mlp --task 0"; do
      printf '$ whet %s\n' "$words"
      # shellcheck disable=SC2086
      NO_COLOR=1 python3 "$source/tests/golden/on_terminal.py" $columns 24 "$whet" $words "${target[@]}" 2>&1 | tr -d '\r'
      printf '\n'
    done
  done
}
normalize_terminal() { sed -E 's/[0-9]+\.[0-9]{4}/0.0000/g; s/ +(0\.0000)/ \1/g'; }

page_mistakes() {
  show
  show tnue
  show tvmc tune zoo:mlp
  show autotvm
  show auto_scheduler
  show tune
  show tune zoo:mlp --trails 5
  show tune zoo:mlp --tuner xgb
  show tune zoo:mlp --n-trial 100
  show tune zoo:mlp --target llvm -mcpu=haswell
  show tasks zoo:mlp --target "llvm -mcpu=haswell"
  show tune zoo:mlp --trials many
  show tune zoo:mlp --trials -1
  show tune zoo:mlp --trials
  show tune zoo:mlp --trials 5 --trials 6
  show tune zoo:mlp --exact=maybe
  show tune zoo:mlp --seed -1
  show tune zoo:mlp --strategy evolutionry
  show tune zoo:mlp --number 3
  show tune zoo:mlp --target "cuda -arch=sm_75" --device emulated --precision tf32
  show repro records.jsonl
  show repro nowhere.jsonl --model zoo:mlp "${target[@]}"
  show repro records.jsonl --model zoo:mlp "${target[@]}"
  show compile zoo:mlp --target "cpu -mcpu=haswell -threads=1" --precision tf32 -o m.so
  show tasks zoo:mlp --target "cpu -mcpu=znver3 -threads=1" --precision bf16
  show compile zoo:mlp --quick=soon -o m.so
  show compile zoo:mlp --quick --no-base -o m.so
  show compile zoo:mlp --device ssh://pi@board -o m.so
  show compile zoo:mlp --quick --target "cuda -model=h100" -o m.so
  show compile zoo:mlp --quick --target "cpu -mcpu=cortex-a72 -threads=4" -o m.so
  show tasks nowhere.onnx
  show tasks zoo:resnet-8
  show tasks text.onnx
  show tasks cut.onnx
  show tasks blazeface_front.onnx --batch 2
  show tasks blazeface_front.onnx --layout nhwc
  show tasks blazeface_front.onnx --entry main
  show tasks zoo:mlp --image 64
  show tasks zoo:mlp --layouts nchw
  show tasks zoo:mlp --op cnov
  show tasks zoo:mlp --op sofmax
  show tasks zoo:mlp --alternatives --op dense
  show tasks zoo:mlp --target "cuda -model=h100" --threads 2
  show tasks blazeface_front.onnx --shape inputs=1x3x128x128
  show tasks zoo:mlp --input x.npy
  show tasks zoo:mlp --shape data=1x
  show tasks zoo:mlp --shape data=2x784
  show tasks zoo:mlp --entry main
  show tasks zoo:resnet-18 --image 3
  show tasks zoo:mlp --target "cpu -mcpu=haswel"
  show tasks zoo:mlp --target "gpu"
  show tasks zoo:mlp --target "cuda"
  show tune zoo:mlp --target "cuda -model=h100"
  show doctor --target "cuda -model=h100"
  show target --target "cuda -arch=sm_70"
  show tasks zoo:mlp --target "cpu -mattr=avx2"
  show run zoo:mlp
  show run zoo:mlp --input dta=x.npy
  show run zoo:mlp --input import/x:0=x.npy
  show run zoo:mlp --fill ones --launches chain --target "cpu -mcpu=x86-64 -threads=1"
  show run zoo:mlp --fill ones --fleet nowhere
  show run model.so --batch 2
  show check zoo:mlp --expect blazeface_front.onnx
  show check zoo:mlp --expect x.npy --against zoo:mlp
  show bench zoo:mlp --runs 3 --seconds 1
  show tune zoo:mlp --priority low
  show tune zoo:mlp --finals a
  show tune zoo:mlp --per-task --scheduler gradient
  show run zoo:mlp --fill randon
  show run zoo:mlp --fill ones --quiet --print-top 3
  show run zoo:mlp --input text.onnx
  show run zoo:mlp --fill ones -o out.txt
  show run zoo:mlp --fill ones -o nowhere/out.npy
  show run zoo:mlp --fill ones --device nonsense
  show profile zoo:mlp --trace nowhere/trace.json
  show check model.so
  show bench zoo:mlp --threads 0
  show compile zoo:mlp --records nowhere.jsonl -o m.so
  show report zoo:mlp
  show report zoo:mlp --records nowhere.jsonl
  show report zoo:mlp --records records.jsonl -o nowhere/page.html
  show compile zoo:mlp -o nowhere/m.so
  show compile zoo:mlp -o pipe
  show records shew records.jsonl
  show records show nowhere.jsonl
  show records show text.onnx
  show records best empty.jsonl
  show records distill records.jsonl -o nowhere/best.jsonl
  show records show records.jsonl -o table.txt
  show records merge records.jsonl --json
  show zoo list mlp
  show zoo list --batch 2
  show devices list --fleet folder
  show target --list --json
  show doctor --device cuda:0 --target "cpu -mcpu=x86-64 -threads=1"
  show serve -o own.jsonl --shape data=1x784
  show diff records.jsonl records.jsonl --seconds 3
  show diff records.jsonl records.jsonl --batch 2
  show devices list x86_64
  show tasks zoo:mlp --records records.jsonl
  show help
  show completion bash extra
  show explain progress 3
  show explain error 3 --code
  show explain task 0 --model zoo:mlp --records records.jsonl --contains nchw
  show explain layout --model zoo:mlp --exact
  show explain error 99
  show explain error crush
  show explain metric
  show explain candidate 0183f --model zoo:mlp
  show compile zoo:mlp --base other.jsonl --no-base
  show explain task 99 --model blazeface_front.onnx --records records.jsonl "${target[@]}"
  show explain task 64 --model blazeface_front.onnx --records records.jsonl "${target[@]}"
  show explain candidate --model zoo:mlp --records records.jsonl
  show explain candidate ffffffffffffffff --model blazeface_front.onnx --records records.jsonl "${target[@]}"
  show explain layout nothing --model zoo:mlp
  show explain layout nothing --contains nchw16c --model zoo:mlp
  show explain layout nothing --model blazeface_front.onnx --records records.jsonl "${target[@]}"
  show tune zoo:mlp --layouts nhwc,upside-down -o none.jsonl
  show space zoo:mlp --task 99
}

normalize() {
  if declare -F "normalize_$page" > /dev/null; then "normalize_$page"; else cat; fi
}
"page_$page" | normalize > "$work/now"
if [ -n "${WHET_RENEW_GOLDEN:-}" ]; then
  cp "$work/now" "$golden"
elif ! diff -u --label "$page.txt" --label now "$golden" "$work/now"; then
  echo "The commands print something else. Where that is meant: WHET_RENEW_GOLDEN=1 $0 $page $whet $source" >&2
  exit 1
fi
