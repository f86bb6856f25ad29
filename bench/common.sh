# shellcheck shell=bash
# Shared by the programs of this folder, which source it.
set -euo pipefail
export LC_ALL=C
name=bench/$(basename "$0")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build/bench
load_before=$(cut -d ' ' -f 1 /proc/loadavg)  # what else runs spoils a measurement

# fail SENTENCE
fail() {
  echo "$name: $1" >&2
  exit 1
}

# wrong_use SENTENCE
wrong_use() {
  echo "$name: $1" >&2
  exit 2
}

# Two of these programs at once would measure each other.
alone() {
  mkdir -p "$work"
  exec 9> "$work/lock"
  flock -n 9 || fail "another program of bench/ is running, and would be measured too; wait for it"
}

# Sets `whet` to the program to measure: the one given, else the release build, brought up to date.
find_whet() {
  if [ -n "$whet" ]; then
    [ -x "$whet" ] || fail "--whet $whet is no program"
    whet=$(realpath "$whet")
    given=yes
    return
  fi
  (cd "$root" && cmake --preset release > "$work/build.log" 2>&1 &&
    cmake --build --preset release --target whet >> "$work/build.log" 2>&1) || fail "the build failed; see $work/build.log"
  whet=$root/build/release/bin/whet
}

# json_number KEY: the first number of that key in pretty-printed JSON on standard input; nothing where there is none.
json_number() { sed -n "s/^ *\"$1\": \(-\{0,1\}[0-9][0-9.e+-]*\),\{0,1\}$/\1/p" | sed -n 1p; }

# calc EXPRESSION [FORMAT]: arithmetic, printed with %.6g or the format given.
calc() { awk "BEGIN { printf \"${2:-%.6g}\", $1 }"; }

# The time [s], for differences.
now() { date +%s.%N; }

# What was measured, on what. The revision says nothing of a program given by --whet.
describe_run() {
  local measured="the program given by --whet"
  [ -n "${given:-}" ] || measured="revision $(git -C "$root" rev-parse --short HEAD 2> /dev/null || echo unknown)"
  echo "$(date -u +%Y-%m-%d) · $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | sed -n 1p) · $(nproc) processors, load before $load_before · $measured"
}

# A line where something else ran.
warn_if_busy() { awk -v load="$load_before" 'BEGIN { if (load > 1) print "\nThe machine was busy before (load " load "): the times say little." }'; }

# kind ROUND_TRIP_NS: how the two cores stand to each other.
kind() { awk -v t="$1" 'BEGIN { print t == "" ? "one" : t <= 200 ? "near" : t < 350 ? "between" : t <= 700 ? "far" : "disturbed" }'; }

# placement_text ROUND_TRIP_NS
placement_text() { if [ -z "$1" ]; then echo "one thread"; else echo "$(calc "$1" %.0f) ns ($(kind "$1"))"; fi; }

# steady BEFORE AFTER: neither is disturbed, and the cores did not move from near to far or back.
steady() {
  case "$(kind "$1") $(kind "$2")" in
    *disturbed* | "near far" | "far near") return 1 ;;
  esac
}

# column N FILE FUNCTION: min, max or median of a column.
column() {
  awk -v n="$1" '{ print $n }' "$2" | sort -g | awk -v want="$3" '
    { v[NR] = $1 }
    END { print want == "min" ? v[1] : want == "max" ? v[NR] : (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

# or_null TEXT: a number, or null.
or_null() { if [[ $1 =~ ^[0-9][0-9.e+-]*$ ]]; then echo "$1"; else echo null; fi; }

# print_table: rows of cells, each ended by `|`, the first row the titles, from standard input as an aligned table of Markdown.
print_table() {
  awk -F '|' '
    { for (i = 1; i < NF; ++i) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } n = NF - 1 }
    END {
      for (r = 1; r <= NR; ++r) {
        for (i = 1; i <= n; ++i) printf "| %" (i == 1 ? "-" : "") width[i] "s ", cell[r, i]
        print "|"
        if (r > 1) continue
        for (i = 1; i <= n; ++i) { dashes = sprintf("%" width[i] "s", ""); gsub(/ /, "-", dashes); printf "|%s", i == 1 ? " " dashes " " : " " substr(dashes, 2) ": " }
        print "|"
      }
    }'
}

onnxruntime_version=1.30.0

# Sets `onnxruntime` to its library, installed into the build folder from npm's package.
install_onnxruntime() {
  local folder=$work/onnxruntime-$onnxruntime_version machine
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) fail "there is no ONNX Runtime package for a processor of type $(uname -m)" ;;
  esac
  if [ ! -f "$folder/complete" ]; then
    command -v npm > /dev/null || fail "npm is missing; ONNX Runtime comes from its package onnxruntime-node"
    mkdir -p "$folder"
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund "onnxruntime-node@$onnxruntime_version" \
      > "$work/npm.log" 2>&1 || fail "ONNX Runtime could not be installed; see $work/npm.log"
    touch "$folder/complete"
  fi
  onnxruntime=$(find "$folder" -path "*/linux/$machine/libonnxruntime.so*" | sed -n 1p)
  [ -n "$onnxruntime" ] || fail "onnxruntime-node@$onnxruntime_version holds no library for linux/$machine"
}

# compile_helper NAME: bench/NAME.cc into the build folder, a program that needs the headers of models alone.
compile_helper() {
  local source
  for source in "$root/bench/$1.cc" "$root"/bench/*.h; do
    [ "$work/$1" -nt "$source" ] && continue
    "${CXX:-c++}" -std=c++20 -O2 -I "$root/include" "$root/bench/$1.cc" -o "$work/$1" -ldl -pthread
    break
  done
}
