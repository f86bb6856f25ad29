"""Layers of transformers, which text, pictures and sound share."""
import torch
from torch import nn


class Attention(nn.Module):
    """Self-attention of [batch, length, width]; each of `groups` keys and values serves heads / groups queries."""

    def __init__(self, width, heads, groups=None, bias=True):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups or heads, width // heads
        self.query = nn.Linear(width, width, bias)
        self.key = nn.Linear(width, self.groups * self.size, bias)
        self.value = nn.Linear(width, self.groups * self.size, bias)
        self.out = nn.Linear(width, width, bias)

    def forward(self, x, mask=None, turn=None):
        """`mask` is added to the products; `turn` turns queries and keys by their places."""
        def split(values, heads):
            return values.reshape(*values.shape[:2], heads, self.size).transpose(1, 2)
        query, key, value = split(self.query(x), self.heads), split(self.key(x), self.groups), split(self.value(x), self.groups)
        if turn is not None:
            query, key = turn(query), turn(key)
        if self.groups != self.heads:
            # Not repeat_interleave, which is exported as a loop over a sequence.
            key, value = (t[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1).flatten(1, 2) for t in (key, value))
        products = query @ key.transpose(-1, -2) / self.size ** 0.5
        weights = (products if mask is None else products + mask).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).flatten(2))


def feed_forward(width, inner, activation=nn.GELU):
    return nn.Sequential(nn.Linear(width, inner), activation(), nn.Linear(inner, width))


class Layer(nn.Module):
    """Attention and a feed-forward part, normalized before (`first`) or after each."""

    def __init__(self, width, heads, inner=None, activation=nn.GELU, first=True):
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed = feed_forward(width, inner or 4 * width, activation)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.first = first

    def forward(self, x, mask=None):
        if self.first:
            x = x + self.attention(self.norms[0](x), mask)
            return x + self.feed(self.norms[1](x))
        x = self.norms[0](x + self.attention(x, mask))
        return self.norms[1](x + self.feed(x))


def positions(length, width):
    return nn.Parameter(torch.randn(1, length, width) * 0.02)
