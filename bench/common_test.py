"""What the programs of this folder share, without whet."""
import unittest

from common import placement, steady_pairs


class Pairs(unittest.TestCase):
    """Each pair is the number of its try."""

    def measured(self, round_trips, count):
        trips, tries = iter(round_trips), iter(range(1, 100))
        return steady_pairs(lambda: next(trips), lambda: next(tries), count)

    def test_all_count_while_the_cores_stay(self):
        self.assertEqual(self.measured([120, 125, 180, 199], 3), ([1, 2, 3], 0))

    def test_one_thread_stays(self):
        self.assertEqual(self.measured([None, None, None], 2), ([1, 2], 0))

    def test_a_pair_in_which_they_moved_is_measured_again(self):
        self.assertEqual(self.measured([120, 400, 410, 430], 2), ([2, 3], 1))

    def test_a_pair_beside_another_program_is_measured_again(self):
        self.assertEqual(self.measured([120, 900, 120, 120], 1), ([3], 2))

    def test_it_ends_where_nothing_counts(self):
        self.assertEqual(self.measured([900] * 10, 2), ([], 5))

    def test_placements_have_the_limits_of_the_shell_scripts(self):
        self.assertEqual([placement(ns) for ns in (200, 201, 349, 350, 700, 701)],
                         ["near", "between", "between", "far", "far", "disturbed"])


if __name__ == "__main__":
    unittest.main()
