#pragma once

#include <string>
#include <string_view>

namespace whet {

/// The end of a message about a word that users of TVM bring along, "--tuner", "--n_trial", "tvmc": "; whet's own is ...".
/// "" for any other word.
std::string instead_of_tvms(std::string_view word);

}  // namespace whet
