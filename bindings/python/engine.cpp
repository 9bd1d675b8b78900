// The engine as Python sees it: jobs as text, tables as arrays, results as JSON and numbers. Everything that a person
// touches is written in Python (parley/*.py); this file converts and does nothing else.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "parley/catalog/read_job.h"
#include "parley/core/threads.h"
#include "parley/core/version.h"
#include "parley/models/model_parts.h"
#include "parley/privacy/accounting/accountant.h"
#include "parley/privacy/accounting/statement.h"
#include "parley/privacy/ledger/ledger.h"
#include "parley/runs/plan.h"
#include "parley/runs/report.h"
#include "parley/runs/run.h"

namespace py = pybind11;

namespace parley::python {
namespace {

// The sentences are those of the command line; what kind of failure it is decides the exception.
struct BadInput {
  std::string message;
};
struct Failed {
  std::string message;
};
struct BudgetEnded {
  std::string message;
};

[[noreturn]] void raise(const Error& error) {
  switch (error.fault) {
    case Fault::kBadInput:
      throw BadInput{error.message};
    case Fault::kBudgetEnded:
      throw BudgetEnded{error.message};
    case Fault::kFailed:
      break;
  }
  throw Failed{error.message};
}

template <class T>
T value_of(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}

using Numbers = py::array_t<double, py::array::forcecast>;
template <class T>
using Contiguous = py::array_t<T, py::array::c_style | py::array::forcecast>;

template <class T>
std::span<const T> span_of(const py::array_t<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// A table of Python, and what keeps its memory alive while a run reads it. What is moved keeps its place in memory, so
// the spans stay good.
struct Table {
  std::string name;
  data::Arrays arrays;
  std::vector<py::object> held;
  std::vector<std::size_t> offsets;
};

// {"name", "values", "columns", and where it is sparse "offsets", "indices"; "labels", "names", "bounds", "ids"}
Table table_of(const py::dict& said) {
  Table table;
  table.name = said["name"].cast<std::string>();
  data::Arrays& arrays = table.arrays;
  arrays.columns = said["columns"].cast<std::size_t>();
  const bool by_columns = said.contains("by_columns") && said["by_columns"].cast<bool>();
  arrays.order = by_columns ? data::Arrays::Order::kByColumns : data::Arrays::Order::kByRows;
  const auto values = said["values"].cast<py::array_t<double>>();
  table.held.push_back(values);
  arrays.values = span_of(values);
  if (said.contains("offsets")) {
    const auto offsets = said["offsets"].cast<Contiguous<std::int64_t>>();
    table.offsets.assign(offsets.data(), offsets.data() + offsets.size());
    arrays.offsets = table.offsets;
    const auto indices = said["indices"].cast<Contiguous<linalg::Index>>();
    table.held.push_back(indices);
    arrays.indices = {indices.data(), static_cast<std::size_t>(indices.size())};
  }
  if (said.contains("labels")) {
    const auto labels = said["labels"].cast<Contiguous<double>>();
    table.held.push_back(labels);
    arrays.labels = {labels.data(), static_cast<std::size_t>(labels.size())};
  }
  if (said.contains("names")) arrays.names = said["names"].cast<std::vector<std::string>>();
  if (said.contains("bounds")) arrays.bounds = said["bounds"].cast<std::vector<double>>();
  if (said.contains("ids")) arrays.ids = said["ids"].cast<std::vector<std::string>>();
  return table;
}

Numbers array_of(const std::vector<double>& values, py::ssize_t rows) {
  const auto size = static_cast<py::ssize_t>(values.size());
  Numbers made({rows, rows == 0 ? 0 : size / rows});
  std::copy(values.begin(), values.end(), made.mutable_data());
  return made;
}

py::dict model_of(const models::Trained& trained) {
  const glm::Model& model = trained.model;
  const auto outputs = static_cast<py::ssize_t>(model.outputs());
  py::dict made;
  made["columns"] = model.columns;
  made["classes"] = model.classes;
  made["weights"] = array_of(model.raw_weights(), outputs);
  made["intercepts"] = array_of(model.raw_intercepts(), outputs);
  made["party"] = trained.part ? trained.part->party : "";
  made["claimed"] = trained.provenance.claimed;
  made["covered"] = trained.provenance.covered;
  made["statement"] = trained.provenance.privacy;
  return made;
}

// Tells Python about progress now and then, and asks it whether Ctrl-C came. It holds the interpreter's lock for that
// long and no longer.
class Line {
 public:
  explicit Line(py::object progress) : progress_(std::move(progress)) {}

  bool goes_on(const algorithms::Progress* at) {
    const auto now = std::chrono::steady_clock::now();
    if (stopped_ || now - told_ < std::chrono::milliseconds(50)) return !stopped_;
    told_ = now;
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) {
      interrupted_ = stopped_ = true;
    } else if (at != nullptr && !progress_.is_none()) {
      progress_(at->iteration, at->expected, at->objective);
    }
    return !stopped_;
  }
  // After the run, with the lock held.
  void rethrow() const {
    if (interrupted_) throw py::error_already_set();
  }

 private:
  py::object progress_;
  std::chrono::steady_clock::time_point told_{};
  bool stopped_ = false, interrupted_ = false;
};

py::dict told(const jobs::Job& job, const runs::Outcome& outcome, const std::string& out, double seconds) {
  const runs::ReportContext context{.model_path = out, .total_seconds = seconds};
  py::dict made;
  made["json"] = runs::result_json(job, outcome, context);
  made["table"] = runs::result_table(job, outcome, context);
  py::list models;
  if (outcome.parts.empty()) models.append(model_of(outcome.trained));
  for (const models::Trained& part : outcome.parts) models.append(model_of(part));
  made["models"] = models;
  return made;
}

py::dict run_job(const jobs::Job& job, const std::optional<std::vector<Table>>& tables, const std::string& out,
                 const py::object& progress) {
  Line line(progress);
  const runs::Watch watch{
      [&](const algorithms::Progress& at) { return line.goes_on(&at); }, {}, [&] { return !line.goes_on(nullptr); }};
  const auto started = std::chrono::steady_clock::now();
  std::optional<Result<runs::Outcome>> outcome;
  {
    const py::gil_scoped_release unlocked;
    if (tables) {
      catalog::Sources sources;
      for (const Table& table : *tables) sources.push_back({data::Source::arrays(table.name, table.arrays)});
      outcome = runs::run(job, sources, watch);
    } else {
      outcome = runs::run(job, watch);
    }
  }
  line.rethrow();
  if (!*outcome) raise(outcome->error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  if (!out.empty())
    if (const auto saved = (*outcome)->parts.empty()
                               ? models::save((*outcome)->trained, out)
                               : models::save((*outcome)->parts, (*outcome)->trained.provenance, out);
        !saved)
      raise(saved.error());
  return told(job, **outcome, out, took.count());
}

py::dict train_arrays(const std::string& text, const std::string& name, const std::vector<py::dict>& said,
                      const py::object& progress) {
  const jobs::Job job = value_of(catalog::parse_job(value_of(Toml::parse(text, name)), name, jobs::Paths::kAtSites));
  std::vector<Table> tables;
  tables.reserve(said.size());
  for (const py::dict& table : said) tables.push_back(table_of(table));
  return run_job(job, tables, "", progress);
}

py::dict train_file(const std::string& path, const std::vector<std::string>& overrides, const std::string& out,
                    const py::object& progress) {
  return run_job(value_of(catalog::read_job(path, overrides)), std::nullopt, out, progress);
}

std::string plan_file(const std::string& path, const std::vector<std::string>& overrides) {
  const jobs::Job job = value_of(catalog::read_job(path, overrides));
  const py::gil_scoped_release unlocked;
  return runs::plan_json(job, value_of(runs::plan_job(job)));
}

py::dict account(const std::string& events, std::optional<double> delta, std::optional<double> epsilon) {
  const privacy::Plan plan = value_of(privacy::parse_plan(events, "events"));
  const privacy::Account found = delta
                                     ? value_of(privacy::account_at_delta(plan, value_of(privacy::Delta::make(*delta))))
                                     : value_of(privacy::account_at_epsilon(plan, *epsilon));
  py::dict all, made;
  for (std::size_t i = 0; i < privacy::kAccountants.size(); ++i)
    all[py::str(std::string(privacy::name(privacy::kAccountants[i])))] = found.all[i];
  made["epsilon"] = found.epsilon;
  made["delta"] = found.delta;
  made["accountant"] = std::string(privacy::name(found.chosen));
  made["all"] = all;
  made["statement"] = privacy::in_words(found.epsilon, found.delta, plan.neighbours);
  return made;
}

py::list ledger(const std::string& folder) {
  privacy::Ledger opened = value_of(privacy::Ledger::open_read_only(folder));
  py::list made;
  for (const privacy::Spent& spent : value_of(opened.purses())) {
    py::dict purse;
    purse["data_set"] = spent.purse.data_set;
    purse["unit"] = std::string(privacy::name(spent.purse.unit));
    purse["neighbours"] = std::string(privacy::name(spent.purse.neighbours));
    purse["epsilon"] = spent.epsilon;
    purse["delta"] = spent.delta;
    purse["budget_epsilon"] = spent.budget ? py::object(py::float_(spent.budget->epsilon.value())) : py::none();
    purse["budget_delta"] = spent.budget ? py::object(py::float_(spent.budget->delta.value())) : py::none();
    purse["charges"] = spent.charges;
    made.append(purse);
  }
  return made;
}

}  // namespace
}  // namespace parley::python

PYBIND11_MODULE(_engine, module) {
  using namespace parley::python;
  module.doc() = "The engine of Parley. Use the package `parley`.";
  module.attr("version") = parley::kVersion;
  static py::exception<Failed> failed(module, "RunFailed", PyExc_RuntimeError);
  static py::exception<BudgetEnded> ended(module, "BudgetEnded", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const BadInput& error) {
      PyErr_SetString(PyExc_ValueError, error.message.c_str());
    } catch (const Failed& error) {
      failed(error.message.c_str());
    } catch (const BudgetEnded& error) {
      ended(error.message.c_str());
    }
  });
  module.def("train_arrays", &train_arrays, py::arg("job"), py::arg("name"), py::arg("tables"),
             py::arg("progress") = py::none());
  module.def("train_file", &train_file, py::arg("path"), py::arg("overrides"), py::arg("out"),
             py::arg("progress") = py::none());
  module.def("plan_file", &plan_file, py::arg("path"), py::arg("overrides"));
  module.def("account", &account, py::arg("events"), py::arg("delta") = py::none(), py::arg("epsilon") = py::none());
  module.def("ledger", &ledger, py::arg("folder"));
  module.def("set_thread_count", &parley::set_thread_count, py::arg("threads"));
}
