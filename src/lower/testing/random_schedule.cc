#include "lower/testing/random_schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace whet::testing {
namespace {

std::string conv_text(Rng& rng, bool depthwise) {
  const std::int64_t k = rng.between(1, 3), s = rng.between(1, 2), p = rng.between(0, k / 2), c = rng.between(1, 6);
  const std::int64_t h = rng.between(3, 9), w = rng.between(3, 9),
                     oc = depthwise ? rng.between(3, 21) : rng.between(1, 21);
  const std::int64_t oh = (h + 2 * p - k) / s + 1, ow = (w + 2 * p - k) / s + 1, ic = depthwise ? oc : c;
  std::string text = fmt::format("x = PLACEHOLDER [1, {}, {}, {}]\n", h, w, ic);
  text += depthwise ? fmt::format("w = PLACEHOLDER [{}, {}, {}] const\n", k, k, oc)
                    : fmt::format("w = PLACEHOLDER [{}, {}, {}, {}] const\n", k, k, ic, oc);
  text += fmt::format("bias = PLACEHOLDER [{}] const\n", oc);
  std::string source = "x";
  if (p > 0) {
    source = "pad";
    text += fmt::format(
        "pad(n, y, z, c) = select((y >= {}) && (y < {}) && (z >= {}) && (z < {}), x[n, (y - {}), (z - {}), c], 0f) for "
        "n in 1, y in {}, z in {}, c in {}\n",
        p, h + p, p, w + p, p, p, h + 2 * p, w + 2 * p, ic);
  }
  if (depthwise) {
    text += fmt::format(
        "conv(n, y, z, o) += ({}[n, ((y*{}) + rh), ((z*{}) + rw), o]*w[rh, rw, o]) for n in 1, y in {}, z in {}, o in "
        "{}, rh in {}, rw in {}\n",
        source, s, s, oh, ow, oc, k, k);
  } else {
    text += fmt::format(
        "conv(n, y, z, o) += ({}[n, ((y*{}) + rh), ((z*{}) + rw), rc]*w[rh, rw, rc, o]) for n in 1, y in {}, z in {}, "
        "o in {}, rh in {}, rw in {}, rc in {}\n",
        source, s, s, oh, ow, oc, k, k, ic);
  }
  if (rng.chance(0.3)) return text + "return conv\n";
  return text + fmt::format(
                    "out(n, y, z, o) = max((conv[n, y, z, o] + bias[o]), 0f) for n in 1, y in {}, z in {}, o in "
                    "{}\nreturn out\n",
                    oh, ow, oc);
}

std::string matmul_text(Rng& rng) {
  const std::int64_t m = rng.between(1, 9), n = rng.between(1, 37), k = rng.between(1, 24);
  std::string text = fmt::format("a = PLACEHOLDER [{}, {}]\nb = PLACEHOLDER [{}, {}] const\n", m, k, k, n);
  text += fmt::format("c(i, j) += (a[i, r]*b[r, j]) for i in {}, j in {}, r in {}\n", m, n, k);
  if (rng.chance(0.3)) return text + "return c\n";
  return text + fmt::format("out(i, j) = (c[i, j]*0.5f) for i in {}, j in {}\nreturn out\n", m, n);
}

std::string rows_text(Rng& rng) {
  const std::int64_t m = rng.between(1, 7), n = rng.between(2, 40);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}]\nm(i) max= x[i, r] for i in {0}, r in {1}\nd(i, j) = (x[i, j] - m[i]) for i in {0}, "
      "j in {1}\n"
      "e(i, j) = (d[i, j]*d[i, j]) for i in {0}, j in {1}\ns(i) += e[i, r] for i in {0}, r in {1}\n"
      "out(i, j) = (e[i, j] - s[i]) for i in {0}, j in {1}\nreturn out\n",
      m, n);
}

std::string pool_text(Rng& rng) {
  const std::int64_t h = rng.between(3, 9), c = rng.between(1, 20), o = (h + 2 - 3) / 2 + 1;
  return fmt::format(
      "x = PLACEHOLDER [{0}, {0}, {1}]\npad(y, z, c) = select((y >= 1) && (y < {2}) && (z >= 1) && (z < {2}), x[(y - "
      "1), (z - 1), c], -inff) for y in {3}, z in {3}, c in {1}\n"
      "p(y, z, c) max= pad[((y*2) + ry), ((z*2) + rz), c] for y in {4}, z in {4}, c in {1}, ry in 3, rz in 3\nreturn "
      "p\n",
      h, c, h + 1, h + 2, o);
}

