#include "parley/data/write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "parley/core/files.h"
#include "parley/core/text.h"
#include "parley/data/database_address.h"
#include "parley/data/dataset.h"

namespace parley::data {

namespace fs = std::filesystem;

Packing packing_of(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".gz") return Packing::kGzip;
  if (ending == ".zst") return Packing::kZstd;
  if (ending == ".xz") return Packing::kXz;
  return Packing::kNone;
}

std::string without_packing(std::string name) {
  if (packing_of(name) == Packing::kNone) return name;
  return name.substr(0, name.rfind('.'));
}

void append_number(std::string& out, double value) {
  assert(std::isfinite(value));
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append_integer(std::string& out, std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append_cell(std::string& out, std::string_view cell, char delimiter) {
  const bool blank_edge = !cell.empty() && (cell.front() == ' ' || cell.back() == ' ');
  if (!blank_edge && cell.find_first_of("\"\r\n") == std::string_view::npos &&
      cell.find(delimiter) == std::string_view::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

namespace {

constexpr std::size_t kBuffer = 1 << 18;

// Packs what it is given and hands the packed bytes to `sink(data, size)`, which says whether to go on.
class Packer {
 public:
  explicit Packer(Packing packing) : packing_(packing), out_(kBuffer) {
    switch (packing_) {
      case Packing::kNone:
        break;
      case Packing::kGzip:
        // 16 + 15: a gzip header, which carries no time and no name: the same bytes every day.
        ready_ = deflateInit2(&gzip_, 6, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY) == Z_OK;
        break;
      case Packing::kZstd:
        zstd_ = ZSTD_createCCtx();
        ready_ = zstd_ != nullptr && ZSTD_isError(ZSTD_CCtx_setParameter(zstd_, ZSTD_c_checksumFlag, 1)) == 0;
        break;
      case Packing::kXz:
        ready_ = lzma_easy_encoder(&xz_, 3, LZMA_CHECK_CRC64) == LZMA_OK;
        break;
    }
  }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  ~Packer() {
    if (packing_ == Packing::kGzip) deflateEnd(&gzip_);
    if (packing_ == Packing::kXz) lzma_end(&xz_);
    ZSTD_freeCCtx(zstd_);
  }

  template <class Sink>
  bool pack(std::string_view bytes, bool last, const Sink& sink) {
    if (!ready_) return false;
    switch (packing_) {
      case Packing::kNone:
        return sink(bytes.data(), bytes.size());
      case Packing::kGzip:
        return gzip(bytes, last, sink);
      case Packing::kZstd:
        return zstd(bytes, last, sink);
      case Packing::kXz:
        return xz(bytes, last, sink);
    }
    return false;
  }

 private:
  template <class Sink>
  bool gzip(std::string_view bytes, bool last, const Sink& sink) {
    // zlib counts input in 32 bits.
    do {
      const std::string_view part = bytes.substr(0, std::size_t{1} << 30);
      bytes.remove_prefix(part.size());
      gzip_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      gzip_.avail_in = static_cast<uInt>(part.size());
      do {
        gzip_.next_out = reinterpret_cast<Bytef*>(out_.data());
        gzip_.avail_out = static_cast<uInt>(out_.size());
        if (deflate(&gzip_, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) return false;
        if (!sink(out_.data(), out_.size() - gzip_.avail_out)) return false;
      } while (gzip_.avail_out == 0);
    } while (!bytes.empty());
    return true;
  }

  template <class Sink>
  bool zstd(std::string_view bytes, bool last, const Sink& sink) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(zstd_, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0 || !sink(out_.data(), out.pos)) return false;
      if (last ? left == 0 : in.pos == in.size) return true;
    }
  }

  template <class Sink>
  bool xz(std::string_view bytes, bool last, const Sink& sink) {
    xz_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
    xz_.avail_in = bytes.size();
    for (;;) {
      xz_.next_out = reinterpret_cast<std::uint8_t*>(out_.data());
      xz_.avail_out = out_.size();
      const lzma_ret done = lzma_code(&xz_, last ? LZMA_FINISH : LZMA_RUN);
      if (done != LZMA_OK && done != LZMA_STREAM_END) return false;
      if (!sink(out_.data(), out_.size() - xz_.avail_out)) return false;
      if (last ? done == LZMA_STREAM_END : xz_.avail_in == 0 && xz_.avail_out > 0) return true;
    }
  }

  Packing packing_;
  std::vector<char> out_;
  bool ready_ = true;
  z_stream gzip_ = {};
  ZSTD_CCtx* zstd_ = nullptr;
  lzma_stream xz_ = LZMA_STREAM_INIT;
};

Error cannot_write(const fs::path& path) {
  return failed(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

// What an application has no right to, or has not got, is bad input: the name was chosen by a person.
Error cannot_create(const fs::path& path) {
  return bad_input({path.string(), 0, ""}, fmt::format("cannot be created: {}", std::strerror(errno)));
}

}  // namespace

struct OutputFile::State {
  State(fs::path name, Packing packing) : path(std::move(name)), packer(packing) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (descriptor >= 0) ::close(descriptor);
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }

  bool put(const char* data, std::size_t size) {
    while (size > 0) {
      const ssize_t wrote = ::write(descriptor, data, size);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return false;
      data += wrote;
      size -= static_cast<std::size_t>(wrote);
    }
    return true;
  }

  Result<void> pack(std::string_view content, bool last) {
    errno = 0;
    const bool done = packer.pack(content, last, [&](const char* data, std::size_t size) { return put(data, size); });
    if (!done && errno == 0) return fail(failed(fmt::format("{}: cannot be packed", path.string())));
    if (!done) return fail(cannot_write(path));
    return {};
  }

  fs::path path;
  std::string temporary;  // empty once renamed
  std::string gathered;   // small writes become large ones
  Packer packer;
  int descriptor = -1;
  std::uintmax_t bytes = 0;
};

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;
OutputFile& OutputFile::operator=(OutputFile&&) noexcept = default;
OutputFile::~OutputFile() = default;

Result<void> OutputFile::write(std::string_view bytes) {
  if (state_->gathered.size() + bytes.size() < kBuffer) {
    state_->gathered += bytes;
    return {};
  }
  PARLEY_CHECK(state_->pack(state_->gathered, false));
  state_->gathered.clear();
  if (bytes.size() < kBuffer) {
    state_->gathered = bytes;
    return {};
  }
  return state_->pack(bytes, false);
}

const fs::path& OutputFile::path() const {
  return state_->path;
}

std::uintmax_t OutputFile::bytes() const {
  return state_->bytes;
}

Result<void> OutputFile::finish() {
  PARLEY_CHECK(state_->pack(state_->gathered, true));
  std::string().swap(state_->gathered);
  struct stat status = {};
  if (::fstat(state_->descriptor, &status) == 0) state_->bytes = static_cast<std::uintmax_t>(status.st_size);
  const int closed = ::close(state_->descriptor);
  state_->descriptor = -1;
  if (closed != 0) return fail(cannot_write(state_->path));
  return {};
}

Result<void> OutputFile::rename() {
  if (::rename(state_->temporary.c_str(), state_->path.c_str()) != 0) return fail(cannot_write(state_->path));
  state_->temporary.clear();
  return {};
}

namespace {

// Every object that has files under temporary names; held while such files are made, renamed and removed.
std::mutex unfinished_mutex;
std::set<Outputs*> unfinished;

}  // namespace

Outputs::Outputs(Existing existing, std::vector<std::string> inputs) : existing_(existing), inputs_(std::move(inputs)) {
  const std::lock_guard lock(unfinished_mutex);
  unfinished.insert(this);
}

Outputs::~Outputs() {
  const std::lock_guard lock(unfinished_mutex);
  unfinished.erase(this);
  if (!committed_) abandon();
}

void Outputs::abandon() {
  for (const auto& file : files_)
    if (!file->state_->temporary.empty()) ::unlink(file->state_->temporary.c_str());
  std::error_code ignored;
  // Only what this object made and left empty.
  for (auto folder = made_folders_.rbegin(); folder != made_folders_.rend(); ++folder) fs::remove(*folder, ignored);
}

void Outputs::abandon_all() {
  // Never released: a thread that goes on writing would begin anew.
  unfinished_mutex.lock();
  for (Outputs* const outputs : unfinished)
    if (!outputs->committed_) outputs->abandon();
}

Result<void> Outputs::make_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return {};
  if (fs::exists(folder, error)) return fail(bad_input({folder.string(), 0, ""}, "exists and is not a folder"));
  PARLEY_CHECK(make_folder(folder.parent_path()));
  // A name that ends in a slash names its parent again.
  if (fs::is_directory(folder, error)) return {};
  if (!fs::create_directory(folder, error)) {
    errno = error.value();
    return fail(cannot_create(folder));
  }
  made_folders_.push_back(folder);
  return {};
}

Result<OutputFile*> Outputs::open(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fail(bad_input({path.string(), 0, ""}, "is a folder"));
  PARLEY_CHECK(refuse_table(path.string(), inputs_));
  // The later of two would take the name of the earlier, whose content would be lost.
  const auto place = [&](const fs::path& name) { return fs::weakly_canonical(fs::absolute(name, error), error); };
  for (const auto& file : files_)
    if (place(file->path()) == place(path))
      return fail(bad_input({path.string(), 0, ""}, "is written twice: two outputs need two names"));
  if (existing_ == Existing::kRefuse) PARLEY_CHECK(refuse_existing(path.string()));
  // A rename would put a file in the place of a device or a pipe.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return fail(bad_input({path.string(), 0, ""}, "is not a regular file, and is left as it is"));
  const std::lock_guard lock(unfinished_mutex);
  PARLEY_CHECK(make_folder(path.parent_path()));
  auto state = std::make_unique<OutputFile::State>(path, packing_of(path));
  const fs::path folder = path.parent_path();
  std::string temporary = (folder / fmt::format(".{}.XXXXXX", path.filename().string())).string();
  state->descriptor = ::mkstemp(temporary.data());
  if (state->descriptor < 0) return fail(cannot_create(path));
  state->temporary = temporary;
  // mkstemp makes the file for its owner alone; results get what the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(state->descriptor, 0666 & ~mask) != 0) return fail(cannot_write(path));
  files_.push_back(std::unique_ptr<OutputFile>(new OutputFile(std::move(state))));
  return files_.back().get();
}

Result<void> Outputs::write_whole(const fs::path& path, std::string_view content) {
  PARLEY_TRY(OutputFile * file, open(path));
  return file->write(content);
}

Result<void> Outputs::commit() {
  for (const auto& file : files_) PARLEY_CHECK(file->finish());
  const std::lock_guard lock(unfinished_mutex);
  for (const auto& file : files_) PARLEY_CHECK(file->rename());
  committed_ = true;
  return {};
}

namespace {

// Class names when there are classes, else the number.
void append_label(std::string& out, const Labels& labels, std::size_t row) {
  const double value = labels.values[row];
  const auto& classes = labels.classes;
  if (classes.empty()) return append_number(out, value);
  const std::size_t position = classes.size() == 2 && value < 0 ? 0 : static_cast<std::size_t>(value);
  out += classes.at(position);
}

// LIBSVM labels are numbers: classes that are none become -1/+1, or 0, 1, 2, ...
bool numeric_classes(const Labels& labels) {
  for (const std::string& name : labels.classes) {
    double value = 0;
    const char* begin = name.data() + (name.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size() || !std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

Result<void> write_csv(OutputFile& file, const Dataset& table, const std::string& label_name) {
  const bool labelled = !table.labels.values.empty();
  std::string header;
  if (!table.ids.empty()) header += "id,";
  if (labelled) append_cell(header, label_name);
  const auto cols = static_cast<std::size_t>(table.features.cols());
  for (std::size_t j = 0; j < cols; ++j) {
    if (labelled || j > 0) header += ',';
    append_cell(header, table.columns[j]);
  }
  header += '\n';
  PARLEY_CHECK(file.write(header));
  return write_rows(
      file, static_cast<std::size_t>(table.features.rows()), cols * 8, [&](std::size_t row, std::string& text) {
        if (!table.ids.empty()) {
          append_cell(text, table.ids[row]);
          text += ',';
        }
        if (labelled) {
          std::string label;
          append_label(label, table.labels, row);
          append_cell(text, label);
        }
        std::size_t next = 0;
        const auto pass = [&](std::size_t column) {
          for (; next < column; ++next) text += labelled || next > 0 ? ",0" : "0";
        };
        table.features.for_each_in_row(static_cast<linalg::Index>(row), [&](linalg::Index column, double value) {
          pass(static_cast<std::size_t>(column));
          if (labelled || next > 0) text += ',';
          append_number(text, value);
          ++next;
        });
        pass(cols);
        text += '\n';
      });
}

Result<void> write_libsvm(OutputFile& file, const Dataset& table, int first_index) {
  const bool by_name = numeric_classes(table.labels);
  const auto rows = static_cast<std::size_t>(table.features.rows());
  const std::size_t per_row = rows == 0 ? 1 : 16 * (1 + table.features.nonzeros() / rows);
  return write_rows(file, rows, per_row, [&](std::size_t row, std::string& text) {
    if (table.labels.values.empty())
      text += '0';
    else if (by_name)
      append_label(text, table.labels, row);
    else
      append_number(text, table.labels.values[row]);
    table.features.for_each_in_row(static_cast<linalg::Index>(row), [&](linalg::Index column, double value) {
      if (value == 0) return;
      text += ' ';
      append_integer(text, std::int64_t{column} + first_index);
      text += ':';
      append_number(text, value);
    });
    text += '\n';
  });
}

}  // namespace parley::data
