// Column names that have a meaning unless something else is said: id, y, label, target, class.
#pragma once
#include <string_view>

namespace parley::data {

bool is_id_name(std::string_view name);  // id, sid; any case
// y, label, target, class; any case: 0 for the first of them, ...; -1 for other names.
int label_rank(std::string_view name);

}  // namespace parley::data
