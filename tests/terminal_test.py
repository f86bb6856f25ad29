"""The tables of commands that measure, on terminals of 80 and 120 columns: no line is wider, and no number is cut.
  terminal_test.py WHET
"""
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "golden"))
from on_terminal import run  # noqa: E402

COMMAND = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # of the terminal's language
CUT_NUMBER = re.compile(r"\d…|…\.?\d+ ")


def lines_of(text):
    return [line for line in COMMAND.sub("", text).replace("\r", "\n").split("\n")]


def check(whet, columns, words, wanted, colours=False):
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    environment.pop("NO_COLOR", None)
    if not colours:
        environment["NO_COLOR"] = "1"
    code, text = run(columns, 24, [whet, *words], environment)
    assert code == 0, (words, text[-500:])
    for line in lines_of(text):
        is_table = line.startswith("|") or line.startswith("Remaining gain")
        assert not is_table or len(line) <= columns, f"{' '.join(words)}: {len(line)} of {columns} columns: {line}"
    for word in wanted:
        assert re.search(word, COMMAND.sub("", text)), (words, word, text[-1500:])
    assert ("\x1b[1m" in text) == colours, (words, "colours")


def main():
    whet = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for columns in (80, 120):
            tune = ["tune", "zoo:resnet-18", "--image", "32", "--no-base", "--trials", "24", "--round", "4", "-o", f"{columns}.jsonl"]
            check(whet, columns, tune, [r"Remaining gain: \d", r"and \d+ more", r"\(GFLOPS\)", r"Sum of weight x latency", r"\| +\d+\.\d{4} \|"])
            check(whet, columns, ["profile", "zoo:mlp", "--runs", "20"], [r"\| +\d+\.\d \| +\d+\.\d% \|"])
            check(whet, columns, ["tasks", "zoo:resnet-18"], [r"237\.6 M", r"12\.6%"])
            check(whet, columns, ["explain", "cover", "--model", "zoo:resnet-18", "--records", f"{columns}.jsonl"], [r"\d+\.\d{4}"])
        check(whet, 80, ["tasks", "zoo:mlp"], ["FLOP"], colours=True)


main()
