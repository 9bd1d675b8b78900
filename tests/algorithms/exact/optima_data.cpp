#include "optima_data.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "parley/data/decompress.h"

namespace parley::optima {

namespace {

using linalg::Index;
using linalg::Matrix;
using Path = std::filesystem::path;

std::string unpacked(const Path& path) {
  auto source = data::open_bytes(path.string());
  if (!source) throw std::runtime_error(source.error().message);
  std::string content;
  std::vector<char> buffer(1 << 20);
  while (true) {
    const auto count = (*source)->read(buffer);
    if (!count) throw std::runtime_error(count.error().message);
    content.append(buffer.data(), *count);
    if (*count < buffer.size()) return content;
  }
}

double number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) throw std::runtime_error("not a number: " + std::string(text));
  return value;
}

std::vector<std::string_view> lines(std::string_view content) {
  std::vector<std::string_view> result;
  while (!content.empty()) {
    const std::size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) result.push_back(line);
    content.remove_prefix(std::min(end + 1, content.size()));
  }
  return result;
}

// ---- LIBSVM files --------------------------------------------------------------------------

struct Sparse {
  Index columns = 0;
  std::vector<std::size_t> offsets{0};
  std::vector<Index> numbers;
  std::vector<double> values;
  std::vector<double> labels;

  [[nodiscard]] std::size_t rows() const { return labels.size(); }
  [[nodiscard]] Matrix matrix() const { return Matrix::from_rows(columns, offsets, numbers, values); }
};

Sparse libsvm(const Path& path, Index columns) {
  Sparse result;
  result.columns = columns;
  const std::string content = unpacked(path);
  for (std::string_view line : lines(content)) {
    std::size_t at = line.find(' ');
    result.labels.push_back(number(line.substr(0, at)));
    while (at < line.size()) {
      const std::size_t colon = line.find(':', at);
      if (colon == std::string_view::npos) break;
      const std::size_t end = std::min(line.find(' ', colon), line.size());
      const auto index = static_cast<Index>(number(line.substr(at + 1, colon - at - 1))) - 1;
      if (index < columns) {
        result.numbers.push_back(index);
        result.values.push_back(number(line.substr(colon + 1, end - colon - 1)));
      }
      at = end;
    }
    result.offsets.push_back(result.numbers.size());
  }
  return result;
}

void unit_rows(Sparse& data) {
  for (std::size_t i = 0; i < data.rows(); ++i) {
    double squares = 0;
    for (std::size_t k = data.offsets[i]; k < data.offsets[i + 1]; ++k) squares += data.values[k] * data.values[k];
    for (std::size_t k = data.offsets[i]; k < data.offsets[i + 1] && squares > 0; ++k)
      data.values[k] /= std::sqrt(squares);
  }
}

Prepared as_it_is(const Sparse& data) {
  return {data.matrix(), data.labels};
}

Prepared relabelled(Sparse data, const std::function<double(double)>& rule) {
  for (double& y : data.labels) y = rule(y);
  return as_it_is(data);
}

Prepared with_unit_rows(Sparse data) {
  unit_rows(data);
  return as_it_is(data);
}

// ---- tables --------------------------------------------------------------------------------

using Row = std::vector<std::string>;

struct Text {
  Row header;
  std::vector<Row> rows;

  [[nodiscard]] std::size_t column(std::string_view name) const {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end()) throw std::runtime_error("no column " + std::string(name));
    return static_cast<std::size_t>(at - header.begin());
  }
};

Row cells(std::string_view line, char delimiter) {
  Row row(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == delimiter && !quoted)
      row.emplace_back();
    else
      row.back().push_back(c);
  }
  return row;
}

struct Layout {
  char delimiter = ',';
  std::size_t header_line = 1;  // 0: none
  std::size_t first_row = 2;    // line number of the first row of data
};

