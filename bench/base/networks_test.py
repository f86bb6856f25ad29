"""The table of networks, without torch."""
import unittest

from networks import ALWAYS, NETWORKS, ONE_AT_A_TIME, batched

HELD_OUT_ALWAYS = "mnasnet1_0 r3d_18 transformer_enc vgg16 vit_b_16"
HELD_OUT_ONE_AT_A_TIME = ("bert_mini convnext_tiny deeplabv3_mobilenet densenet121 efficientnet_b0 inception_v3 mobilenet_v2 "
                          "mobilenet_v3_small regnet_y_400mf resnet18 resnet50 shufflenet_v2 squeezenet1_1")


def names(held_out):
    return sorted(network.name for network in NETWORKS if network.held_out == held_out)


class Table(unittest.TestCase):
    def test_names_differ(self):
        every = [network.name for network in NETWORKS]
        self.assertEqual(len(every), len(set(every)))

    def test_the_networks_of_the_figures_are_held_out(self):
        self.assertEqual(names(ALWAYS), HELD_OUT_ALWAYS.split())
        self.assertEqual(names(ONE_AT_A_TIME), HELD_OUT_ONE_AT_A_TIME.split())

    def test_forty_networks_teach(self):
        self.assertGreaterEqual(len(names("")) + len(names(ONE_AT_A_TIME)), 40)

    def test_a_batch_changes_the_axis_of_the_batch_alone(self):
        by_name = {network.name: network for network in NETWORKS}
        self.assertEqual(batched(by_name["resnet18"], 8), [(8, 3, 224, 224)])
        self.assertEqual(batched(by_name["transformer_enc"], 8), [(128, 8, 256)])
        for network in NETWORKS:
            self.assertEqual(batched(network, 1), [i.shape for i in network.inputs])


if __name__ == "__main__":
    unittest.main()
