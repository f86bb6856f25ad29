#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

/// Pickles, as torch.save and TorchScript write them. Nothing in a pickle is run: what it would call is kept as a name.
namespace whet::torch {

/// The place of a value in its pickle.
using PickleId = std::uint32_t;

struct PickleValue {
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    number,
    text,
    list,
    tuple,
    dictionary,
    global,  ///< `text`: "collections.OrderedDict"
    object,  ///< an instance of the class `text`; `members`: its attributes
    call,    ///< what the function `text` makes of the arguments `items`
    storage  ///< a persistent id; `items`: its tuple
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;  ///< of a boolean too
  double number = 0;
  std::string text;
  std::vector<PickleId> items;                           ///< of lists, tuples, calls and storages
  std::vector<std::pair<PickleId, PickleId>> members{};  ///< of dictionaries and objects, in order
};

/// Values by their places. A value may be in several others, also in itself: who walks over them counts the levels.
struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;

  const PickleValue& at(PickleId id) const { return values[id]; }
  const PickleValue& top() const { return values[root]; }
};

/// Reads a pickle of protocol 2 to 5. Calls are kept of the few functions that torch's files need; a call of any other, and
/// an instance of a class that is none of TorchScript's, is an error that names it. `what` begins messages.
Result<Pickle> parse_pickle(std::string_view bytes, const std::string& what);

}  // namespace whet::torch
