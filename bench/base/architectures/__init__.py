"""Architectures that no package has, with seeded weights: what they compute matters, not what they know."""
