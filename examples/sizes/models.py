#!/usr/bin/python3
"""Writes two small networks of open sizes as ONNX, in place of models of your own, and lists of requests.

    models.py FOLDER

encoder.onnx      a text of n words becomes an embedding of 64 numbers: a layer of attention and two of products
recognizer.onnx   a line of text, 32 pixels high and `width` wide, becomes letters: three convolutions and a product
texts.txt         the lengths of 200 texts, as a server may have counted them; lines.txt, the widths of 200 lines
"""
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from onnx_writer import FLOAT, INT64, model, node, tensor  # noqa: E402

WORDS, WIDTH, HEADS, LETTERS = 1000, 64, 2, 40


class Weights:
    """Constants of a file, in the order of their uses."""

    def __init__(self, seed):
        self.random, self.bytes, self.count = random.Random(seed), b"", 0

    def add(self, shape, scale):
        count = 1
        for extent in shape:
            count *= extent
        return self.put(FLOAT, shape, [self.random.gauss(0, scale) for _ in range(count)])

    def put(self, kind, shape, values):
        name = f"w{self.count}"
        self.count += 1
        self.bytes += tensor(name, kind, shape, values)
        return name


def encoder():
    w = Weights(1)
    nodes = [node("Gather", [w.add((WORDS, WIDTH), 1), "ids"], "x", axis=0)]
    heads = {}
    for name, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3))):
        nodes += [
            node("MatMul", ["x", w.add((WIDTH, WIDTH), WIDTH**-0.5)], name + "_rows"),
            node("Reshape", [name + "_rows", w.put(INT64, (4,), [1, -1, HEADS, WIDTH // HEADS])], name + "_heads"),
            node("Transpose", [name + "_heads"], name, perm=list(order)),
        ]
        heads[name] = name
    scale = w.put(FLOAT, (1,), [(WIDTH // HEADS)**-0.5])
    nodes += [
        node("MatMul", [heads["q"], heads["k"]], "raw"),
        node("Mul", ["raw", scale], "scores"),
        node("Softmax", ["scores"], "shares", axis=3),
        node("MatMul", ["shares", heads["v"]], "mixed"),
        node("Transpose", ["mixed"], "mixed_rows", perm=[0, 2, 1, 3]),
        node("Reshape", ["mixed_rows", w.put(INT64, (3,), [1, -1, WIDTH])], "mixed_words"),
        node("MatMul", ["mixed_words", w.add((WIDTH, WIDTH), WIDTH**-0.5)], "attended"),
        node("Add", ["x", "attended"], "y"),
        node("MatMul", ["y", w.add((WIDTH, 4 * WIDTH), WIDTH**-0.5)], "wide"),
        node("Relu", ["wide"], "kept"),
        node("MatMul", ["kept", w.add((4 * WIDTH, WIDTH), (4 * WIDTH)**-0.5)], "narrow"),
        node("Add", ["y", "narrow"], "z"),
        node("ReduceMean", ["z"], "embedding", axes=[1], keepdims=0),
    ]
    return model(nodes, [("ids", INT64, (1, "n"))], [("embedding", FLOAT, (1, WIDTH))], w.bytes)


def recognizer():
    w = Weights(2)
    nodes, x, channels = [], "line", 1
    for number, wide in enumerate((16, 32, 32)):
        weights = [w.add((wide, channels, 3, 3), (9 * channels)**-0.5), w.add((wide,), 0.1)]
        nodes += [node("Conv", [x, *weights], f"c{number}", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
                  node("Relu", [f"c{number}"], f"r{number}")]
        x, channels = f"r{number}", wide
        if number < 2:
            nodes.append(node("MaxPool", [x], f"p{number}", kernel_shape=[2, 2], strides=[2, 2]))
            x = f"p{number}"
    nodes += [
        node("ReduceMean", [x], "columns", axes=[2], keepdims=0),
        node("Transpose", ["columns"], "steps", perm=[0, 2, 1]),
        node("MatMul", ["steps", w.add((channels, LETTERS), channels**-0.5)], "scores"),
        node("Softmax", ["scores"], "letters", axis=2),
    ]
    return model(nodes, [("line", FLOAT, (1, 1, 32, "width"))], [("letters", FLOAT, (1, "steps", LETTERS))], w.bytes)


def main():
    folder = Path(sys.argv[1])
    (folder / "encoder.onnx").write_bytes(encoder())
    (folder / "recognizer.onnx").write_bytes(recognizer())
    draws = random.Random(3)
    texts = [min(128, max(2, round(draws.lognormvariate(3.2, 0.8)))) for _ in range(200)]
    lines = [32 + 8 * draws.randint(0, 36) for _ in range(200)]
    (folder / "texts.txt").write_text("".join(f"{n}\n" for n in texts))
    (folder / "lines.txt").write_text("".join(f"{n}\n" for n in lines))


if __name__ == "__main__":
    main()
