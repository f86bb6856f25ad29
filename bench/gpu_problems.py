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
        if self.kind in ("bmm", "attention"):
            return n[0] * n[1] * n[2] * n[3] * (2 if self.kind == "attention" else 1)
        return 0

    def results(self):
        """Height and width of a convolution's result."""
        _, _, height, width, _, r, s, stride_h, stride_w, pad_h, pad_w, dilation, _ = self.numbers
        return ((height + 2 * pad_h - (r - 1) * dilation - 1) // stride_h + 1,
                (width + 2 * pad_w - (s - 1) * dilation - 1) // stride_w + 1)


def read(file, batch=1):
    """The problems of a list, in batches: `batch` times the images of a convolution, the rows or the products of the others."""
    problems = []
    for line in open(file, encoding="utf-8"):
        words = line.split()
        if words and not words[0].startswith("#"):
            numbers = [int(word) for word in words[2:]]
            numbers[0] *= batch
            problems.append(Problem(words[0], words[1], numbers[:-1], numbers[-1]))
    return problems


class OnnxModel:
    """An ONNX model whose inputs and constants are f32, or f16."""

    def __init__(self, halves=False):
        import numpy
        import onnx
        import onnx.helper
        import onnx.numpy_helper
        self.numpy, self.onnx = numpy, onnx
        self.type = onnx.TensorProto.FLOAT16 if halves else onnx.TensorProto.FLOAT
        self.numbers = numpy.float16 if halves else numpy.float32
        self.rng = numpy.random.default_rng(1)
        self.nodes, self.inputs, self.outputs, self.constants = [], [], [], []

    def value(self, of, name, shape):
        of.append(self.onnx.helper.make_tensor_value_info(name, self.type, shape))
        return name

    def input(self, name, shape):
        return self.value(self.inputs, name, shape)

    def output(self, name, shape):
        return self.value(self.outputs, name, shape)

    def constant(self, name, shape):
        return self.numbers_of(name, self.rng.standard_normal(shape) / self.numpy.sqrt(max(1, self.numpy.prod(shape[1:]))))

    def numbers_of(self, name, numbers):
        self.constants.append(self.onnx.numpy_helper.from_array(numbers.astype(self.numbers), name))
        return name

    def add(self, operator, inputs, output, **attributes):
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def write(self, file):
        graph = self.onnx.helper.make_graph(self.nodes, "problems", self.inputs, self.outputs, self.constants)
        opset = self.onnx.helper.make_opsetid("", 17)
        self.onnx.save(self.onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), file)


def write_model(problems, file, halves=False):
    """An ONNX model of all problems side by side. Images come and go channels last."""
    model = OnnxModel(halves)
    for i, problem in enumerate(problems):
        add_problem(model, problem, f"{i}")
    model.write(file)


def add_problem(model, problem, i):
    n, x, y, z, w = problem.numbers, f"x{i}", f"y{i}", f"z{i}", f"w{i}"
    if problem.kind == "conv":
        height, width = problem.results()
        images = model.add("Transpose", [model.input(x, [n[0], n[2], n[3], n[1]])], f"{x}.first", perm=[0, 3, 1, 2])
        weights = model.constant(w, [n[4], n[1] // n[12], n[5], n[6]])
        result = model.add("Conv", [images, weights], f"{y}.first", kernel_shape=n[5:7], strides=n[7:9], pads=n[9:11] * 2,
                           dilations=[n[11]] * 2, group=n[12])
        model.add("Transpose", [result], model.output(y, [n[0], height, width, n[4]]), perm=[0, 2, 3, 1])
    elif problem.kind == "ip":
        model.add("Gemm", [model.input(x, n[:2]), model.constant(w, [n[2], n[1]])], model.output(y, [n[0], n[2]]), transB=1)
    elif problem.kind == "mm":
        model.add("MatMul", [model.input(x, n[:2]), model.input(z, n[1:])], model.output(y, [n[0], n[2]]))
    elif problem.kind == "bmm":
        model.add("MatMul", [model.input(x, n[:3]), model.input(z, [n[0], n[2], n[3]])], model.output(y, [n[0], n[1], n[3]]))
    elif problem.kind == "attention":
        heads, queries, depth, keys = n
        turned = model.add("Transpose", [model.input(z, [heads, keys, depth])], f"{z}.turned", perm=[0, 2, 1])
        scores = model.add("MatMul", [model.input(x, [heads, queries, depth]), turned], f"{y}.scores")
        scaled = model.add("Mul", [scores, model.numbers_of(w, model.numpy.array(depth ** -0.5))], f"{y}.scaled")
        weights = model.add("Softmax", [scaled], f"{y}.weights", axis=2)
        model.add("MatMul", [weights, model.input(f"v{i}", [heads, keys, depth])], model.output(y, [heads, queries, depth]))
    elif problem.kind == "softmax":
        model.add("Softmax", [model.input(x, n)], model.output(y, n), axis=1)
    elif problem.kind == "layer_norm":
        model.add("LayerNormalization", [model.input(x, n), model.constant(w, [n[1]]), model.constant(f"b{i}", [n[1]])],
                  model.output(y, n))
    elif problem.kind == "add":
        model.add("Relu", [model.add("Add", [model.input(x, n), model.input(z, n)], f"{y}.sum")], model.output(y, n))
    else:
        raise ValueError(f"{problem.name}: bench/gpu has no {problem.kind}")


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
    x = tensor(*n[:3] if problem.kind in ("bmm", "attention") else n[:2])
    if problem.kind == "ip":
        w = tensor(n[2], n[1])
        return [lambda: functional.linear(x, w)]
    if problem.kind in ("mm", "bmm"):
        z = tensor(*n[1:]) if problem.kind == "mm" else tensor(n[0], n[2], n[3])
        return [lambda: torch.matmul(x, z)]
    if problem.kind == "attention":
        k, v = (tensor(1, n[0], n[3], n[2]) for _ in range(2))
        return [lambda: functional.scaled_dot_product_attention(x[None], k, v)]
    if problem.kind == "softmax":
        return [lambda: functional.softmax(x, 1)]
    if problem.kind == "layer_norm":
        w, b = tensor(n[1]), tensor(n[1])
        return [lambda: functional.layer_norm(x, n[1:], w, b)]
    if problem.kind == "add":
        z = tensor(*n)
        return [lambda: torch.relu(x + z)]
    raise ValueError(f"{problem.name}: bench/gpu has no {problem.kind}")
