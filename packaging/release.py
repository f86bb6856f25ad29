"""Packages of whet for machines that have none of its libraries: a wheel, two Debian packages and an archive, each tried in a tree of its own."""
import argparse
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import trees
from elf import Elf

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.search(r"^project\(whet VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
GLIBC = (2, 34)  # RHEL 9; Ubuntu 22.04 has 2.35
MOST_BYTES = {".whl": 50_000_000, ".deb": 32_000_000, ".xz": 32_000_000}
MOST_BYTES_OF_BASES = 1_500_000  # that all record bases take of a package
SYSTEM = re.compile(r"/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so")  # the C library, which stays the machine's


def fail(sentence):
    sys.exit(f"release: {sentence}")


def skip(sentence):
    """The exit code tells tests that nothing was found out."""
    print(f"release: {sentence}")
    sys.exit(77)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        fail(f"`{' '.join(str(word) for word in command[:4])}` ended with {done.returncode}: {done.stdout.strip()[-2000:]}")
    return done.stdout


def libraries_of(program):
    return [Path(line.split()[2]) for line in run("ldd", program).splitlines() if "=> /" in line and not SYSTEM.search(line)]


def licence_of(library):
    """The text that Debian has for the package of a file."""
    for path in (library.resolve(), str(library.resolve()).removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", path], text=True, capture_output=True)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            return package, Path(f"/usr/share/doc/{package}/copyright")
    return fail(f"no package of Debian has {library}")


def stage(build, folder):
    """bin/ and lib/ as every package has them: stripped, bound to the libraries beside them, and to no C library above 2.34."""
    for name in ("bin", "lib", "licenses"):
        (folder / name).mkdir(parents=True)
    inside = ["llvm-19-dev", "libgoogle-perftools-dev"]
    licences = {package: Path(f"/usr/share/doc/{package}/copyright") for package in inside}
    for name in ("whet", "whet-agent"):
        program = build / "bin" / name
        shutil.copy(program, folder / "bin")
        for library in libraries_of(program):
            shutil.copy(library, folder / "lib")
            package, text = licence_of(library)
            licences[package] = text
    for file in folder.glob("lib/*"):
        run("strip", "--strip-unneeded", file)
        run("patchelf", "--set-rpath", "$ORIGIN", file)
    for file in folder.glob("bin/*"):
        run("strip", file)
        run("patchelf", "--set-rpath", "$ORIGIN/../lib", file)
    for package, text in licences.items():
        shutil.copyfile(text, folder / "licenses" / package)
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, folder / "licenses")
    for file in [*folder.glob("bin/*"), *folder.glob("lib/*")]:
        elf = Elf(file)
        if file.parent.name == "lib":
            elf.need_no_more_than(GLIBC)
            elf.write()
        check_glibc(file)


def record_bases():
    """How the program calls those that it has inside, by their files: {"cpu-512": "cpu-512 2026.12"}; an empty one is none."""
    texts = {path.stem: path.read_bytes() for path in sorted((ROOT / "bases").glob("*.jsonl"))}
    for package, compress in ("wheel", lambda text: zlib.compress(text, 9)), ("Debian package", lzma.compress):
        size = len(compress(b"".join(texts.values())))
        if size > MOST_BYTES_OF_BASES:
            fail(f"the record bases take {size} bytes of the {package}; expected {MOST_BYTES_OF_BASES} at most")
    heads = {name: json.loads(text.splitlines()[0])["base"] for name, text in texts.items() if text.strip()}
    return {name: f"{head['name']} {head['made']}" for name, head in heads.items()}


def check_glibc(file):
    """By the words of objdump, which knows nothing of what was changed."""
    needed = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", run("objdump", "-T", file))}
    if needed and max(needed) > GLIBC:
        fail(f"{file.name} needs GLIBC_{'.'.join(map(str, max(needed)))}; expected {'.'.join(map(str, GLIBC))} or older")


def share(folder, whet):
    """What lies in share/: completions, the manual page and the documents."""
    places = {"bash": "bash-completion/completions/whet", "zsh": "zsh/site-functions/_whet", "fish": "fish/vendor_completions.d/whet.fish"}
    for shell, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True)
        target.write_text(run(whet, "completion", shell))
    (folder / "man/man1").mkdir(parents=True)
    (folder / "man/man1/whet.1.gz").write_bytes(gzip.compress(run(whet, "help", "--man").encode(), mtime=0))
    documents = folder / "doc/whet"
    shutil.copytree(ROOT / "docs", documents / "docs")
    for name in ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, documents)


def wheel(staged, output, fast):
    environment = {**os.environ, "WHET_PROGRAM": str(staged), "WHET_PLATFORM": f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{os.uname().machine}",
                   "WHET_WHEEL_LEVEL": "1" if fast else "9"}
    name = run("/usr/bin/python3", "-c", "import sys; sys.path.insert(0, 'python/backend'); import whet_backend; print(whet_backend.build_wheel(sys.argv[1]))",
               output, cwd=ROOT, env=environment)
    return output / name.strip()


