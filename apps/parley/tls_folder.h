// The certificates of one member of a federation, from the folder that `parley keys` filled.
#pragma once
#include <string>

#include "parley/core/result.h"
#include "parley/transport/grpc/server.h"

namespace parley::app {

// An error, in the words of whoever holds the files, when the others would not believe them.
Result<transport::Credentials> read_credentials(const std::string& folder, const std::string& name);

}  // namespace parley::app