Text text(const Path& path, const Layout& layout) {
  Text result;
  const std::string content = unpacked(path);
  std::size_t at = 0;
  for (const std::string_view line : lines(content)) {
    ++at;
    if (at == layout.header_line) result.header = cells(line, layout.delimiter);
    if (at >= layout.first_row) result.rows.push_back(cells(line, layout.delimiter));
  }
  return result;
}

struct Dense {
  std::vector<std::vector<double>> columns;

  void add(std::vector<double> column) { columns.push_back(std::move(column)); }
  [[nodiscard]] Matrix matrix() const {
    std::vector<double> all;
    for (const auto& column : columns) all.insert(all.end(), column.begin(), column.end());
    return Matrix::from_dense(static_cast<Index>(columns.front().size()), static_cast<Index>(columns.size()), all);
  }
};

std::vector<double> numbers(const Text& table, std::size_t column) {
  std::vector<double> values;
  for (const Row& row : table.rows) values.push_back(number(row.at(column)));
  return values;
}

double mean(const std::vector<double>& values) {
  long double sum = 0;
  for (const double v : values) sum += v;
  return static_cast<double>(sum / static_cast<long double>(values.size()));
}

std::vector<double> centred(std::vector<double> values) {
  const double middle = mean(values);
  for (double& v : values) v -= middle;
  return values;
}

// Mean 0 and population standard deviation 1; a constant column becomes 0.
std::vector<double> standardised(std::vector<double> values) {
  values = centred(std::move(values));
  long double squares = 0;
  for (const double v : values) squares += static_cast<long double>(v) * v;
  const auto deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size())));
  for (double& v : values) v = deviation > 0 ? v / deviation : 0.0;
  return values;
}

Dense dense_columns(const Sparse& data) {
  Dense result;
  result.columns.assign(static_cast<std::size_t>(data.columns), std::vector<double>(data.rows()));
  for (std::size_t i = 0; i < data.rows(); ++i)
    for (std::size_t k = data.offsets[i]; k < data.offsets[i + 1]; ++k)
      result.columns[static_cast<std::size_t>(data.numbers[k])][i] = data.values[k];
  return result;
}

Prepared standardised_columns(const Sparse& data) {
  Dense standard;
  for (auto& column : dense_columns(data).columns) {
    const bool constant = std::all_of(column.begin(), column.end(), [&](double v) { return v == column.front(); });
    if (!constant) standard.add(standardised(std::move(column)));
  }
  return {standard.matrix(), data.labels};
}

std::vector<double> larger_is_positive(std::vector<double> values) {
  const double largest = *std::max_element(values.begin(), values.end());
  for (double& v : values) v = v == largest ? 1.0 : -1.0;
  return values;
}

// ---- one function per set ------------------------------------------------------------------

Prepared a9a(const Path& data, Index columns) {
  return as_it_is(libsvm(data / "a9a/a9a.xz", columns));
}

Prepared duke_west(const Path& data) {
  const Text table = text(data / "duke-west/west_raw.csv.xz", {.header_line = 0, .first_row = 1});
  Dense features;
  for (std::size_t j = 1; j < table.rows.front().size(); ++j) features.add(standardised(numbers(table, j)));
  return {features.matrix(), numbers(table, 0)};
}

Prepared diabetes(const Path& data) {
  const Text table =
      text(data / "small/diabetes_data_raw.csv.xz", {.delimiter = ' ', .header_line = 0, .first_row = 1});
  const Text target = text(data / "small/diabetes_target.csv.xz", {.header_line = 0, .first_row = 1});
  Dense features;
  for (std::size_t j = 0; j < 10; ++j) features.add(standardised(numbers(table, j)));
  return {features.matrix(), centred(numbers(target, 0))};
}

Prepared california(const Path& data) {
  const Text table = text(data / "california/cal_housing.data.xz", {.header_line = 0, .first_row = 1});
  Dense features;
  for (std::size_t j = 0; j < 8; ++j) features.add(standardised(numbers(table, j)));
  std::vector<double> target = numbers(table, 8);
  for (double& y : target) y /= 100000;
  return {features.matrix(), centred(std::move(target))};
}

