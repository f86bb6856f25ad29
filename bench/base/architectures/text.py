"""Networks of tokens: encoders as BERT, decoders as GPT and Llama over a whole prompt, a recurrent one."""
import torch
from torch import nn

from architectures.attention import Attention, Layer, positions


class Bert(nn.Module):
    def __init__(self, width, depth, length, heads=None, vocabulary=8192):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), positions(length, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads or width // 64, first=False) for _ in range(depth))
        self.pool, self.classify = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, ids, mask):
        x = self.norm(self.words(ids) + self.places_of(ids))
        hidden = (1 - mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, hidden)
        return self.classify(torch.tanh(self.pool(x[:, 0])))

    def places_of(self, ids):
        return self.places


class BertOfAnyLength(Bert):
    """Takes as many tokens as it has places, or fewer."""

    def places_of(self, ids):
        return self.places[:, :ids.shape[1]]


class TanhGelu(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def causal(length):
    return torch.full((length, length), -10000.0).triu(1)


class Gpt(nn.Module):
    def __init__(self, width, depth, length, vocabulary=16384):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), positions(length, width)
        self.layers = nn.ModuleList(Layer(width, width // 64, activation=TanhGelu) for _ in range(depth))
        self.norm, self.next = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("mask", causal(length))

    def forward(self, ids):
        x = self.words(ids) + self.places
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.next(self.norm(x)[:, -1])


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, groups, inner):
        super().__init__()
        self.norms = nn.ModuleList(RmsNorm(width) for _ in range(2))
        self.attention = Attention(width, heads, groups, bias=False)
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, mask, turn):
        x = x + self.attention(self.norms[0](x), mask, turn)
        normal = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(normal)) * self.up(normal))


class Llama(nn.Module):
    def __init__(self, width, depth, length, groups, vocabulary=16384):
        super().__init__()
        heads = width // 64
        self.words, self.norm = nn.Embedding(vocabulary, width), RmsNorm(width)
        self.layers = nn.ModuleList(LlamaLayer(width, heads, groups, width * 8 // 3 // 64 * 64) for _ in range(depth))
        self.next = nn.Linear(width, vocabulary, bias=False)
        angles = torch.arange(length)[:, None] / 10000.0 ** (torch.arange(0, 64, 2) / 64)
        self.register_buffer("cosine", torch.cat([angles, angles], 1).cos())
        self.register_buffer("sine", torch.cat([angles, angles], 1).sin())
        self.register_buffer("mask", causal(length))

    def turn(self, x):
        low, high = x.chunk(2, -1)
        return x * self.cosine + torch.cat([-high, low], -1) * self.sine

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, self.mask, self.turn)
        return self.next(self.norm(x)[:, -1])


class Lstm(nn.Module):
    """A classifier of sentences by a recurrent network that reads both ways."""

    def __init__(self, width=256, depth=2, vocabulary=8192):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, depth, batch_first=True, bidirectional=True)
        self.classify = nn.Linear(2 * width, 5)

    def forward(self, ids):
        return self.classify(self.lstm(self.words(ids))[0].mean(1))
