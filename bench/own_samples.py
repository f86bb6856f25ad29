"""Pictures for trained networks, drawn from a seed with numpy alone: lines and pages of text, faces, rooms (bench/precision --auto).

    own_samples.py NETWORK COUNT SEED FILE.npy

The array has samples along its first dimension, of the network's input and in the range that it was trained on.
"""
import sys

import numpy as np

# Letters as strokes on a grid of 4 by 6, y downwards: points of a line, lines apart by ";".
STROKES = {
    "A": "0,6 2,0 4,6;1,4 3,4", "B": "0,0 0,6 3,6 4,5 4,4 3,3 0,3;3,3 4,2 4,1 3,0 0,0", "C": "4,1 3,0 1,0 0,1 0,5 1,6 3,6 4,5",
    "D": "0,0 0,6 2,6 4,4 4,2 2,0 0,0", "E": "4,0 0,0 0,6 4,6;0,3 3,3", "F": "4,0 0,0 0,6;0,3 3,3",
    "G": "4,1 3,0 1,0 0,1 0,5 1,6 3,6 4,5 4,3 2,3", "H": "0,0 0,6;4,0 4,6;0,3 4,3", "I": "2,0 2,6;1,0 3,0;1,6 3,6",
    "J": "4,0 4,5 3,6 1,6 0,5", "K": "0,0 0,6;4,0 0,3 4,6", "L": "0,0 0,6 4,6", "M": "0,6 0,0 2,3 4,0 4,6", "N": "0,6 0,0 4,6 4,0",
    "O": "1,0 3,0 4,1 4,5 3,6 1,6 0,5 0,1 1,0", "P": "0,6 0,0 3,0 4,1 4,2 3,3 0,3", "Q": "1,0 3,0 4,1 4,5 3,6 1,6 0,5 0,1 1,0;2,4 4,6",
    "R": "0,6 0,0 3,0 4,1 4,2 3,3 0,3;2,3 4,6", "S": "4,1 3,0 1,0 0,1 0,2 1,3 3,3 4,4 4,5 3,6 1,6 0,5", "T": "0,0 4,0;2,0 2,6",
    "U": "0,0 0,5 1,6 3,6 4,5 4,0", "V": "0,0 2,6 4,0", "W": "0,0 1,6 2,3 3,6 4,0", "X": "0,0 4,6;4,0 0,6", "Y": "0,0 2,3 4,0;2,3 2,6",
    "Z": "0,0 4,0 0,6 4,6", "0": "1,0 3,0 4,1 4,5 3,6 1,6 0,5 0,1 1,0;1,5 3,1", "1": "1,1 2,0 2,6", "2": "0,1 1,0 3,0 4,1 4,2 0,6 4,6",
    "3": "0,1 1,0 3,0 4,1 4,2 3,3 1,3;3,3 4,4 4,5 3,6 1,6 0,5", "4": "3,6 3,0 0,4 4,4", "5": "4,0 0,0 0,2 3,2 4,3 4,5 3,6 0,6",
    "6": "4,1 3,0 1,0 0,1 0,5 1,6 3,6 4,5 4,4 3,3 0,3", "7": "0,0 4,0 1,6",
    "8": "1,0 3,0 4,1 4,2 3,3 1,3 0,2 0,1 1,0;1,3 0,4 0,5 1,6 3,6 4,5 4,4 3,3", "9": "4,3 1,3 0,2 0,1 1,0 3,0 4,1 4,5 3,6 1,6 0,5"}


def segments(letter):
    for line in STROKES[letter].split(";"):
        points = [tuple(map(float, point.split(","))) for point in line.split()]
        yield from zip(points, points[1:])


def distance(shape, a, b):
    """Of each pixel to the segment from a to b, points (x, y)."""
    y, x = np.mgrid[:shape[0], :shape[1]].astype(np.float32)
    (ax, ay), (bx, by) = a, b
    length = (bx - ax)**2 + (by - ay)**2
    along = np.clip(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / max(length, 1e-6), 0, 1)
    return np.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay))


