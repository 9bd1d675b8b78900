// Who a member of the federation is, as it shows itself and as it looks at others.
#pragma once
#include <functional>
#include <string>

namespace parley::transport {

struct Credentials {  // PEM
  std::string authority;
  std::string certificate;
  std::string key;
  // Whether a certificate of the authority's is not believed all the same: it was revoked. Null: none was. From any
  // thread.
  std::function<bool(const std::string& certificate)> distrusts = {};
};

}  // namespace parley::transport
