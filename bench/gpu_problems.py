"""The lists of bench/problems as bench/gpu asks of them: a model for whet, and the same operations for PyTorch. Convolutions and products
are alone here, without bias and relu, so that a library's kernel is compared and not what surrounds it."""
import dataclasses


@dataclasses.dataclass
class Problem:
    kind: str
    name: str
    numbers: list
    count: int

    @property
    def macs(self):
        """Multiply-adds; 0 of what is bounded by memory."""
        n = self.numbers
        if self.kind == "conv":
            height, width = self.results()
            return n[0] * height * width * n[4] * n[1] // n[12] * n[5] * n[6]
        if self.kind in ("ip", "mm"):
            return n[0] * n[1] * n[2]
        return n[0] * n[1] * n[2] * n[3] if self.kind == "bmm" else 0

    def results(self):
        """Height and width of a convolution's result."""
        _, _, height, width, _, r, s, stride_h, stride_w, pad_h, pad_w, dilation, _ = self.numbers
        return ((height + 2 * pad_h - (r - 1) * dilation - 1) // stride_h + 1,
                (width + 2 * pad_w - (s - 1) * dilation - 1) // stride_w + 1)


def read(file, batch=1):
    """The problems of a list, in batches: so many times the images of a convolution, the rows or the products of the others."""
    problems = []
    for line in open(file, encoding="utf-8"):
        words = line.split()
        if words and not words[0].startswith("#"):
            numbers = [int(word) for word in words[2:]]
            numbers[0] *= batch
            problems.append(Problem(words[0], words[1], numbers[:-1], numbers[-1]))
    return problems


def write_model(problems, file):
    """An ONNX model of all problems side by side. Images come and go channels last."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    rng = numpy.random.default_rng(1)
    nodes, inputs, outputs, constants = [], [], [], []

    def value(of, name, shape):
        of.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def constant(name, shape):
        scale = 1 / numpy.sqrt(numpy.prod(shape[1:])) if len(shape) > 1 else 1.0
        constants.append(numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(numpy.float32), name))
        return name

    for i, problem in enumerate(problems):
        n, x, y = problem.numbers, f"x{i}", f"y{i}"
        add = lambda op, read, write, **attributes: nodes.append(helper.make_node(op, read, [write], **attributes))
        if problem.kind == "conv":
            height, width = problem.results()
            value(inputs, x, [n[0], n[2], n[3], n[1]])
            value(outputs, y, [n[0], height, width, n[4]])
            add("Transpose", [x], f"{x}.first", perm=[0, 3, 1, 2])
            add("Conv", [f"{x}.first", constant(f"w{i}", [n[4], n[1] // n[12], n[5], n[6]])], f"{y}.first", kernel_shape=n[5:7],
                strides=n[7:9], pads=n[9:11] * 2, dilations=[n[11]] * 2, group=n[12])
            add("Transpose", [f"{y}.first"], y, perm=[0, 2, 3, 1])
        elif problem.kind == "ip":
            value(inputs, x, n[:2])
            value(outputs, y, [n[0], n[2]])
            add("Gemm", [x, constant(f"w{i}", [n[2], n[1]])], y, transB=1)
        elif problem.kind == "mm":
            add("MatMul", [value(inputs, x, n[:2]), value(inputs, f"z{i}", n[1:])], value(outputs, y, [n[0], n[2]]))
        elif problem.kind == "bmm":
            add("MatMul", [value(inputs, x, n[:3]), value(inputs, f"z{i}", [n[0], n[2], n[3]])], value(outputs, y, [n[0], n[1], n[3]]))
        elif problem.kind == "softmax":
            add("Softmax", [value(inputs, x, n)], value(outputs, y, n), axis=1)
        elif problem.kind == "layer_norm":
            add("LayerNormalization", [value(inputs, x, n), constant(f"w{i}", [n[1]]), constant(f"b{i}", [n[1]])],
                value(outputs, y, n))
        elif problem.kind == "add":
            add("Add", [value(inputs, x, n), value(inputs, f"z{i}", n)], f"{y}.sum")
            add("Relu", [f"{y}.sum"], value(outputs, y, n))
        else:
            raise ValueError(f"{problem.name}: bench/gpu has no {problem.kind}")
    graph = helper.make_graph(nodes, "problems", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), file)


def calls(torch, problem, dtype):
    """What PyTorch may call for the problem: functions without arguments, one a layout."""
    n, functional = problem.numbers, torch.nn.functional

    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    if problem.kind == "conv":
        x, w = tensor(*n[:4]), tensor(n[4], n[1] // n[12], n[5], n[6])

        def convolution(order):
            images, weights = x.to(memory_format=order), w.to(memory_format=order)
            return lambda: functional.conv2d(images, weights, None, n[7:9], n[9:11], n[11], n[12])
        return [convolution(order) for order in (torch.channels_last, torch.contiguous_format)]
    x = tensor(*n[:3] if problem.kind == "bmm" else n[:2])
    if problem.kind == "ip":
        w = tensor(n[2], n[1])
        return [lambda: functional.linear(x, w)]
    if problem.kind in ("mm", "bmm"):
        z = tensor(*n[1:]) if problem.kind == "mm" else tensor(n[0], n[2], n[3])
        return [lambda: torch.matmul(x, z)]
    if problem.kind == "softmax":
        return [lambda: functional.softmax(x, 1)]
    if problem.kind == "layer_norm":
        w, b = tensor(n[1]), tensor(n[1])
        return [lambda: functional.layer_norm(x, n[1:], w, b)]
    if problem.kind == "add":
        z = tensor(*n)
        return [lambda: torch.relu(x + z)]
    raise ValueError(f"{problem.name}: bench/gpu has no {problem.kind}")
