"""The pictures that bench/precision --auto draws; skipped (exit code 77) with a line where numpy is missing."""
import sys
import unittest

try:
    import numpy as np
except ModuleNotFoundError:
    print("skipped: python3-numpy is missing; scripts/bootstrap installs it")
    sys.exit(77)

from own_samples import DRAWN, STROKES, samples

SHAPES = {"ppocr_cls": (1, 3, 48, 192), "ppocr_rec": (1, 3, 48, 320), "ppocr_det": (1, 3, 320, 320), "blazeface": (1, 128, 128, 3),
          "mlsd": (1, 320, 320, 4)}


class Samples(unittest.TestCase):
    def test_have_the_shapes_of_the_networks_inputs(self):
        self.assertEqual(set(SHAPES), set(DRAWN))
        for network, shape in SHAPES.items():
            drawn = samples(network, 2, 1)
            self.assertEqual((drawn.dtype, drawn.shape), (np.float32, (2, *shape)))
            self.assertTrue(np.isfinite(drawn).all())
            self.assertGreater(drawn[0].std(), 0)

    def test_are_those_of_their_seed(self):
        for network in ("ppocr_cls", "blazeface"):
            self.assertTrue(np.array_equal(samples(network, 2, 1), samples(network, 2, 1)))
            self.assertFalse(np.array_equal(samples(network, 2, 1), samples(network, 2, 2)))
            first, second = samples(network, 2, 1)
            self.assertFalse(np.array_equal(first, second))

    def test_have_the_range_that_the_network_was_trained_on(self):
        for network, (low, high) in {"ppocr_rec": (-1, 1), "blazeface": (-1, 1), "mlsd": (0, 255)}.items():
            drawn = samples(network, 2, 3)
            self.assertGreaterEqual(drawn.min(), low)
            self.assertLessEqual(drawn.max(), high)

    def test_have_every_letter_and_digit(self):
        self.assertEqual("".join(sorted(STROKES)), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")


if __name__ == "__main__":
    unittest.main()
