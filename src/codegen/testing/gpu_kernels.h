#pragma once

#include "codegen/testing/builder.h"

namespace whet {

/// Writes small Programs for GPUs by hand.
struct GpuBuilder : Builder {
  using Builder::Builder;
  using Body2 = std::function<Stmt(Expr block, Expr thread)>;

  Stmt launch(std::int64_t blocks, std::int64_t threads, const Body2& body) {
    return loop(
        int_const(0), int_const(blocks),
        [&](Expr b) {
          return loop(int_const(0), int_const(threads), [&](Expr t) { return body(b, t); }, LoopKind::thread);
        },
        LoopKind::block);
  }
  static Stmt barrier() { return make_stmt(Barrier{Barrier::Reach::block}); }
  static Stmt grid_barrier() { return make_stmt(Barrier{Barrier::Reach::grid}); }
  static Stmt commit() { return make_stmt(CopyGroup{CopyGroup::Kind::commit}); }
  static Stmt wait(int pending) { return make_stmt(CopyGroup{CopyGroup::Kind::wait, pending}); }
  /// An asynchronous copy.
  static Stmt copy(BufferId to, Expr index, Expr value) {
    return make_stmt(Store{to, {std::move(index)}, std::move(value), Expr(), true});
  }
  /// to[index] = the value of thread ^ cross.
  static Stmt cross(BufferId to, std::int64_t index, Expr value, int cross) {
    return make_stmt(Store{to, {int_const(index)}, std::move(value), Expr(), false, cross});
  }
  static Expr vec(Expr base) { return ramp(std::move(base), 1, 4); }
};

/// y = max(x * 2 + 1, 0), 4 elements a thread, with a guard at the end.
inline Program elementwise_kernel(std::int64_t n) {
  GpuBuilder b("elementwise");
  const BufferId x = b.input(n), y = b.output(n);
  const std::int64_t blocks = (n + 511) / 512;
  b.p.body = b.launch(blocks, 128, [&](Expr block, Expr t) {
    const Expr at = block * 512 + t * 4;
    return b.when(at < int_const(n), b.put(y, b.vec(at), max(b.at(x, b.vec(at)) * f32(2, 4) + f32(1, 4), f32(0, 4))));
  });
  return b.p;
}

/// y[r] = sum of x[r, 0 .. columns - 1], a warp a row, 4 rows a block. `columns` is no multiple of 32: the last are masked.
inline Program row_sum_kernel(std::int64_t rows, std::int64_t columns) {
  GpuBuilder b("row_sum");
  const BufferId x = b.input(rows * columns), y = b.output(rows), sum = b.scratch(Scope::registers, 1);
  const std::int64_t steps = (columns + 31) / 32;
  b.p.body = b.launch(rows / 4, 128, [&](Expr block, Expr t) {
    const Expr row = block * 4 + floordiv(t, 32), lane = floormod(t, 32);
    std::vector<Stmt> all = {b.put(sum, 0, f32(0))};
    all.push_back(b.loop(steps, [&](Expr i) {
      const Expr column = i * 32 + lane;
      const Expr inside = column < int_const(columns);
      return b.put(sum, 0, b.at(sum, 0) + select(inside, b.at(x, row * columns + column), f32(0)));
    }));
    const BufferId other = b.scratch(Scope::registers, 1, DType::f32, "other");
    for (int mask = 16; mask > 0; mask /= 2) {
      all.push_back(b.cross(other, 0, b.at(sum, 0), mask));
      all.push_back(b.put(sum, 0, b.at(sum, 0) + b.at(other, 0)));
    }
    all.push_back(b.when(equal(lane, int_const(0)), b.put(y, row, b.at(sum, 0))));
    return whet::block(std::move(all));
  });
  return b.p;
}

/// What a test leaves out of a kernel to see whether it is missed.
struct LeftOut {
  bool first_barrier = false;  ///< of the loop: between the copies that have landed and their use
  bool wait = false;
};

/// c = a · b by tiles of 128 x 128 x 8, 256 threads of 8 x 8 sums each, three stages of asynchronous copies.
/// m and n are multiples of 128, k of 8 and at least 16.
inline Program gemm_kernel(std::int64_t m, std::int64_t n, std::int64_t k, LeftOut left_out = {}) {
  constexpr std::int64_t kTile = 128, kDepth = 8, kStages = 3;
  GpuBuilder b("gemm");
  const BufferId a = b.input(m * k, DType::f32, "a"), w = b.input(k * n, DType::f32, "b"),
                 c = b.output(m * n, DType::f32, "c");
  const BufferId at = b.scratch(Scope::block, kStages * kTile * kDepth, DType::f32, "as"),
                 bt = b.scratch(Scope::block, kStages * kTile * kDepth, DType::f32, "bs");
  const BufferId sums = b.scratch(Scope::registers, 64, DType::f32, "sums"),
                 rows = b.scratch(Scope::registers, 32, DType::f32, "rows"),
                 columns = b.scratch(Scope::registers, 8, DType::f32, "columns");
  const std::int64_t steps = k / kDepth;
  b.p.body = b.launch((m / kTile) * (n / kTile), 256, [&](Expr block, Expr t) {
    const Expr row0 = floordiv(block, n / kTile) * kTile, column0 = floormod(block, n / kTile) * kTile;
    const Expr x = floormod(t, 16) * 4, y = floordiv(t, 16) * 4;
    const auto fill = [&](Expr step) {
      const Expr stage = floormod(step, kStages) * (kTile * kDepth);
      const Expr a_row = floordiv(t, 2), a_column = floormod(t, 2) * 4;
      const Expr b_row = floordiv(t, 32), b_column = floormod(t, 32) * 4;
      return whet::block({b.copy(at, b.vec(stage + a_row * kDepth + a_column),
                                 b.at(a, b.vec((row0 + a_row) * k + step * kDepth + a_column))),
                          b.copy(bt, b.vec(stage + b_row * kTile + b_column),
                                 b.at(w, b.vec((step * kDepth + b_row) * n + column0 + b_column)))});
    };
    std::vector<Stmt> all;
    for (std::int64_t i = 0; i < 64; i += 4) all.push_back(b.put(sums, b.vec(int_const(i)), f32(0, 4)));
    for (std::int64_t i = 0; i + 1 < kStages; ++i) {
      all.push_back(fill(int_const(i)));
      all.push_back(b.commit());
    }
    all.push_back(b.loop(steps, [&](Expr step) {
      std::vector<Stmt> body;
      if (!left_out.wait) body.push_back(b.wait(kStages - 2));
      if (!left_out.first_barrier) body.push_back(b.barrier());
      body.push_back(b.when(step + (kStages - 1) < int_const(steps), fill(step + (kStages - 1))));
      body.push_back(b.commit());
      const Expr stage = floormod(step, kStages) * (kTile * kDepth);
      for (std::int64_t k0 = 0; k0 < kDepth; k0 += 4) {
        for (std::int64_t i = 0; i < 8; ++i) {
          const std::int64_t row = i % 4 + i / 4 * 64;
          body.push_back(b.put(rows, b.vec(int_const(i * 4)), b.at(at, b.vec(stage + (y + row) * kDepth + k0))));
        }
        for (std::int64_t kk = 0; kk < 4; ++kk) {
          for (std::int64_t j = 0; j < 2; ++j)
            body.push_back(
                b.put(columns, b.vec(int_const(j * 4)), b.at(bt, b.vec(stage + (k0 + kk) * kTile + x + j * 64))));
          for (std::int64_t i = 0; i < 8; ++i)
            for (std::int64_t j = 0; j < 2; ++j) {
              const Expr sum = b.vec(int_const(i * 8 + j * 4));
              body.push_back(b.put(
                  sums, sum,
                  b.at(sums, sum) + broadcast(b.at(rows, i * 4 + kk), 4) * b.at(columns, b.vec(int_const(j * 4)))));
            }
        }
      }
      return whet::block(std::move(body));
    }));
    for (std::int64_t i = 0; i < 8; ++i)
      for (std::int64_t j = 0; j < 2; ++j)
        all.push_back(b.put(c, b.vec((row0 + y + (i % 4 + i / 4 * 64)) * n + column0 + x + j * 64),
                            b.at(sums, b.vec(int_const(i * 8 + j * 4)))));
    return whet::block(std::move(all));
  });
  return b.p;
}

/// y[p, o] = max(sum of x[p + (r, s) - 1, i] * w[r, s, i, o], 0): a 3x3 convolution with padding, channels last, as a matrix
/// product with an index. A block has 64 pixels and 64 channels, 256 threads of 4 x 4 sums, four stages of 16 of the
/// 9 * channels products. height * width is a multiple of 64; channels are a multiple of 16, outputs of 64.
inline Program convolution_kernel(std::int64_t height, std::int64_t width, std::int64_t channels,
                                  std::int64_t outputs) {
  constexpr std::int64_t kTile = 64, kDepth = 16, kStages = 4;
  GpuBuilder b("convolution");
  const std::int64_t pixels = height * width, depth = 9 * channels, steps = depth / kDepth;
  const BufferId x = b.input(pixels * channels), w = b.input(depth * outputs, DType::f32, "w"),
                 y = b.output(pixels * outputs);
  const BufferId xt = b.scratch(Scope::block, kStages * kTile * kDepth, DType::f32, "xs"),
                 wt = b.scratch(Scope::block, kStages * kTile * kDepth, DType::f32, "ws");
  const BufferId sums = b.scratch(Scope::registers, 16, DType::f32, "sums"),
                 rows = b.scratch(Scope::registers, 16, DType::f32, "rows"),
                 columns = b.scratch(Scope::registers, 4, DType::f32, "columns");
  b.p.body = b.launch((pixels / kTile) * (outputs / kTile), 256, [&](Expr block, Expr t) {
    const Expr pixel0 = floordiv(block, outputs / kTile) * kTile, output0 = floormod(block, outputs / kTile) * kTile;
    const Expr tx = floormod(t, 16) * 4, ty = floordiv(t, 16) * 4;
    const auto fill = [&](Expr step) {
      const Expr stage = floormod(step, kStages) * (kTile * kDepth);
      const Expr pixel = pixel0 + floordiv(t, 4), part = floormod(t, 4) * 4;
      const Expr tap = floordiv(step, channels / kDepth), channel = floormod(step, channels / kDepth) * kDepth;
      const Expr row = floordiv(pixel, width) + floordiv(tap, 3) - 1,
                 column = floormod(pixel, width) + floormod(tap, 3) - 1;
      const Expr inside =
          int_const(0) <= row && row < int_const(height) && int_const(0) <= column && column < int_const(width);
      const Expr value = b.at(x, b.vec((row * width + column) * channels + channel + part));
      const Expr k = floordiv(t, 16), o = floormod(t, 16) * 4;
      return whet::block(
          {b.copy(xt, b.vec(stage + floordiv(t, 4) * kDepth + part), select(broadcast(inside, 4), value, f32(0, 4))),
           b.copy(wt, b.vec(stage + k * kTile + o), b.at(w, b.vec((step * kDepth + k) * outputs + output0 + o)))});
    };
    std::vector<Stmt> all;
    for (std::int64_t i = 0; i < 16; i += 4) all.push_back(b.put(sums, b.vec(int_const(i)), f32(0, 4)));
    for (std::int64_t i = 0; i + 1 < kStages; ++i) {
      all.push_back(fill(int_const(i)));
      all.push_back(b.commit());
    }
    all.push_back(b.loop(steps, [&](Expr step) {
      std::vector<Stmt> body = {b.wait(kStages - 2), b.barrier(),
                                b.when(step + (kStages - 1) < int_const(steps), fill(step + (kStages - 1))),
                                b.commit()};
      const Expr stage = floormod(step, kStages) * (kTile * kDepth);
      for (std::int64_t k0 = 0; k0 < kDepth; k0 += 4) {
        for (std::int64_t i = 0; i < 4; ++i)
          body.push_back(b.put(rows, b.vec(int_const(i * 4)), b.at(xt, b.vec(stage + (ty + i) * kDepth + k0))));
        for (std::int64_t k = 0; k < 4; ++k) {
          body.push_back(b.put(columns, b.vec(int_const(0)), b.at(wt, b.vec(stage + (k0 + k) * kTile + tx))));
          for (std::int64_t i = 0; i < 4; ++i) {
            const Expr sum = b.vec(int_const(i * 4));
            body.push_back(b.put(
                sums, sum, b.at(sums, sum) + broadcast(b.at(rows, i * 4 + k), 4) * b.at(columns, b.vec(int_const(0)))));
          }
        }
      }
      return whet::block(std::move(body));
    }));
    for (std::int64_t i = 0; i < 4; ++i)
      all.push_back(b.put(y, b.vec((pixel0 + ty + i) * outputs + output0 + tx),
                          max(b.at(sums, b.vec(int_const(i * 4))), f32(0, 4))));
    return whet::block(std::move(all));
  });
  return b.p;
}

}  // namespace whet
