#include "import/zoo/zoo.h"

#include "import/zoo/builder.h"

namespace whet {
namespace {

struct Network {
  const char* name;
  Graph (*make)(const ZooOptions&);
};

template <int depth>
Graph resnet(const ZooOptions& options) {
  return make_resnet(depth, options);
}

constexpr Network kNetworks[] = {
    {"resnet-18", resnet<18>},   {"resnet-34", resnet<34>},   {"resnet-50", resnet<50>},
    {"resnet-101", resnet<101>}, {"resnet-152", resnet<152>}, {"mlp", make_mlp},
};

Status check_option(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return ok_status();
  return Error{std::string("the ") + what + " is " + std::to_string(value) + "; expected " + std::to_string(low) +
               " to " + std::to_string(high)};
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const Network& network : kNetworks) names.push_back(network.name);
  return names;
}

Result<Graph> zoo_model(const std::string& name, const ZooOptions& options) {
  // 32 pixels become one after five halvings; the upper bounds keep every activation below kMaxElements.
  WHET_RETURN_IF_ERROR(check_option("batch", options.batch, 1, 1024));
  WHET_RETURN_IF_ERROR(check_option("image size", options.image, 32, 1024));
  WHET_RETURN_IF_ERROR(check_option("batch times the pixels of an image", options.batch * options.image * options.image,
                                    1, std::int64_t{1} << 26));
  std::string known;
  for (const Network& network : kNetworks) {
    if (name == network.name) return network.make(options);
    known += (known.empty() ? "" : ", ") + std::string(network.name);
  }
  return Error{"the zoo has no network \"" + name + "\"; it has " + known};
}

}  // namespace whet
