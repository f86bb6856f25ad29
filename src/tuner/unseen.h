#pragma once

#include <vector>

namespace whet {

/// What samples that nobody has looked at may do, by those at hand. Both functions take one number a sample, all of like ones.

/// A number that one sample in ten thousand goes beyond: the largest of many numbers is distributed as Gumbel's law has it, whose two
/// parameters follow from the mean and the deviation of what is at hand. It never is less than the largest of them. What is equal in all
/// samples, as a limit that activations are clipped at, is not expected to be more in any other one.
///   largest  the largest number of each sample; there is one
double reach_of(const std::vector<double>& largest);

/// What the worst of as many other samples stays within in nine cases of ten, if the logarithms of errors are distributed by the normal law:
/// a few samples may err by far more than all others, as those do between which a classifier wavers. The deviation is the slope of the larger
/// half over the places that the law gives them (Blom's), of errors that are no thousandth of the largest or less. At least the largest of
/// them, and no more of fewer than eight: their deviation is noise. 0 of none.
///   shares  errors, none negative
double worst_to_come(std::vector<double> shares);

}  // namespace whet
