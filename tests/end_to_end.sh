#!/usr/bin/env bash
# Drives the program from model to answer, as users do.
#   end_to_end.sh CASE WHET SOURCE_DIR     CASE is a function below whose name begins with case_
set -euo pipefail
case_name=$1 whet=$2 source=$3 models=$3/tests/models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

die() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect CODE TEXT COMMAND...: the command ends with CODE and prints TEXT (a fixed string; "" is anything).
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" > out 2>&1 || got=$?
  if [ "$got" -ne "$code" ] || ! grep -qF -- "$text" out; then
    cat out
    die "expected exit code $code and \"$text\", got $got from: $*"
  fi
}

# refuse CODE TEXT COMMAND...: the same, and the message is one line: a sentence, no crash report.
refuse() {
  expect "$@"
  [ "$(wc -l < out)" -eq 1 ] || { cat out; die "expected one line from: ${*:3}"; }
}

# Every schedule of every task stands once among the records.
nothing_twice() {
  local lines unique
  lines=$(wc -l < "$1")
  unique=$(grep -o '"task":{"key":\[[^]]*\]\|"steps":"[^"]*"' "$1" | paste - - | sort -u | wc -l)
  [ "$lines" -eq "$unique" ] || die "$lines records, but only $unique different trials in $1"
}

wait_for_lines() {  # wait_for_lines FILE COUNT PID
  for _ in $(seq 1 1200); do
    [ -f "$1" ] && [ "$(wc -l < "$1")" -ge "$2" ] && return
    kill -0 "$3" 2> /dev/null || die "the tuner ended before it wrote $2 records"
    sleep 0.1
  done
  die "no $2 records within two minutes"
}

# Does a process of the test's folder live that is not this script's?
still_here() {
  local process
  for process in /proc/[0-9]*; do
    [ "$(readlink "$process/cwd" 2> /dev/null)" = "$work" ] && [ "$(readlink "$process/exe")" = "$(readlink -f "$whet")" ] && return 0
  done
  return 1
}

blazeface=("$models/blazeface_front.onnx" --input "$models/blazeface_front.in.npy")
blazeface_answers=(--expect "$models/blazeface_front.out.npy" --expect "$models/blazeface_front.out1.npy"
  --expect "$models/blazeface_front.out2.npy" --expect "$models/blazeface_front.out3.npy")
ppocr=("$models/ppocr_cls.onnx" --shape x=1x3x48x192 --input "$models/ppocr_cls.in.npy")

case_answers() {
  expect 0 "within 2e-05 of the largest magnitude: yes" "$whet" check "${blazeface[@]}" "${blazeface_answers[@]}"
  expect 0 "within 2e-05 of the largest magnitude: yes" "$whet" check "${ppocr[@]}" --expect "$models/ppocr_cls.out.npy"
  expect 1 "largest magnitude: no" \
    "$whet" check "$models/ppocr_cls.onnx" --shape x=1x3x48x192 --fill ones --expect "$models/ppocr_cls.out.npy"
}

case_largest_values() {
  # Of equal values the first; integers with all digits.
  printf 'x = PLACEHOLDER [2, 3]\ny(i, j) = neg(x[i, j]) for i in 2, j in 3\nn(i, j): i32 = (i32(x[i, j])*1234567i32) for i in 2, j in 3\nreturn y, n\n' > own.dag
  printf '\0\0\200\077\0\0\0\300\0\0\200\077\0\0\0\300\0\0\200\077\0\0\200\077' | npy '<f4' '(2, 3)' > x.npy
  expect 0 "    1234567 at [0, 0]" "$whet" run own.dag --input x.npy --print-top 3
  [ "$(grep -A 3 ' y ' out | tail -3)" = $'    2 at [0, 1]\n    2 at [1, 0]\n    -1 at [0, 0]' ] || { cat out; die "these are not the largest"; }
  expect 0 '"value": 1234567' "$whet" run own.dag --input x.npy --print-top 100 --json
  [ "$(grep -c '"value"' out)" -eq 12 ] || { cat out; die "more is asked for than there is: all 12 values"; }
}
case_older_processors() {
  for target in "cpu -mcpu=x86-64" "cpu -mcpu=haswell -threads=1"; do
    expect 0 "largest magnitude: yes" "$whet" check "${blazeface[@]}" "${blazeface_answers[@]}" --target "$target"
  done
}

# The header and the data of a .npy of this type and shape: npy '<f4' '(3, 2)' < DATA.
npy() {
  local header="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
  printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
  cat
}

case_names_of_inputs() {
  # One input, import/x:0 f32[n,2]; one output, its Relu.
  base64 -d > slash.onnx <<< "CAg6RAoVCgppbXBvcnQveDowEgF5IgRSZWx1EgFnWh0KCmltcG9ydC94OjASDwoNCAESCQoDEgFuCgIIAmIJCgF5EgQKAggBQgQKABAN"
  head -c 24 /dev/zero | npy '<f4' '(3, 2)' > in.npy
  cp in.npy import=x.npy
  for input in in.npy import/x:0=in.npy import/x:0=import=x.npy "import/x:0=$PWD/in.npy"; do
    expect 0 "f32[3x2]" "$whet" run slash.onnx --shape import/x:0=3x2 --input "$input"
  done
  expect 0 "f32[3x2]" "$whet" run slash.onnx --input import/x:0=in.npy
  expect 0 "largest magnitude: yes" "$whet" check slash.onnx --shape import/x:0=3x2 --input in.npy --expect in.npy
  refuse 1 "f32[3x2] was given; the model takes f32[1x2]; where the file leaves dimensions open, --shape import/x:0=3x2 binds them" \
    "$whet" run slash.onnx --input in.npy
  refuse 1 'the model has no input "import/y:0"; it takes import/x:0; did you mean "import/x:0"?' \
    "$whet" run slash.onnx --input import/y:0=nothing.npy
  expect 0 "by default schedules" "$whet" compile slash.onnx --shape import/x:0=3x2 -o slash.so
  expect 0 "f32[3x2]" "$whet" run slash.so --input import/x:0=in.npy
  refuse 1 'the model has no input "foo"; it takes import/x:0' "$whet" run slash.so --input foo=nothing.npy
}

case_wide_integers() {
  # y = x + z, of uint16: 65535 + 1 is 0.
  base64 -d > add.onnx <<< "CAg6QgoQCgF4CgF6EgF5IgNBZGQ6ABIBZ1oPCgF4EgoKCAgEEgQKAggDWg8KAXoSCgoICAQSBAoCCANiCQoBeRIECgIIBEIECgAQDg=="
  printf '\x03\x00\x07\x00\xff\xff' | npy '<u2' '(3,)' > x.npy
  printf '\x01\x00\x01\x00\x01\x00' | npy '<u2' '(3,)' > z.npy
  printf '\x04\x00\x08\x00\x00\x00' | npy '<u2' '(3,)' > y.npy
  expect 0 "largest magnitude: yes" "$whet" check add.onnx --input x.npy --input z.npy --expect y.npy
}

case_check_compares_what_fits() {
  head -c 40 /dev/zero | npy '<f4' '(1, 10)' > y.npy
  refuse 1 "input data f32[1x784] is missing" "$whet" check zoo:mlp --expect y.npy
  expect 1 "largest magnitude: no" "$whet" check zoo:mlp --fill ones --expect y.npy
  refuse 1 "takes data f32[1x784], and" "$whet" check zoo:mlp --against "$models/blazeface_front.onnx"
  "$whet" compile zoo:mlp -o mlp.so -q
  expect 0 "largest magnitude: yes" "$whet" check mlp.so --against zoo:mlp
  refuse 1 "zoo:mlp takes data f32[2x784], and mlp.so data f32[1x784]" "$whet" check zoo:mlp --batch 2 --against mlp.so
  head -c 12 /dev/zero | npy '<f4' '(1, 3)' > short.npy
  refuse 1 "gives softmax f32[1x10], and the answers to compare with are short.npy f32[1x3]" \
    "$whet" check zoo:mlp --fill ones --expect short.npy
}

case_compiled() {
  expect 0 "by default schedules" "$whet" compile "$models/blazeface_front.onnx" -o model.so
  expect 0 "largest magnitude: yes" "$whet" check model.so --input "$models/blazeface_front.in.npy" "${blazeface_answers[@]}"
  expect 0 "f32[1x512x1]" "$whet" run model.so --input "$models/blazeface_front.in.npy" -o answers.npz
  expect 0 "largest magnitude: yes" "$whet" check model.so --input "$models/blazeface_front.in.npy" --expect answers.npz
  expect 0 '"median_ms"' "$whet" bench model.so --runs 5 --warmup 0 --json
  expect 0 '"threads": 1' "$whet" bench model.so --runs 5 --warmup 0 --json --threads 1
  expect 0 "inferences/s" "$whet" bench model.so --runs 5 --warmup 0
  expect 0 "conv2d" "$whet" profile model.so --runs 5 --trace trace.json
  grep -qE '"name":"(core|thread) [0-9]+"' trace.json || die "the trace has no lane of a core"
  # Of made-up weights: as large, and another's answers.
  expect 0 "its answers are wrong" "$whet" compile zoo:mlp --weights seed -o seed.so
  expect 0 "inferences/s" "$whet" bench seed.so --runs 5 --warmup 0
  expect 1 "largest magnitude: no" "$whet" check seed.so --against zoo:mlp --fill ones
  refuse 2 "--weights" "$whet" compile zoo:mlp --weights none -o none.so
  head -c 100000 model.so > cut.so
  refuse 1 "cut.so" "$whet" run cut.so --fill ones
}

case_compared() {
  "$whet" compile zoo:mlp -o old.so -q
  "$whet" compile zoo:mlp -o new.so -q
  expect 0 "pairs measured alternately" "$whet" diff old.so new.so --seconds 0.3 --threshold 1000
  "$whet" bench old.so --seconds 0.1 --json > old.json
  sed 's/"median_ms": /"median_ms": 9/; s/"min_ms": /"min_ms": 9/; s/"threads": /"threads": 9/' old.json > slow.json
  expect 1 "times as long" "$whet" diff old.json slow.json
  grep -q 'threads: ' out || die "the threads differ, and diff does not say so"
  expect 0 "faster" "$whet" diff slow.json old.json
  cp "$source/tests/golden/records.jsonl" a.jsonl
  expect 0 "of 2 tasks of both" "$whet" diff a.jsonl a.jsonl
  expect 0 '"verdict": "same"' "$whet" diff a.jsonl a.jsonl --json
  refuse 1 "expected two of a kind" "$whet" diff a.jsonl old.so
  refuse 1 "cannot read" "$whet" diff a.jsonl nowhere.jsonl
  expect 2 "NEW" "$whet" diff a.jsonl
}

