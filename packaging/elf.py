"""Versions of symbols in ELF files of 64 bits: which ones a file needs, and how to make it need older ones."""
import struct
from pathlib import Path

VERDEF, VERNEED = 0x6FFFFFFD, 0x6FFFFFFE  # types of sections


def elf_hash(name):
    """As the dynamic linker computes it (System V ABI, "Hash Table")."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value


class Version:
    """A version that a file defines (`library` is none) or needs of a library, and where in the file its name and hash are."""

    def __init__(self, library, name, name_field, hash_field, text):
        self.library, self.name, self.name_field, self.hash_field, self.text = library, name, name_field, hash_field, text

    def number(self):
        """(2, 36) of GLIBC_2.36; none of another name."""
        head, _, tail = self.name.partition("_")
        numbers = tail.split(".")
        return tuple(map(int, numbers)) if head == "GLIBC" and all(each.isdigit() for each in numbers) else None


class Elf:
    def __init__(self, path):
        self.path, self.data = Path(path), bytearray(Path(path).read_bytes())
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path} is no ELF file of 64 bits")

    def write(self):
        self.path.write_bytes(self.data)

    def _text(self, offset):
        return self.data[offset:self.data.index(0, offset)].decode()

    def _sections(self):
        """(type, offset of its content, offset of the content of the section that it links to, number of entries) of each."""
        start, = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + i * size) for i in range(count)]
        return [(each[1], each[4], headers[each[6]][4] if each[6] < count else 0, each[7]) for each in headers]

    def versions(self):
        found = []
        for kind, entry, strings, count in self._sections():
            for _ in range(count if kind in (VERDEF, VERNEED) else 0):
                if kind == VERDEF:  # of each definition the first name is its own
                    hash_field = entry + 8
                    at, step = struct.unpack_from("<II", self.data, entry + 12)
                    name, = struct.unpack_from("<I", self.data, entry + at)
                    found.append(Version(None, self._text(strings + name), entry + at, hash_field, strings + name))
                else:
                    names, library, at, step = struct.unpack_from("<HIII", self.data, entry + 2)
                    need = entry + at
                    for _ in range(names):
                        name, after = struct.unpack_from("<II", self.data, need + 8)
                        found.append(Version(self._text(strings + library), self._text(strings + name), need + 8, need, strings + name))
                        need += after
                entry += step
        return found

    def needs_above(self, limit):
        """The versions of the C library above `limit` that the file needs."""
        return [each for each in self.versions() if each.library and (each.number() or (0,)) > limit]

    def need_no_more_than(self, limit):
        """What is needed of the C library above `limit` is needed as GLIBC_2.2.5, which every library defines: the program that loads this file
        has to define the symbols itself (older_glibc.c)."""
        above = self.needs_above(limit)
        oldest = next((each for each in self.versions() if each.library and each.name == "GLIBC_2.2.5"), None)
        for each in above:
            if oldest is None:
                raise ValueError(f"{self.path} needs {each.name}, and nothing of GLIBC_2.2.5")
            self.data[each.name_field:each.name_field + 4] = self.data[oldest.name_field:oldest.name_field + 4]
            struct.pack_into("<I", self.data, each.hash_field, elf_hash(oldest.name))

    def hide_above(self, limit):
        """As if the C library were of version `limit`: newer versions that it defines have other names, of equal length."""
        for each in self.versions():
            if (each.number() or (0,)) > limit:
                hidden = each.name.replace("GLIBC_2", "GLIBC_N")
                self.data[each.text:each.text + len(hidden)] = hidden.encode()
        for each in self.versions():
            if each.name.startswith("GLIBC_N"):
                struct.pack_into("<I", self.data, each.hash_field, elf_hash(each.name))