std::string shuffle_text(Rng& rng) {
  const std::int64_t n = rng.between(1, 5), a = rng.between(1, 19), b = rng.between(1, 19);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}]\ny = PLACEHOLDER [{0}, {2}]\nt(i, c) = select((c < {1}), x[i, c], y[i, (c - {1})]) "
      "for i in {0}, c in {3}\n"
      "u(c, i) = (t[i, c]*2f) for c in {3}, i in {0}\nout(c, i) = (u[c, i] + 1f) for c in {3}, i in {0}\nreturn out\n",
      n, a, b, a + b);
}

std::string transpose_text(Rng& rng) {
  const std::int64_t n = rng.between(1, 3), a = rng.between(8, 40), b = rng.between(8, 40);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}, {2}]\nt(n, i, j) = x[n, j, i] for n in {0}, i in {2}, j in {1}\n"
      "out(n, i, j) = (t[n, i, j] + 1f) for n in {0}, i in {2}, j in {1}\nreturn out\n",
      n, a, b);
}

std::string bytes_text(Rng& rng) {
  const std::int64_t m = rng.between(1, 6), n = rng.between(16, 40), k = 4 * rng.between(1, 6);
  return fmt::format(
      "a = PLACEHOLDER [{0}, {2}] u8\nb = PLACEHOLDER [{2}, {1}] i8 const\n"
      "c(i, j): i32 += (i32(a[i, r])*i32(b[r, j])) for i in {0}, j in {1}, r in {2}\n"
      "out(i, j) = (f32(c[i, j])*0.5f) for i in {0}, j in {1}\nreturn out\n",
      m, n, k);
}

// ---- DAGs with sizes: extents as text, numbers or functions

bool is_number(const std::string& extent) { return extent.find_first_not_of("0123456789") == std::string::npos; }

std::string plus(const std::string& extent, std::int64_t more) {
  if (is_number(extent)) return std::to_string(std::stoll(extent) + more);
  return more == 0 ? extent : fmt::format("({} {} {})", extent, more > 0 ? "+" : "-", std::abs(more));
}

std::string divided_by(const std::string& extent, std::int64_t divisor) {
  if (is_number(extent)) return std::to_string(std::stoll(extent) / divisor);
  return divisor == 1 ? extent : fmt::format("floordiv({}, {})", extent, divisor);
}

class SizedText {
 public:
  explicit SizedText(Rng& rng) : rng_(rng) {}

  /// A size of at least `least`, or a number of at most `most`.
  std::string extent(std::int64_t least, std::int64_t most) {
    if (count_ == 2 || !rng_.chance(0.6)) return std::to_string(rng_.between(least, most));
    const std::int64_t step = rng_.chance(0.8) ? 1 : rng_.between(2, 4);
    const std::int64_t low = rng_.between(least, least + 3), high = low + step * rng_.between(0, 30 / step);
    const std::string name = count_++ == 0 ? "na" : "nb";
    sizes_ += fmt::format("{} = SIZE {}..{}:{} at {}\n", name, low, high, step, rng_.chance(0.5) ? low : high);
    return name;
  }
  bool has_sizes() const { return count_ > 0; }
  const std::string& sizes() const { return sizes_; }

 private:
  Rng& rng_;
  int count_ = 0;
  std::string sizes_;
};

std::string sized_product_text(SizedText& sized) {
  const std::string m = sized.extent(1, 9), k = sized.extent(1, 24), n = sized.extent(1, 37);
  return fmt::format(
      "a = PLACEHOLDER [{0}, {1}]\nb = PLACEHOLDER [{1}, {2}]\nc(i, j) += (a[i, r]*b[r, j]) for i in {0}, j in {2}, r "
      "in "
      "{1}\nout(i, j) = (c[i, j]*0.5f) for i in {0}, j in {2}\nreturn out\n",
      m, k, n);
}

std::string sized_dense_text(SizedText& sized, Rng& rng) {
  const std::string m = sized.extent(1, 9);
  return fmt::format(
      "a = PLACEHOLDER [{0}, {1}]\nb = PLACEHOLDER [{1}, {2}] const\nbias = PLACEHOLDER [{2}] const\n"
      "c(i, j) += (a[i, r]*b[r, j]) for i in {0}, j in {2}, r in {1}\n"
      "out(i, j) = max((c[i, j] + bias[j]), 0f) for i in {0}, j in {2}\nreturn out\n",
      m, rng.between(1, 24), rng.between(1, 37));
}

std::string sized_rows_text(SizedText& sized) {
  const std::string m = sized.extent(1, 7), n = sized.extent(2, 40);
  const std::string mean = is_number(n) ? "0.25f" : fmt::format("(1f/f32({}))", n);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}]\nm(i) max= x[i, r] for i in {0}, r in {1}\nd(i, j) = (x[i, j] - m[i]) for i in {0}, "
      "j in {1}\ne(i, j) = (d[i, j]*d[i, j]) for i in {0}, j in {1}\ns(i) += (e[i, r]*{2}) for i in {0}, r in {1}\n"
      "out(i, j) = (e[i, j] - s[i]) for i in {0}, j in {1}\nreturn out\n",
      m, n, mean);
}

std::string sized_conv_text(SizedText& sized, Rng& rng) {
  const std::int64_t k = rng.between(1, 3), s = rng.between(1, 2), p = rng.between(0, k / 2), c = rng.between(1, 6);
  const std::string h = sized.extent(3, 9), w = sized.extent(3, 9);
  const auto out = [&](const std::string& extent) { return plus(divided_by(plus(extent, 2 * p - k), s), 1); };
  const std::int64_t oc = rng.between(1, 21);
  std::string text =
      fmt::format("x = PLACEHOLDER [{}, {}, {}]\nw = PLACEHOLDER [{}, {}, {}, {}] const\n", h, w, c, k, k, c, oc);
  const std::string source = p > 0 ? "pad" : "x";
  if (p > 0)
    text += fmt::format(
        "pad(y, z, c) = select((y >= {0}) && (y < {1}) && (z >= {0}) && (z < {2}), x[(y - {0}), (z - {0}), c], 0f) for "
        "y "
        "in {3}, z in {4}, c in {5}\n",
        p, plus(h, p), plus(w, p), plus(h, 2 * p), plus(w, 2 * p), c);
  return text +
         fmt::format(
             "conv(y, z, o) += ({0}[((y*{1}) + rh), ((z*{1}) + rw), rc]*w[rh, rw, rc, o]) for y in {2}, z in {3}, "
             "o in {4}, rh in {5}, rw in {5}, rc in {6}\nreturn conv\n",
             source, s, out(h), out(w), oc, k, c);
}

std::string sized_joined_text(SizedText& sized) {
  const std::string n = sized.extent(1, 5), a = sized.extent(1, 19);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}]\ny = PLACEHOLDER [{0}, 7]\nt(i, c) = select((c < {1}), x[i, c], y[i, (c - {1})]) for "
      "i "
      "in {0}, c in {2}\nu(c, i) = (t[i, c]*2f) for c in {2}, i in {0}\nout(c, i) = (u[c, i] + 1f) for c in {2}, i in "
      "{0}\nreturn out\n",
      n, a, plus(a, 7));
}

std::string sized_turned_text(SizedText& sized) {
  const std::string n = sized.extent(1, 3), a = sized.extent(4, 40), b = sized.extent(4, 40);
  return fmt::format(
      "x = PLACEHOLDER [{0}, {1}, {2}]\nt(n, i, j) = x[n, j, i] for n in {0}, i in {2}, j in {1}\n"
      "out(n, i, j) = (t[n, i, j] + 1f) for n in {0}, i in {2}, j in {1}\nreturn out\n",
      n, a, b);
}

std::string sized_attention_text(SizedText& sized, Rng& rng) {
  const std::string m = sized.extent(1, 5), n = sized.extent(6, 20);
  return fmt::format(
      "t = PLACEHOLDER [{0}, {1}]\nv = PLACEHOLDER [{1}, {2}]\nm(i) max= t[i, j] for i in {0}, j in {1}\n"
      "e(i, j) = exp((t[i, j] - m[i])) for i in {0}, j in {1}\nz(i) += e[i, j] for i in {0}, j in {1}\n"
      "w(i, j) = (e[i, j]/z[i]) for i in {0}, j in {1}\ny(i, c) += (w[i, j]*v[j, c]) for i in {0}, c in {2}, j in {1}\n"
      "return y\n",
      m, n, rng.between(1, 19));
}

std::string sized_text(SizedText& sized, Rng& rng) {
  switch (rng.below(7)) {
    case 6:
      return sized_attention_text(sized, rng);
    case 0:
      return sized_product_text(sized);
    case 1:
      return sized_rows_text(sized);
    case 2:
      return sized_conv_text(sized, rng);
    case 3:
      return sized_joined_text(sized);
    case 4:
      return sized_turned_text(sized);
    default:
      return sized_dense_text(sized, rng);
  }
}

OpId random_op(const ComputeDag& dag, Rng& rng) { return OpId(rng.below(static_cast<std::int64_t>(dag.ops.size()))); }
LoopId random_loop(const LoopTree& tree, Rng& rng) {
  return LoopId(rng.below(static_cast<std::int64_t>(tree.loops.size())));
}

Step random_step(const LoopTree& tree, Rng& rng) {
  const LoopId loop = random_loop(tree, rng);
  const OpId op = random_op(tree.dag, rng);
  switch (rng.below(18)) {
    case 0:
    case 1:
    case 2:
      return Split{loop, rng.between(1, rng.chance(0.5) ? 4 : 16), rng.chance(0.5) ? Tail::overlap : Tail::guard};
    case 3: {
      const TreeLoop& outer = tree.loop(loop);
      return Fuse{{loop, outer.children.empty() ? loop : outer.children[0].loop}};
    }
    case 4:
    case 5: {
      std::vector<LoopId> loops = own_loops(tree, tree.loop(loop).op);
      for (std::size_t i = loops.size(); i > 1; --i)
        std::swap(loops[i - 1], loops[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(i)))]);
      return Reorder{loops};
    }
    case 6:
      return ComputeAt{op, loop, rng.chance(0.3) ? StoredIn::registers : StoredIn::memory};
    case 7:
      return ReverseComputeAt{op, loop, rng.chance(0.3)};
    case 8:
      return rng.chance(0.5) ? Step(CacheWrite{tree.loop(loop).op, loop}) : Step(Rfactor{loop});
    case 9:
      return rng.chance(0.5) ? Step(Inline{op}) : Step(Pack{op, random_op(tree.dag, rng)});
    case 12:
      return PadStorage{op, rng.between(1, 20)};
    case 17: {
      if (tree.place(op).kind != PlaceKind::at) return ComputeAt{op, loop, StoredIn::memory};
      const std::vector<LoopId> around = path_to(tree, tree.place(op).at);
      return Roll{op, around[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(around.size())))]};
    }
    case 16: {
      const PlaceKind kind = tree.place(op).kind;
      return Pipeline{kind == PlaceKind::at ? tree.place(op).at : loop, rng.between(2, 4)};
    }
    case 13:
      return ComputeRoot{op};
    case 14: {
      static constexpr LoopKind kKinds[] = {LoopKind::block, LoopKind::thread, LoopKind::virtual_thread};
      return Bind{loop, kKinds[rng.below(3)]};
    }
    case 15: {
      const std::vector<OpId> inputs = inputs_of(tree.dag, tree.loop(loop).op);
      if (inputs.empty()) return ComputeRoot{op};
      return PrefetchRead{inputs[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(inputs.size())))],
                          tree.loop(loop).op, loop, rng.between(1, 4)};
    }
    case 10:
      return Annotate{loop, rng.chance(0.5) ? LoopKind::unrolled : LoopKind::parallel};
    default:
      return Annotate{loop, LoopKind::vectorized};
  }
}

/// A tile of an intrinsic in the innermost loops of an op; most are refused.
Steps tile_steps(const LoopTree& tree, OpId op, Rng& rng) {
  std::vector<Intrinsic> all = intrinsics();
  // What seeded suites draw stays what it was; pairs and tile products have tests of their own.
  std::erase_if(all, [](Intrinsic one) {
    return is_warp_wide(one) || is_tile_product(one) || one == Intrinsic::transpose16_pairs ||
           one == Intrinsic::interleave16;
  });
  const Intrinsic chosen = all[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())))];
  const Element& wanted = op_of(chosen).element();
  const std::vector<LoopId> loops = own_loops(tree, op);
  const std::size_t count = wanted.axes.size() + wanted.reduce_axes.size();
  if (loops.size() < count) return {};
  Steps steps;
  std::vector<LoopId> outer, inner;
  for (std::size_t k = 0; k < count; ++k) {
    const Axis& axis = axis_of(wanted, AxisId(static_cast<std::int64_t>(k)));
    const bool reduce = k >= wanted.axes.size();
    const auto fresh = static_cast<std::int64_t>(tree.loops.size() + 2 * k);
    steps.push_back(Split{loops[loops.size() - count + k], axis.extent, reduce ? Tail::guard : Tail::overlap});
    outer.push_back(LoopId(fresh)), inner.push_back(LoopId(fresh + 1));
  }
  std::vector<LoopId> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  steps.push_back(Reorder{order});
  if (wanted.reducer && rng.chance(0.7)) {
    for (OpId input : inputs_of(tree.dag, op))
      if (is_constant(tree.dag, input)) steps.push_back(Pack{input, op});
    if (rng.chance(0.7)) steps.push_back(CacheWrite{op, outer.front()});
  }
  steps.push_back(Tensorize{inner.front(), chosen});
  return steps;
}

}  // namespace

ComputeDag random_dag(Rng& rng) {
  std::string text;
  switch (rng.below(8)) {
    case 6:
      text = transpose_text(rng);
      break;
    case 7:
      text = bytes_text(rng);
      break;
    case 0:
      text = conv_text(rng, false);
      break;
    case 1:
      text = conv_text(rng, true);
      break;
    case 2:
      text = matmul_text(rng);
      break;
    case 3:
      text = rows_text(rng);
      break;
    case 4:
      text = pool_text(rng);
      break;
    default:
      text = shuffle_text(rng);
      break;
  }
  Result<ComputeDag> dag = parse_dag(text);
  WHET_CHECK(dag.ok(), (text + (dag.ok() ? "" : dag.error().message)).c_str());
  return *dag;
}

ComputeDag random_sized_dag(Rng& rng) {
  while (true) {
    SizedText sized(rng);
    const std::string text = sized_text(sized, rng);
    if (!sized.has_sizes()) continue;
    Result<ComputeDag> dag = parse_dag(sized.sizes() + text);
    WHET_CHECK(dag.ok(), (sized.sizes() + text + (dag.ok() ? "" : dag.error().message)).c_str());
    return *dag;
  }
}

std::vector<SizeValues> some_values(const std::vector<SizeRange>& sizes, Rng& rng) {
  std::vector<SizeValues> values;
  for (int k = 0; k < 8; ++k) {
    SizeValues one;
    for (const SizeRange& size : sizes) {
      const std::int64_t steps = (size.max - size.min) / size.step;
      const std::int64_t at = k == 0   ? 0
                              : k == 1 ? steps
                              : k < 4  ? std::min<std::int64_t>(k - 1, steps)
                                       : rng.between(0, steps);
      one.push_back(size.min + at * size.step);
    }
    values.push_back(std::move(one));
  }
  return values;
}

Steps random_steps(const ComputeDag& dag, Rng& rng, int tries) {
  LoopTree tree = make_loop_tree(dag);
  Steps steps;
  const auto try_step = [&](const Step& step) {
    LoopTree changed = tree;
    if (!whet::apply(changed, step).ok()) return;
    tree = std::move(changed);
    steps.push_back(step);
  };
  if (rng.chance(0.5))
    for (std::size_t k = tree.dag.ops.size(); k-- > 0;)
      try_step(Winograd{OpId(static_cast<std::int64_t>(k)), rng.chance(0.5) ? 2 : 4});
  if (rng.chance(0.5))
    for (std::size_t k = tree.dag.ops.size(); k-- > 0;)
      try_step(Merge{OpId(static_cast<std::int64_t>(k)), rng.below(3)});
  if (is_sized(dag) && rng.chance(0.5))
    for (std::size_t k = tree.dag.ops.size(); k-- > 0;)
      try_step(SplitSoftmax{OpId(static_cast<std::int64_t>(k)), rng.between(4, 9)});
  if (rng.chance(0.3)) try_step(CacheRead{random_op(tree.dag, rng), random_op(tree.dag, rng)});
  if (rng.chance(0.5))
    for (const Step& step : tile_steps(tree, random_op(tree.dag, rng), rng)) try_step(step);
  // Shapes first, places next, kinds last: later primitives freeze what the earlier ones change.
  for (int i = 0; i < tries; ++i) {
    const Step step = random_step(tree, rng);
    const bool structural = std::holds_alternative<Split>(step) || std::holds_alternative<Reorder>(step) ||
                            std::holds_alternative<Fuse>(step) || std::holds_alternative<Inline>(step);
    if (structural != (i < tries * 2 / 3) && rng.chance(0.8)) continue;
    try_step(step);
  }
  return steps;
}

std::vector<Tensor> random_inputs(const ComputeDag& dag, Rng& rng) {
  std::vector<Tensor> inputs;
  for (const Op& op : dag.ops)
    if (op.is_placeholder()) {
      const std::int64_t bound = std::get<Placeholder>(op.def).index_bound;
      double low = -1, high = 1;
      if (bound > 0) low = 0, high = static_cast<double>(bound);
      if (op.dtype == DType::i8) low = -128, high = 128;
      if (op.dtype == DType::u8) low = 0, high = 256;
      inputs.push_back(Tensor::random({op.dtype, op.shape}, rng, low, high));
    }
  return inputs;
}

}  // namespace whet::testing