case_measured_again() {
  "$whet" tune zoo:mlp --trials 24 --no-base --no-network -o r.jsonl -q
  expect 0 "Good for this machine" "$whet" repro r.jsonl --model zoo:mlp --within 1000 --events e.jsonl
  expect 0 '"verdict": "' "$whet" repro r.jsonl --model zoo:mlp --within 1000 --best 1 --json
  [ "$(grep -c '"event":"remeasured"' e.jsonl)" -gt 0 ] || die "no task among the events"
  expect 0 "left out" "$whet" repro r.jsonl --model zoo:mlp --within 1000 --seconds 0.001
  # What no longer replays is told, and the default schedule stands for it.
  sed 's/"steps":"[^"]*"/"steps":"split l99 2"/' r.jsonl > old.jsonl
  expect 1 "none of its schedules runs here" "$whet" repro old.jsonl --model zoo:mlp
  refuse 1 "this model does not have" "$whet" repro r.jsonl --model zoo:mlp --batch 2
  refuse 2 "give --model" "$whet" repro r.jsonl
  # The admission test of a record base.
  "$whet" records pack r.jsonl --model zoo:mlp -o base.jsonl > out
  expect 0 "admitted.jsonl written" "$whet" repro base.jsonl --model zoo:mlp --within 1000 -o admitted.jsonl -v
  grep -q '"base":' admitted.jsonl || die "no base is written"
  sed 's/"gain":[0-9.]*/"gain":90.5/' base.jsonl > false.jsonl
  expect 1 "it claims a gain of 90.500 and has" "$whet" repro false.jsonl --model zoo:mlp -v
  refuse 1 "taught nothing that is in" "$whet" repro base.jsonl --model zoo:mlp --origin resnet50
  refuse 1 "r.jsonl" "$whet" repro r.jsonl --model zoo:mlp --origin mlp
  refuse 2 "is for record files" "$whet" repro base.jsonl --model zoo:mlp --best 2
  expect 0 "not measured; whet compile zoo:mlp --quick" "$whet" compile zoo:mlp --base base.jsonl -o m.so
  # Of schedules that took equally long the base has others than the default ones, and they promise something.
  sed 's/"seconds":\[[0-9][^]]*\]/"seconds":[1e-06]/; s/"truncated":true/"truncated":false/' r.jsonl > even.jsonl
  "$whet" records pack even.jsonl --model zoo:mlp -o even_base.jsonl > out
  sed -i 's/"gain":[0-9.]*/"gain":2/g' even_base.jsonl
  expect 0 "In the first round" "$whet" compile zoo:mlp --quick --base even_base.jsonl --events quick.jsonl -o m.so
  grep -q '"event":"round"' quick.jsonl || die "no round among the events"
  # What a chain saves is measured again beside the kernels that it replaces.
  local until="StatefulPartitionedCall/functional_1/conv2d_1/BiasAdd:0"  # a convolution, a depthwise and a pointwise one
  local run  # which chains a run measures depends on the times of their parts; the next one goes on with others
  for run in 1 2 3 4 5; do
    "$whet" tune "$models/blazeface_front.onnx" --until "$until" --trials 80 --layouts nhwc --no-base -o chains.jsonl -q
    "$whet" records pack chains.jsonl --model "$models/blazeface_front.onnx" --until "$until" -o chained.jsonl > out
    ! grep -q '"over_parts":' chained.jsonl || break
  done
  grep -q '"over_parts":' chained.jsonl || die "no chain was measured in $run runs"
  expect 0 "over_parts_now" "$whet" repro chained.jsonl --model "$models/blazeface_front.onnx" --until "$until" --within 1000 --json -o none.jsonl
  grep -q '"over_parts_now": [0-9]' out || die "no chain was timed beside its parts"
  cat base.jsonl r.jsonl > merged.jsonl
  expect 0 "Good for this machine" "$whet" repro merged.jsonl --model zoo:mlp --within 1000 --best 2
  sed 's/^{"v":[0-9]*,"base"/{"v":99,"base"/' base.jsonl > later.jsonl
  refuse 1 "is of base format 99" "$whet" repro later.jsonl --model zoo:mlp
  sed 's/"made":"[^"]*"/"made":1/' base.jsonl > damaged.jsonl
  refuse 1 "the head of a base, " "$whet" repro damaged.jsonl --model zoo:mlp
}

# Requests of another program.
case_served() {
  cat > requests << 'REQUESTS'
{"id": 1, "do": "measure", "task": 3, "candidates": [{"steps": ""}, {"steps": "unroll l0"}]}
{"id": 2, "do": "best", "task": 3}
{"id": 3, "do": "bset"}
REQUESTS
  expect 0 '"id":3,"error":"do is' "$whet" serve zoo:mlp -o served.jsonl < requests
  [ "$(wc -l < out)" -eq 4 ] || { cat out; die "expected a greeting and three answers"; }
  [ "$(wc -l < served.jsonl)" -eq 2 ] || die "expected two records"
  expect 0 "records served.jsonl (2 there)" "$whet" tune zoo:mlp -o served.jsonl --trials 4 --no-network --events events.jsonl
  head -1 events.jsonl | grep -q '"v":1,"event":"started"' || die "the events begin with $(head -1 events.jsonl)"
  tail -1 events.jsonl | grep -q '"event":"finished"' || die "the events end with $(tail -1 events.jsonl)"
  refuse 2 "-o is missing" "$whet" serve zoo:mlp
  # A model at the sizes at which it is tuned.
  cat > requests << 'REQUESTS'
{"id": 1, "do": "tasks"}
{"id": 2, "do": "tune", "trials": 8, "round": 4}
{"id": 3, "do": "ranges"}
{"id": 4, "do": "compile", "output": "sized.so"}
REQUESTS
  expect 0 '"id":4,"output":"sized.so"' "$whet" serve zoo:mlp --sizes batch=1..8 --tuning-sizes 2,8 --no-base -o sized.jsonl < requests
  grep -q '"sizes":\[{"sizes":{"batch":2},"runs":1}' out || { cat out; die "the tasks do not say where they run"; }
  grep -q '"id":3,"event":"ladder"' out || { cat out; die "no kernel for ranges was timed"; }
  grep -q '"id":3,"done":true' out || { cat out; die "the ranges were not timed"; }
  expect 0 "largest magnitude: yes" "$whet" check sized.so --against zoo:mlp
  refuse 2 "serve: --lengths counts only for a model with --sizes" "$whet" serve zoo:mlp --lengths requests -o sized.jsonl
  refuse 2 "serve: --sizes is of a MODEL, and none is given" "$whet" serve --sizes n=1..8 -o sized.jsonl
  refuse 2 "expected a file descriptor" "$whet" tune zoo:mlp -o served.jsonl --trials 4 --events 99
  refuse 1 '--report: cannot write "nowhere/page.html"' "$whet" tune zoo:mlp -o served.jsonl --trials 4 --report nowhere/page.html
  refuse 2 "by programs" "$whet" measure-host < /dev/null
}

case_tuning() {
  expect 0 "records kept in r.jsonl" "$whet" tune zoo:mlp --trials 12 --round 4 -o r.jsonl
  [ "$(wc -l < r.jsonl)" -ge 12 ] || die "12 trials left $(wc -l < r.jsonl) records"
  expect 0 "records kept in timed.jsonl" "$whet" tune zoo:mlp --seconds 4 -o timed.jsonl
  refuse 2 "tune: --minutes is said by --seconds too; give one of the two" "$whet" tune zoo:mlp --seconds 4 --minutes 1
  expect 0 "trials" "$whet" records stats r.jsonl
  expect 0 "" "$whet" records distill r.jsonl -o best.jsonl
  expect 0 "from records" "$whet" compile zoo:mlp --records best.jsonl -o tuned.so
  expect 0 "largest magnitude: yes" "$whet" check tuned.so --against zoo:mlp --fill random
}