Prepared breast_cancer(const Path& data) {
  const Text table = text(data / "small/breast_cancer.csv.xz", {});
  Dense features;
  for (std::size_t j = 0; j < 30; ++j) features.add(standardised(numbers(table, j)));
  return {features.matrix(), larger_is_positive(numbers(table, 30))};
}

Prepared digits(const Path& data) {
  Text table = text(data / "small/digits.csv.xz", {.header_line = 0, .first_row = 1});
  table.rows.resize(1500);
  Dense features;
  for (std::size_t j = 0; j < 64; ++j) {
    std::vector<double> column = numbers(table, j);
    for (double& v : column) v /= 16;
    features.add(std::move(column));
  }
  return {features.matrix(), numbers(table, 64), 10};
}

Prepared covtype(const Path& data) {
  Sparse rows = libsvm(data / "covtype/covtype.libsvm.binary.xz", 54);
  std::vector<double> largest(54);
  for (std::size_t k = 0; k < rows.values.size(); ++k) {
    double& top = largest[static_cast<std::size_t>(rows.numbers[k])];
    top = std::max(top, std::abs(rows.values[k]));
  }
  for (std::size_t k = 0; k < rows.values.size(); ++k)
    rows.values[k] /= largest[static_cast<std::size_t>(rows.numbers[k])];
  return relabelled(std::move(rows), [](double y) { return y == 2 ? 1.0 : -1.0; });
}

Prepared gisette(const Path& data, Index columns) {
  Sparse rows = libsvm(data / "gisette-standin/gisette_standin.xz", columns);
  for (double& v : rows.values) v /= 999;
  return as_it_is(rows);
}

// IDX files: images as bytes behind 16 bytes of header, labels behind 8.
Prepared mnist(const Path& data, const std::function<bool(int)>& wanted, const std::function<double(int)>& label) {
  const std::string images = unpacked(data / "mnist/train-images-idx3-ubyte.xz");
  const std::string digits_of = unpacked(data / "mnist/train-labels-idx1-ubyte.xz");
  Sparse rows;
  rows.columns = 784;
  for (std::size_t i = 0; i + 8 < digits_of.size(); ++i) {
    const int digit = static_cast<unsigned char>(digits_of[8 + i]);
    if (!wanted(digit)) continue;
    rows.labels.push_back(label(digit));
    for (std::size_t j = 0; j < 784; ++j)
      if (const int pixel = static_cast<unsigned char>(images[16 + i * 784 + j]); pixel > 0) {
        rows.numbers.push_back(static_cast<Index>(j));
        rows.values.push_back(pixel / 255.0);
      }
    rows.offsets.push_back(rows.numbers.size());
  }
  return as_it_is(rows);
}

Prepared news20_classes(const Path& data) {
  Sparse all = libsvm(data / "news20/news20.xz", 62061);
  unit_rows(all);
  Sparse train;
  train.columns = all.columns;
  for (std::size_t i = 0; i < all.rows(); ++i) {
    if (i % 7 == 0) continue;
    for (std::size_t k = all.offsets[i]; k < all.offsets[i + 1]; ++k) {
      train.numbers.push_back(all.numbers[k]);
      train.values.push_back(all.values[k]);
    }
    train.labels.push_back(all.labels[i] - 1);
    train.offsets.push_back(train.numbers.size());
  }
  Prepared result = as_it_is(train);
  result.classes = 20;
  return result;
}

// Guest and host tables of a vertical federation: id first, then (guest) the label, then features.
struct Joined {
  Dense features;
  std::vector<double> labels;
};

