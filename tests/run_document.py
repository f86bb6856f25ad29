"""Runs the code blocks of a document in their order, in an empty folder: `sh` by bash, `python` in this process, `cpp` as a C++17 program
with the headers of include/.
  run_document.py DOCUMENT WHET SOURCE_DIR
"""
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path


def run_cpp(text, source):
    Path("program.cc").write_text(text)
    compiler = os.environ.get("CXX", "c++")
    folder = Path(os.environ["WHET"]).parent  # where the build has libwhet.so
    library = [f"-L{folder}", "-lwhet", f"-Wl,-rpath,{folder}"] if "whet/tuner.hpp" in text else []
    subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", source / "include", "program.cc", "-o", "program", *library, "-ldl"],
                   check=True)
    subprocess.run(["./program"], check=True)


def run_blocks(document, source):
    names = {}
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks, f"{document} has no code blocks"
    for number, (language, text) in enumerate(blocks, 1):
        print(f"== block {number}, {language}", flush=True)
        if language == "sh":
            subprocess.run(["bash", "-euxo", "pipefail", "-c", text], check=True)
        elif language == "cpp":
            run_cpp(text, source)
        else:
            assert language == "python", f"block {number} is {language}, which nothing here runs"
            exec(compile(text, f"{document.name}, block {number}", "exec"), names)


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
        Path("bin/whet").symlink_to(whet)
        os.environ["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
        os.environ["WHET"] = str(whet)
        os.environ["WHET_SOURCE"] = str(source)
        import whet as package
        warnings.simplefilter("ignore", package.Note)
        try:
            run_blocks(document, source)
        except Exception:
            traceback.print_exc()
            return 1
        finally:
            os.chdir("/")
    return 0


sys.exit(main())
