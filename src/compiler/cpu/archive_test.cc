#include "compiler/cpu/archive.h"

#include <gtest/gtest.h>

#include "tensor/dtype.h"

namespace whet::archive_test {
namespace {

ModelPlan plan_of(const std::string& name) {
  ModelPlan plan;
  plan.name = name;
  plan.target = "cpu -mcpu=x86-64 -threads=2";
  plan.compiler = "whet 1";
  plan.inputs = {{"x", static_cast<std::uint32_t>(DType::f32), {1, 8}, 32},
                 {"mask", static_cast<std::uint32_t>(DType::boolean), {8}, 8}};
  plan.outputs = {{"y", static_cast<std::uint32_t>(DType::i64), {}, 8}};
  return plan;
}

TEST(HeaderOfAnArchive, NamesTensorsAndTypesTheirMemory) {
  EXPECT_EQ(c_header("net", plan_of("a net"), false),
            R"(/* a net for "cpu -mcpu=x86-64 -threads=2", by whet 1: link with its archive.
 *   in0  x  f32[1x8]
 *   in1  mask  bool[8]
 *   out0  y  i64[]
 */
#ifndef WHET_HEADER_OF_net
#define WHET_HEADER_OF_net

#include "whet/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The model's table of functions. */
const whet_api* whet_net_v1(void);

/** Opens the model, and a session of it: 0, or -1 and a sentence. */
static inline int net_open(whet_model** model, whet_session** session, whet_error* error) {
  const whet_api* const whet = whet_net_v1();
  if (whet->model_open(NULL, model, error) != 0) return -1;
  if (whet->session_create(*model, NULL, session, error) == 0) return 0;
  whet->model_close(*model);
  return -1;
}

/** One inference: 0, or -1 and a sentence. Tensors are contiguous and row-major; those that are 64-byte aligned are not copied. */
static inline int net_run(whet_session* session, const float* in0, const uint8_t* in1, int64_t* out0, whet_error* error) {
  const whet_api* const whet = whet_net_v1();
  if (whet->session_set_input(session, 0, in0, NULL, error) != 0) return -1;
  if (whet->session_set_input(session, 1, in1, NULL, error) != 0) return -1;
  if (whet->session_bind_output(session, 0, out0, error) != 0) return -1;
  return whet->session_run(session, error);
}

#ifdef __cplusplus
}
#endif

#endif
)");
}

TEST(HeaderOfAnArchive, LeavesTheShapesOfSeveralSizesToTheSession) {
  const std::string text = c_header("net", plan_of("a net"), true);
  EXPECT_EQ(text.find("net_run"), std::string::npos);
  EXPECT_NE(text.find("session_set_shapes"), std::string::npos);
}

TEST(HeaderOfAnArchive, OpensTheWeightsFileWhereThereIsOne) {
  const std::string text = c_header("net", plan_of("a net"), false, true);
  EXPECT_NE(text.find(R"(
static inline int net_open(const char* weights, whet_model** model, whet_session** session, whet_error* error) {
  const whet_api* const whet = whet_net_v1();
  whet_open_source source;
  memset(&source, 0, sizeof source);
  source.struct_bytes = (uint32_t)sizeof source;
  source.weights_path = weights;
  if (whet->model_open_from(NULL, &source, model, error) != 0) return -1;
)"),
            std::string::npos)
      << text;
}

TEST(HeaderOfAnArchive, EndsItsCommentWhereItEnds) {
  const std::string text = c_header("net", plan_of("a */ int x;\n#error"), true);
  EXPECT_TRUE(text.starts_with("/* a *. int x;?#error for ")) << text;
}

}  // namespace
}  // namespace whet::archive_test