Joined guest_and_host(const Path& folder, const std::string& name, bool guest_only) {
  const Text guest = text(folder / (name + "_guest.csv.xz"), {});
  const Text host = text(folder / (name + "_host.csv.xz"), {});
  std::unordered_map<std::string, std::size_t> host_row;
  for (std::size_t i = 0; i < host.rows.size(); ++i) host_row[host.rows[i].front()] = i;
  Joined result;
  const std::size_t from_guest = guest.header.size() - 2;
  const std::size_t from_host = guest_only ? 0 : host.header.size() - 1;
  result.features.columns.resize(from_guest + from_host);
  for (const Row& row : guest.rows) {
    const auto match = host_row.find(row.front());
    if (match == host_row.end()) continue;
    result.labels.push_back(number(row[1]));
    for (std::size_t j = 0; j < from_guest; ++j) result.features.columns[j].push_back(number(row.at(j + 2)));
    for (std::size_t j = 0; j < from_host; ++j)
      result.features.columns[from_guest + j].push_back(number(host.rows[match->second].at(j + 1)));
  }
  return result;
}

Prepared fate_binary(const Path& data, const std::string& name, bool guest_only) {
  Joined joined = guest_and_host(data / "fate-vfl", name, guest_only);
  return {joined.features.matrix(), larger_is_positive(std::move(joined.labels))};
}

Prepared fate_vehicle(const Path& data) {
  Joined joined = guest_and_host(data / "fate-vfl", "vehicle_scale_hetero", false);
  return {joined.features.matrix(), std::move(joined.labels), 4};
}

Prepared fate_motor(const Path& data) {
  Joined joined = guest_and_host(data / "fate-vfl", "motor_hetero", false);
  for (auto& column : joined.features.columns) column = standardised(std::move(column));
  return {joined.features.matrix(), centred(std::move(joined.labels))};
}

Prepared fate_epsilon(const Path& data) {
  Dense features;
  std::vector<double> labels;
  for (const char* part : {"guest", "host"}) {
    const Text table = text(data / "fate-vfl" / (std::string("epsilon_5k_homo_") + part + ".csv.xz"), {});
    features.columns.resize(table.header.size() - 2);
    for (const Row& row : table.rows) {
      labels.push_back(number(row[1]));
      for (std::size_t j = 0; j < features.columns.size(); ++j) features.columns[j].push_back(number(row.at(j + 2)));
    }
  }
  return {features.matrix(), larger_is_positive(std::move(labels))};
}

// Row numbers by the text of a key column.
std::unordered_map<std::string, std::size_t> index_by(const Text& table, const std::vector<std::string>& keys) {
  std::unordered_map<std::string, std::size_t> result;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string key;
    for (const std::string& name : keys) key += table.rows[i][table.column(name)] + "|";
    result[key] = i;
  }
  return result;
}

Prepared tpch(const Path& data) {
  const auto read = [&](const char* name) {
    return text(data / "tpch-sf0.01" / (std::string(name) + ".tbl.xz"),
                {.delimiter = '|', .header_line = 2, .first_row = 4});
  };
  const Text lineitem = read("lineitem"), orders = read("orders"), customer = read("customer"), part = read("part"),
             supplier = read("supplier"), partsupp = read("partsupp");
  const auto order_at = index_by(orders, {"o_orderkey"}), customer_at = index_by(customer, {"c_custkey"}),
             part_at = index_by(part, {"p_partkey"}), supplier_at = index_by(supplier, {"s_suppkey"}),
             partsupp_at = index_by(partsupp, {"ps_partkey", "ps_suppkey"});
  Dense features;
  features.columns.resize(10);
  std::vector<double> price;
  for (const Row& line : lineitem.rows) {
    const auto of_line = [&](const char* name) { return line[lineitem.column(name)]; };
    const Row& order = orders.rows[order_at.at(of_line("l_orderkey") + "|")];
    const Row& client = customer.rows[customer_at.at(order[orders.column("o_custkey")] + "|")];
    const Row& item = part.rows[part_at.at(of_line("l_partkey") + "|")];
    const Row& source = supplier.rows[supplier_at.at(of_line("l_suppkey") + "|")];
    const Row& offer = partsupp.rows[partsupp_at.at(of_line("l_partkey") + "|" + of_line("l_suppkey") + "|")];
    const std::string values[10] = {of_line("l_quantity"),
                                    of_line("l_discount"),
                                    of_line("l_tax"),
                                    order[orders.column("o_totalprice")],
                                    client[customer.column("c_acctbal")],
                                    item[part.column("p_size")],
                                    item[part.column("p_retailprice")],
                                    source[supplier.column("s_acctbal")],
                                    offer[partsupp.column("ps_availqty")],
                                    offer[partsupp.column("ps_supplycost")]};
    for (std::size_t j = 0; j < 10; ++j) features.columns[j].push_back(number(values[j]));
    price.push_back(number(of_line("l_extendedprice")));
  }
  for (auto& column : features.columns) column = standardised(std::move(column));
  return {features.matrix(), standardised(std::move(price))};
}