def deb(name, architecture, tree, output, depends, description, fast):
    """A package of `tree`, which has usr/."""
    control = tree / "DEBIAN"
    control.mkdir()
    size = sum(file.stat().st_size for file in tree.rglob("*") if file.is_file() and not file.is_symlink()) // 1024
    fields = {"Package": name, "Version": VERSION, "Architecture": architecture, "Maintainer": "the developers of whet <whet@localhost>",
              "Installed-Size": size, "Depends": depends, "Section": "science", "Priority": "optional", "Description": description}
    (control / "control").write_text("".join(f"{field}: {value}\n" for field, value in fields.items() if value))
    path = output / f"{name}_{VERSION}_{architecture}.deb"
    run("dpkg-deb", "--root-owner-group", "-Zxz", "-z0" if fast else "-z9", "--build", tree, path)
    return path


def program_deb(staged, work, output, fast):
    tree = work / "deb"
    shutil.copytree(staged, tree / "usr/lib/whet")
    shutil.move(tree / "usr/lib/whet/share", tree / "usr/share")
    shutil.move(tree / "usr/lib/whet/licenses", tree / "usr/share/doc/whet/licenses")
    shutil.copy(ROOT / "LICENSE", tree / "usr/share/doc/whet/copyright")
    (tree / "usr/bin").mkdir()
    for program in (staged / "bin").iterdir():
        (tree / "usr/bin" / program.name).symlink_to(f"../lib/whet/bin/{program.name}")
    return deb("whet", "amd64", tree, output, f"libc6 (>= {GLIBC[0]}.{GLIBC[1]})",
               "tunes and compiles neural networks for the machine they will run on\n whet reads a model, searches for the fastest program of each of its kernels by\n"
               " running candidates, and compiles it to one shared library.", fast)


def headers_deb(build, work, output, fast):
    """With libwhet.so, which finds the libraries of the package whet, and its program as /usr/bin/whet."""
    tree = work / "headers"
    run("cmake", "--install", build, "--component", "dev", "--prefix", tree / "usr")
    library = tree / "usr/lib/libwhet.so"
    run("strip", "--strip-unneeded", library)
    run("patchelf", "--set-rpath", "$ORIGIN/whet/lib", library)
    (tree / "usr/share/doc/libwhet-dev").mkdir(parents=True)
    shutil.copy(ROOT / "LICENSE", tree / "usr/share/doc/libwhet-dev/copyright")
    return deb("libwhet-dev", "amd64", tree, output, f"whet (= {VERSION}), libc6 (>= 2.36)",
               "headers, libwhet.so and a CMake package for programs that run models which whet compiled, or tune them\n whet::model links nothing, whet::tuner links libwhet.so.", fast)


def archive(staged, output, fast):
    folder = f"whet-{VERSION}-linux-x86_64"
    path = output / f"{folder}.tar.xz"
    run("tar", "-C", staged.parent, "--owner=root", "--group=root", "--sort=name", "--mtime=@0", f"--transform=s,^{staged.name},{folder},S", f"-Ixz -{0 if fast else 9}", "-cf", path, staged.name)
    return path


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__)
    parser.add_argument("output", type=Path, help="a folder for the packages")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="a build folder of the preset release (default: build/release, which is built)")
    parser.add_argument("--fast", action="store_true", help="compress little and try less, for tests; sizes are not held")
    parser.add_argument("--no-try", action="store_true", help="make them, and do not try them")
    return parser.parse_args()


def main():
    options = arguments()
    build = options.build.resolve()
    for tool in ("patchelf", "objdump", "dpkg-deb", "strip"):
        if shutil.which(tool) is None:
            skip(f"{tool} is missing; scripts/bootstrap --all installs it")
    if build == ROOT / "build/release":
        run("cmake", "--preset", "release", cwd=ROOT)
    run("cmake", "--build", build, "--target", "whet", "whet-agent", "whet_shared")
    bases = record_bases()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        staged = work / "whet"
        stage(build, staged)
        made = [wheel(staged, output, options.fast)]
        share(staged / "share", build / "bin/whet")
        made += [make(*given, output, options.fast) for make, given in [(archive, [staged]), (program_deb, [staged, work]), (headers_deb, [build, work])]]
    for path in made:
        size = path.stat().st_size
        print(f"{size / 1e6:7.1f} MB  {path.name}")
        if size > MOST_BYTES[path.suffix] and not options.fast:
            fail(f"{path.name} has {size} bytes; expected {MOST_BYTES[path.suffix]} at most")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made)]
    (output / "SHA256SUMS").write_text("".join(sums))
    if options.no_try:
        return
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        skip("the packages are made and not tried: empty trees need root's rights")
    trees.try_all(output, VERSION, bases, options.fast)


if __name__ == "__main__":
    main()
