#include "import/zoo/zoo.h"

#include "base/nearest.h"
#include "import/zoo/builder.h"
#include "import/zoo/network_builder.h"

namespace whet {
namespace {

struct Network {
  const char* name;
  Graph (*make)(const ZooOptions&);
  bool both_layouts = false;
  std::int64_t least_image = 32;
  bool takes_pictures = true;
};

template <int depth>
Graph resnet(const ZooOptions& options) {
  return make_resnet(depth, options);
}

constexpr Network kNetworks[] = {
    {"resnet-18", resnet<18>, true},
    {"resnet-34", resnet<34>, true},
    {"resnet-50", resnet<50>, true},
    {"resnet-101", resnet<101>, true},
    {"resnet-152", resnet<152>, true},
    {"mlp", make_mlp, true, 32, false},
    {"mobilenet", make_mobilenet},
    {"mobilenet_v2", make_mobilenet_v2},
    {"mobilenet_v3_small", make_mobilenet_v3_small},
    {"mnasnet1_0", make_mnasnet},
    {"efficientnet_b0", make_efficientnet_b0},
    {"squeezenet_v1.1", make_squeezenet},
    {"vgg-16", make_vgg16},
    {"resnet3d-18", make_resnet3d},
    {"inception_v3", make_inception_v3, false, 75},
    {"googlenet", make_googlenet},
    {"dcgan", make_dcgan, false, 32, false},
    {"bert-mini", make_bert_mini, false, 32, false},
    {"vit-small", make_vit_small},
    {"lstm", make_lstm, false, 32, false},
    {"mxnet-resnet18_v1", make_gluon_resnet18, true},
};

Status check_option(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return ok_status();
  return Error{std::string("the ") + what + " is " + std::to_string(value) + "; expected " + std::to_string(low) +
                   " to " + std::to_string(high),
               ErrorKind::wrong_use};
}

/// Some networks take no picture.
Status check_picture(const Network& network, const ZooOptions& options) {
  const ZooOptions usual;
  const bool image = options.image != usual.image;
  if (network.takes_pictures || (!image && options.layout == usual.layout)) return ok_status();
  return Error{
      std::string(image ? "--image" : "--layout") + " is for networks of pictures; zoo:" + network.name + " takes none",
      ErrorKind::wrong_use};
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
    if (name == network.name) {
      WHET_RETURN_IF_ERROR(check_picture(network, options));
      if (options.layout == Layout::channels_last && !network.both_layouts) {
        return Error{"the zoo has \"" + name + "\" with channels first only"};
      }
      WHET_RETURN_IF_ERROR(check_option("image size", options.image, network.least_image, 1024));
      return network.make(options);
    }
    known += (known.empty() ? "" : ", ") + std::string(network.name);
  }
  return Error{"the zoo has no network \"" + name + "\"; it has " + known + did_you_mean(name, zoo_names())};
}

}  // namespace whet
