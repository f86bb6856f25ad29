#pragma once

#include <string>

namespace CLI {
class App;
}

namespace whet {

/// A script that teaches bash the subcommands of `app`, their options and the words that options take. Everything else
/// is completed as files.
std::string bash_completion(const CLI::App& app);
/// The same for zsh and for fish, with what each command and option means.
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace whet
