"""Networks of volumes: [batch, channels, depth, height, width]."""
import torch
from torch import nn

from architectures.unet import EncoderDecoder


def twice(before, after):
    return nn.Sequential(*(layer for i in (before, after) for layer in (nn.Conv3d(i, after, 3, padding=1, bias=False), nn.BatchNorm3d(after), nn.ReLU())))


class Unet3d(EncoderDecoder):
    def __init__(self, width=16, levels=4, classes=4):
        sizes = [width * 2 ** i for i in range(levels)]
        super().__init__(1, sizes, twice, nn.ConvTranspose3d, nn.MaxPool3d(2), nn.Conv3d(width, classes, 1))


class Block3d(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(before, after, 3, stride, 1, bias=False), nn.BatchNorm3d(after), nn.ReLU(),
                                  nn.Conv3d(after, after, 3, 1, 1, bias=False), nn.BatchNorm3d(after))
        self.side = nn.Sequential(nn.Conv3d(before, after, 1, stride, bias=False), nn.BatchNorm3d(after))

    def forward(self, x):
        return torch.relu(self.body(x) + self.side(x))


def scan_classifier(width=32, classes=3):
    """A residual network of medical scans of one channel."""
    return nn.Sequential(nn.Conv3d(1, width, 5, 2, 2, bias=False), nn.BatchNorm3d(width), nn.ReLU(), Block3d(width, width, 1), Block3d(width, 2 * width, 2),
                         Block3d(2 * width, 4 * width, 2), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4 * width, classes))
