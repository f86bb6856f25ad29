"""Networks of pictures that torchvision has not, and parts of those that it has."""
import torch
from torch import nn

from architectures.attention import Layer, feed_forward
from architectures.unet import EncoderDecoder


def convolution(before, after, kernel=3, stride=1, groups=1, activation=nn.SiLU):
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(after), activation())


def features(network, channels):
    """A classifier of torchvision for pictures of any size: its convolutions, and one product over their mean."""
    return nn.Sequential(network.features, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


class Output(nn.Module):
    """The scores of each pixel of a segmentation network of torchvision, which has its outputs by name."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)["out"]


class Detector(nn.Module):
    """A detector of torchvision without what finds boxes afterwards: features and the heads over them."""

    def __init__(self, network):
        super().__init__()
        self.backbone, self.head = network.backbone, network.head if hasattr(network, "head") else network.rpn.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return tuple(found.values()) if isinstance(found, dict) else tuple(found[0] + found[1])


class MobilenetV1(nn.Sequential):
    def __init__(self, width=1.0):
        def channels(n):
            return int(n * width)
        plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
        layers, before = [convolution(3, channels(32), stride=2, activation=nn.ReLU6)], channels(32)
        for after, stride in plan:
            layers += [convolution(before, before, 3, stride, before, nn.ReLU6), convolution(before, channels(after), 1, activation=nn.ReLU6)]
            before = channels(after)
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 1000))


class Unet(EncoderDecoder):
    def __init__(self, width=32, levels=5, classes=2):
        def twice(before, after):
            return nn.Sequential(convolution(before, after, activation=nn.ReLU), convolution(after, after, activation=nn.ReLU))
        sizes = [width * 2 ** i for i in range(levels)]
        super().__init__(3, sizes, twice, nn.ConvTranspose2d, nn.MaxPool2d(2), nn.Conv2d(width, classes, 1))


class MixerLayer(nn.Module):
    def __init__(self, tokens, width, token_inner, inner):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.tokens, self.channels = feed_forward(tokens, token_inner), feed_forward(width, inner)

    def forward(self, x):
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norms[1](x))


class Mixer(nn.Module):
    def __init__(self, width=512, depth=8, image=224, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.layers = nn.Sequential(*(MixerLayer((image // patch) ** 2, width, width // 2, 4 * width) for _ in range(depth)), nn.LayerNorm(width))
        self.classify = nn.Linear(width, 1000)

    def forward(self, x):
        return self.classify(self.layers(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class Inverted(nn.Module):
    """A block of MobileNet V2."""

    def __init__(self, before, after, stride=1, expand=4):
        super().__init__()
        inner = before * expand
        self.body = nn.Sequential(convolution(before, inner, 1), convolution(inner, inner, 3, stride, inner),
                                  nn.Conv2d(inner, after, 1, bias=False), nn.BatchNorm2d(after))
        self.adds = stride == 1 and before == after

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobileVitBlock(nn.Module):
    """Transformer layers over the pixels that have the same place in their patch of 2 x 2."""

    def __init__(self, channels, width, depth):
        super().__init__()
        self.local = nn.Sequential(convolution(channels, channels), nn.Conv2d(channels, width, 1, bias=False))
        self.layers = nn.Sequential(*(Layer(width, 4, 2 * width, nn.SiLU) for _ in range(depth)), nn.LayerNorm(width))
        self.back, self.join = convolution(width, channels, 1), convolution(2 * channels, channels)

    def forward(self, x):
        y = self.local(x)
        n, c, h, w = (int(d) for d in y.shape)
        y = y.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 2, 4, 1).reshape(n * 4, h * w // 4, c)
        y = self.layers(y).reshape(n, 2, 2, h // 2, w // 2, c).permute(0, 5, 3, 1, 4, 2).reshape(n, c, h, w)
        return self.join(torch.cat([x, self.back(y)], 1))


class MobileVit(nn.Sequential):
    """MobileViT XS."""

    def __init__(self):
        super().__init__(convolution(3, 16, stride=2), Inverted(16, 32), Inverted(32, 48, 2), Inverted(48, 48), Inverted(48, 48), Inverted(48, 64, 2),
                         MobileVitBlock(64, 96, 2), Inverted(64, 80, 2), MobileVitBlock(80, 120, 4), Inverted(80, 96, 2), MobileVitBlock(96, 144, 3),
                         convolution(96, 384, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(384, 1000))


def generator(width=64, noise=100):
    """DCGAN's: [batch, noise, 1, 1] to pictures of 64 x 64."""
    layers, before = [nn.ConvTranspose2d(noise, 8 * width, 4, 1, 0, bias=False)], 8 * width
    for after in (4 * width, 2 * width, width, 3):
        layers += [nn.BatchNorm2d(before), nn.ReLU(), nn.ConvTranspose2d(before, after, 4, 2, 1, bias=False)]
        before = after
    return nn.Sequential(*layers, nn.Tanh())


class Residual(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return x + self.body(x)


def super_resolution(width=64, depth=8, scale=2):
    """EDSR's: pictures of `scale` times the size."""
    blocks = (Residual(nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1))) for _ in range(depth))
    return nn.Sequential(nn.Conv2d(3, width, 3, 1, 1), *blocks, nn.Conv2d(width, 3 * scale ** 2, 3, 1, 1), nn.PixelShuffle(scale))


def style_transfer(width=32):
    """Johnson's, with instance normalization."""
    def layer(before, after, kernel=3, stride=1):
        return nn.Sequential(nn.ReflectionPad2d(kernel // 2), nn.Conv2d(before, after, kernel, stride), nn.InstanceNorm2d(after, affine=True), nn.ReLU())
    residual = (Residual(nn.Sequential(layer(4 * width, 4 * width), layer(4 * width, 4 * width))) for _ in range(5))
    return nn.Sequential(layer(3, width, 9), layer(width, 2 * width, 3, 2), layer(2 * width, 4 * width, 3, 2), *residual, nn.Upsample(scale_factor=2),
                         layer(4 * width, 2 * width), nn.Upsample(scale_factor=2), layer(2 * width, width), nn.ReflectionPad2d(4), nn.Conv2d(width, 3, 9))


class Pose(nn.Module):
    """Heat maps of joints by three transposed convolutions over a residual network's features."""

    def __init__(self, network, joints=17):
        super().__init__()
        self.features = nn.Sequential(*list(network.children())[:-2])
        layers, before = [], network.fc.in_features
        for _ in range(3):
            layers += [nn.ConvTranspose2d(before, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU()]
            before = 128
        self.heads = nn.Sequential(*layers, nn.Conv2d(128, joints, 1))

    def forward(self, x):
        return self.heads(self.features(x))


class Crnn(nn.Module):
    """Letters of a line of text: [batch, 1, 32, width] by convolutions and an LSTM."""

    def __init__(self, letters=97):
        super().__init__()
        def layer(before, after):
            return convolution(before, after, activation=nn.ReLU)
        self.features = nn.Sequential(layer(1, 32), nn.MaxPool2d(2), layer(32, 64), nn.MaxPool2d(2), layer(64, 128), layer(128, 128), nn.MaxPool2d((2, 1)),
                                      layer(128, 256), nn.MaxPool2d((2, 1)), nn.Conv2d(256, 256, (2, 1)))
        self.lstm, self.classify = nn.LSTM(256, 128, 2, batch_first=True, bidirectional=True), nn.Linear(256, letters)

    def forward(self, x):
        return self.classify(self.lstm(self.features(x)[:, :, 0].transpose(1, 2))[0]).softmax(-1)


def perceptron(sizes=(784, 1024, 1024, 512, 10)):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
