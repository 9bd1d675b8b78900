// The tables of a ledger.
#pragma once

namespace parley::privacy {

inline constexpr int kLayoutVersion = 1;

inline constexpr const char* kLayout = R"(
CREATE TABLE entry (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  kind TEXT NOT NULL,
  data_set TEXT NOT NULL,
  unit TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  run TEXT NOT NULL,
  key TEXT NOT NULL,
  content TEXT NOT NULL,
  hash TEXT NOT NULL);
CREATE UNIQUE INDEX release ON entry (data_set, unit, neighbours, run, key) WHERE kind <> 'budget';
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TRIGGER no_change BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER no_removal BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
)";

// Beside the record, not part of it: how far the answers of each run have left the site.
inline constexpr const char* kAnswers = R"(
CREATE TABLE IF NOT EXISTS answer (
  data_set TEXT NOT NULL,
  unit TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  run TEXT NOT NULL,
  round INTEGER NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (data_set, unit, neighbours, run));
)";

}  // namespace parley::privacy
