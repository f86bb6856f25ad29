#pragma once

// DAGs that schedules are replayed on: steps_fuzz reads the first byte of its input as the DAG's number, make_seeds
// writes it.

namespace whet::fuzz {

constexpr const char* kDags[] = {
    R"(p0 = PLACEHOLDER [1, 14, 14, 16]
pad(i0, i1, i2, i3) = select((i1 >= 1) && (i1 < 15) && (i2 >= 1) && (i2 < 15), p0[i0, (i1 - 1), (i2 - 1), i3], 0f) for i0 in 1, i1 in 16, i2 in 16, i3 in 16  # pad i1:row i2:column
p1 = PLACEHOLDER [3, 3, 16, 32] const
conv(n, y, x, f) += (pad[n, (y + ry), (x + rx), rc]*p1[ry, rx, rc, f]) for n in 1, y in 14, x in 14, f in 32, ry in 3, rx in 3, rc in 16  # conv n:batch y:row x:column f:out_channel ry:tap rx:tap rc:in_channel
p2 = PLACEHOLDER [32] const
relu(n, y, x, f) = max((conv[n, y, x, f] + p2[f]), 0f) for n in 1, y in 14, x in 14, f in 32  # elementwise
return relu
)",
    R"(p0 = PLACEHOLDER [24, 32]
p1 = PLACEHOLDER [32, 48] const
matmul(i, j) += (p0[i, k]*p1[k, j]) for i in 24, j in 48, k in 32  # matmul i:row j:column k:in_channel
p2 = PLACEHOLDER [48] const
add(i, j) = (matmul[i, j] + p2[j]) for i in 24, j in 48  # elementwise
return add
)",
    R"(p0 = PLACEHOLDER [8, 100]
top(i) max= p0[i, k] for i in 8, k in 100  # softmax
exps(i, j) = exp((p0[i, j] - top[i])) for i in 8, j in 100  # softmax
sum(i) += exps[i, k] for i in 8, k in 100  # softmax
norm(i, j) = (exps[i, j]/sum[i]) for i in 8, j in 100  # softmax
return norm
)",
};
constexpr int kDagCount = sizeof kDags / sizeof kDags[0];

}  // namespace whet::fuzz
