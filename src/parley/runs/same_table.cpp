#include "parley/runs/same_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "parley/data/database_address.h"
#include "parley/data/schema.h"
#include "parley/data/table_text.h"
#include "parley/privacy/ledger/digest.h"

namespace parley::runs {

namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

// What changes whenever a file is written or replaced. A database changes with its other tables too, so of it there is
// none.
std::string stamp(const std::string& path) {
  struct stat found {};
  if (path.empty() || data::is_database(path) || ::stat(path.c_str(), &found) != 0) return "none";
  return fmt::format("{} {} {} {}.{} {}.{}", found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec,
                     found.st_mtim.tv_nsec, found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
}

// Of the digests of its pieces: tables may be larger than memory.
Result<std::string> digest_of_text(const std::string& address, const data::Schema& schema) {
  PARLEY_TRY(const auto text, data::open_table(address, schema));
  std::vector<char> piece(kPiece);
  std::string digests;
  for (std::size_t got = kPiece; got == kPiece;) {
    PARLEY_TRY(got, text->read(piece));
    digests += privacy::digest_of({piece.data(), got});
  }
  return privacy::digest_of(digests);
}

Result<std::string> digest_of_file(const std::string& path) {
  if (path.empty()) return std::string("none");
  const auto cannot = [&](const char* why) {
    return fail(bad_input({path, 0, ""}, std::string("cannot be read: ") + why));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return cannot(std::strerror(errno));
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    ::close(file);
    return fail(bad_input({path, 0, ""}, "is not a regular file: whether it changes during a run could not be told"));
  }
  std::vector<char> piece(kPiece);
  std::string digests;
  for (std::size_t filled = 0;;) {
    const ssize_t got = ::read(file, piece.data() + filled, piece.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      ::close(file);
      return cannot(std::strerror(error));
    }
    filled += static_cast<std::size_t>(got);
    if (got > 0 && filled < piece.size()) continue;
    digests += privacy::digest_of({piece.data(), filled});
    filled = 0;
    if (got == 0) break;
  }
  ::close(file);
  return privacy::digest_of(digests);
}

}  // namespace

Result<SameTable> SameTable::of(const std::string& data, const std::string& schema, const std::string& order) {
  SameTable table;
  table.data_ = data;
  table.schema_ = schema;
  table.order_ = order;
  table.seen_ = table.stamps();
  PARLEY_TRY(const std::string rows, table.digest_of_rows());
  PARLEY_TRY(const std::string columns, digest_of_file(schema));
  table.digest_ = rows + " " + columns;
  if (order.empty()) return table;
  PARLEY_TRY(const std::string rows_in_order, digest_of_file(order));
  table.digest_ += " " + rows_in_order;
  return table;
}

std::string SameTable::stamps() const {
  return stamp(data_) + "/" + stamp(schema_) + "/" + stamp(order_);
}

// Of a database's table the text that is read of it.
Result<std::string> SameTable::digest_of_rows() const {
  if (!data::is_database(data_)) return digest_of_file(data_);
  data::Schema schema;
  if (!schema_.empty()) {
    PARLEY_TRY(schema, data::read_schema(schema_));
  }
  return digest_of_text(data_, schema);
}

Result<void> SameTable::as_in(const rounds::Opening& opening) const {
  if (!opening.resumed || opening.data == digest_) return {};
  const bool rows_changed = opening.data.substr(0, opening.data.find(' ')) != digest_.substr(0, digest_.find(' '));
  // Of the table and its schema; an order stands after both.
  const auto without_order = [](const std::string& digest) {
    return digest.substr(0, digest.find(' ', digest.find(' ') + 1));
  };
  const bool order_changed = !order_.empty() && without_order(opening.data) == without_order(digest_);
  const std::string& file = rows_changed || (schema_.empty() && !order_changed) ? data_
                            : order_changed                                     ? order_
                                                                                : schema_;
  const char* what = rows_changed    ? "table that this run began with, and a run is of one table"
                     : order_changed ? "order of rows that this run began with"
                                     : "schema that this run began with";
  Error changed =
      bad_input({file, 0, ""}, fmt::format("is not the {}: bring that one back, or have the coordinator begin a "
                                           "new run (another --out)",
                                           what));
  changed.cause = Cause::kPast;
  return fail(std::move(changed));
}

Result<void> SameTable::still() const {
  bool same = stamps() == seen_;
  if (same && data::is_database(data_)) {
    PARLEY_TRY(const std::string rows, digest_of_rows());
    same = rows == digest_.substr(0, digest_.find(' '));
  }
  if (same) return {};
  return fail(failed(data_ + ": it or its schema changed while it was read; start again when nobody writes to it"));
}

}  // namespace parley::runs
