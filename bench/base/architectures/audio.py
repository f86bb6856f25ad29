"""Networks of sound: spectra as pictures or as sequences, and samples."""
import torch
from torch import nn

from architectures.attention import Attention, Layer, feed_forward, positions


class WhisperEncoder(nn.Module):
    """[batch, bands, frames] to [batch, frames / 2, width]."""

    def __init__(self, width=384, depth=4, frames=3000, bands=80):
        super().__init__()
        self.first = nn.Conv1d(bands, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.places = positions(frames // 2, width)
        self.layers = nn.Sequential(*(Layer(width, width // 64) for _ in range(depth)), nn.LayerNorm(width))

    def forward(self, x):
        x = nn.functional.gelu(self.second(nn.functional.gelu(self.first(x))))
        return self.layers(x.transpose(1, 2) + self.places)


def separable(channels, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=channels), nn.BatchNorm2d(channels), nn.ReLU(),
                         nn.Conv2d(channels, channels, 1), nn.BatchNorm2d(channels), nn.ReLU())


def keyword_spotter(channels=64, depth=4, words=12):
    """The DS-CNN of MLPerf Tiny over [batch, 1, frames, coefficients]."""
    return nn.Sequential(nn.Conv2d(1, channels, (10, 4), 2, (5, 1)), nn.BatchNorm2d(channels), nn.ReLU(), *(separable(channels) for _ in range(depth)),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, words))


class VoiceDetector(nn.Module):
    """Spectrum by a convolution, four convolutions, and an LSTM whose state is handed in and out, as silero's."""

    def __init__(self, window=256, step=64):
        super().__init__()
        self.spectrum = nn.Conv1d(1, window + 2, window, step, bias=False)
        layers, before = [], window // 2 + 1
        for channels, stride in ((128, 1), (64, 2), (64, 2), (128, 1)):
            layers += [nn.Conv1d(before, channels, 3, stride, 1), nn.ReLU()]
            before = channels
        self.encoder, self.lstm, self.decide = nn.Sequential(*layers), nn.LSTM(128, 128, batch_first=True), nn.Linear(128, 1)

    def forward(self, samples, hidden, cell):
        real, imaginary = self.spectrum(samples).chunk(2, 1)
        x = self.encoder(torch.sqrt(real * real + imaginary * imaginary + 1e-6))
        x, (hidden, cell) = self.lstm(x.transpose(1, 2), (hidden, cell))
        return torch.sigmoid(self.decide(torch.relu(x))).mean(1), hidden, cell


class ConformerLayer(nn.Module):
    def __init__(self, width, heads, kernel=31):
        super().__init__()
        self.before, self.after = (nn.Sequential(nn.LayerNorm(width), feed_forward(width, 4 * width, nn.SiLU)) for _ in range(2))
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.convolve_norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.convolve = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
                                      nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))

    def forward(self, x):
        x = x + self.before(x) / 2
        x = x + self.attention(self.norm(x))
        x = x + self.convolve(self.convolve_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last_norm(x + self.after(x) / 2)


class Conformer(nn.Module):
    """[batch, 1, frames, 80] to letters, four frames each."""

    def __init__(self, width=144, depth=8, heads=4, letters=128):
        super().__init__()
        self.less = nn.Sequential(nn.Conv2d(1, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1), nn.ReLU())
        self.project = nn.Linear(width * 20, width)
        self.layers = nn.Sequential(*(ConformerLayer(width, heads) for _ in range(depth)), nn.Linear(width, letters))

    def forward(self, x):
        x = self.less(x)
        return self.layers(self.project(x.permute(0, 2, 1, 3).flatten(2)))


class SpeechFeatures(nn.Module):
    """wav2vec's convolutions over samples and some layers of a transformer."""

    def __init__(self, channels=256, width=384, depth=4):
        super().__init__()
        layers, before = [], 1
        for kernel, stride in ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)):
            layers += [nn.Conv1d(before, channels, kernel, stride, bias=False), nn.GroupNorm(channels, channels), nn.GELU()]
            before = channels
        self.features, self.project = nn.Sequential(*layers), nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, width))
        self.layers = nn.Sequential(*(Layer(width, 6) for _ in range(depth)))

    def forward(self, samples):
        return self.layers(self.project(self.features(samples).transpose(1, 2)))


class DilatedBlock(nn.Module):
    def __init__(self, channels, inner, dilation):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(channels, inner, 1), nn.PReLU(), nn.BatchNorm1d(inner),
                                  nn.Conv1d(inner, inner, 3, padding=dilation, dilation=dilation, groups=inner), nn.PReLU(), nn.BatchNorm1d(inner),
                                  nn.Conv1d(inner, channels, 1))

    def forward(self, x):
        return x + self.body(x)


class Separator(nn.Module):
    """Conv-TasNet: two voices of one recording, by masks over learned filters."""

    def __init__(self, filters=256, channels=128, inner=256, depth=8):
        super().__init__()
        self.encode = nn.Conv1d(1, filters, 16, 8, bias=False)
        self.mask = nn.Sequential(nn.Conv1d(filters, channels, 1), *(DilatedBlock(channels, inner, 2 ** i) for i in range(depth)),
                                  nn.Conv1d(channels, 2 * filters, 1), nn.Sigmoid())
        self.decode = nn.ConvTranspose1d(filters, 1, 16, 8, bias=False)

    def forward(self, samples):
        x = torch.relu(self.encode(samples))
        first, second = self.mask(x).chunk(2, 1)
        return self.decode(x * first), self.decode(x * second)
