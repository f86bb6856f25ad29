#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compute/size.h"
#include "graph/graph.h"

// The sentences about sizes that a network does not have. Each names the size, what was found, and what to type instead.
namespace whet {

/// The network cannot be read at some of the sizes: what it said at one of these, and the sizes at which it can.
Error unreadable(const std::vector<SizeRange>&, const std::map<SizeValues, Error>& failed,
                 const std::set<SizeValues>& read);

/// A network and its sizes.
struct ReadGraph {
  const Graph& graph;
  const SizeValues& at;
};
/// Each size gives another network, as steps do that are unrolled: the first node that one of two has more.
Error too_many_structures(const std::vector<SizeRange>&, const ReadGraph&, const ReadGraph&, std::size_t structures);
/// Neighbouring sizes of the box give networks of several structures in no order.
Error interleaved(const std::vector<SizeRange>&, const SizeBox&);
/// A constant that is no window of the one at `largest`.
Error changed_constant(const std::vector<SizeRange>&, const std::string& name, const SizeValues& at,
                       const SizeValues& largest);
/// A number that is no function that is looked for, with some of its values.
Error no_function_of_sizes(const std::vector<SizeRange>&, const std::string& label,
                           const std::vector<std::pair<SizeValues, std::string>>& values);
/// The sizes gave another network when it was read a second time.
Error another_when_read_again(const std::vector<SizeRange>&, const SizeValues& at);
/// A kernel that cannot be one of all sizes.
Error no_sized_task(const std::vector<SizeRange>&, const Error& why, const SizeValues& at);

}  // namespace whet
