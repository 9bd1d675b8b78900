#include "parley/data/decompress.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace parley::data {

namespace {

constexpr std::size_t kPackedBuffer = std::size_t{1} << 16;

class FileBytes final : public ByteSource {
 public:
  FileBytes(int descriptor, std::string name, std::size_t size)
      : descriptor_(descriptor), name_(std::move(name)), left_(size) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { ::close(descriptor_); }

  Result<std::size_t> read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = ::read(descriptor_, out.data() + filled, out.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(bad_input({name_, 0, ""}, std::string("cannot be read: ") + std::strerror(errno)));
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    left_ -= std::min(left_, filled);
    return filled;
  }
  [[nodiscard]] std::size_t size_hint() const override { return left_; }

 private:
  int descriptor_;
  std::string name_;
  std::size_t left_;
};

class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view content) : content_(content) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), content_.size());
    std::copy_n(content_.data(), count, out.data());
    content_.remove_prefix(count);
    return count;
  }
  [[nodiscard]] std::size_t size_hint() const override { return content_.size(); }

 private:
  std::string_view content_;
};

// Bytes that were looked at already, then the rest.
class Rejoined final : public ByteSource {
 public:
  Rejoined(std::string start, std::unique_ptr<ByteSource> rest) : start_(std::move(start)), rest_(std::move(rest)) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), start_.size() - used_);
    std::copy_n(start_.data() + used_, count, out.data());
    used_ += count;
    PARLEY_TRY(const std::size_t more, rest_->read(out.subspan(count)));
    return count + more;
  }
  [[nodiscard]] std::size_t size_hint() const override { return start_.size() - used_ + rest_->size_hint(); }

 private:
  std::string start_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

// What the three unpackers share: a buffer of packed bytes and the loop that fills `out`.
class Unpacked : public ByteSource {
 public:
  Unpacked(std::unique_ptr<ByteSource> packed, std::string name, std::string_view kind)
      : packed_(std::move(packed)), name_(std::move(name)), kind_(kind), buffer_(kPackedBuffer) {}

  [[nodiscard]] bool is_packed() const final { return true; }
  Result<std::size_t> read(std::span<char> out) final {
    std::size_t filled = 0;
    while (filled < out.size() && !done_) {
      if (input_.empty() && !at_end_) {
        PARLEY_TRY(const std::size_t got, packed_->read(buffer_));
        input_ = std::string_view(buffer_.data(), got);
        at_end_ = got < buffer_.size();
      }
      PARLEY_TRY(const std::size_t made, unpack(out.subspan(filled)));
      filled += made;
    }
    return filled;
  }

 protected:
  // Consumes from input_, writes to `out`, sets done_ at the end of the last member; must make
  // progress or fail. at_end_ says that input_ is the last of the packed bytes.
  virtual Result<std::size_t> unpack(std::span<char> out) = 0;

  [[nodiscard]] tl::unexpected<Error> truncated() const {
    return fail(bad_input({name_, 0, ""}, "truncated " + kind_ + " file: it ends before its data do"));
  }
  [[nodiscard]] tl::unexpected<Error> corrupt(std::string_view why) const {
    return fail(bad_input({name_, 0, ""}, "corrupt " + kind_ + " file: " + std::string(why)));
  }

  std::string_view input_;
  bool at_end_ = false;
  bool done_ = false;

 private:
  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::string kind_;
  std::vector<char> buffer_;
};

class Gzip final : public Unpacked {
 public:
  Gzip(std::unique_ptr<ByteSource> packed, const std::string& name) : Unpacked(std::move(packed), name, "gzip") {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

 private:
  Result<std::size_t> unpack(std::span<char> out) override {
    if (!ready_) return fail(failed("zlib cannot start: out of memory?"));
    if (input_.empty() && at_end_) {
      if (!between_members_) return truncated();
      done_ = true;
      return std::size_t{0};
    }
    between_members_ = false;
    // zlib's interface is not const-correct; it does not write through next_in.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input_.data()));
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size(), std::size_t{1} << 30));
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    input_.remove_prefix(input_.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      between_members_ = true;
      inflateReset(&stream_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return corrupt(stream_.msg != nullptr ? stream_.msg : "it does not decode");
    }
    return std::size_t{room - stream_.avail_out};
  }

  z_stream stream_ = {};
  bool ready_ = false;
  bool between_members_ = false;
};

