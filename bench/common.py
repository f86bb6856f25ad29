"""What the programs of this folder share that are written in Python."""
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "release" / "bin"
WHET = BIN / "whet"


def fail(sentence):
    sys.exit(f"bench/{Path(sys.argv[0]).name}: {sentence}")


def run(*command):
    result = subprocess.run([str(word) for word in command], text=True, capture_output=True)
    if result.returncode != 0:
        fail(f"{' '.join(str(word) for word in command[:3])} failed: {(result.stderr or result.stdout).strip()[-300:]}")
    return result.stdout


def whet(*words):
    return json.loads(run(WHET, *words, "--json"))


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), os.uname().machine)


def conditions(program=WHET):
    """How, with what, when and on which machine: the head of a JSON file."""
    if not Path(program).exists():
        fail(f"{program} is missing; build the preset release first")
    revision = run("git", "-C", ROOT, "rev-parse", "--short", "HEAD").strip()
    return {"date": datetime.date.today().isoformat(), "revision": revision, "machine": processor(),
            "command": f"bench/{Path(sys.argv[0]).name} " + " ".join(sys.argv[1:]), "load": os.getloadavg()[0]}


def model_file(model, folder):
    return model if model.startswith("zoo:") else str(Path(folder) / f"{model}.onnx")


def with_usual_plan(records, path):
    """The same records, whose last plan is the usual one: without a plan, `whet compile` would solve for one."""
    lines = records.read_text().splitlines()
    last = json.loads([line for line in lines if '"plan":' in line][-1])
    last["plan"]["kernels"] = []
    path.write_text("".join(line + "\n" for line in lines + [json.dumps(last)]))
    return path


def compiled_helper(name):
    """A program of this folder that needs the headers of models alone (common.sh)."""
    script = 'source "$(dirname "$0")/common.sh"; mkdir -p "$work"; compile_helper "$1"; echo "$work/$1"'
    return run("bash", "-c", script, ROOT / "bench/common.sh", name).splitlines()[-1]


def install_onnxruntime():
    """The program that times it, its library and its version (common.sh)."""
    script = ('source "$(dirname "$0")/common.sh"; mkdir -p "$work"; install_onnxruntime; '
              'echo "$onnxruntime"; echo "$onnxruntime_version"')
    lines = run("bash", "-c", script, ROOT / "bench/common.sh").splitlines()
    return [compiled_helper("onnxruntime_latency"), *lines[-2:]]


def pairs_of(first, second, count, seconds=0.5):
    """Ratios first / second of medians of bursts, the two alternately."""
    def burst(library):
        return whet("bench", library, "--seconds", seconds)["median_ms"]
    return [burst(first) / burst(second) for _ in range(count)]


def placement(round_trip_ns):
    """How two cores stand to each other; None: one thread."""
    if round_trip_ns is None:
        return "one"
    return "near" if round_trip_ns <= 200 else "between" if round_trip_ns < 350 else "far" if round_trip_ns <= 700 else "disturbed"


def steady_pairs(probe, pair, count):
    """Results of `pair` that count, `count` at the most, and how many do not: those around which the cores were disturbed, or moved from
    near to far or back. `probe` has their round trip [ns]."""
    kept, tries, before = [], 0, placement(probe())
    while len(kept) < count and tries <= 2 * count:
        result, after = pair(), placement(probe())
        tries += 1
        if "disturbed" not in (before, after) and {before, after} != {"near", "far"}:
            kept.append(result)
        before = after
    return kept, tries - len(kept)
