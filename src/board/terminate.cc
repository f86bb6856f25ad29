// In place of the C++ library's, which prints the names of exceptions and brings a demangler of 45 KB for that. Nothing here
// throws but where memory ends.
#include <cstdlib>

namespace __gnu_cxx {

void __verbose_terminate_handler() { std::abort(); }

}  // namespace __gnu_cxx