Prepared movie_ratings(const Path& data, bool classes) {
  const Text ratings = text(data / "ml-latest-small/ratings.csv.xz", {});
  const Text movies = text(data / "ml-latest-small/movies.csv.xz", {});
  std::map<std::string, Index> genres;  // byte order
  std::unordered_map<std::string, Row> genres_of;
  for (const Row& movie : movies.rows) {
    genres_of[movie.front()] = cells(movie.back(), '|');
    for (const std::string& genre : genres_of[movie.front()]) genres[genre] = 0;
  }
  Sparse rows;
  for (auto& [name, column] : genres) column = rows.columns++;
  for (const Row& rating : ratings.rows) {
    std::vector<Index> on;
    for (const std::string& genre : genres_of.at(rating[1])) on.push_back(genres.at(genre));
    std::sort(on.begin(), on.end());
    for (const Index column : on) {
      rows.numbers.push_back(column);
      rows.values.push_back(1);
    }
    rows.offsets.push_back(rows.numbers.size());
    const double stars = number(rating[2]);
    rows.labels.push_back(!classes ? stars : stars >= 4 ? 1.0 : -1.0);
  }
  if (!classes) rows.labels = centred(std::move(rows.labels));
  return as_it_is(rows);
}

Prepared mutagenesis(const Path& data) {
  const Text molecules = text(data / "mutagenesis/molecule.csv.xz", {});
  const Text atoms = text(data / "mutagenesis/atom.csv.xz", {});
  const auto molecule_at = index_by(molecules, {"molecule_id"});
  const char* measured[] = {"ind1", "inda", "logp", "lumo"};
  const char* elements[] = {"b", "c", "f", "h", "i", "n", "o"};
  Dense features;
  features.columns.resize(12);
  std::vector<double> labels;
  for (const Row& atom : atoms.rows) {
    const Row& molecule = molecules.rows[molecule_at.at(atom[atoms.column("molecule_id")] + "|")];
    for (std::size_t j = 0; j < 4; ++j) features.columns[j].push_back(number(molecule[molecules.column(measured[j])]));
    features.columns[4].push_back(number(atom[atoms.column("charge")]));
    for (std::size_t j = 0; j < 7; ++j)
      features.columns[5 + j].push_back(atom[atoms.column("element")] == elements[j] ? 1 : 0);
    labels.push_back(molecule[molecules.column("mutagenic")] == "yes" ? 1 : -1);
  }
  for (std::size_t j = 0; j < 5; ++j) features.columns[j] = standardised(std::move(features.columns[j]));
  return {features.matrix(), std::move(labels)};
}

Prepared molecules_only(const Path& data) {
  const Text molecules = text(data / "mutagenesis/molecule.csv.xz", {});
  Dense features;
  for (const char* name : {"ind1", "inda", "logp", "lumo"})
    features.add(standardised(numbers(molecules, molecules.column(name))));
  std::vector<double> labels;
  for (const Row& row : molecules.rows) labels.push_back(row[molecules.column("mutagenic")] == "yes" ? 1 : -1);
  return {features.matrix(), std::move(labels)};
}

