#pragma once

#include "choice/choice.h"

namespace whet {

/// The errors of `choose_plans`.
Status check_choice_problem(const ChoiceProblem&, const ChoiceOptions&);

}  // namespace whet
