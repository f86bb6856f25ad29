"""Empty trees of files, with a C library and nothing else of this machine, in which a package is installed and used."""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from elf import Elf

C_LIBRARY = ["ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"]
LIBRARIES = Path("/lib/x86_64-linux-gnu")
PYTHON = [Path("/usr/lib/python3.11"), *(Path("/usr/lib/python3/dist-packages") / name for name in ("numpy", "pip"))]

# Processors and devices are the machine's, as a container has them.
ENTER = """set -e
mount -t proc proc {root}/proc
mount --rbind /sys {root}/sys
mount --rbind /dev {root}/dev
exec chroot {root} /bin/sh -ec 'cd /srv; export PATH=/usr/local/bin:/usr/bin:/bin HOME=/srv LC_ALL=C.UTF-8; . /srv/commands'"""

USE = """
whet --version
if whet tune zoo:mlp --trials many 2> said; then exit 1; fi
read -r line < said
[ "$line" = 'whet: --trials: "many" is no number from 1 to 1000000000' ] || { echo "$line"; exit 1; }
whet tune zoo:mlp --trials 12 -o mlp.jsonl --report mlp.html -q
whet compile zoo:mlp --records mlp.jsonl -o mlp.so
whet check mlp.so --against zoo:mlp
whet bench mlp.so --seconds 0.2
[ -s mlp.html ]
"""
USE_BASE = """
said=$(whet compile zoo:mlp --target 'cpu -mcpu={processor} -threads=1' -o other.so)
case "$said" in *'base {name} ('*) ;; *) echo "the record base {name} is not inside: $said"; exit 1 ;; esac
"""
PROCESSORS = {"cpu-512": "skylake-avx512", "cpu-256": "haswell"}  # one for each record base
USE_PYTHON = """
python3 - <<'PYTHON'
import numpy as np
import whet

model = whet.load("zoo:mlp")
tuned = model.tune(trials=12, records="py.jsonl", report="py.html")
exe = model.compile("py.so", records="py.jsonl")
answer = exe(np.ones(exe.inputs[0].shape, np.float32))
assert abs(float(answer.sum()) - 1) < 1e-5, answer
assert "packages/whet" in whet.program.path(), whet.program.path()
PYTHON
[ -s py.html ]
"""


def libraries_of(file):
    done = subprocess.run(["ldd", file], text=True, capture_output=True)
    return re.findall(r"=> (/\S+)", done.stdout)


class Tree:
    """A folder with the C library, a shell and, where asked for, Python with numpy and pip. `older`: the C library says that it is 2.34."""

    def __init__(self, folder, python=False, older=False):
        self.root = Path(folder)
        for name in ("proc", "sys", "dev", "tmp", "srv", "usr/bin", "usr/local/bin", "usr/lib/x86_64-linux-gnu", "usr/lib64", "var/lib/dpkg/info", "var/lib/dpkg/updates"):
            (self.root / name).mkdir(parents=True)
        for name in ("bin", "lib", "lib64"):
            (self.root / name).symlink_to(f"usr/{name}")
        for name in C_LIBRARY:
            self._copy(LIBRARIES / name)
        shutil.copy(LIBRARIES / C_LIBRARY[0], self.root / "usr/lib64")
        shutil.copy("/bin/sh", self.root / "usr/bin/sh", follow_symlinks=True)
        if python:
            self._add_python()
        if older:
            for file in [*(self.root / "usr/lib/x86_64-linux-gnu" / name for name in C_LIBRARY), self.root / "usr/lib64" / C_LIBRARY[0]]:
                elf = Elf(file)
                elf.hide_above((2, 34))
                elf.write()

    def _copy(self, library):
        target = self.root / "usr/lib/x86_64-linux-gnu" / Path(library).name
        if not target.exists():
            shutil.copy(library, target)

    def _add_python(self):
        shutil.copy("/usr/bin/python3", self.root / "usr/bin/python3", follow_symlinks=True)
        needed = set(libraries_of("/usr/bin/python3"))
        for folder in PYTHON:
            shutil.copytree(folder, self.root / folder.relative_to("/"), symlinks=False, ignore_dangling_symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "test", "tests", "EXTERNALLY-MANAGED"))
        for file in self.root.rglob("*.so"):
            needed.update(library for library in libraries_of(file) if not library.startswith(str(self.root)))
        for library in needed:
            self._copy(library)

    def run(self, commands):
        """Runs commands of the shell in the tree; (exit code, what it printed)."""
        (self.root / "srv/commands").write_text(commands)
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", ENTER.format(root=self.root)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def install_deb(self, package):
        status = self.root / "var/lib/dpkg/status"
        if not status.exists():
            status.write_text("Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nMaintainer: nobody\nVersion: 2.34-1\nDescription: the tree's own\n")
        done = subprocess.run(["dpkg", f"--root={self.root}", "--log=/dev/null", "-i", package], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def unpack(self, package):
        (self.root / "opt").mkdir()
        subprocess.run(["tar", "-xf", package, "-C", self.root / "opt"], check=True)


def expect_refusal(tree):
    """That a tree is of an older glibc is seen by what does not run there: the libraries as this machine has them."""
    for library in tree.root.rglob("libstdc++.so.6"):
        shutil.copy(LIBRARIES / library.name, library)
    code, text = tree.run("whet --version")
    if code == 0 or "GLIBC_2.36' not found" not in text:
        sys.exit(f"release: a library of a newer glibc ran in a tree of an older one: {text.strip()}")


def try_all(folder, version, bases, fast):
    """Each package in a tree of its own, and in one whose C library is older. Ends the program with a sentence where one does not work.
    `bases`: the record bases that the program has inside, as it calls them, by their files; `fast`: in the older tree alone where there
    is one."""
    wheel = next(folder.glob("*.whl"))

    def install_wheel(tree):
        shutil.copy(wheel, tree.root / "srv")
        return tree.run(f"python3 -m pip install -q --root-user-action=ignore --no-index --no-deps {wheel.name}")

    def install_archive(tree):
        tree.unpack(folder / f"whet-{version}-linux-x86_64.tar.xz")
        (tree.root / "usr/local/bin/whet").symlink_to(f"/opt/whet-{version}-linux-x86_64/bin/whet")
        return 0, ""

    def install_deb(tree):
        return tree.install_deb(folder / f"whet_{version}_amd64.deb")

    # Debian 12's Python needs glibc 2.35 itself. The programs in the wheel are those of the archive.
    for name, install, python, older in [("archive", install_archive, False, False), ("archive", install_archive, False, True), ("deb", install_deb, False, False),
                                         ("deb", install_deb, False, True), ("wheel", install_wheel, True, False)]:
        if fast and not older and name != "wheel":
            continue
        where = f"an empty tree of {'glibc 2.34 (emulated)' if older else 'this glibc'}"
        with tempfile.TemporaryDirectory() as place:
            tree = Tree(Path(place) / "tree", python, older)
            use_bases = "".join(USE_BASE.format(processor=PROCESSORS[file], name=name) for file, name in bases.items())
            for step in (install, lambda tree: tree.run(USE + use_bases + (USE_PYTHON if python else ""))):
                code, text = step(tree)
                if code != 0:
                    sys.exit(f"release: the {name} in {where}: {text.strip()[-2000:]}")
            print(f"{name}: tuned, compiled, checked and reported in {where}")
            if older:
                expect_refusal(tree)
