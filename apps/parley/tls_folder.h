// The certificates of one member of a federation, from the folder that `parley keys` filled.
#pragma once
#include <ctime>
#include <string>

#include "parley/core/result.h"
#include "parley/transport/grpc/server.h"

namespace parley::app {

// An error, in the words of whoever holds the files, when the others would not believe them.
// Warns of a key that others can read.
Result<transport::Credentials> read_credentials(const std::string& folder, const std::string& name);

inline constexpr const char* kRevokedFile = "revoked.pem";
// The authority's list of certificates that it took back, from beside ca.pem; empty where there is none. Refuses one
// that it did not sign.
Result<std::string> read_list(const std::string& folder);

// A warning when the certificate ends within thirty days of `now`; else empty.
std::string expiry_warning(const std::string& certificate, const std::string& name, std::time_t now);

// One line on stderr when the group or the world can read the key or replace it: whoever can may pose as its owner. The
// key is used all the same, since who mounts it there may have no other choice.
void warn_of_open_key(const std::string& file);

// Why the party's certificate, or that of whoever listens there, is not believed; empty: both are, or nobody can be
// asked.
std::string why_not_believed(const transport::Credentials& own, const std::string& name, const std::string& address);

}  // namespace parley::app
