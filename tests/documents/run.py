"""Runs the code blocks of a document in their order, in an empty folder: shell by bash, Python in this process, C and C++ as programs with
the headers of include/. Blocks of C and C++ without a main function are parts of one program a language, which is run last. The time
that a document gives to `whet tune` is 8 trials here, and the network is not compared, so that a busy machine makes no difference.
tests/documents/blocks.py has what the blocks are.
  run.py DOCUMENT WHET SOURCE_DIR
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import blocks  # noqa: E402

# In place of a time; the network stays where it is asked for.
FEW_TRIALS = """#!/bin/sh
if [ "$1" = tune ]; then
  is_time= few= whole=
  for word; do
    shift
    [ -z "$is_time" ] || word=8
    is_time=
    case $word in
      --seconds | --minutes) word=--trials is_time=yes few=--no-network ;;
      auto | int8 | --no-network) whole=yes ;;
    esac
    set -- "$@" "$word"
  done
  [ -n "$whole" ] || set -- "$@" $few
fi
exec "{whet}" "$@"
"""


def is_there(need):
    """Whether this machine has a Python module, a program, or an instruction set."""
    flags = re.search(r"^flags\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return need in (flags[1].split() if flags else []) or shutil.which(need) is not None or importlib.util.find_spec(need) is not None


class Runner:
    def __init__(self, document, whet, source):
        self.document, self.whet, self.source = document, whet, source
        self.names = {}  # of Python
        self.parts = {"c": [], "cpp": []}  # of programs, of all blocks without a main function

    def shell(self, text):
        subprocess.run(["bash", "-euxo", "pipefail", "-c", text], check=True)

    def console(self, text):
        self.shell("\n".join(line[2:] for line in text.splitlines() if line.startswith("$ ")))

    def python(self, text, line):
        lines = "\n" * (line - 1)  # so that a traceback has the document's
        exec(compile(lines + text, self.document.name, "exec"), self.names)

    def program(self, language, text, standard, *options):
        name = f"program.{language}"
        Path(name).write_text(text)
        compiler = os.environ.get("CXX", "c++") if language == "cpp" else os.environ.get("CC", "cc")
        folder = self.whet.parent  # where the build has libwhet.so
        library = [f"-L{folder}", "-lwhet", f"-Wl,-rpath,{folder}"] if "whet/tuner.hpp" in text else []
        subprocess.run([compiler, f"-std={standard}", "-Wall", "-Werror", *options, "-I", self.source / "include", name, "-o", "program", *library,
                        "-ldl", "-lm"], check=True)
        subprocess.run(["./program"], check=True)

    def program_of_parts(self, language):
        parts = "".join(self.parts[language])
        if not parts:
            return
        print(f"== the program of all parts in {language}", flush=True)
        includes = re.findall(r"^#include .*\n", parts, re.MULTILINE)
        body = re.sub(r"^#include .*\n", "", parts, flags=re.MULTILINE)
        text = f"{''.join(includes)}int main() {{\n{body}return 0;\n}}\n"
        self.program(language, text, "c++20" if language == "cpp" else "gnu11", "-Wno-unused")

    def run(self, block):
        if block.language == "sh":
            self.shell(block.text)
        elif block.language == "console":
            self.console(block.text)
        elif block.language == "python":
            self.python(block.text, block.line)
        elif not re.search(r"\bmain\(", block.text):
            self.parts[block.language].append(block.text)
        else:
            self.program(block.language, block.text, "c++17" if block.language == "cpp" else "gnu99", "-Wextra")

    def run_all(self):
        document = blocks.read(self.document.read_text())
        tried = [block for block in document.blocks if block.is_run]
        assert tried, f"{self.document} has no code blocks"
        for block in tried:
            print(f"== {self.document.name}:{block.line}, {block.language}", flush=True)
            missing = [need for need in block.needs if not is_there(need)]
            if missing:
                print(f"skipped: it needs {', '.join(missing)}")
            else:
                self.run(block)
        for language in self.parts:
            self.program_of_parts(language)


def main():
    document, whet, source = (Path(word).resolve() for word in sys.argv[1:])
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: python3-numpy is missing; scripts/bootstrap installs it")
        return 77
    sys.path.insert(0, str(source / "python"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("bin").mkdir()
        wrapper = Path("bin/whet").resolve()
        wrapper.write_text(FEW_TRIALS.format(whet=whet))
        wrapper.chmod(0o755)
        os.environ["PATH"] = f"{folder}/bin:{whet.parent}:{os.environ['PATH']}"
        os.environ["WHET"] = str(wrapper)
        os.environ["WHET_SOURCE"] = str(source)
        import whet as package
        warnings.simplefilter("ignore", package.Note)
        try:
            Runner(document, whet, source).run_all()
        except Exception:
            traceback.print_exc()
            return 1
        finally:
            os.chdir("/")
    return 0


sys.exit(main())
