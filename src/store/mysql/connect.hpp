// What a store's configuration says to the driver.
#pragma once

#include "drivers/mariadb/mariadb.hpp"
#include "store/mysql/mysql_store.hpp"

namespace seckill::store::mysql {

[[nodiscard]] drivers::mariadb::ConnectConfig connect_config(const MysqlConfig& config);

}  // namespace seckill::store::mysql
