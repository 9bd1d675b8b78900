#include "parley/algorithms/parts/peer_seals.h"

namespace parley::algorithms {

namespace {

Result<secure::Identity> identity_of(const KnownPeers& known, const std::string& pem) {
  if (known.own == nullptr) return secure::Identity::read(pem);
  PARLEY_TRY(const std::string own, known.own->pem());
  return secure::Identity::read(own);
}

}  // namespace

Result<std::string> PeerSeals::hello(const KnownPeers& known, std::string_view run) {
  if (!key_.empty()) return fail(bad_input({.field = "task"}, "a party makes one key in a run"));
  if (known.own == nullptr) {
    PARLEY_TRY(const secure::Identity made, secure::Identity::make());
    PARLEY_TRY(identity_, made.pem());
  }
  PARLEY_TRY(const secure::RunKey key, secure::RunKey::make());
  key_ = std::string(key.secret());
  PARLEY_TRY(const secure::Identity own, identity_of(known, identity_));
  return secure::hello_of(own, key, run);
}

Result<void> PeerSeals::agree(const KnownPeers& known, int own, const std::vector<std::string>& hellos,
                              std::string_view run) {
  if (!hellos_.empty() || key_.empty())
    return fail(bad_input({.field = "task"}, "must bring the keys of all parties once, after their own"));
  hellos_ = hellos;
  if (const auto made = make(known, own, run); !made) {
    hellos_.clear();
    return made;
  }
  return {};
}

Result<void> PeerSeals::take_up(const KnownPeers& known, int own, std::string_view run) {
  if (seals_ != nullptr) return {};
  if (hellos_.empty()) return fail(bad_input({.field = "task"}, "comes before the keys of all parties"));
  return make(known, own, run);
}

Result<void> PeerSeals::make(const KnownPeers& known, int own, std::string_view run) {
  PARLEY_TRY(const secure::Identity identity, identity_of(known, identity_));
  PARLEY_TRY(const secure::RunKey key, secure::RunKey::of(key_));
  auto seals = std::make_shared<std::vector<std::unique_ptr<secure::Seal>>>(hellos_.size());
  for (std::size_t p = 0; p < hellos_.size(); ++p) {
    if (static_cast<int>(p) == own) continue;
    const std::string pinned = p < known.pinned.size() ? known.pinned[p] : std::string();
    PARLEY_TRY(secure::Seal seal,
               secure::Seal::agree({.own = identity, .key = key, .run = run}, {.pinned = pinned, .hello = hellos_[p]}));
    if (4 * p + 3 < marks_.size())
      seal.skip_to({.sealed = {marks_[4 * p], static_cast<int>(marks_[4 * p + 1])},
                    .opened = {marks_[4 * p + 2], static_cast<int>(marks_[4 * p + 3])}});
    (*seals)[p] = std::make_unique<secure::Seal>(std::move(seal));
  }
  seals_ = std::move(seals);
  keep_marks();
  return {};
}

void PeerSeals::keep_marks() {
  marks_.assign(4 * seals_->size(), 0);
  for (std::size_t p = 0; p < seals_->size(); ++p) {
    if ((*seals_)[p] == nullptr) continue;
    const secure::Seal::Marks& marks = (*seals_)[p]->marks();
    marks_[4 * p] = marks.sealed.round;
    marks_[4 * p + 1] = marks.sealed.step;
    marks_[4 * p + 2] = marks.opened.round;
    marks_[4 * p + 3] = marks.opened.step;
  }
}

Result<std::string> PeerSeals::seal(int party, std::string_view content, secure::SealAt at) {
  PARLEY_TRY(std::string sealed, (*seals_)[static_cast<std::size_t>(party)]->seal(content, at));
  keep_marks();
  return sealed;
}

Result<std::string> PeerSeals::open(int party, std::string_view sealed, secure::SealAt at) {
  PARLEY_TRY(std::string content, (*seals_)[static_cast<std::size_t>(party)]->open(sealed, at));
  keep_marks();
  return content;
}

}  // namespace parley::algorithms
