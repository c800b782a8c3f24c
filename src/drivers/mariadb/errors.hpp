// What a MariaDB/MySQL error number means to us. Private to this folder.
#pragma once

#include "base/result.hpp"
#include "drivers/mariadb/mariadb.hpp"

namespace seckill::drivers::mariadb {

struct Meaning {
  base::Errc code = base::Errc::unavailable;
  Trouble trouble;
};

// `number` is of the server (ER_…) or the client library (CR_…). Numbers nobody expected mean `unavailable`.
[[nodiscard]] Meaning meaning_of(unsigned number) noexcept;

}  // namespace seckill::drivers::mariadb
