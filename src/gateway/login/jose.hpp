// Owners for libcjose's objects; private to gateway/login. Nothing outside this folder names the library.
#pragma once

extern "C" {
#include <cjose/cjose.h>
}
#include <memory>

namespace seckill::gateway::jose {

struct Release {
  void operator()(cjose_jwk_t* key) const noexcept { cjose_jwk_release(key); }
  void operator()(cjose_jws_t* jws) const noexcept { cjose_jws_release(jws); }
  void operator()(cjose_header_t* header) const noexcept { cjose_header_release(header); }
};
using Key = std::unique_ptr<cjose_jwk_t, Release>;
using Jws = std::unique_ptr<cjose_jws_t, Release>;
using Header = std::unique_ptr<cjose_header_t, Release>;

}  // namespace seckill::gateway::jose