# Ranges are tuned at some sizes, and a library for all of them chooses by these.
case_tuned_sizes() {
  printf '1 8\n2\n24 5\n' > lengths.txt
  expect 0 "Weights and sums are of 3 requests: 1 at batch=2, 1 at batch=8, 1 at batch=32" \
    "$whet" tune zoo:mlp --sizes batch=1..32 --tuning-sizes 2,8,32 --trials 24 --round 4 -o r.jsonl --events events.jsonl
  grep -q "One inference of each size" out || { cat out; die "there is no table of sizes"; }
  grep -q "Kernels for ranges: " out || { cat out; die "no kernel for ranges was timed"; }
  grep -q "One inference of the whole network" out || { cat out; die "the network was not timed"; }
  grep -q "By these times a request takes " out || { cat out; die "nothing says what requests take"; }
  grep -q '"range":{"task":' r.jsonl || die "there is no time of a range"
  grep -q '"network":{"graph":' r.jsonl || die "the times of the network are no line"
  grep -q '"event":"ladder"' events.jsonl && grep -q '"event":"at_sizes"' events.jsonl || die "events know nothing of ranges"
  grep -q '"event":"reading".*"read":32,"all":32' events.jsonl || die "no event says that the model was read"
  head -1 events.jsonl | grep -q '"sizes":\[{"sizes":{"batch":2},"requests":1}' || die "the events begin with $(head -1 events.jsonl)"
  expect 0 '"batch": 24' "$whet" tune zoo:mlp --sizes batch=1..32 --lengths lengths.txt --seconds 2 -o r.jsonl --json
  grep -v '"network":' r.jsonl > kernels.jsonl  # what the network found may keep untuned kernels
  expect 0 "at batch=32" "$whet" compile zoo:mlp --sizes batch=1..32 --records kernels.jsonl -o sized.so --events compile.jsonl
  grep -q '"event":"reading".*"read":0,"all":32' compile.jsonl || die "no event says how far the model is read"
  grep -Eq "[1-9][0-9]* of [0-9]+ tasks from records" out || { cat out; die "no task is from records"; }
  expect 0 "largest magnitude: yes" "$whet" check sized.so --against zoo:mlp
  expect 0 "Best of" "$whet" explain sizes --model zoo:mlp --sizes batch=1..32 --records kernels.jsonl
  expect 0 "Kernels of schedules" "$whet" explain sizes --model zoo:mlp --sizes batch=1..32 --records r.jsonl
  expect 0 "Task of ranges" "$whet" records show r.jsonl
  expect 0 "times of kernels for ranges of sizes: " "$whet" records stats r.jsonl
  expect 0 "of ranges of sizes" "$whet" records distill r.jsonl -o best.jsonl
  expect 0 "from records" "$whet" compile zoo:mlp --sizes batch=1..32 --hot-sizes off --records best.jsonl -o few.so
  expect 0 '"best_of"' "$whet" explain sizes --model zoo:mlp --sizes batch=1..32 --records r.jsonl --lengths lengths.txt --json
  expect 0 "14 requests take " "$whet" bench sized.so --lengths lengths.txt --seconds 0.1
  expect 0 '"p99_ms"' "$whet" bench sized.so --lengths lengths.txt --seconds 0.1 --json
  refuse 2 "bench: --lengths says at which sizes it is timed" "$whet" bench sized.so --lengths lengths.txt --shape data=4x784
  # What else takes record files knows lines of ranges, and leaves them as they are.
  local sized=(--model zoo:mlp --sizes batch=1..32 --tuning-sizes 2,8,32)
  expect 0 "teach a base nothing" "$whet" records pack r.jsonl "${sized[@]}" -o base.jsonl
  grep -q '"base":' base.jsonl || die "the tuning sizes taught nothing"
  ! grep -q '"range":' base.jsonl || die "times of ranges are in the base"
  expect 0 "not measured; whet compile zoo:mlp --batch 8 --quick" "$whet" compile zoo:mlp --batch 8 --base base.jsonl -o m.so
  expect 0 "are not measured again; --sizes says of which ranges" "$whet" repro r.jsonl --model zoo:mlp --batch 8 --within 1000 --best 1
  expect 0 '"verdict"' "$whet" repro r.jsonl "${sized[@]}" --within 1000 --best 1 --json
  grep -q '"name": ".* at [a-z0-9.*]*=8"' out || { cat out; die "no kernel for ranges was measured again"; }
  refuse 2 "repro: --lengths counts only for a model with --sizes" "$whet" repro r.jsonl --model zoo:mlp --lengths lengths.txt
  refuse 2 "records pack: --tuning-sizes counts only for a model with --sizes" "$whet" records pack r.jsonl --model zoo:mlp --tuning-sizes 8
  # The kernels of an untuned library are timed at once, and chosen by that.
  expect 0 "Kernels for ranges: " \
    "$whet" compile zoo:mlp --sizes batch=1..32 --tuning-sizes 2,32 --no-base --quick=60 --records quick.jsonl -o quick.so --events quick.events
  grep -q '"range":{"task":' quick.jsonl || die "no kernel for ranges was timed"
  grep -q '"event":"ladder"' quick.events || die "no kernel for ranges is among the events"
  expect 0 "largest magnitude: yes" "$whet" check quick.so --against zoo:mlp
  expect 0 '"as_range"' "$whet" explain sizes --model zoo:mlp --sizes batch=1..32 --tuning-sizes 2,32 --records quick.jsonl --json
  grep -A 3 '"as_range"' out | grep -q true || { cat out; die "its times do not count"; }
  expect 0 '"ladder"' "$whet" compile zoo:mlp --sizes batch=1..32 --quick=60 --records quick.jsonl -o quick.so --json
  expect 0 "largest magnitude: yes" "$whet" check quick.so --against zoo:mlp
  expect 0 "MB; weights" "$whet" compile zoo:mlp --sizes "batch={2,8}" --quick=60 -o listed.so
  expect 0 '"range":{"task":' "$whet" records best r.jsonl --json
  expect 0 "of ranges of sizes" "$whet" records merge r.jsonl best.jsonl -o merged.jsonl
  refuse 2 "tune: --lengths counts only for a model with --sizes" "$whet" tune zoo:mlp --lengths lengths.txt
  expect 0 "records kept" "$whet" tune zoo:mlp --sizes batch=1..32 --tuning-sizes 8 --trials 4 -o page.jsonl --report page.html
  grep -q 'id="sizes"' page.html || die "the page has no section of sizes"
  refuse 2 "--tuning-sizes: batch is 64; batch is 1..32" "$whet" tune zoo:mlp --sizes batch=1..32 --tuning-sizes 64
  refuse 2 "--tuning-sizes: batch is 64; batch is 1..32" "$whet" compile zoo:mlp --sizes batch=1..32 --tuning-sizes 64 -o m.so
  refuse 2 "compile: --lengths counts only for --sizes of a range" "$whet" compile zoo:mlp --sizes batch=4 --lengths lengths.txt
  expect 0 "" "$whet" compile zoo:mlp --sizes batch=1..32 --tuning-sizes 8 --no-base -o untuned.so
  printf '24 many\n' > lengths.txt
  refuse 1 'lengths.txt, line 1: "24 many" is no request' "$whet" tune zoo:mlp --sizes batch=1..32 --lengths lengths.txt
}

# Batch and length are ranges: one library for all pairs of them.
case_tuned_two_sizes() {
  # Of x f32[b,n,16] the mean row of an attention over relu(x w), whose weights w are sines.
  base64 -d > two.onnx <<< "CAdCBAoAEA06hgMKEwoBYQoBYgoBYxIBZiIFUmFuZ2UKCwoBZhIBZyIDU2luCg4KAWcKAWQSAWgiA011bAoSCgFoCgFlEgF3IgdSZXNoYXBlChEKAXgKAXcSAWkiBk1hdE11bAoMCgFpEgFyIgRSZWx1CiIKAXISAXQiCVRyYW5zcG9zZSoPCgRwZXJtQABAAkABoAEHChEKAXIKAXQSAXMiBk1hdE11bAocCgFzEgFwIgdTb2Z0bWF4KgsKBGF4aXMYAqABAgoRCgFwCgFyEgFtIgZNYXRNdWwKMAoBbRIBeSIKUmVkdWNlTWVhbioLCgRheGVzQAGgAQcqDwoIa2VlcGRpbXMYAKABAhIDdHdvKgsQAUoEAAAAAEIBYSoLEAFKBAAAQERCAWIqCxABSgQAAIA/QgFjKgsQAUoEzczMPUIBZCoZCAIQB0oQEAAAAAAAAAAwAAAAAAAAAEIBZVoZCgF4EhQKEggBEg4KAxIBYgoDEgFuCgIIEGIUCgF5Eg8KDQgBEgkKAxIBYgoCCDA="
  local sizes=(--sizes b=1..4 --sizes n=16..48)
  printf '1x16 4\n2x32 2\n4x48\n' > requests.txt
  expect 0 "7 requests: 4 at b=1 n=16, 2 at b=2 n=32, 1 at b=4 n=48" \
    "$whet" tune two.onnx "${sizes[@]}" --lengths requests.txt --trials 24 --round 4 --no-base -o r.jsonl --events events.jsonl --report page.html
  grep -q "Kernels for ranges: " out || { cat out; die "no kernel for ranges was timed"; }
  grep -q "One inference of the whole network" out || { cat out; die "the network was not timed"; }
  grep -q '"sizes":{"b":4,"n":48}' events.jsonl || die "the events do not name both sizes"
  grep -q 'id="sizes"' page.html || die "the page has no section of sizes"
  grep -q '"at":\[[0-9]*,[0-9]*\]' r.jsonl || die "no time is of two sizes"
  expect 0 "tasks from records" "$whet" compile two.onnx "${sizes[@]}" --lengths requests.txt --records r.jsonl -o two.so
  grep -v '"network":' r.jsonl > kernels.jsonl  # what the network found may keep untuned kernels
  expect 0 "tasks from records" "$whet" compile two.onnx "${sizes[@]}" --lengths requests.txt --records kernels.jsonl -o two.so
  grep -Eq "[1-9][0-9]* of [0-9]+ tasks from records" out || { cat out; die "no task is from records"; }
  expect 0 "largest magnitude: yes" "$whet" check two.so --against two.onnx
  expect 0 "largest magnitude: yes" "$whet" check two.so --against two.onnx --sizes b=all --sizes n=16..48:8
  expect 0 "f32[3x48]" "$whet" run two.so --shape x=3x17x16 --fill ones
  refuse 1 'input "x" is 3x64x16; n is 16..48' "$whet" run two.so --shape x=3x64x16 --fill ones
  expect 0 "Kernels at " "$whet" explain sizes --model two.onnx "${sizes[@]}" --records r.jsonl --lengths requests.txt
  grep -Eq "Kernels at .*: (by the times of the records|untuned, with schedules for)" out || { cat out; die "nothing says what decided a piece"; }
  expect 0 '"decided_by": "' "$whet" explain sizes --model two.onnx "${sizes[@]}" --records r.jsonl --json
  expect 0 "median (ms)" "$whet" bench two.so --seconds 0.02
  refuse 2 '--tuning-sizes is "16"; expected values of 2 sizes, like 1x16,8x128' "$whet" tune two.onnx "${sizes[@]}" --tuning-sizes 16
}

# ^C while kernels for ranges are timed: what was timed is kept.
case_interrupted_ladder() {
  local sizes=(--sizes batch=1..32 --tuning-sizes 2,8,32)
  "$whet" tune zoo:mlp "${sizes[@]}" --trials 16 --round 4 --no-base -o r.jsonl --events events.jsonl > tune.out 2>&1 &
  local tuner=$! code=0 known
  for _ in $(seq 1 1200); do
    grep -q '"event":"ladder"' events.jsonl 2> /dev/null && break
    kill -0 "$tuner" 2> /dev/null || { cat tune.out; die "the tuner ended before it timed a kernel for ranges"; }
    sleep 0.05
  done
  kill -INT "$tuner"
  wait "$tuner" || code=$?
  [ "$code" -eq 130 ] || { cat tune.out; die "^C ended with $code, expected 130"; }
  grep -q "records kept in r.jsonl" tune.out || die "^C does not say where the records are"
  known=$(grep -c '"range":{"task":' r.jsonl || true)
  [ "$known" -gt 0 ] || die "the times of the first task are lost"
  grep '"range":{"task":' r.jsonl > before.jsonl
  expect 0 "Kernels for ranges: " "$whet" tune zoo:mlp "${sizes[@]}" --trials 1 --round 1 --no-base -o r.jsonl
  grep '"range":{"task":' r.jsonl > after.jsonl
  head -n "$known" after.jsonl | cmp - before.jsonl || die "the second run changed the lines of the first"
  grep -v '"network":' r.jsonl > kernels.jsonl
  expect 0 "tasks from records" "$whet" compile zoo:mlp --sizes batch=1..32 --records kernels.jsonl -o sized.so
  grep -Eq "[1-9][0-9]* of [0-9]+ tasks from records" out || { cat out; die "no task is from records"; }
}

