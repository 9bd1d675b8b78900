// What the catalogue of a database says of a column.
#pragma once
#include <optional>
#include <string>

#include "parley/data/schema.h"

namespace parley::data {

struct CatalogueColumn {
  std::string name;
  std::optional<ColumnType> type;  // none: any value may be in it
  bool key = false;                // of a primary or a foreign key
};

}  // namespace parley::data
