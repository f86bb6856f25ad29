"""Builds the wheel of the package with nothing but Python's own library (PEP 517, PEP 660).

The program is packed where $WHET_PROGRAM names a folder with bin/, lib/ and licenses/ (scripts/release makes one); without it the
wheel has the Python sources alone, and finds the program by $WHET or PATH.
"""
import base64
import hashlib
import os
import re
import sysconfig
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = (ROOT / "pyproject.toml").read_text()
NAME = re.search(r'^name = "(.*)"$', PROJECT, re.MULTILINE)[1]
VERSION = re.search(r'^version = "(.*)"$', PROJECT, re.MULTILINE)[1]
FILE_NAME = NAME.replace("-", "_")  # as names of files of distributions are written
INFO = f"{FILE_NAME}-{VERSION}.dist-info"
# Wheels are zip files whose entries have a date; this one makes equal sources equal wheels.
DATE = (1980, 1, 1, 0, 0, 0)


def field(name):
    return re.search(rf'^{name} = "(.*)"$', PROJECT, re.MULTILINE)[1]


def metadata():
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\nSummary: {field('description')}\n"
            f"License: Apache-2.0\nRequires-Python: {field('requires-python')}\nRequires-Dist: numpy\n")


def tag():
    if not os.environ.get("WHET_PROGRAM"):
        return "py3-none-any"
    platform = os.environ.get("WHET_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def package_files():
    """What lies in the wheel, by its name there."""
    files = {f"whet/{path.name}": path for path in sorted((ROOT / "whet").iterdir()) if path.suffix == ".py" or path.name == "py.typed"}
    program = os.environ.get("WHET_PROGRAM")
    if program:
        for folder in ("bin", "lib"):
            for path in sorted(Path(program, folder).iterdir()):
                files[f"whet/{folder}/{path.name}"] = path
        for path in sorted(Path(program, "licenses").iterdir()):
            files[f"{INFO}/licenses/{path.name}"] = path
    scripts = "[console_scripts]\nwhet = whet.program:main\n\n" if program else ""
    files[f"{INFO}/entry_points.txt"] = (scripts + "[torch_dynamo_backends]\nwhet = whet.torch:backend\n").encode()
    return files


class Wheel:
    """A wheel that is being written, and the list of its files with their hashes."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w")
        self.record = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, DATE)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data, compresslevel=int(os.environ.get("WHET_WHEEL_LEVEL", "9")))
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self):
        name = f"{INFO}/RECORD"
        self.add(name, ("\n".join(self.record + [f"{name},,"]) + "\n").encode())
        self.zip.close()


def write_wheel(folder, files):
    name = f"{FILE_NAME}-{VERSION}-{tag()}.whl"
    wheel = Wheel(Path(folder) / name)
    for inside, data in files.items():
        mode = 0o644
        if isinstance(data, Path):
            mode = 0o755 if os.access(data, os.X_OK) and "/bin/" in inside else 0o644
            data = data.read_bytes()
        wheel.add(inside, data, mode)
    pure = "true" if tag().endswith("any") else "false"
    wheel.add(f"{INFO}/METADATA", metadata().encode())
    wheel.add(f"{INFO}/WHEEL", f"Wheel-Version: 1.0\nGenerator: whet_backend\nRoot-Is-Purelib: {pure}\nTag: {tag()}\n".encode())
    wheel.close()
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, package_files())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, {f"_{FILE_NAME}.pth": f"{ROOT}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    name = f"{FILE_NAME}-{VERSION}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for path in (ROOT / "pyproject.toml", ROOT / "backend", ROOT / "whet"):
            archive.add(path, f"{FILE_NAME}-{VERSION}/{path.name}", filter=lambda each: None if "__pycache__" in each.name else each)
    return name


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel
