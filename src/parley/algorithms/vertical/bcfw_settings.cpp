#include "parley/algorithms/vertical/bcfw_settings.h"

#include <cmath>
#include <limits>

namespace parley::algorithms {

namespace {

using linalg::SketchKind;

void read_blocks(Toml& settings, BcfwSettings& bcfw) {
  using Blocks = BcfwSettings::Blocks;
  if (settings.kind("blocks") != Toml::Kind::kArray) {
    settings.choice<Blocks>("blocks", bcfw.blocks,
                            {{"parties", Blocks::kParties}, {"coordinates", Blocks::kCoordinates}});
    return;
  }
  std::vector<double> sizes;
  settings.numbers("blocks", sizes);
  bcfw.blocks = Blocks::kGroups;
  for (const double size : sizes) {
    if (!(size >= 1 && size <= std::numeric_limits<int>::max() && size == std::floor(size)))
      settings.reject("blocks", "must hold whole numbers of columns, from 1", fmt::format("{}", size));
    else
      bcfw.groups.push_back(static_cast<int>(size));
  }
}

void read_steps(Toml& settings, BcfwSettings& bcfw) {
  using Step = BcfwSettings::Step;
  int iterations = 0;
  if (settings.integer("iterations", iterations, at_least(1))) bcfw.iterations = iterations;
  settings.number("tolerance", bcfw.tolerance, at_least(0));
  settings.boolean("bounds", bcfw.bounds);
  settings.choice<Step>("step", bcfw.step, {{"universal", Step::kUniversal}, {"line-search", Step::kLineSearch}});
}

void read_sharing(Toml& settings, BcfwSettings& bcfw) {
  settings.integer("sketch", bcfw.sketch, at_least(0));
  settings.choice<SketchKind>("sketch_kind", bcfw.kind,
                              {{"gaussian", SketchKind::kGaussian},
                               {"srht", SketchKind::kHadamard},
                               {"count", SketchKind::kCountSketch},
                               {"osnap", SketchKind::kOsnap}});
  double share = 0;
  if (settings.number("share", share, above(0))) {
    if (share > 1) settings.reject("share", "must be at most 1", fmt::format("{}", share));
    bcfw.share = share;
  }
  bool offset = false;
  if (settings.boolean("offset", offset)) bcfw.offset = offset;
}

}  // namespace

BcfwSettings BcfwSettings::read(Toml& settings) {
  BcfwSettings bcfw;
  read_steps(settings, bcfw);
  read_sharing(settings, bcfw);
  read_blocks(settings, bcfw);
  bcfw.sampling = SamplingSettings::read(settings);
  settings.choice<Ball>("ball", bcfw.ball, {{"per-party", Ball::kPerParty}, {"global", Ball::kGlobal}});
  settings.choice<Radius>("radius", bcfw.radius, {{"share", Radius::kShare}, {"paper", Radius::kPaper}});
  settings.numbers("radii", bcfw.radii);
  if (settings.kind("p_min") == Toml::Kind::kNumber || settings.kind("p_min") == Toml::Kind::kInteger)
    settings.number("p_min", bcfw.p, above(0));
  else
    settings.choice<Smallest>("p_min", bcfw.p_min, {{"defined", Smallest::kDefined}, {"paper", Smallest::kPaper}});
  Own own = Own::kExact;
  if (settings.choice<Own>("own_columns", own, {{"exact", Own::kExact}, {"shared", Own::kShared}})) bcfw.own = own;
  return bcfw;
}

DfwSettings DfwSettings::read(Toml& settings) {
  DfwSettings dfw;
  read_steps(settings, dfw);
  read_sharing(settings, dfw);
  dfw.ball = Ball::kGlobal;
  return dfw;
}

PrideSettings PrideSettings::read(Toml& settings) {
  PrideSettings pride;
  read_steps(settings, pride);
  read_sharing(settings, pride);
  pride.sharing = Sharing::kAtStart;
  return pride;
}

}  // namespace parley::algorithms
