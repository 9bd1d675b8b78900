// An audit for people and for programs.
#pragma once
#include <string>

#include "parley/audits/game.h"
#include "parley/jobs/job.h"

namespace parley::audits {

std::string audit_table(const jobs::Job& job, const Audited& audited);
std::string audit_json(const jobs::Job& job, const Audited& audited);

}  // namespace parley::audits