# The whole way of a GPU on the emulated device.
case_emulated() {
  local gpu=(--target "cuda -arch=sm_80 -sms=108") model="$models/blazeface_front.onnx"
  expect 0 "largest magnitude: yes" "$whet" check "${blazeface[@]}" "${blazeface_answers[@]}" "${gpu[@]}" --device emulated
  expect 0 "times are estimates" "$whet" tune "$model" "${gpu[@]}" --device emulated --trials 40 -o r.jsonl
  [ "$(grep -c '"host":"emulated"' r.jsonl)" -ge 40 ] || die "records do not name the emulated device"
  expect 0 "Emulated: the times are estimates" "$whet" explain task 2 --model "$model" --records r.jsonl "${gpu[@]}"
  local id
  id=$(grep -o 'explain candidate [0-9a-f]*' out | cut -d' ' -f3)
  expect 0 "Blocks/SM" "$whet" explain candidate "$id" --model "$model" --records r.jsonl "${gpu[@]}"
  expect 0 ".visible .entry" "$whet" explain candidate "$id" --model "$model" --records r.jsonl "${gpu[@]}" --code
  refuse 1 "--allow-emulated takes them" "$whet" compile "$model" "${gpu[@]}" --records r.jsonl -o model.so
  [ ! -e model.so ] || die "a library was written all the same"
  expect 0 "from records" "$whet" compile "$model" "${gpu[@]}" --records r.jsonl --allow-emulated -o model.so
  expect 0 "largest magnitude: yes" "$whet" check model.so --device emulated --input "$models/blazeface_front.in.npy" "${blazeface_answers[@]}"
  expect 0 "emulated code of sm_80" "$whet" run model.so --device emulated --input "$models/blazeface_front.in.npy"
  expect 0 "estimates" "$whet" bench model.so --device emulated --seconds 0.01
  expect 0 "estimates" "$whet" profile model.so --device emulated --runs 2
  "$whet" tune "$model" --trials 16 --no-network -o r.jsonl --threads 1 -q
  expect 0 "by default schedules" "$whet" compile "$model" "${gpu[@]}" -o plain.so
  refuse 1 "has no code for the emulated device; it has PTX for sm_80 or newer" "$whet" run plain.so --device emulated
  expect 0 "mma" "$whet" space "$model" "${gpu[@]}" --precision tf32
  expect 0 "times are estimates" "$whet" tune "$model" "${gpu[@]}" --device emulated --precision tf32 --trials 40 --no-network -o tf32.jsonl
  grep -q 'tensorize l[0-9]* mma_tf32' tf32.jsonl || die "no candidate was on tensor cores"
  expect 0 "in tf32" "$whet" compile "$model" "${gpu[@]}" --precision tf32 --records tf32.jsonl --allow-emulated -o tf32.so
  # Bytes, by instructions that multiply four and more of them.
  "$(dirname "$whet")/quantize_model" "$model" bytes.onnx
  expect 0 "times are estimates" "$whet" tune bytes.onnx "${gpu[@]}" --device emulated --trials 24 --no-network -o bytes.jsonl
  grep -q 'tensorize l[0-9]* mma_u8' bytes.jsonl || die "no candidate of bytes was on tensor cores"
  expect 0 "from records" "$whet" compile bytes.onnx "${gpu[@]}" --records bytes.jsonl --allow-emulated -o bytes.so
  grep -aq 'dp4a.u32.s32' bytes.so || die "no kernel multiplies bytes by dp4a"
  expect 0 "largest magnitude: yes" "$whet" check bytes.so --device emulated --against bytes.onnx --fill random
  refuse 2 'is no GPU; name one' "$whet" run "$model" --device emulated
  refuse 2 'expected cuda:0, cuda:1, ..., emulated, ssh:' "$whet" tune "$model" --device gpu
  refuse 2 'names emulated and others' "$whet" tune "$model" "${gpu[@]}" --device emulated --device cuda:0
  refuse 2 'name one, as in --target "cuda -model=h100"' "$whet" tune "$model" --target cuda --device emulated
}

# A whole network whose products are rounded for the tensor cores.
case_tensor_cores() {
  local network=(zoo:resnet-18 --image 64) gpu=(--target "cuda -arch=sm_80 -sms=108")
  expect 0 "tasks in tf32" "$whet" compile "${network[@]}" "${gpu[@]}" --precision tf32 --allow-emulated -o tf32.so
  expect 0 "largest magnitude: yes" "$whet" check tf32.so --device emulated --against "${network[@]}" --fill random --tolerance 2e-3
  expect 1 "largest magnitude: no" "$whet" check tf32.so --device emulated --against "${network[@]}" --fill random --tolerance 2e-5
  # In f16, and so are the tensors between kernels that products read.
  expect 0 "PLACEHOLDER [1, 16, 16, 64] f16" "$whet" tasks "${network[@]}" "${gpu[@]}" --precision f16 --dag
  expect 0 "times are estimates" "$whet" tune "${network[@]}" "${gpu[@]}" --device emulated --precision f16 --trials 64 --no-network -o f16.jsonl
  grep -q 'tensorize l[0-9]* mma_half' f16.jsonl || die "no candidate of halves was on tensor cores"
  expect 0 "tasks in f16" "$whet" compile "${network[@]}" "${gpu[@]}" --precision f16 --records f16.jsonl --allow-emulated -o f16.so
  [ $((10 * $(stat -c %s f16.so))) -lt $((6 * $(stat -c %s tf32.so))) ] || die "the library in f16 is not much smaller"
  expect 0 "largest magnitude: yes" "$whet" check f16.so --device emulated --against "${network[@]}" --fill random
  "$whet" compile "${network[@]}" "${gpu[@]}" --precision f16 --exact -o exact.so > out
  ! grep -q "in f16" out || die "--exact left products in f16"
  refuse 2 "--precision tf32 is for GPUs with tensor cores" "$whet" tasks "${network[@]}" --precision tf32
  refuse 2 "--precision tf32 is for GPUs with tensor cores" "$whet" explain task 0 --model "${network[@]}" --records f16.jsonl --precision tf32
}

# Products of bf16, where the processor has them.
case_bf16() {
  local there=(--target "cpu -mcpu=znver4 -threads=2") network=(zoo:mlp --precision bf16)
  expect 0 "bf16 const" "$whet" tasks "${network[@]}" "${there[@]}" --dag
  expect 0 "with default schedules" "$whet" compile "${network[@]}" "${there[@]}" -o bf16.so
  "$whet" compile "${network[@]}" "${there[@]}" --exact -o exact.so > out
  ! grep -q "bf16: " out || die "--exact left products in bf16"
  refuse 2 "cpu znver3 has no products of bf16" "$whet" compile "${network[@]}" --target "cpu -mcpu=znver3" -o bf16.so
  # Weights of few rows, on any processor that widens them.
  expect 0 "f16 const" "$whet" tasks zoo:mlp --precision f16 --target "cpu -mcpu=haswell -threads=2" --dag
  refuse 2 "does not widen f16 by an instruction" "$whet" tasks zoo:mlp --precision f16 --target "cpu -mcpu=x86-64"
  if grep -qw f16c /proc/cpuinfo; then
    "$whet" compile zoo:mlp --precision f16 -o f16.so > out
    expect 0 "rounded to f16 may change 0.0039" "$whet" check f16.so --against zoo:mlp --fill random
  fi
  if ! grep -qw avx512_bf16 /proc/cpuinfo; then echo "no products of bf16 here"; return; fi
  expect 0 "multiply-adds of bf16 in " "$whet" target
  expect 0 "may change 0.03125 of the largest magnitude" "$whet" check "${network[@]}" --inner
  expect 0 "--records r.jsonl --precision bf16" "$whet" tune "${network[@]}" --trials 32 --no-network -o r.jsonl
  grep -q 'tensorize l[0-9]* dot2' r.jsonl || die "no candidate multiplied pairs"
  expect 0 "from records" "$whet" compile "${network[@]}" --records r.jsonl -o bf16.so
  expect 0 "rounded to bf16 may change 0.03125" "$whet" check bf16.so --against zoo:mlp --fill random
  expect 1 "largest magnitude: no" "$whet" check bf16.so --against zoo:mlp --fill random --tolerance 2e-5
}

# make_samples FOLDER COUNT: inputs of zoo:mlp, a file each.
make_samples() {
  local sample
  printf 'x = PLACEHOLDER [1, 784]\ny(i, j) = neg(x[i, j]) for i in 1, j in 784\nreturn y\n' > sample.dag
  mkdir "$1"
  for sample in $(seq "$2"); do
    "$whet" run sample.dag --fill random --seed "$sample" -o "$1/$sample.npy" > out || die "no sample was made"
  done
}

# A precision for each layer: what is chosen, and what every front end tells of it.
case_precision() {
  make_samples samples 8
  refuse 2 "--precision auto needs --samples and --max-error" "$whet" tune zoo:mlp --precision auto --samples samples
  refuse 2 "leave out --sizes" "$whet" tune zoo:mlp --sizes batch=1..4 --precision auto --samples samples --max-error 1%
  refuse 2 "any unit of a fleet takes any job" "$whet" tune zoo:mlp --device fleet:x86 --precision auto --samples samples --max-error 1%
  refuse 1 "there are neither errors of this network's layers nor a plan in fewer bits" \
    "$whet" explain precision --model zoo:mlp --records "$source/tests/golden/records.jsonl" --target "cpu -mcpu=znver4 -threads=1"
  local auto=(--precision auto --samples samples --max-error 5%)
  expect 0 "(4 calibrate, 4 are held out)" "$whet" tune zoo:mlp "${auto[@]}" --trials 48 --threads 1 -o r.jsonl --events events.jsonl
  grep -q "^Precision: errors of" out || { cat out; die "nothing is said of errors"; }
  grep -q '"event":"precision".*"by_layer":\[{"layer":' events.jsonl || die "the event has no layers"
  expect 0 "Error alone" "$whet" explain precision --model zoo:mlp --records r.jsonl --threads 1
  expect 0 '"kernels"' "$whet" explain precision --model zoo:mlp --records r.jsonl --threads 1 --json
  expect 0 "" "$whet" report zoo:mlp --records r.jsonl --threads 1 --no-run -o page.html
  grep -q '<section id="precision">' page.html || die "the report has no section on precision"
  # Errors that are known are not measured again.
  expect 0 "Precision: errors of" "$whet" tune zoo:mlp "${auto[@]}" --trials 8 --threads 1 -o r.jsonl
  grep -Eq '^Precision: errors of ([0-9]+) of [0-9]+ layers \(\1 known before\)' out || { cat out; die "errors were measured again"; }
  ! grep -q "that this model does not have" out || { cat out; die "lowered kernels count as another model's"; }
  # Bytes everywhere, on every processor.
  refuse 2 "--precision int8 needs --samples" "$whet" tune zoo:mlp --precision int8
  refuse 2 "--write-quantized counts only with --precision auto or int8" "$whet" tune zoo:mlp --write-quantized q.onnx
  refuse 2 "give one number of threads" "$whet" tune zoo:mlp --precision int8 --samples samples --threads 1,2 --write-quantized q.onnx
  expect 0 "whet compile --precision int8 takes it" "$whet" tune zoo:mlp --precision int8 --samples samples --trials 16 --threads 1 -o int8.jsonl --write-quantized q.onnx
  grep -q "q.onnx: an ONNX file with 2 layers in bytes" out || { cat out; die "no file for other runtimes is told of"; }
  expect 0 "" "$whet" check q.onnx --against zoo:mlp --samples samples --max-error 20%
  # A file that cannot be written is an error: at once where that can be told, else when all is measured.
  refuse 1 '--write-quantized: cannot write "nowhere/q.onnx": No such file or directory' \
    "$whet" tune zoo:mlp --precision int8 --samples samples --trials 16 --threads 1 -o int8.jsonl --write-quantized nowhere/q.onnx
  expect 1 '--write-quantized: cannot write "/dev/full": No space left on device' \
    "$whet" tune zoo:mlp --precision int8 --samples samples --trials 16 --threads 1 -o int8.jsonl --write-quantized /dev/full
  expect 0 "the plan of the records in fewer bits" "$whet" compile zoo:mlp --records int8.jsonl --precision int8 --threads 1 -o int8.so
  expect 0 "--precision int8 takes it" "$whet" compile zoo:mlp --records int8.jsonl --threads 1 -o offered.so
  expect 0 "the records have no plan in fewer bits" "$whet" compile zoo:mlp --records int8.jsonl --precision auto --threads 1 -o none.so
  expect 0 "Every layer that can multiplies bytes" "$whet" explain precision --model zoo:mlp --records int8.jsonl --threads 1
  expect 0 "" "$whet" check int8.so --against zoo:mlp --samples samples --max-error 20%
  # Two libraries of other precisions.
  "$whet" compile zoo:mlp --threads 1 -o f32.so > out
  if ! grep -qw avx512_bf16 /proc/cpuinfo; then echo "no products of bf16 here"; return; fi
  "$whet" compile zoo:mlp --threads 1 --precision bf16 -o bf16.so > out
  "$whet" diff f32.so bf16.so --seconds 0.2 > out || true
  grep -Eq '^  precision: [0-9]+ kernels? f32 -> bf16$' out || { cat out; die "diff does not name the other precision"; }
}