Prepared berka(const Path& data) {
  const Layout layout{.delimiter = ';'};
  const Text loans = text(data / "berka/loan.asc.xz", layout), accounts = text(data / "berka/account.asc.xz", layout),
             districts = text(data / "berka/district.asc.xz", layout);
  const auto account_at = index_by(accounts, {"account_id"}), district_at = index_by(districts, {"A1"});
  const char* of_loan[] = {"amount", "duration", "payments"};
  const char* of_district[] = {"A4", "A5", "A6", "A7", "A8", "A9", "A10", "A11", "A13", "A14", "A16"};
  Dense features;
  features.columns.resize(14);
  std::vector<double> labels;
  for (const Row& loan : loans.rows) {
    const Row& account = accounts.rows[account_at.at(loan[loans.column("account_id")] + "|")];
    const Row& district = districts.rows[district_at.at(account[accounts.column("district_id")] + "|")];
    for (std::size_t j = 0; j < 3; ++j) features.columns[j].push_back(number(loan[loans.column(of_loan[j])]));
    for (std::size_t j = 0; j < 11; ++j)
      features.columns[3 + j].push_back(number(district[districts.column(of_district[j])]));
    const std::string& status = loan[loans.column("status")];
    labels.push_back(status == "B" || status == "D" ? -1 : 1);
  }
  for (auto& column : features.columns) column = standardised(std::move(column));
  return {features.matrix(), std::move(labels)};
}

Prepared mimic(const Path& data) {
  const Text stays = text(data / "mimic-iii-demo/ICUSTAYS.csv.xz", {}),
             admissions = text(data / "mimic-iii-demo/ADMISSIONS.csv.xz", {}),
             patients = text(data / "mimic-iii-demo/PATIENTS.csv.xz", {});
  const auto admission_at = index_by(admissions, {"hadm_id"}), patient_at = index_by(patients, {"subject_id"});
  Dense features;
  features.columns.resize(14);
  std::vector<double> labels;
  for (const Row& stay : stays.rows) {
    const Row& admission = admissions.rows[admission_at.at(stay[stays.column("hadm_id")] + "|")];
    const Row& patient = patients.rows[patient_at.at(stay[stays.column("subject_id")] + "|")];
    std::size_t j = 0;
    const auto one_hot = [&](const std::string& value, std::initializer_list<const char*> levels) {
      for (const char* level : levels) features.columns[j++].push_back(value == level ? 1 : 0);
    };
    features.columns[j++].push_back(number(stay[stays.column("los")]));
    one_hot(stay[stays.column("first_careunit")], {"CCU", "CSRU", "MICU", "SICU", "TSICU"});
    one_hot(patient[patients.column("gender")], {"F"});
    one_hot(admission[admissions.column("admission_type")], {"ELECTIVE", "EMERGENCY", "URGENT"});
    one_hot(admission[admissions.column("insurance")], {"Government", "Medicaid", "Medicare", "Private"});
    labels.push_back(admission[admissions.column("hospital_expire_flag")] == "1" ? 1 : -1);
  }
  features.columns[0] = standardised(std::move(features.columns[0]));
  return {features.matrix(), std::move(labels)};
}

}  // namespace

