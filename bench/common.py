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


def pairs_of(first, second, count, seconds=0.5):
    """Ratios first / second of medians of bursts, the two alternately."""
    def burst(library):
        return whet("bench", library, "--seconds", seconds)["median_ms"]
    return [burst(first) / burst(second) for _ in range(count)]
