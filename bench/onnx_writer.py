"""ONNX files by hand: a message is its fields, a field its number and its value."""
import struct

FLOAT, INT64, BOOL = 1, 7, 9  # types of elements


def number(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    value = value.encode() if isinstance(value, str) else value
    return number(key << 3 | 2) + number(len(value)) + value


def fields(key, values):
    return b"".join(field(key, value) for value in values)


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, bytes):  # a graph
        return field(1, name) + field(6, value) + field(20, 5)
    return field(1, name) + fields(8, value) + field(20, 7)


def node(op, inputs, output, **attributes):
    return field(1, fields(1, inputs) + fields(2, output if isinstance(output, list) else [output]) + field(4, op) +
                 b"".join(field(5, attribute(*each)) for each in attributes.items()))


def tensor(name, kind, shape, values):
    data = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q' if kind == INT64 else '?'}", *values)
    return field(5, fields(1, shape) + field(2, kind) + field(9, data) + field(8, name))


def value(key, name, kind, shape):
    """An extent that is a word stays open."""
    dims = b"".join(field(1, field(2 if isinstance(extent, str) else 1, extent)) for extent in shape)
    return field(key, field(1, name) + field(2, field(1, field(1, kind) + field(2, dims))))


def model(nodes, inputs, outputs, tensors=b""):
    graph = b"".join(nodes) + field(2, "long") + tensors + b"".join(value(11, *each) for each in inputs) + b"".join(
        value(12, *each) for each in outputs)
    return field(1, 4) + field(8, field(1, "") + field(2, 9)) + field(7, graph)
