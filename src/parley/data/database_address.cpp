#include "parley/data/database_address.h"

#include <algorithm>

#include "parley/core/files.h"

namespace parley::data {

namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kTable = "?table=";

std::string_view postgres_scheme(std::string_view address) {
  for (const std::string_view scheme : {"postgresql://", "postgres://"})
    if (address.starts_with(scheme)) return scheme;
  return {};
}

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// False where a percent sign is not followed by two digits, or stands for the end of text.
bool decode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hexadecimal(text[i + 1]), low = hexadecimal(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return false;
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out.find('\0') == std::string::npos;
}

std::string read_sqlite(std::string_view text, DatabaseAddress& out) {
  out.kind = DatabaseKind::kSqlite;
  text.remove_prefix(kSqlite.size());
  if (text.starts_with("//")) text.remove_prefix(2);
  const std::size_t query = text.rfind(kTable);
  if (query == std::string_view::npos) return "must name a table, as in sqlite:FILE?table=NAME";
  out.place = text.substr(0, query);
  if (out.place.empty()) return "must name a file, as in sqlite:FILE?table=NAME";
  if (!decode(text.substr(query + kTable.size()), out.table) || out.table.empty())
    return "must name a table, as in sqlite:FILE?table=NAME; other characters are written as %41";
  return {};
}

std::string read_table_name(std::string_view text, DatabaseAddress& out) {
  const std::size_t dot = text.find('.');
  const bool named = dot == std::string_view::npos || (decode(text.substr(0, dot), out.schema) && !out.schema.empty());
  if (!named || !decode(dot == std::string_view::npos ? text : text.substr(dot + 1), out.table) || out.table.empty())
    return "must name a table, as in ?table=NAME or ?table=SCHEMA.NAME; other characters are written as %41";
  return {};
}

std::string read_postgres(std::string_view text, DatabaseAddress& out) {
  constexpr std::string_view kNoPassword =
      "holds a password, and an address stands in jobs, logs and results: put it into PGPASSFILE, PGPASSWORD or a "
      "service file";
  out.kind = DatabaseKind::kPostgres;
  const std::size_t begin = postgres_scheme(text).size();
  const std::size_t query = text.find('?', begin);
  const std::string_view authority = text.substr(begin, text.find_first_of("/?", begin) - begin);
  // Whatever stands before an @ may be a user with a password, also where a slash in it cuts the authority short.
  const std::size_t at = text.substr(begin, query == std::string_view::npos ? query : query - begin).rfind('@');
  const std::string_view user = at == std::string_view::npos ? std::string_view() : text.substr(begin, at);
  if (user.find(':') != std::string_view::npos || authority.find("%3A") < at || authority.find("%3a") < at)
    return std::string(kNoPassword);
  out.place = text.substr(0, query);
  std::string_view rest = query == std::string_view::npos ? std::string_view() : text.substr(query + 1);
  bool table = false;
  char before = '?';
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    std::string key;
    if (!decode(pair.substr(0, pair.find('=')), key)) return "has a parameter that is not well formed";
    if (key == "password" || key == "sslpassword") return std::string(kNoPassword);
    if (key != "table") {
      out.place += before;
      out.place += pair;
      before = '&';
      continue;
    }
    if (table) return "must name one table";
    table = true;
    const std::size_t equals = pair.find('=');
    std::string flaw = read_table_name(equals == std::string_view::npos ? "" : pair.substr(equals + 1), out);
    if (!flaw.empty()) return flaw;
  }
  return table ? "" : "must name a table, as in postgresql://HOST/DATABASE?table=NAME";
}

std::string read(std::string_view address, DatabaseAddress& out) {
  if (address.find('\0') != std::string_view::npos) return "must not hold the character 0";
  return address.starts_with(kSqlite) ? read_sqlite(address, out) : read_postgres(address, out);
}

}  // namespace

bool is_database(std::string_view address) {
  return address.starts_with(kSqlite) || !postgres_scheme(address).empty();
}

std::string flaw_of_database(std::string_view address) {
  DatabaseAddress ignored;
  return is_database(address) ? read(address, ignored) : "";
}

Result<DatabaseAddress> parse_database(const std::string& address) {
  DatabaseAddress out;
  out.address = address;
  const std::string flaw = read(address, out);
  if (flaw.empty()) return out;
  const bool sqlite = address.starts_with(kSqlite);
  return fail(bad_input({sqlite ? address : std::string("an address postgresql://..."), 0, ""}, flaw));
}

std::string file_of(const std::string& address) {
  if (!is_database(address)) return address;
  DatabaseAddress read_address;
  return read(address, read_address).empty() && read_address.kind == DatabaseKind::kSqlite ? read_address.place : "";
}

Result<void> refuse_table(const std::string& output, const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) files.push_back(file_of(input));
  return refuse_input(output, files);
}

std::string with_file(const std::string& address, const std::string& file) {
  return std::string(kSqlite) + file + address.substr(std::min(address.size(), address.rfind(kTable)));
}

}  // namespace parley::data