def glyph(letter, height, pen, slant):
    """Ink of a letter, 0 to 1, `height` pixels tall, drawn with a pen of that width."""
    scale, edge = height / 6, pen
    shape = (int(height + 2 * edge) + 1, int(4 * scale + 2 * edge + abs(slant) * height) + 1)
    ink = np.zeros(shape, np.float32)
    at = lambda p: (edge + p[0] * scale + max(-slant, 0) * height + slant * (6 - p[1]) * scale, edge + p[1] * scale)  # noqa: E731
    for a, b in segments(letter):
        ink = np.maximum(ink, np.clip(pen / 2 + 0.5 - distance(shape, at(a), at(b)), 0, 1))
    return ink


def write(ink, text, x, y, height, pen, slant):
    """Puts a line of text into the ink, as far as it fits. Returns where it ends."""
    for letter in text:
        if letter != " ":
            drawn = glyph(letter, height, pen, slant)
            h, w = min(drawn.shape[0], ink.shape[0] - y), min(drawn.shape[1], ink.shape[1] - x)
            if h <= 0 or w <= 0:
                break
            ink[y:y + h, x:x + w] = np.maximum(ink[y:y + h, x:x + w], drawn[:h, :w])
        x += int(0.9 * height)
    return x


def words(rng, count):
    made = []
    for _ in range(count):
        if rng.random() < 0.25:
            made.append("".join(map(str, rng.integers(0, 10, rng.integers(2, 6)))))
        else:
            made.append("".join(rng.choice(list("BCDFGHJKLMNPRSTVWXZ")) + rng.choice(list("AEIOUY")) for _ in range(rng.integers(1, 4))))
    return " ".join(made)


def smooth(rng, height, width, cells, low, high):
    """A background that changes slowly: colours at the corners of cells, and between them what lies between."""
    corners = rng.uniform(low, high, (cells + 1, cells + 1, 3))
    rows = np.linspace(0, cells, height)
    columns = np.linspace(0, cells, width)
    y, x = np.minimum(rows.astype(int), cells - 1), np.minimum(columns.astype(int), cells - 1)
    fy, fx = (rows - y)[:, None, None], (columns - x)[None, :, None]
    top = corners[y][:, x] * (1 - fx) + corners[y][:, x + 1] * fx
    bottom = corners[y + 1][:, x] * (1 - fx) + corners[y + 1][:, x + 1] * fx
    return top * (1 - fy) + bottom * fy


def inked(rng, ink, low=120):
    """Dark ink on a light background, with a camera's noise."""
    paper = smooth(rng, *ink.shape, 2, low, 255)
    colour = rng.uniform(0, 90, 3)
    picture = paper * (1 - ink[..., None]) + colour * ink[..., None]
    return np.clip(picture + rng.normal(0, rng.uniform(0, 10), picture.shape), 0, 255)


def line(rng, height, width):
    ink = np.zeros((height, width), np.float32)
    tall = int(rng.integers(20, 31))
    write(ink, words(rng, 3), int(rng.integers(2, 10)), int(rng.integers(2, height - tall - 8)), tall, rng.uniform(1.5, 4), rng.uniform(-0.1, 0.3))
    return inked(rng, ink, 150)


