#include "import/zoo/builder.h"

namespace whet {

Graph make_mlp(const ZooOptions& options) {
  ZooBuilder b("mlp", options);
  ValueId x = b.input("data", {options.batch, 784});
  x = b.relu("relu1", b.dense("fc1", x, 128, 1));
  x = b.relu("relu2", b.dense("fc2", x, 64, 2));
  return b.finish(b.softmax("softmax", b.dense("fc3", x, 10, 2)));
}

}  // namespace whet
