// parley data generate KIND: the synthetic data of the papers, its true model and a job that trains on it.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/parley/data_report.h"
#include "apps/parley/signals.h"
#include "apps/parley/verbs.h"
#include "parley/data/generate.h"

namespace parley::app {

namespace {

struct Asked {
  std::string folder;
  std::uint64_t seed = 1;
  std::string format;
  std::string pack;
  int decimals = -1;
  bool force = false;
  bool json = false;
};

Result<int> run(const data::Recipe& recipe, const Asked& asked) {
  const CleanEnd clean_end;
  data::Destination destination;
  destination.folder = asked.folder;
  if (asked.format == "csv") destination.format = data::TableFormat::kCsv;
  if (asked.format == "libsvm") destination.format = data::TableFormat::kLibsvm;
  destination.packing = data::packing_of("x." + asked.pack);
  if (asked.decimals >= 0) destination.decimals = asked.decimals;
  destination.existing = asked.force ? data::Existing::kReplace : data::Existing::kRefuse;
  PARLEY_TRY(const auto generated, data::generate(recipe, asked.seed, destination));

  if (asked.json) {
    nlohmann::ordered_json out;
    out["kind"] = generated.kind;
    out["seed"] = asked.seed;
    for (const auto& table : generated.tables)
      out["tables"].push_back(
          {{"path", table.path.string()}, {"rows", table.rows}, {"columns", table.columns}, {"bytes", table.bytes}});
    out["truth"] = generated.truth.string();
    out["job"] = generated.job.string();
    fmt::print("{}\n", out.dump(1));
  } else {
    fmt::print("{}wrote {} (the true model) and {}\n{}", lines_about(generated.tables), generated.truth.string(),
               generated.job.string(), next_step(generated.job));
  }
  return 0;
}

// One subcommand per kind, so that each takes its own settings and refuses the others'.
template <class Kind>
CLI::App* add_kind(CLI::App& generate, Exit& exit, const char* name, const char* about, const char* example,
                   const std::shared_ptr<Kind>& recipe) {
  auto asked = std::make_shared<Asked>();
  CLI::App* kind = generate.add_subcommand(name, about);
  kind->footer(fmt::format("Example:\n  parley data generate {} \\\n    {} --out data/{}", name, example, name));
  kind->add_option("--out,-o", asked->folder, "Folder to write to; made if it is not there")->required();
  kind->add_option("--seed", asked->seed, "Seed; the same seed gives the same bytes")
      ->check(whole_number)
      ->capture_default_str();
  kind->add_option("--format", asked->format, "Format of the tables")->check(CLI::IsMember({"csv", "libsvm"}));
  kind->add_option("--pack", asked->pack, "How to pack the files")->check(CLI::IsMember({"gz", "zst", "xz"}));
  kind->add_option("--decimals", asked->decimals, "Round features to this many decimals, for smaller files")
      ->check(CLI::Range(0, 15));
  kind->add_flag("--force", asked->force, "Replace files that are there");
  kind->add_flag("--json", asked->json, "Say in JSON what was written");
  kind->callback([recipe, asked, &exit] { exit.finish(run(*recipe, *asked)); });
  return kind;
}

void add_sparse_regression(CLI::App& generate, Exit& exit) {
  auto r = std::make_shared<data::SparseRegression>();
  CLI::App* kind = add_kind(generate, exit, "sparse-regression",
                            "y = A x + noise, A and x sparse with N(0,1) entries (Lou & Cheung, Section V)",
                            "--rows 2000 --columns 20000 --density 0.1 --model-density 0.05", r);
  kind->add_option("--rows,-n", r->rows, "Records")->capture_default_str();
  kind->add_option("--columns,-d", r->columns, "Features")->capture_default_str();
  kind->add_option("--density", r->feature_density, "Share of nonzero features")->capture_default_str();
  kind->add_option("--model-density", r->model_density, "Share of nonzero coefficients")->capture_default_str();
  kind->add_option("--noise", r->noise, "Standard deviation of the label noise")->capture_default_str();
}

void add_log_normal(CLI::App& generate, Exit& exit) {
  auto r = std::make_shared<data::LogNormal>();
  CLI::App* kind = add_kind(generate, exit, "log-normal",
                            "Classes -1/+1 from a quasi-sparse log-normal model (Mangold et al., log1 and log2)",
                            "--sigma 2 --seed 7", r);
  kind->add_option("--rows,-n", r->rows, "Records")->capture_default_str();
  kind->add_option("--columns,-d", r->columns, "Features")->capture_default_str();
  kind->add_option("--sigma", r->sigma, "Spread of the log-normal weights: 1 gives log1, 2 gives log2")
      ->capture_default_str();
  static const std::map<std::string, data::LabelDraw> kDraws = {{"logistic", data::LabelDraw::kLogistic},
                                                                {"noisy-sign", data::LabelDraw::kNoisySign}};
  kind->add_option("--labels", r->labels,
                   "logistic: +1 with probability 1/(1+exp(-<x,w>)); noisy-sign: the sign of <x,w> + noise")
      ->transform(CLI::CheckedTransformer(kDraws).description("logistic|noisy-sign"))
      ->default_str("logistic");
  kind->add_option("--noise", r->noise, "Standard deviation of the noise of noisy-sign")->capture_default_str();
}

void add_square(CLI::App& generate, Exit& exit) {
  auto r = std::make_shared<data::Square>();
  CLI::App* kind =
      add_kind(generate, exit, "square",
               "As many features as records, 10 nonzero coefficients (Mangold et al., square)", "--noise 0.5", r);
  kind->add_option("--rows,-n", r->rows, "Records")->capture_default_str();
  kind->add_option("--columns,-d", r->columns, "Features")->capture_default_str();
  kind->add_option("--nonzeros", r->nonzeros, "Nonzero coefficients")->capture_default_str();
  kind->add_option("--sigma", r->sigma, "Spread of their log-normal values")->capture_default_str();
  kind->add_option("--noise", r->noise, "Standard deviation of the label noise")->capture_default_str();
}

void add_non_iid(CLI::App& generate, Exit& exit, bool classify) {
  auto r = std::make_shared<data::NonIid>(classify ? data::NonIid::classification() : data::NonIid::regression());
  CLI::App* kind =
      add_kind(generate, exit, classify ? "non-iid-classification" : "non-iid-regression",
               classify ? "Clients whose data and models differ, top records labelled 1 (Tong et al., simulation II)"
                        : "Clients whose data and models differ (Tong et al., simulation I)",
               classify ? "--clients 10 --alpha 1 --beta 1 --decimals 4" : "--clients 10 --alpha 1 --beta 1", r);
  kind->add_option("--clients", r->clients, "Parties")->capture_default_str();
  kind->add_option("--rows,-n", r->rows, "Records of each client")->capture_default_str();
  kind->add_option("--columns,-d", r->columns, "Features")->capture_default_str();
  kind->add_option("--nonzeros", r->nonzeros, "Leading nonzero entries of each client's model")->capture_default_str();
  if (classify)
    kind->add_option("--positives", r->positives, "Records of each client labelled 1")->capture_default_str();
  kind->add_option("--alpha", r->alpha, "Variance of u_i: how much the models differ")->capture_default_str();
  kind->add_option("--beta", r->beta, "Variance of B_i: how much the data differ")->capture_default_str();
}

void add_star(CLI::App& generate, Exit& exit) {
  auto r = std::make_shared<data::Star>();
  CLI::App* kind = add_kind(generate, exit, "star", "A fact table, dimension tables with keys, and one model over all",
                            "--rows 5000 --dimension 200x8 --dimension 50x4 --skew 1.2", r);
  kind->add_option("--rows,-n", r->rows, "Rows of the fact table")->capture_default_str();
  kind->add_option("--columns,-d", r->columns, "Features of the fact table")->capture_default_str();
  auto sizes = std::make_shared<std::vector<std::string>>();
  kind->add_option("--dimension", *sizes,
                   "Rows and features of a dimension table; repeat for more (default: 1000x10 100x5)")
      ->type_name("ROWSxCOLUMNS");
  kind->add_option("--fact-parts", r->fact_parts, "Write the fact table as a union of this many files")
      ->capture_default_str();
  kind->add_option("--skew", r->skew, "The r-th most used key has weight r^-skew")->capture_default_str();
  static const std::map<std::string, data::Star::Task> kTasks = {{"linear", data::Star::Task::kLinear},
                                                                 {"logistic", data::Star::Task::kLogistic}};
  kind->add_option("--task", r->task, "Labels: linear or logistic")
      ->transform(CLI::CheckedTransformer(kTasks).description("linear|logistic"))
      ->default_str("linear");
  kind->add_option("--noise", r->noise, "Standard deviation of the noise of linear labels")->capture_default_str();
  kind->parse_complete_callback([r, sizes] {
    if (sizes->empty()) return;
    r->dimensions.clear();
    for (const std::string& size : *sizes) {
      data::Star::Dimension dimension;
      const char* const end = size.data() + size.size();
      const auto rows = std::from_chars(size.data(), end, dimension.rows);
      const bool crossed = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
      const auto columns = crossed ? std::from_chars(rows.ptr + 1, end, dimension.columns) : rows;
      if (!crossed || columns.ec != std::errc() || columns.ptr != end)
        throw CLI::ValidationError("--dimension", "needs the form ROWSxCOLUMNS, as in 200x8 (got '" + size + "')");
      r->dimensions.push_back(dimension);
    }
  });
}

}  // namespace

void add_data_generate(CLI::App& data_verb, Exit& exit) {
  CLI::App* generate = data_verb.add_subcommand("generate", "Make the papers' synthetic data, with its true model");
  generate->require_subcommand(1);
  generate->footer(
      "Example:\n  parley data generate sparse-regression --rows 800 --columns 8000 --out data/sparse\n\n"
      "`parley data generate KIND --help` shows the settings of a kind.");
  add_sparse_regression(*generate, exit);
  add_log_normal(*generate, exit);
  add_square(*generate, exit);
  add_non_iid(*generate, exit, false);
  add_non_iid(*generate, exit, true);
  add_star(*generate, exit);
}

}  // namespace parley::app