def page(rng, size):
    ink, y = np.zeros((size, size), np.float32), int(rng.integers(0, 30))
    while y < size - 30:
        tall = int(rng.integers(10, 32))
        write(ink, words(rng, int(rng.integers(1, 5))), int(rng.integers(0, size // 3)), y, tall, rng.uniform(1.2, 3.5), rng.uniform(-0.05, 0.2))
        y += tall + int(rng.integers(8, 50))
    return inked(rng, ink)


def ellipse(size, centre, radii):
    """1 inside, 0 outside, with a soft edge."""
    y, x = np.mgrid[:size, :size].astype(np.float32)
    away = np.hypot((x - centre[0]) / radii[0], (y - centre[1]) / radii[1])
    return np.clip((1 - away) * min(radii) + 0.5, 0, 1)[..., None]


def face(rng, size):
    picture = smooth(rng, size, size, 4, 20, 235)
    for _ in range(int(rng.integers(1, 3))):
        r = rng.uniform(0.12, 0.3) * size
        x, y = rng.uniform(r, size - r, 2)
        skin = np.array([rng.uniform(120, 230), 0, 0])
        skin[1], skin[2] = skin[0] * rng.uniform(0.7, 0.85), skin[0] * rng.uniform(0.5, 0.7)
        shade = 1 - 0.3 * np.clip((np.mgrid[:size, :size][1] - x) / r, -1, 1)[..., None] * rng.uniform(-1, 1)
        parts = [((x, y - 0.25 * r), (0.95 * r, 1.15 * r), rng.uniform(10, 80, 3)), ((x, y), (0.8 * r, r), skin),
                 ((x, y + 0.5 * r), (0.3 * r, 0.1 * r), skin * [0.8, 0.4, 0.4]), ((x, y + 0.15 * r), (0.1 * r, 0.2 * r), skin * 0.85)]
        for side in (-1, 1):
            eye = x + side * 0.33 * r
            parts += [((eye, y - 0.2 * r), (0.17 * r, 0.09 * r), np.full(3, 235.0)), ((eye, y - 0.2 * r), (0.08 * r, 0.09 * r), np.full(3, 30.0)),
                      ((eye, y - 0.4 * r), (0.2 * r, 0.04 * r), np.full(3, 50.0))]
        for centre, radii, colour in parts:
            inside = ellipse(size, centre, radii)
            picture = picture * (1 - inside) + np.clip(colour * shade, 0, 255) * inside
    return np.clip(picture + rng.normal(0, rng.uniform(1, 8), picture.shape), 0, 255)


def room(rng, size):
    """Walls that meet in lines, with frames on them."""
    y, x = np.mgrid[:size, :size].astype(np.float32)
    left, right = np.sort(rng.uniform(0.15, 0.85, 2)) * size
    top, floor = rng.uniform(0.1, 0.35) * size, rng.uniform(0.6, 0.85) * size
    picture = smooth(rng, size, size, 2, 140, 230)
    tilt = rng.uniform(0.2, 0.8, 4)
    walls = [(x < left) & (y > top - tilt[0] * (left - x)) & (y < floor + tilt[1] * (left - x)),
             (x > right) & (y > top - tilt[2] * (x - right)) & (y < floor + tilt[3] * (x - right))]
    below = (y >= floor) & ~walls[0] & ~walls[1]
    for part in [*walls, below]:
        picture = np.where(part[..., None], smooth(rng, size, size, 2, 60, 200), picture)
    corners = [((left, top), (left, floor)), ((right, top), (right, floor)), ((left, floor), (right, floor)), ((left, top), (right, top))]
    for _ in range(int(rng.integers(1, 5))):
        (x0, x1), (y0, y1) = np.sort(rng.uniform(0.05, 0.95, (2, 2)) * size, axis=1)
        corners += [((x0, y0), (x1, y0)), ((x1, y0), (x1, y1)), ((x1, y1), (x0, y1)), ((x0, y1), (x0, y0))]
    for a, b in corners:
        drawn = np.clip(rng.uniform(0.8, 2) + 0.5 - distance((size, size), a, b), 0, 1)[..., None]
        picture = picture * (1 - drawn) + rng.uniform(10, 90) * drawn
    return np.clip(picture + rng.normal(0, rng.uniform(1, 8), picture.shape), 0, 255)


def text_input(picture):
    return ((picture[..., ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)


def page_input(picture):
    return ((picture / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)


def turned(rng, picture):
    """Half of the lines stand on their heads: the classifier tells which."""
    return picture[::-1, ::-1] if rng.random() < 0.5 else picture


DRAWN = {
    "ppocr_cls": lambda rng: text_input(turned(rng, line(rng, 48, 192))),
    "ppocr_rec": lambda rng: text_input(line(rng, 48, 320)),
    "ppocr_det": lambda rng: page_input(page(rng, 320)),
    "blazeface": lambda rng: face(rng, 128) / 127.5 - 1,
    "mlsd": lambda rng: np.concatenate([room(rng, 320), np.ones((320, 320, 1))], axis=2),
}


def samples(network, count, seed):
    """[count, 1, ...] of f32. The same seed draws the same pictures, another one others."""
    rng = np.random.default_rng([seed, *map(ord, network)])
    return np.stack([DRAWN[network](rng)[None] for _ in range(count)]).astype(np.float32)


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in DRAWN:
        sys.exit(f"usage: own_samples.py {'|'.join(DRAWN)} COUNT SEED FILE.npy")
    np.save(sys.argv[4], samples(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