# Over standard input and output of whet-device, as files of the build and as whet carries it.
case_remote() {
  local machine device
  machine=$(uname -m)
  expect 0 "" "$whet" devices list
  grep -q "for $machine:" out || { echo "skipped: this build has no whet-device for $machine"; return 0; }
  refuse 2 'there is no whet-device for "pdp11"' "$whet" devices export pdp11
  "$whet" devices export "$machine" > whet-device
  chmod +x whet-device
  device="exec:XDG_CACHE_HOME=$work/cache exec $work/whet-device --stdio"
  expect 0 "The network, measured alternately" "$whet" tune zoo:mlp --trials 8 --round 4 --no-base --threads 1 -o r.jsonl --device "$device"
  grep -q "records kept" out || die "tune does not end with its last line"
  [ "$(grep -c '"host":' r.jsonl)" -ge 8 ] || die "not all candidates ran on the device"
  expect 0 "from records" "$whet" compile zoo:mlp --records r.jsonl --threads 1 -o m.so
  # What a record base knows is timed there, too.
  sed 's/"seconds":\[[0-9][^]]*\]/"seconds":[1e-06]/; s/"truncated":true/"truncated":false/' r.jsonl > even.jsonl
  "$whet" records pack even.jsonl --model zoo:mlp -o base.jsonl > out
  sed -i 's/"gain":[0-9.]*/"gain":2/g' base.jsonl
  expect 0 "In the first round" "$whet" compile zoo:mlp --threads 1 --quick --base base.jsonl --records quick.jsonl -o quick.so --device "$device"
  grep -q '"host":' quick.jsonl || die "nothing was timed on the device"
  # Limits are those of the machine that timed the kernels: this one, or another, whose unit the records name.
  expect 0 "Limits on this machine, measured now" "$whet" explain task 0 --model zoo:mlp --records r.jsonl --threads 1
  sed 's/"unit":"[0-9a-f]*"/"unit":"00000000000000aa"/' r.jsonl > elsewhere.jsonl
  expect 0 "timed these kernels; --device measures the rates of a device" "$whet" explain task 0 --model zoo:mlp --records elsewhere.jsonl --threads 1
  expect 0 "Limits on $(uname -n) · " "$whet" explain task 0 --model zoo:mlp --records elsewhere.jsonl --threads 1 --device "$device"
  expect 0 "bound what was not measured are unknown" "$whet" explain layout --model zoo:mlp --records elsewhere.jsonl --threads 1
  refuse 2 '--device is "cuda:0"; expected ssh' "$whet" explain task 0 --model zoo:mlp --records r.jsonl --device cuda:0
  expect 0 "-threads=1" "$whet" target --device "$device" --threads 1
  expect 0 '"emulator": ""' "$whet" target --device "$device" --json
  expect 0 "is not emulated" "$whet" doctor --device "$device"
  refuse 2 "--threads is 900" "$whet" tune zoo:mlp --device "$device" --threads 900
  refuse 1 "it has no AArch64 processor" "$whet" tune zoo:mlp --device "$device" --target "cpu -mcpu=cortex-a72"
  refuse 1 "status 127" "$whet" tune zoo:mlp --device "exec:no-such-program"
  refuse 1 "is no whet-device" "$whet" target --device "exec:cat"
  refuse 1 'prints text before whet-device: "hello"' "$whet" doctor --device "exec:echo hello; cat"
  refuse 2 "--device names devices of this machine and of others" "$whet" tune zoo:mlp --device "$device" --device cuda:0

  # Compiled models run there, and their answers come here.
  expect 0 "1 thread on core" "$whet" run m.so --fill random -o there.npz --device "$device"
  expect 0 "1 thread on core" "$whet" run m.so --fill random -o here.npz
  cmp here.npz there.npz || die "the device gives other answers"
  expect 0 "largest magnitude: yes" "$whet" check m.so --against zoo:mlp --device "$device"
  expect 0 "largest magnitude: yes" "$whet" check zoo:squeezenet_v1.1 --image 32 --inner --device "$device" --threads 2
  expect 0 "Execution time summary" "$whet" bench m.so --runs 20 --device "$device"
  expect 0 '"runs": 5' "$whet" profile zoo:mlp --runs 5 --json --device "$device"
  # Samples run where the network is timed.
  if grep -qw avx512_bf16 /proc/cpuinfo; then
    make_samples samples 4
    expect 0 "Precision: errors of" "$whet" tune zoo:mlp --trials 16 --round 4 --no-base --threads 1 -o auto.jsonl --device "$device" --precision auto --samples samples --max-error 5%
    grep -q '"error":{' auto.jsonl || die "no layer's error is in the record file"
  fi
  refuse 2 "--launches is for models that run on a GPU" "$whet" run m.so --fill ones --device "$device" --launches chain
  refuse 2 "--cores names processor 900" "$whet" run m.so --fill ones --device "$device" --cores 900
  refuse 1 "runs code for its processor alone" "$whet" run zoo:mlp --fill ones --device "$device" --target "cuda -arch=sm_80 -sms=108"
  expect 0 "" "$whet" compile zoo:mlp --target "cuda -arch=sm_80 -sms=108" -o gpu.so
  refuse 1 "gpu.so: runs on a GPU" "$whet" run gpu.so --fill ones --device "$device"
  refuse 1 "started with --no-models" "$whet" run m.so --fill ones --device "$device --no-models"

  # Kernels for ranges travel once, with their sizes in each request. The network at its sizes is timed on this machine alone.
  local ranged=(zoo:mlp --sizes batch=1..8 --threads 1)
  expect 0 "Kernels for ranges: " "$whet" tune "${ranged[@]}" --tuning-sizes 2,8 --trials 8 --round 4 --no-base -o ranged.jsonl --device "$device"
  grep -q "for other devices kernels are chosen by their own times" out || { cat out; die "nothing says that the network was not timed"; }
  grep '"range":{"task":' ranged.jsonl | grep -q '"host":' || die "no time of a range is of the device"
  expect 0 "tasks from records" "$whet" compile "${ranged[@]}" --records ranged.jsonl -o ranged.so
  grep -Eq "[1-9][0-9]* of [0-9]+ tasks from records" out || { cat out; die "no task is from records"; }
  expect 0 "largest magnitude: yes" "$whet" check ranged.so --against zoo:mlp

  # A machine that an emulator runs is no device unless one insists, and its records are marked.
  if "$whet" devices export aarch64 > board 2> /dev/null && command -v qemu-aarch64-static > /dev/null; then
    chmod +x board
    device="exec:qemu-aarch64-static -cpu cortex-a76 $work/board --stdio"
    refuse 1 "is emulated by qemu-aarch64-static" "$whet" tune zoo:mlp --device "$device"
    expect 0 "say nothing of a processor" "$whet" tune zoo:mlp --trials 4 --round 4 --tasks 0 --threads 1 -o a.jsonl --device "$device" \
      --allow-emulated
    expect 1 "--allow-emulated takes them" "$whet" compile zoo:mlp --records a.jsonl --target "cpu -mcpu=cortex-a76 -threads=1" -o a.so
    expect 0 "1 of 4 tasks from records" "$whet" compile zoo:mlp --records a.jsonl --target "cpu -mcpu=cortex-a76 -threads=1" -o a.so --allow-emulated
    expect 0 "say nothing of a processor" "$whet" explain task 0 --model zoo:mlp --records a.jsonl --target "cpu -mcpu=cortex-a76 -threads=1"
    expect 1 "qemu-aarch64-static" "$whet" doctor --device "$device"
    local arm=(--target "cpu -mcpu=cortex-a76 -threads=1")
    expect 0 "" "$whet" compile zoo:mlp "${arm[@]}" -o arm.so
    refuse 1 "is emulated by qemu-aarch64-static" "$whet" run arm.so --fill ones --device "$device"
    refuse 1 "named: --model-runner" "$whet" run arm.so --fill ones --device "$device" --allow-emulated
    if [ -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 ]; then
      device="$device --model-runner 'qemu-aarch64-static -cpu cortex-a76 -L /usr/aarch64-linux-gnu'"
      device="exec:XDG_CACHE_HOME=$work/cache ${device#exec:}"
      expect 0 "largest magnitude: yes" "$whet" check arm.so --against zoo:mlp --device "$device" --allow-emulated
      expect 0 "say nothing of a processor" "$whet" bench arm.so --runs 3 --device "$device" --allow-emulated
      refuse 1 "m.so: is compiled for x86-64" "$whet" run m.so --fill ones --device "$device" --allow-emulated
      expect 0 "The network, measured alternately" "$whet" tune zoo:mlp --trials 4 --round 4 --tasks 0 --threads 1 -o b.jsonl \
        --device "$device" --allow-emulated
      expect 0 "Kernels for ranges are not timed on an emulated device" "$whet" tune zoo:mlp --sizes batch=1..8 --tuning-sizes 8 --trials 2 \
        --round 2 --tasks 0 --threads 1 -o c.jsonl --device "$device" --allow-emulated
    fi
  fi
}