Prepared prepare(const Path& data, const std::string& id) {
  const auto plain = [&](const char* file, Index columns) { return as_it_is(libsvm(data / file, columns)); };
  const auto unit = [&](const char* file, Index columns) { return with_unit_rows(libsvm(data / file, columns)); };
  const std::map<std::string, std::function<Prepared()>> sets{
      {"a9a", [&] { return a9a(data, 123); }},
      {"a9a/first66", [&] { return a9a(data, 66); }},
      {"a9a/first67", [&] { return a9a(data, 67); }},
      {"colon-cancer", [&] { return plain("colon-cancer/colon-cancer.xz", 2000); }},
      {"leukemia", [&] { return plain("leukemia/leu.xz", 7129); }},
      {"duke-west", [&] { return duke_west(data); }},
      {"diabetes", [&] { return diabetes(data); }},
      {"california", [&] { return california(data); }},
      {"breast_cancer", [&] { return breast_cancer(data); }},
      {"heart_scale", [&] { return plain("small/heart_scale.xz", 13); }},
      {"digits", [&] { return digits(data); }},
      {"mushrooms",
       [&] {
         return relabelled(libsvm(data / "mushrooms/mushrooms.xz", 112), [](double y) { return y == 2 ? 1.0 : -1.0; });
       }},
      {"w8a", [&] { return plain("w8a/w8a.xz", 300); }},
      {"ijcnn1", [&] { return plain("ijcnn1/ijcnn1.xz", 22); }},
      {"madelon", [&] { return standardised_columns(libsvm(data / "madelon/madelon.xz", 500)); }},
      {"dexter", [&] { return unit("dexter/dexter.xz", 20000); }},
      {"dorothea", [&] { return plain("dorothea/dorothea.xz", 100000); }},
      {"arcene", [&] { return standardised_columns(libsvm(data / "arcene/arcene.xz", 10000)); }},
      {"rcv1_small", [&] { return plain("rcv1_small/rcv1_small.xz", 47236); }},
      {"reuters-acq", [&] { return plain("reuters-acq/acq.xz", 9947); }},
      {"reuters", [&] { return plain("reuters/reuters.xz", 8315); }},
      {"BASEHOCK", [&] { return unit("newsgroup-pairs/BASEHOCK.xz", 4862); }},
      {"PCMAC", [&] { return unit("newsgroup-pairs/PCMAC.xz", 3289); }},
      {"RELATHE", [&] { return unit("newsgroup-pairs/RELATHE.xz", 4322); }},
      {"fate/breast_hetero", [&] { return fate_binary(data, "breast_hetero", false); }},
      {"fate/breast_hetero[guest-only]", [&] { return fate_binary(data, "breast_hetero", true); }},
      {"fate/default_credit_hetero", [&] { return fate_binary(data, "default_credit_hetero", false); }},
      {"fate/default_credit_hetero[guest-only]", [&] { return fate_binary(data, "default_credit_hetero", true); }},
      {"fate/ionosphere_scale_hetero", [&] { return fate_binary(data, "ionosphere_scale_hetero", false); }},
      {"fate/ionosphere_scale_hetero[guest-only]", [&] { return fate_binary(data, "ionosphere_scale_hetero", true); }},
      {"fate/vehicle_scale_hetero", [&] { return fate_vehicle(data); }},
      {"fate/motor_hetero", [&] { return fate_motor(data); }},
      {"fate/epsilon_5k_homo", [&] { return fate_epsilon(data); }},
      {"tpch-sf0.01", [&] { return tpch(data); }},
      {"ml-latest-small", [&] { return movie_ratings(data, false); }},
      {"ml-latest-small/classes", [&] { return movie_ratings(data, true); }},
      {"mutagenesis", [&] { return mutagenesis(data); }},
      {"mutagenesis[molecule]", [&] { return molecules_only(data); }},
      {"berka", [&] { return berka(data); }},
      {"mimic-iii-demo", [&] { return mimic(data); }},
      {"covtype", [&] { return covtype(data); }},
      {"gisette-standin", [&] { return gisette(data, 5000); }},
      {"gisette-standin[first2000]", [&] { return gisette(data, 2000); }},
      {"mnist-4v9",
       [&] {
         return mnist(
             data, [](int digit) { return digit == 4 || digit == 9; },
             [](int digit) { return digit == 4 ? 1.0 : -1.0; });
       }},
      {"mnist",
       [&] {
         Prepared all = mnist(
             data, [](int) { return true; }, [](int digit) { return static_cast<double>(digit); });
         all.classes = 10;
         return all;
       }},
      {"news20-b",
       [&] {
         Sparse rows = libsvm(data / "news20/news20.xz", 62061);
         unit_rows(rows);
         return relabelled(std::move(rows), [](double y) { return y > 10 ? 1.0 : -1.0; });
       }},
      {"news20", [&] { return news20_classes(data); }},
  };
  const auto found = sets.find(id);
  if (found == sets.end()) throw std::runtime_error("no preparation for data set " + id);
  return found->second();
}

}  // namespace parley::optima
