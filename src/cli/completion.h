#pragma once

#include <string>

namespace CLI {
class App;
}

namespace whet {

/// A script that teaches bash the subcommands of `app`, their options and the words that options take. Everything else
/// is completed as files.
std::string bash_completion(const CLI::App& app);

}  // namespace whet
