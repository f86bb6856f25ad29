"""A precision for each layer of trained networks, under a limit on the answers to samples: bench/precision --auto (bench/README.md)."""
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, WHET, fail, run, steady_pairs, whet

NETWORKS = ["ppocr_cls", "ppocr_rec", "ppocr_det", "blazeface", "mlsd"]  # of bench/base/networks.py, from npm
SAMPLES, UNSEEN = 32, 32
SEEDS = {"samples": 56, "unseen": 5600}
PAUSE = 0.05  # [s], for the threads of a program to stop spinning


def network_file(options, name):
    file = Path(options.models) / f"{name}.onnx"
    if not file.exists():
        run("/usr/bin/python3", ROOT / "bench/base/networks.py", options.models, name)
    return file if file.exists() else fail(f"{name}: {file} is missing, and bench/base/networks.py did not write it")


def draw(name, folder):
    """The samples of both sets as files."""
    files = {}
    for kind, seed in SEEDS.items():
        files[kind] = folder / f"{kind}.npy"
        run("/usr/bin/python3", ROOT / "bench/own_samples.py", name, SAMPLES if kind == "samples" else UNSEEN, seed, files[kind])
    return files


def judged(words, samples, limit):
    """The worst sample's error, and whether the limit is kept."""
    command = [str(word) for word in [WHET, "check", *words, "--samples", samples, "--max-error", limit, "--json"]]
    checked = subprocess.run(command, text=True, capture_output=True)
    if checked.returncode not in (0, 1) or not checked.stdout.strip():
        fail(f"whet check: {(checked.stderr or checked.stdout).strip()[-300:]}")
    found = json.loads(checked.stdout)
    return max(each["measured"] for each in found["limits"]), found["kept"]


def kernels_in(report):
    """How many kernels multiply at which precision."""
    kernels = {}
    for task in report["tasks"]:
        kernels[task["precision"]] = kernels.get(task["precision"], 0) + task["weight"]
    return kernels


class Network:
    """One network: tuned in f32, by limits, and where it keeps one at a uniform precision, each for as long."""

    def __init__(self, options, name, folder):
        self.options, self.name, self.folder = options, name, folder
        self.model = network_file(options, name)
        self.words = [self.model, "--threads", options.threads]
        self.samples = draw(name, folder)
        self.libraries, self.kernels = {}, {}

    def tune(self, name, *more):
        records = self.folder / f"{name}.jsonl"
        return records, whet("tune", *self.words, "--minutes", self.options.minutes, "-o", records, *more)

    def compile(self, name, records, *more):
        self.libraries[name] = self.folder / f"{name}.so"
        self.kernels[name] = kernels_in(whet("compile", *self.words, "--records", records, "-o", self.libraries[name], *more))

    def choose(self, limit):
        """What `whet tune --precision auto` makes of the limit."""
        records, found = self.tune(limit, "--precision", "auto", "--samples", self.samples["samples"], "--max-error", limit)
        precision = found["precision"]
        self.compile(limit, records, *(["--precision", "auto"] if precision["adopted"] else []))
        seconds, measured = 60 * self.options.minutes, precision["measured_error"]
        row = {"limit": limit, "adopted": precision["adopted"], "why_not": precision["why_not"], "layers": precision["layers"],
               "lowered": precision["lowered"], "conversions": precision["conversions"], "choices": precision["choices"],
               "trials": precision["trials"],
               "tightened": precision["tightened"], "share_to_come": precision["share_to_come"],
               "worst_calibration": precision["worst_error"], "worst_held_out": precision["worst_held_out_error"],
               "predicted_by_measured": precision["predicted_error"] / measured if measured > 0 else None,
               "errors_share": precision["errors_seconds"] / seconds,
               "search_share": (precision["errors_seconds"] + precision["verifying_seconds"]) / seconds}
        row["worst_unseen"], row["kept_unseen"] = judged([self.libraries[limit], "--against", self.model], self.samples["unseen"], limit)
        return row

    def uniform(self, limits):
        """bf16 everywhere: its worst sample, and where that keeps a limit its library."""
        worst, _ = judged([*self.words, "--precision", "bf16"], self.samples["samples"], limits[0])
        kept = [limit for limit in limits if worst <= float(limit.rstrip("%")) / 100]
        if kept:
            records, _ = self.tune("bf16", "--precision", "bf16")
            self.compile("bf16", records, "--precision", "bf16")
        return {"worst": worst, "kept": kept}

    def round_trip(self):
        return None if self.options.threads == 1 else json.loads(run(WHET, "target", "--threads", self.options.threads, "--json"))["round_trip_ns"]

    def burst(self):
        times = {}
        for name, library in self.libraries.items():
            time.sleep(PAUSE)
            times[name] = whet("bench", library, "--threads", self.options.threads, "--seconds", self.options.seconds)["median_ms"]
        return times


def auto_rows(options, name, folder):
    """A row a limit."""
    network = Network(options, name, folder)
    records, _ = network.tune("f32")
    network.compile("f32", records)
    rows = [network.choose(limit) for limit in options.limits.split(",")]
    bf16 = network.uniform([row["limit"] for row in rows])
    network.burst()  # pages of all files are read
    rounds, thrown = steady_pairs(network.round_trip, network.burst, options.rounds)
    if not rounds:
        fail(f"{name}: no round counts, since the placement of the cores was disturbed or changed in all")
    for row in rows:
        ratios = [times[row["limit"]] / times["f32"] for times in rounds]
        row.update({"network": name, "samples": SAMPLES, "unseen": UNSEEN, "minutes": options.minutes, "threads": options.threads,
                    "rounds": len(rounds), "thrown": thrown, "kernels": network.kernels[row["limit"]],
                    "ms": {who: statistics.median(times[who] for times in rounds) for who in ("f32", row["limit"])},
                    "by_f32": {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)},
                    "uniform_bf16": {"worst": bf16["worst"], "kept": row["limit"] in bf16["kept"]}})
        if row["uniform_bf16"]["kept"]:
            row["uniform_bf16"]["by_f32"] = statistics.median(times["bf16"] / times["f32"] for times in rounds)
    return rows


def summary(rows):
    """Figures over the networks of a limit: lines for people."""
    lines = []
    for limit in dict.fromkeys(row["limit"] for row in rows):
        own = [row for row in rows if row["limit"] == limit]
        mean = statistics.geometric_mean(row["by_f32"]["median"] for row in own)
        broken = [row["network"] for row in own if row["adopted"] and not row["kept_unseen"]]
        lines.append(f"{limit}: {sum(row['adopted'] for row in own)} of {len(own)} adopted, {mean:.3f} of the f32 time in the geometric mean"
                     f" ({max(row['by_f32']['median'] for row in own):.3f} at most); unseen samples "
                     + (f"break it of {', '.join(broken)}" if broken else "keep it of all that were adopted"))
    return lines


if __name__ == "__main__":
    sys.exit("bench/precision --auto runs this")
