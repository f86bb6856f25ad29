"""The shape that U-Nets of pictures and of volumes share."""
import torch
from torch import nn


class EncoderDecoder(nn.Module):
    """Down through levels of `sizes` channels, and up again beside what each level gave.

    twice(before, after)   two convolutions
    widen(before, after, kernel, stride)   a transposed convolution
    """
    def __init__(self, channels, sizes, twice, widen, pool, classify):
        super().__init__()
        self.down = nn.ModuleList(twice(before, after) for before, after in zip([channels] + sizes, sizes))
        self.up = nn.ModuleList(widen(after, before, 2, 2) for before, after in zip(sizes, sizes[1:]))
        self.join = nn.ModuleList(twice(2 * size, size) for size in sizes[:-1])
        self.pool, self.classify = pool, classify

    def forward(self, x):
        kept = []
        for level in self.down[:-1]:
            kept.append(level(x))
            x = self.pool(kept[-1])
        x = self.down[-1](x)
        for up, join, side in reversed(list(zip(self.up, self.join, kept))):
            x = join(torch.cat([side, up(x)], 1))
        return self.classify(x)
