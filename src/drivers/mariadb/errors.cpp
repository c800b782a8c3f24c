// Sources: MariaDB and MySQL error references. MySQL's own numbers stand as numbers where MariaDB's headers lack them.
#include "drivers/mariadb/errors.hpp"

#include <mariadb/errmsg.h>
#include <mariadb/mysqld_error.h>

namespace seckill::drivers::mariadb {
namespace {

constexpr unsigned er_check_violated_mysql = 3819;
constexpr unsigned er_client_interaction_timeout_mysql = 4031;
constexpr unsigned er_disk_full_now_mysql = 3168;  // "server isn't available": storage asks to wait

}  // namespace

Meaning meaning_of(unsigned number) noexcept {
  using base::Errc;
  switch (number) {
    // A key, a CHECK, or a value that no column of ours takes: the statement would be refused every time.
    case ER_DUP_ENTRY:
    case ER_DUP_ENTRY_WITH_KEY_NAME:
    case ER_DUP_KEY:
    case ER_CONSTRAINT_FAILED:
    case er_check_violated_mysql:
    case ER_NO_REFERENCED_ROW:
    case ER_NO_REFERENCED_ROW_2:
    case ER_ROW_IS_REFERENCED:
    case ER_ROW_IS_REFERENCED_2:
    case ER_BAD_NULL_ERROR:
    case ER_WARN_DATA_OUT_OF_RANGE:
    case ER_DATA_OUT_OF_RANGE:
    case ER_DATA_TOO_LONG:
    case ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: return {.code = Errc::constraint, .trouble = {}};
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD: return {.code = Errc::unavailable, .trouble = {.rolled_back = true, .lost = false}};
    case ER_DISK_FULL:
    case ER_RECORD_FILE_FULL:
    case ER_ERROR_ON_WRITE:
    case ER_GET_ERRNO:
    case ER_TEMP_FILE_WRITE_FAILURE:
    case er_disk_full_now_mysql: return {.code = Errc::disk_full, .trouble = {}};
    // The request went out and no answer came: it may have been done.
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case CR_MALFORMED_PACKET:
    case ER_CONNECTION_KILLED: return {.code = Errc::timeout, .trouble = {.rolled_back = false, .lost = true}};
    // The request could not be sent whole, so it was not done.
    case CR_SERVER_GONE_ERROR:
    case CR_COMMANDS_OUT_OF_SYNC:
    case ER_SERVER_SHUTDOWN:
    case ER_NORMAL_SHUTDOWN:
    case er_client_interaction_timeout_mysql:
      return {.code = Errc::unavailable, .trouble = {.rolled_back = false, .lost = true}};
    default: return {.code = Errc::unavailable, .trouble = {}};
  }
}

}  // namespace seckill::drivers::mariadb
