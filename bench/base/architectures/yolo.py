"""A detector as YOLOv8: without anchors, boxes as distributions over 16 distances."""
import torch
from torch import nn

from architectures.pictures import Residual, convolution


class Split(nn.Module):
    """Half of the channels pass `depth` bottlenecks; the results of each are joined."""

    def __init__(self, before, after, depth, adds):
        super().__init__()
        half = after // 2
        self.first = convolution(before, after, 1)
        bodies = [nn.Sequential(convolution(half, half), convolution(half, half)) for _ in range(depth)]
        self.bodies = nn.ModuleList(Residual(body) if adds else body for body in bodies)
        self.last = convolution((2 + depth) * half, after, 1)

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for body in self.bodies:
            parts.append(body(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Pyramid(nn.Module):
    """Three poolings one after the other, joined."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.last = convolution(channels, channels // 2, 1), convolution(channels * 2, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Head(nn.Module):
    def __init__(self, channels, classes, box_width, class_width):
        super().__init__()
        self.box = nn.Sequential(convolution(channels, box_width), convolution(box_width, box_width), nn.Conv2d(box_width, 64, 1))
        self.kind = nn.Sequential(convolution(channels, class_width), convolution(class_width, class_width), nn.Conv2d(class_width, classes, 1))

    def forward(self, x):
        return torch.cat([self.box(x), self.kind(x)], 1).flatten(2)


class Yolo(nn.Module):
    """[batch, 3, n, n] to boxes [batch, 4, places] and scores [batch, classes, places]."""

    def __init__(self, width=16, depth=1, classes=80):
        super().__init__()
        a, b, c, d, e = (width * 2 ** i for i in range(5))
        self.low = nn.Sequential(convolution(3, a, 3, 2), convolution(a, b, 3, 2), Split(b, b, depth, True),
                                 convolution(b, c, 3, 2), Split(c, c, 2 * depth, True))
        self.middle = nn.Sequential(convolution(c, d, 3, 2), Split(d, d, 2 * depth, True))
        self.high = nn.Sequential(convolution(d, e, 3, 2), Split(e, e, depth, True), Pyramid(e))
        self.up = nn.Upsample(scale_factor=2)
        self.join_middle, self.join_low = Split(d + e, d, depth, False), Split(c + d, c, depth, False)
        self.down_low, self.down_middle = convolution(c, c, 3, 2), convolution(d, d, 3, 2)
        self.out_middle, self.out_high = Split(c + d, d, depth, False), Split(d + e, e, depth, False)
        self.heads = nn.ModuleList(Head(n, classes, max(64, c // 4), max(classes, c)) for n in (c, d, e))
        self.register_buffer("distances", torch.arange(16.0).reshape(1, 1, 16, 1))

    def forward(self, x):
        low = self.low(x)
        middle = self.middle(low)
        high = self.high(middle)
        joined = self.join_middle(torch.cat([self.up(high), middle], 1))
        low = self.join_low(torch.cat([self.up(joined), low], 1))
        middle = self.out_middle(torch.cat([self.down_low(low), joined], 1))
        high = self.out_high(torch.cat([self.down_middle(middle), high], 1))
        found = torch.cat([head(level) for head, level in zip(self.heads, (low, middle, high))], 2)
        sides = found[:, :64].reshape(int(x.shape[0]), 4, 16, -1).softmax(2)
        return (sides * self.distances).sum(2), torch.sigmoid(found[:, 64:])
