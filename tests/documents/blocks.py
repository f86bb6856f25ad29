"""The code blocks of a document, and what a test does with each. A block is fenced, or indented by four spaces. Its fence says what it is:

  sh, python, cpp, c   code, which a test runs
  console              commands behind "$ ", which a test runs, and what one run of them printed
  text                 what was printed, or a picture: nothing to run

A comment on the line above says otherwise of it:

  <!-- not run: REASON -->   no test runs it
  <!-- needs: WORDS -->      it is run where all of these are: a Python module, a program, or an instruction set of /proc/cpuinfo

<!-- none run: REASON --> is about all blocks of the document, and a comment that begins with <!-- run LANGUAGE has code that is run and
that no reader sees: it makes the files that the document's reader has.

scripts/renew_tuning_document reads <!-- renew ... -->, which stands above the others of a block.
"""
import re
from dataclasses import dataclass
from typing import Optional

CODE = ("sh", "console", "python", "cpp", "c")
MARK = re.compile(r"<!-- (not run|needs|none run): (.+?) -->$")


@dataclass
class Block:
    line: int  # of the document, the first one of the block's text
    language: str  # of the fence; "" of a fence without one and of an indented block
    text: str
    reason: Optional[str] = None  # why no test runs it
    needs: tuple = ()
    hidden: bool = False

    @property
    def is_shown_alone(self):
        return self.language == "text"

    @property
    def is_run(self):
        return self.language in CODE and self.reason is None


@dataclass
class Document:
    blocks: list
    none_run: Optional[str]  # why no test runs any of its blocks
    complaints: list  # (line, sentence)


def until(lines, at, pattern):
    """The first line from `at` on that matches; the end of the document where none does."""
    return next((i for i in range(at, len(lines)) if re.match(pattern, lines[i])), len(lines))


def read(text):
    document, marks, lines = Document([], None, []), {}, text.splitlines()
    at, in_list = 0, False

    def add(first, last, language, indent=0, hidden=False):
        body = "\n".join(line[indent:] for line in lines[first:last]) + "\n"
        document.blocks.append(
            Block(first + 1, language, body, marks.pop("not run", None), tuple(marks.pop("needs", "").split()), hidden))

    while at < len(lines):
        line = lines[at]
        if mark := MARK.match(line):
            if mark[1] == "none run":
                document.none_run = mark[2]
            else:
                marks[mark[1]] = mark[2]
            at += 1
            continue
        if hidden := re.match(r"<!-- run (\w+)$", line):
            end = until(lines, at + 1, "-->$")
            add(at + 1, end, hidden[1], hidden=True)
            at = end + 1
        elif fence := re.match(r"( *)```(\w*)$", line):
            end = until(lines, at + 1, rf"{fence[1]}```$")
            add(at + 1, end, fence[2], len(fence[1]))
            at = end + 1
        elif line.startswith("    ") and (at == 0 or not lines[at - 1] or lines[at - 1].startswith("<!--")) and not in_list:
            end = until(lines, at, "(?! {4}|$)")
            while not lines[end - 1]:
                end -= 1
            add(at, end, "", 4)
            at = end
        else:
            if line and not line.startswith(" "):
                in_list = re.match(r"([-*]|\d+\.) ", line) is not None
            at += 1
        for mark, words in marks.items():
            document.complaints.append((at, f"no block follows <!-- {mark}: {words} -->"))
        marks.clear()
    return document
