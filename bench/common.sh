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