# The same over the system's own ssh and sshd on the loopback, where they are installed.
case_ssh() {
  local sshd port pid home
  sshd=$(command -v sshd || ls /usr/sbin/sshd 2> /dev/null) || { echo "skipped: openssh-server is not installed"; return 0; }
  command -v ssh > /dev/null || { echo "skipped: openssh-client is not installed"; return 0; }
  expect 0 "" "$whet" devices list
  grep -q "for $(uname -m):" out || { echo "skipped: this build has no whet-device for $(uname -m)"; return 0; }
  [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
  ssh-keygen -q -t ed25519 -N "" -f host_key
  ssh-keygen -q -t ed25519 -N "" -f user_key
  port=$((20000 + $$ % 20000))
  cat > sshd_config << CONFIG
ListenAddress 127.0.0.1:$port
HostKey $work/host_key
AuthorizedKeysFile $work/authorized
PidFile none
StrictModes no
UsePAM no
SetEnv XDG_CACHE_HOME=$work/cache
CONFIG
  cp user_key.pub authorized
  "$sshd" -D -e -f "$work/sshd_config" 2> sshd.log &
  pid=$!
  trap 'kill '"$pid"'; rm -rf "$work"' EXIT
  for _ in $(seq 100); do grep -q "Server listening" sshd.log && break; sleep 0.1; done
  # What a user has in ~/.ssh/config.
  mkdir bin
  cat > ssh_config << CONFIG
IdentityFile $work/user_key
IdentitiesOnly yes
UserKnownHostsFile $work/known_hosts
StrictHostKeyChecking accept-new
CONFIG
  printf '#!/bin/sh\nexec %s -F %s/ssh_config "$@"\n' "$(command -v ssh)" "$work" > bin/ssh
  chmod +x bin/ssh
  PATH=$work/bin:$PATH
  local device="ssh://$(id -un)@127.0.0.1:$port"
  expect 0 "was copied there" "$whet" target --device "$device" --threads 1
  expect 0 "records kept" "$whet" tune zoo:mlp --trials 8 --round 4 --threads 1 -o r.jsonl --device "$device"
  ! grep -q "was copied there" out || die "whet-device was copied twice"
  expect 0 "" "$whet" compile zoo:mlp --threads 1 -o m.so
  expect 0 "largest magnitude: yes" "$whet" check m.so --against zoo:mlp --device "$device"
  # A key that can measure and nothing else.
  home=$(ls "$work"/cache/whet/device-*)
  echo "restrict,command=\"$home --stdio\" $(cat user_key.pub)" > authorized
  expect 0 "-threads=1" "$whet" target --device "$device" --threads 1
  rm user_key authorized
  refuse 1 "Permission denied" "$whet" target --device "$device"
  refuse 1 "Connection refused" "$whet" target --device "ssh://127.0.0.1:1"
}

# start_broker PORT: sets `broker` to its process and `port`.
start_broker() {
  rm -f ./*.ports
  nats-server -c lab/server.conf -p "$1" --ports_file_dir "$work" > nats.log 2>&1 &
  broker=$!
  trap 'kill '"$broker ${agent_pid:-}"' 2> /dev/null; rm -rf "$work"' EXIT
  for _ in $(seq 100); do ls ./*.ports > /dev/null 2>&1 && break; sleep 0.1; done
  port=$(grep -o '://[0-9.]*:[0-9]*' ./*.ports | head -1 | sed 's/.*://')
}

# Until the fleet prints TEXT: fleet_comes_to TEXT
fleet_comes_to() {
  for _ in $(seq 200); do
    "$whet" devices fleet --fleet lab/me > out 2>&1 && grep -qE -- "$1" out && return
    sleep 0.1
  done
  cat out agent.log
  die "the fleet does not come to \"$1\""
}

case_fleet() {
  local agent device tuner broker port agent_pid
  mkdir nowhere
  printf 'server tls://127.0.0.1:1\nuser me\nrole tuner\n' > nowhere/fleet
  agent=$(dirname "$whet")/whet-agent
  if [ ! -x "$agent" ]; then
    refuse 1 "this whet was built without libnats" "$whet" tune zoo:mlp --device fleet:x86 --fleet nowhere
    echo "skipped: this build has no whet-agent"
    return 0
  fi
  refuse 1 "nowhere/ca.pem" "$whet" tune zoo:mlp --device fleet:x86 --fleet nowhere
  refuse 1 "no/fleet cannot be read" "$whet" tune zoo:mlp --device fleet:x86 --fleet no
  refuse 2 "any unit of a fleet takes any job" "$whet" tune zoo:mlp --device fleet:x86 --finals pi1
  refuse 2 "or fleet:KEY" "$whet" tune zoo:mlp --device fleet:a.b
  refuse 1 "nowhere/ca.pem" "$whet" run zoo:mlp --fill ones --device fleet:x86 --fleet nowhere
  expect 0 "" "$whet" devices list
  grep -q "for $(uname -m):" out || { echo "skipped: this build has no whet-device for $(uname -m)"; return 0; }
  command -v nats-server > /dev/null || { echo "skipped: nats-server is not installed"; return 0; }
  command -v openssl > /dev/null || { echo "skipped: openssl is not installed"; return 0; }
  mkdir own && echo 'port: 4222' > own/server.conf
  refuse 1 "own/server.conf is there and is not of whet-agent; give another folder, or remove the file" "$agent" --setup own
  grep -qx 'port: 4222' own/server.conf || die "the user's own configuration was replaced"
  expect 0 "nats-server -c $work/lab/server.conf" "$agent" --setup lab --user me
  start_broker -1
  sed -i "s/:4222/:$port/" lab/*/fleet
  refuse 1 "its streams are missing" "$whet" devices fleet --fleet lab/me
  expect 0 "units of x86 can join" "$agent" --join lab --key x86
  expect 0 "No unit is in the fleet" "$whet" devices fleet --fleet lab/me
  refuse 1 "has no unit of the key x86 just now" "$whet" tune zoo:mlp --device fleet:x86 --fleet lab/me
  "$whet" devices export "$(uname -m)" > whet-device
  chmod +x whet-device
  device="exec:exec $work/whet-device --stdio"
  "$agent" --join lab --key x86 --device "$device" --device "$device" > agent.log 2>&1 &
  agent_pid=$!
  trap 'kill '"$broker $agent_pid"' 2> /dev/null; rm -rf "$work"' EXIT
  fleet_comes_to "-2 .*idle"
  expect 0 "records kept" "$whet" tune zoo:mlp --trials 12 --round 4 --no-base --threads 1 -o r.jsonl --device fleet:x86 --fleet lab/me
  grep -qE "\| +[0-9]+% \| [A-Za-z0-9]+ [0-9]+% +\|" out || { cat out; die "nothing says which limit holds a task in the fleet"; }
  grep -q "^The network, measured alternately" out || { cat out; die "the network was not timed in the fleet"; }
  grep -q "^| *Unit  *|  *Jobs | Candidates | Failed | Lost | Its times |" out || die "nothing says which unit answered how many jobs"
  [ "$(grep -c '"host":"fleet:x86' r.jsonl)" -ge 12 ] || die "not all candidates ran in the fleet"
  expect 0 "-threads=1" "$whet" target --device fleet:x86 --fleet lab/me --threads 1
  expect 0 "is not emulated" "$whet" doctor --device fleet:x86 --fleet lab/me
  refuse 1 "it has some of x86" "$whet" doctor --device fleet:pi5 --fleet lab/me
  expect 0 "Kernels for ranges: " "$whet" tune zoo:mlp --sizes batch=1..8 --tuning-sizes 2,8 --trials 8 --round 4 --no-base --threads 1 -o ranged.jsonl \
    --device fleet:x86 --fleet lab/me
  grep '"range":{"task":' ranged.jsonl | grep -q '"host":"fleet:x86' || die "no time of a range is of the fleet"
  # Compiled models run on one of its units, which gets their files by the broker, with and without made weights.
  local in_fleet=(--device fleet:x86 --fleet lab/me)
  expect 0 "" "$whet" run zoo:mlp --fill ones --threads 1 "${in_fleet[@]}" -o there.npz
  expect 0 "" "$whet" run zoo:mlp --fill ones --threads 1 -o here.npz
  cmp here.npz there.npz || die "a unit of the fleet gives other answers"
  expect 0 "median (ms)" "$whet" bench zoo:mlp --threads 1 --records r.jsonl --seconds 0.1 "${in_fleet[@]}"
  expect 0 "" "$whet" check zoo:mlp --threads 1 "${in_fleet[@]}"
  expect 0 "" "$whet" profile zoo:mlp --threads 1 "${in_fleet[@]}"
  expect 0 "" "$whet" compile zoo:resnet-18 --image 32 --threads 1 --weights seed -o made.so
  expect 0 "median (ms)" "$whet" bench made.so --seconds 0.1 "${in_fleet[@]}"
  refuse 1 "it has some of x86" "$whet" bench made.so --device fleet:pi5 --fleet lab/me

  # The broker is killed while a tuner runs, then the tuner.
  "$whet" tune zoo:resnet-18 --image 32 --threads 1 -o killed.jsonl --device fleet:x86 --fleet lab/me > tune.out 2>&1 &
  tuner=$!
  wait_for_lines killed.jsonl 4 "$tuner"
  kill -KILL "$broker"
  wait "$broker" 2> /dev/null || true
  start_broker "$port"
  wait_for_lines killed.jsonl 40 "$tuner"
  kill -KILL "$tuner"
  wait "$tuner" 2> /dev/null || true
  ! grep -q "device_lost" killed.jsonl || die "the broker's death cost candidates"
  expect 0 "records kept" "$whet" tune zoo:resnet-18 --image 32 --threads 1 --trials 20 -o killed.jsonl --device fleet:x86 --fleet lab/me --priority low
  # What the dead tuner left is dropped.
  fleet_comes_to "hi 0 waiting, 0 taken.*lo 0 waiting, 0 taken"
  kill -TERM "$agent_pid"
  wait "$agent_pid" || die "the agent did not end well"
  fleet_comes_to "No unit is in the fleet"
}

case_explained() {
  expect 0 "GFLOPS" "$whet" explain metrics
  expect 0 "line a round" "$whet" explain progress
  expect 0 "wrong_answer" "$whet" explain error 5
  refuse 2 "is no outcome" "$whet" explain error 99
  expect 0 "channels last" "$whet" explain layout --model "${ppocr[@]:0:3}"
  expect 0 "chosen" "$whet" explain layout p2o.Conv.0 --model "${ppocr[@]:0:3}"
  refuse 2 'did you mean "p2o.Conv.0"' "$whet" explain layout p2o.Conv0 --model "${ppocr[@]:0:3}"
  local model=(zoo:mlp --batch 2)
  expect 0 '"held_by"' "$whet" tune "${model[@]}" --trials 12 --round 4 --no-base --no-network -o r.jsonl --scheduler round-robin --json
  grep -q '"held_by": "[A-Za-z0-9]' out || die "nothing holds any task"
  expect 0 "Next: whet explain candidate" "$whet" explain task 0 --model "${model[@]}" --records r.jsonl
  local id
  id=$(sed -n 's/^Next: whet explain candidate \([0-9a-f]*\).*/\1/p' out)
  expect 0 "bytes of code, " "$whet" explain candidate "$id" --model "${model[@]}" --records r.jsonl --code
  refuse 2 "r.jsonl" "$whet" explain candidate ffffffffffffffff --model "${model[@]}" --records r.jsonl
  refuse 2 "no records are given" "$whet" explain candidate 0183f --model "${model[@]}"
  refuse 2 "is no task of this model" "$whet" explain task 99 --model "${model[@]}" --records r.jsonl
  refuse 1 "nowhere.onnx" "$whet" explain task 0 --model nowhere.onnx --records r.jsonl
  expect 0 "dense" "$whet" records show r.jsonl
  expect 0 "$id" "$whet" records best r.jsonl
}

case_settings() {
  refuse 2 "expected a number of threads, or several" "$whet" tune zoo:mlp --threads 1,x
  if [ "$(nproc)" -ge 2 ]; then
    expect 0 "| 2 threads |" "$whet" tune zoo:mlp --trials 8 --round 4 --threads 1,2 --no-network -o threads.jsonl
  fi
  expect 0 "records kept" "$whet" tune zoo:mlp --trials 6 --round 4 --no-base -o r.jsonl --repeat 3 --number 3 --min-repeat-ms 0.1 --no-network
  # Those that were compared have the two figures of that, or one.
  grep -q '"seconds":\[[^],]*,[^],]*,[^],]*\]' r.jsonl || die "--repeat 3 leaves no three means"
  sed -n '1,2 s/"v":1/"v":99/p' r.jsonl > newer.jsonl
  expect 0 "newer.jsonl" "$whet" tune zoo:mlp --trials 4 --round 4 -o newer.jsonl -q --no-network
  local place
  for place in "compile zoo:mlp -o m.so" "run m.so --fill ones" "bench m.so --runs 3" "run zoo:mlp --fill ones -q"; do
    # shellcheck disable=SC2086  # words
    expect 0 "1 threads: WHET_NUM_THREADS says so" env WHET_NUM_THREADS=1 "$whet" $place
  done
  refuse 2 "only with --repeat" "$whet" tune zoo:mlp --number 3
  expect 0 "" "$whet" compile zoo:resnet-18 --image 32 -o large.so
  # Weights of 48 MB with 45 MB to write to: they fit where they are mapped. The sanitizers would not fit.
  if ! grep -q __asan_init "$whet"; then
    (
      ulimit -d 45000
      expect 1 "bytes of weights" "$whet" run large.so --fill ones --threads 1
      expect 0 "f32" "$whet" run large.so --fill ones --threads 1 --map-weights
    )
  fi
  "$whet" doctor --json > doctor.json || true  # this machine may well be busy
  grep -q '"what": "governor"' doctor.json || die "the doctor looked at no governor"
  refuse 2 "--tasks names task 99" "$whet" tune zoo:mlp --tasks 99
  refuse 2 "--threads is 900" "$whet" tune zoo:mlp --threads 900
}

case_installed() {
  expect 0 "whet-config.cmake" cmake --install "$(dirname "$(dirname "$whet")")" --prefix "$work/installed"
  expect 0 "default schedules" "$work/installed/bin/whet" compile zoo:mlp -o model.so
  mkdir consumer
  cp "$source/examples/run_model.c" consumer/main.c
  cat > consumer/CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(whet REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE whet::model)
CMAKE
  expect 0 "" cmake -S consumer -B consumer/build -DCMAKE_PREFIX_PATH="$work/installed"
  expect 0 "" cmake --build consumer/build
  expect 0 "in all, the fastest of 3 runs" consumer/build/consumer model.so 3
  # The same for who tunes: the library finds the program in the bin beside its folder. The sanitizers' functions are in programs alone.
  ! grep -q __asan_init "$whet" || return 0
  mkdir tuner
  cp "$source/examples/tune_model.cc" tuner/main.cc
  cat > tuner/CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(tuner CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(whet REQUIRED)
add_executable(tuner main.cc)
target_link_libraries(tuner PRIVATE whet::tuner)
CMAKE
  expect 0 "" cmake -S tuner -B tuner/build -DCMAKE_PREFIX_PATH="$work/installed"
  expect 0 "" cmake --build tuner/build
  expect 0 "ms are hoped for" tuner/build/tuner zoo:mlp tuned.so 1
  expect 0 "in all, the fastest of 3 runs" consumer/build/consumer tuned.so 3
}

# Weights in a file of their own, and other ones for the same library and archive.
weights_apart() {
  expect 0 "next: whet bench apart.so --weights-file apart.weights" "$whet" compile zoo:mlp -o apart.so --weights-file apart.weights
  [ "$(stat -c %s apart.so)" -lt 200000 ] || die "the library has its weights"
  refuse 1 "its weights are in a file of their own; open it with that file" "$whet" run apart.so --fill ones
  expect 0 "" "$whet" check apart.so --weights-file apart.weights --against zoo:mlp
  cp apart.so before.so
  expect 0 "its code is as it was" "$whet" compile zoo:mlp --seed 7 --weights-only --like apart.so -o seven.weights
  cmp apart.so before.so || die "other weights changed the library"
  expect 0 "" "$whet" check apart.so --weights-file seven.weights --against zoo:mlp --seed 7
  expect 1 "of the largest magnitude: no" "$whet" check apart.so --weights-file seven.weights --against zoo:mlp
  expect 0 "" "$whet" compile zoo:mlp --batch 2 -o two.so --weights-file two.weights
  refuse 1 "two.weights: belongs to another compile of mlp" "$whet" run apart.so --fill ones --weights-file two.weights
  head -c 100000 apart.weights > cut.weights
  refuse 1 "cut.weights: has 100000 bytes; its header says" "$whet" run apart.so --fill ones --weights-file cut.weights
  refuse 1 "is not the model of apart.so: its input is" "$whet" compile zoo:mlp --batch 2 --weights-only --like apart.so -o none.weights
  refuse 1 "one.so: has its weights inside" "$whet" compile zoo:mlp --weights-only --like one.so -o none.weights
  [ ! -e none.weights ] || die "weights that are refused were written"
  refuse 1 "has its weights inside" "$whet" run one.so --fill ones --weights-file apart.weights
  refuse 2 "--weights-only needs --like LIBRARY" "$whet" compile zoo:mlp --weights-only -o none.weights
  refuse 2 "--like is for --weights-only" "$whet" compile zoo:mlp --like apart.so -o none.so
  refuse 2 "were chosen with the weights of then" "$whet" compile zoo:mlp --weights-only --like apart.so --precision bf16 -o none.weights
  # What rounds is judged by data.
  expect 0 "" "$whet" compile zoo:mlp --precision f16 -o half.so --weights-file half.weights
  printf '\0\0\200\077\0\0\0\077%.0s' $(seq 392) | npy '<f4' '(1, 784)' > sample.npy
  local half=("$whet" compile zoo:mlp --seed 7 --precision f16 --weights-only --like half.so -o seven_half.weights)
  refuse 2 "give --samples and --max-error" "${half[@]}"
  refuse 2 "--samples counts only with --max-error" "${half[@]}" --samples sample.npy
  refuse 1 "they are not written" "${half[@]}" --samples sample.npy --max-error 'abs<=0'
  [ -z "$(ls | grep seven_half)" ] || die "weights that err were written"
  expect 0 "its code is as it was" "${half[@]}" --samples sample.npy --max-error 1%
  expect 0 "within the limits" "$whet" check half.so --weights-file seven_half.weights --against zoo:mlp --seed 7 --samples sample.npy --max-error 1%
  refuse 2 "judge the weights of --weights-only" "$whet" compile zoo:mlp --samples sample.npy --max-error 1% -o none.so
  refuse 2 "--weights-file is for a library" "$whet" run zoo:mlp --fill ones --weights-file apart.weights
  refuse 1 "which this command reads; give it another name" "$whet" compile zoo:mlp --weights-only --like apart.so -o apart.so
  expect 0 "" "$whet" compile zoo:mlp -o libapart.a --header apart.h --weights-file archive.weights
  cat > apart.c << 'C'
#define _GNU_SOURCE
#include <stdio.h>
#include "apart.h"
int main(void) {
  static float in[784], out[10];
  whet_model* model;
  whet_session* session;
  whet_error error;
  if (apart_open("archive.weights", &model, &session, &error) != 0 || apart_run(session, in, out, &error) != 0) return puts(error.message), 1;
  return puts("the archive runs by its weights file"), 0;
}
C
  cc -std=c99 -Wall -Werror -I"$source/include" apart.c libapart.a -ldl -o apart || die "an archive without weights is not linked"
  expect 0 "the archive runs by its weights file" ./apart
  expect 0 "" "$whet" compile zoo:mlp -o code.so --dump-code code.s
  grep -q "^# 0 " code.s && grep -q "vfmadd\|mulps\|fmla" code.s || die "the listing has no instructions"
  expect 0 "" "$whet" compile zoo:mlp -o code.so --dump-code code.ll
  grep -q "^define " code.ll || die "the listing has no IR"
  refuse 2 "--dump-code is for processors" "$whet" compile zoo:mlp --target "cuda -model=h100" -o gpu.so --dump-code code.ll
}

# An operator in whet's notation is a model of every command, of one size and of a range.
case_own_operator() {
  cat > matmul.dag << 'DAG'
# C = A B + C, without a role
A = PLACEHOLDER [24, 32]
B = PLACEHOLDER [32, 16]
C = PLACEHOLDER [24, 16]
matmul(i, j) += (A[i, k]*B[k, j]) for i in 24, j in 16, k in 32
out(i, j) = (matmul[i, j] + C[i, j]) for i in 24, j in 16
return out
DAG
  expect 0 "# matmul i:row j:out_channel k:in_channel" "$whet" tasks matmul.dag --dag
  expect 0 "tile+pack" "$whet" space matmul.dag --task 0
  expect 0 "records kept in matmul.jsonl" "$whet" tune matmul.dag --trials 8 --round 4 --report tuned.html
  expect 0 "1 of 1 task from records" "$whet" compile matmul.dag --records matmul.jsonl -o matmul.so --dump-code matmul.ll
  expect 0 "f32[24x16]" "$whet" run matmul.so --fill ones -o ones.npy
  expect 0 "    33 at [0, 0]" "$whet" run matmul.dag --fill ones --print-top 1
  expect 0 "largest magnitude: yes" "$whet" check matmul.so --against matmul.dag
  expect 0 "largest magnitude: yes" "$whet" check matmul.dag --records matmul.jsonl --against matmul.dag
  expect 0 "inferences/s" "$whet" bench matmul.dag --records matmul.jsonl --runs 5 --warmup 0
  expect 0 "matmul" "$whet" profile matmul.so --runs 5
  expect 0 "" "$whet" report matmul.dag --records matmul.jsonl -o matmul.html
  expect 0 "GFLOPS" "$whet" explain task 0 --model matmul.dag --records matmul.jsonl
  expect 0 "then fused into 1 group" "$whet" explain passes --model matmul.dag
  expect 0 "Good for this machine" "$whet" repro matmul.jsonl --model matmul.dag --within 1000 --best 1
  expect 0 "pairs measured alternately" "$whet" diff matmul.so matmul.so --seconds 0.2 --threshold 1000
  expect 0 '"recorded":true' "$whet" serve matmul.dag -o served.jsonl <<< '{"id": 1, "do": "measure", "task": 0, "candidates": [{"steps": ""}]}'
  sed 's/^A = /N = SIZE 1..64 at 24\nA = /; s/\[24, /[N, /; s/i in 24/i in N/' matmul.dag > sized.dag
  expect 0 "N" "$whet" sizes sized.dag
  expect 0 "The library is for all sizes that the file allows, A.0=1..64" "$whet" compile sized.dag --quick=20 -o bounded.so
  grep -q "Kernels for ranges: " out || { cat out; die "--quick timed no kernel of the sizes that the file bounds"; }
  expect 0 "The library is for all sizes that the file allows, A.0=1..64" "$whet" compile sized.dag -o bounded.so
  expect 0 "f32[64x16]" "$whet" run bounded.so --shape A=64x32 --shape C=64x16 --fill ones
  expect 0 "" "$whet" compile sized.dag --sizes N=1..64 -o sized.so
  expect 0 "f32[7x16]" "$whet" run sized.so --shape A=7x32 --shape C=7x16 --fill ones
  expect 0 "largest magnitude: yes" "$whet" check sized.so --against sized.dag
  sed 's/\[24, /[N, /; s/i in 24/i in N/' matmul.dag > open.dag
  expect 0 "f32[5x16]" "$whet" run open.dag --shape A=5x32 --fill ones
  expect 0 "" "$whet" compile open.dag --sizes N=1..40 -o open.so
  expect 0 "largest magnitude: yes" "$whet" check open.so --against open.dag
  expect 1 "no value for size N; give --shape A=Nx32 or --shape C=Nx16" "$whet" tasks open.dag
  sed 's/B = PLACEHOLDER \[32/B = PLACEHOLDER [31/' matmul.dag > wrong.dag
  refuse 1 "wrong.dag" "$whet" tasks wrong.dag
}

# Two archives in one program answer as the libraries do.
case_archives() {
  expect 0 "calls whet_one_v1" "$whet" compile zoo:mlp -o libone.a --header one.h
  expect 0 '"symbol": "whet_other_v1"' "$whet" compile zoo:mlp --seed 7 --batch 2 -o lib2.a --name other --header other.h --json
  expect 0 "" "$whet" compile zoo:mlp -o one.so
  expect 0 "" "$whet" compile zoo:mlp --seed 7 --batch 2 -o other.so
  cat > main.c << 'C'
#define _GNU_SOURCE
#include <stdio.h>
#include "one.h"
#include "other.h"

static int differs(const char* path, const float* in, const float* out, size_t bytes) {
  whet_library library;
  whet_error error;
  whet_model* model;
  whet_session* session;
  if (whet_library_open(path, 0, &library, &error) != 0 || library.api->model_open(NULL, &model, &error) != 0 ||
      library.api->session_create(model, NULL, &session, &error) != 0 ||
      library.api->session_set_input(session, 0, in, NULL, &error) != 0 || library.api->session_run(session, &error) != 0)
    return puts(error.message), 1;
  return memcmp(library.api->session_output(session, 0), out, bytes) != 0;
}

int main(void) {
  static float in[2 * 784], one_out[10], other_out[20];
  whet_model *one, *other;
  whet_session *one_session, *other_session;
  whet_error error;
  int i;
  for (i = 0; i < 2 * 784; ++i) in[i] = (float)(i % 17) / 17;
  if (one_open(&one, &one_session, &error) != 0 || other_open(&other, &other_session, &error) != 0 ||
      one_run(one_session, in, one_out, &error) != 0 || other_run(other_session, in, other_out, &error) != 0)
    return puts(error.message), 1;
  if (differs("one.so", in, one_out, sizeof one_out) || differs("other.so", in, other_out, sizeof other_out)) return puts("differs"), 1;
  return puts("both answer as the libraries"), 0;
}
C
  cc -std=c99 -Wall -Werror -I"$source/include" main.c libone.a lib2.a -ldl -o main || die "two archives in one program are not linked"
  expect 0 "both answer as the libraries" ./main
  cc -std=c99 -I"$source/include" -Wl,--gc-sections main.c lib2.a libone.a -ldl -o small || die "unused sections of archives cannot be left out"
  expect 0 "both answer as the libraries" ./small
  cc -std=c99 -static -I"$source/include" -Wl,--gc-sections main.c lib2.a libone.a -o whole 2> out || { cat out; die "archives are not linked statically"; }
  mkdir nothing  # both have run before the library is looked for, which a static program may not open
  expect 1 "one.so" env -C nothing ../whole
  if command -v musl-gcc > out; then
    musl-gcc -std=c99 -static -I"$source/include" main.c lib2.a libone.a -o with_musl 2> out || { cat out; die "archives are not linked with musl"; }
    expect 1 "one.so" env -C nothing ../with_musl
  fi
  [ "$(nm --defined-only -g libone.a | grep -c ' [A-Z] ')" -eq 1 ] || { nm -g libone.a; die "an archive shows more than one symbol"; }
  expect 0 "calls whet_one_v1" "$whet" compile zoo:mlp -o libone.a --header one.h
  if command -v rustc > out; then
    rustc -O "$source/examples/run_archive.rs" -L . -l static=one -o rust 2> out || { cat out; die "Rust does not link an archive"; }
    expect 0 "10 scores, whose sum is 1.000" ./rust
  fi
  weights_apart
  refuse 2 "--name is \"2\"; expected a name of C" "$whet" compile zoo:mlp -o lib2.a
  refuse 2 "--name and --header are of static archives" "$whet" compile zoo:mlp -o m.so --name m
  refuse 2 "static archives are for processors" "$whet" compile zoo:mlp --target "cuda -model=h100" -o libm.a
  printf '!<arch>\n' > libmine.a
  refuse 1 "which is there and is no compiled model" "$whet" compile zoo:mlp -o libmine.a
}

case_resume() {
  expect 0 "" "$whet" tune zoo:mlp --trials 8 --round 4 --no-base --no-network -o r.jsonl --json
  local before
  before=$(wc -l < r.jsonl)
  expect 0 '"trials": 8' "$whet" tune zoo:mlp --trials 8 --round 4 --no-base --no-network --seed 3 -o r.jsonl --json
  grep -q '"reused": [1-9]' out || die "nothing was reused"
  [ "$(wc -l < r.jsonl)" -ge $((before + 8)) ] || die "the second run left $(($(wc -l < r.jsonl) - before)) records"
}

case_interrupt() {
  "$whet" tune zoo:resnet-18 --image 32 --no-base -o r.jsonl > tune.out 2>&1 &
  local tuner=$!
  wait_for_lines r.jsonl 8 "$tuner"
  kill -INT "$tuner"
  local code=0
  wait "$tuner" || code=$?
  [ "$code" -eq 130 ] || { cat tune.out; die "^C ended with $code, expected 130"; }
  grep -q "records kept in r.jsonl" tune.out || die "^C does not say where the records are"
  nothing_twice r.jsonl
  expect 0 "" "$whet" records stats r.jsonl
}

case_killed() {
  "$whet" tune zoo:resnet-18 --image 32 -o r.jsonl > tune.out 2>&1 &
  local tuner=$!
  wait_for_lines r.jsonl 8 "$tuner"
  kill -KILL "$tuner"
  wait "$tuner" 2> /dev/null || true
  expect 0 "" "$whet" records stats r.jsonl
  head -c -7 r.jsonl > torn.jsonl && mv torn.jsonl r.jsonl
  expect 0 "records kept in r.jsonl" "$whet" tune zoo:resnet-18 --image 32 --trials 10 --no-network -o r.jsonl
  for _ in $(seq 1 300); do
    still_here || return 0
    sleep 0.1
  done
  die "processes of the killed tuner live on"
}

case_bad_input() {
  refuse 2 'did you mean "tune"' "$whet" tnue
  refuse 2 'did you mean "--trials"' "$whet" tune zoo:mlp --trails 5
  refuse 2 'did you mean "random"' "$whet" run zoo:mlp --fill randon
  refuse 2 '-mcpu is "haswel"' "$whet" tasks zoo:mlp --target "cpu -mcpu=haswel"
  refuse 2 "--shape" "$whet" tasks zoo:mlp --shape data=1x
  refuse 1 "nowhere.onnx" "$whet" tasks nowhere.onnx
  refuse 1 'it has resnet-18' "$whet" tasks zoo:resnet-8
  head -c 200000 "$models/blazeface_front.onnx" > cut.onnx
  refuse 1 "cut.onnx" "$whet" compile cut.onnx -o cut.so
  [ ! -e cut.so ] || die "a library was left of a broken model"
  printf 'no model at all' > text.onnx
  refuse 1 "text.onnx" "$whet" tasks text.onnx
  printf 'no model at all' > text.so
  refuse 1 "text.so" "$whet" run text.so --fill ones
  refuse 1 "is missing" "$whet" run zoo:mlp
  refuse 1 "the model takes" "$whet" run zoo:mlp --input "$models/ppocr_cls.out.npy"
  refuse 1 "no.jsonl" "$whet" compile zoo:mlp --records no.jsonl -o m.so
  refuse 2 "--threads" "$whet" bench zoo:mlp --threads 0
  refuse 1 "" "$whet" compile zoo:mlp -o /proc/no/such/place.so
  refuse 1 "standard output cannot be written: No space left on device" bash -c "'$whet' zoo list > /dev/full"
  refuse 1 "standard output cannot be written" bash -c "'$whet' tasks zoo:resnet-18 --dag > /dev/full"
  refuse 1 "standard output cannot be written" bash -c "'$whet' --help > /dev/full"
}

case_zoo() {
  expect 0 "zoo:resnet-18" "$whet" zoo list
  expect 0 "mlp.onnx" "$whet" zoo export mlp -o mlp.onnx
  expect 0 "" "$whet" tasks mlp.onnx
  expect 0 "largest magnitude: yes" "$whet" check mlp.onnx --against zoo:mlp --fill random
  for network in "squeezenet_v1.1 --image 64" bert-mini lstm; do
    expect 0 "largest magnitude: yes" "$whet" check zoo:$network --fill random
  done
  expect 0 "cpu -mcpu=" "$whet" target --no-measure
}

"case_$case_name"
