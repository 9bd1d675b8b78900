#include "parley/data/record_ids.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <unordered_set>

#include "parley/core/text.h"

namespace parley::data {

namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

std::string normalised(std::string_view text, const IdRule& rule, bool& changed) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  std::string kept;
  if (begin != std::string_view::npos) kept = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  if (rule.fold_case)
    for (char& c : kept)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  changed |= kept != text;
  return kept;
}

bool beyond_ascii(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > 127; });
}

}  // namespace

Result<RecordIds> record_ids(const Dataset& table, const IdRule& rule, const std::string& file) {
  if (table.keys.empty() && table.ids.empty())
    return fail(bad_input({file, 0, ""},
                          "has no record ids to align by: give a column type = \"id\" in the schema, or "
                          "name key columns in secure.ids"));
  RecordIds found;
  found.records = table.rows();
  std::unordered_set<std::string> seen;
  seen.reserve(found.records);
  for (std::size_t row = 0; row < found.records; ++row) {
    std::string id;
    bool changed = false, missing = false;
    if (table.keys.empty()) {
      id = normalised(table.ids[row], rule, changed);
      missing = id.empty();
    }
    for (const KeyText& key : table.keys) {
      const std::string part = key.missing(row) ? std::string() : normalised(key[row], rule, changed);
      missing |= part.empty();
      id += fmt::format("{}:", part.size()) + part;
    }
    if (missing) {
      ++found.missing;
      continue;
    }
    if (!seen.insert(id).second) {
      ++found.repeated;
      continue;
    }
    found.changed += changed ? 1 : 0;
    found.beyond_ascii += beyond_ascii(id) ? 1 : 0;
    found.ids.push_back(std::move(id));
    found.rows.push_back(static_cast<linalg::Index>(row));
  }
  if (found.repeated > 0 && rule.duplicates == IdRule::Duplicates::kRefuse)
    return fail(bad_input(
        {file, 0, ""}, fmt::format("has {} whose id an earlier one has; secure.duplicates = \"first\" takes the first "
                                   "of each",
                                   counted(static_cast<long long>(found.repeated), "record"))));
  if (found.ids.empty()) return fail(bad_input({file, 0, ""}, "has no record with an id"));
  return found;
}

std::string digest_of_ids(const RecordIds& ids) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  const auto add = [&](const void* bytes, std::size_t count) { EVP_DigestUpdate(context.get(), bytes, count); };
  add(&ids.records, sizeof ids.records);
  for (std::size_t i = 0; i < ids.ids.size(); ++i) {
    const std::uint64_t length = ids.ids[i].size();
    add(&ids.rows[i], sizeof ids.rows[i]);
    add(&length, sizeof length);
    add(ids.ids[i].data(), length);
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), digest, &size);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace parley::data