class Xz final : public Unpacked {
 public:
  Xz(std::unique_ptr<ByteSource> packed, const std::string& name) : Unpacked(std::move(packed), name, "xz") {
    ready_ = lzma_stream_decoder(&stream_, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK;
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() override { lzma_end(&stream_); }

 private:
  Result<std::size_t> unpack(std::span<char> out) override {
    if (!ready_) return fail(failed("liblzma cannot start: out of memory?"));
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
    stream_.avail_in = input_.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret status = lzma_code(&stream_, at_end_ ? LZMA_FINISH : LZMA_RUN);
    input_.remove_prefix(input_.size() - stream_.avail_in);
    switch (status) {
      case LZMA_OK:
        break;
      case LZMA_STREAM_END:
        done_ = true;
        break;
      case LZMA_BUF_ERROR:
        return truncated();
      case LZMA_MEM_ERROR:
      case LZMA_MEMLIMIT_ERROR:
        return fail(failed("out of memory while unpacking xz"));
      case LZMA_FORMAT_ERROR:
        return corrupt("bytes after its end that are not xz");
      case LZMA_OPTIONS_ERROR:
        return corrupt("it uses unknown options");
      default:
        return corrupt("it does not decode");
    }
    return out.size() - stream_.avail_out;
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_ = false;
};

class Zstd final : public Unpacked {
 public:
  Zstd(std::unique_ptr<ByteSource> packed, const std::string& name)
      : Unpacked(std::move(packed), name, "zstd"), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {}

 private:
  Result<std::size_t> unpack(std::span<char> out) override {
    if (stream_ == nullptr) return fail(failed("zstd cannot start: out of memory?"));
    if (input_.empty() && at_end_ && between_frames_) {
      done_ = true;
      return std::size_t{0};
    }
    ZSTD_inBuffer in{input_.data(), input_.size(), 0};
    ZSTD_outBuffer made{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(stream_.get(), &made, &in);
    if (ZSTD_isError(status) != 0) return corrupt(ZSTD_getErrorName(status));
    // With nothing left to read and nothing to flush the frame wants bytes that are not there.
    if (at_end_ && input_.size() == in.pos && made.pos == 0 && status != 0 && input_.empty()) return truncated();
    input_.remove_prefix(in.pos);
    between_frames_ = status == 0;
    return made.pos;
  }

  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool between_frames_ = false;
};

bool starts(std::string_view text, std::string_view magic) {
  return text.substr(0, magic.size()) == magic;
}

Result<std::unique_ptr<ByteSource>> unpacking(std::unique_ptr<ByteSource> plain, const std::string& name) {
  std::array<char, 6> first{};
  PARLEY_TRY(const std::size_t got, plain->read(first));
  const std::string start(first.data(), got);
  auto whole = std::make_unique<Rejoined>(start, std::move(plain));
  if (starts(start, "\x1f\x8b")) return std::make_unique<Gzip>(std::move(whole), name);
  if (starts(start, std::string_view("\xfd"
                                     "7zXZ\0",
                                     6)))
    return std::make_unique<Xz>(std::move(whole), name);
  if (starts(start, "\x28\xb5\x2f\xfd")) return std::make_unique<Zstd>(std::move(whole), name);
  const auto refuse = [&](std::string_view kind) {
    return fail(bad_input({name, 0, ""},
                          std::string(kind) + " files are not read; unpack it, or pack it with gzip, xz or zstd"));
  };
  if (starts(start, "\xff\xfe") || starts(start, "\xfe\xff"))
    return fail(bad_input({name, 0, ""}, "is UTF-16 text; save it as UTF-8"));
  if (starts(start, "BZh")) return refuse("bzip2");
  return whole;
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(bad_input({path, 0, ""}, std::string("cannot be read: ") + std::strerror(errno)));
  struct stat about = {};
  const bool known = ::fstat(descriptor, &about) == 0;
  if (known && S_ISDIR(about.st_mode)) {
    ::close(descriptor);
    return fail(bad_input({path, 0, ""}, "cannot be read: it is a folder"));
  }
  const std::size_t size = known && S_ISREG(about.st_mode) ? static_cast<std::size_t>(about.st_size) : 0;
  return unpacking(std::make_unique<FileBytes>(descriptor, path, size), path);
}

Result<std::unique_ptr<ByteSource>> open_bytes(std::string_view content, const std::string& name) {
  return unpacking(std::make_unique<MemoryBytes>(content), name);
}

}  // namespace parley::data
