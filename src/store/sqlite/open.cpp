// Opening: own the folder, check the file, migrate, then hand out connections.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "base/assert.hpp"
#include "store/migrations/sqlite_migrations.hpp"
#include "store/sqlite/store_impl.hpp"

namespace seckill::store::sqlite {
namespace {

using base::Errc;
using base::fail;

constexpr std::chrono::milliseconds busy_wait{5'000};  // only a checkpoint of a reader's connection is waited for
constexpr std::int64_t page_bytes = 4'096;
constexpr std::int64_t small_database_bytes = 64LL << 20;  // checked whole in well under a second

// WAL: readers never wait for the writer, a commit is one write and one sync. The log is folded by the Checkpointer,
// never by a commit.
constexpr const char* writer_pragmas = R"sql(
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = 134217728;
PRAGMA cache_size = -65536;
PRAGMA cache_spill = OFF;
PRAGMA temp_store = MEMORY;
)sql";
constexpr const char* reader_pragmas = R"sql(
PRAGMA cache_size = -16384;
PRAGMA temp_store = MEMORY;
)sql";

base::Result<std::int64_t> read_number(Connection& db, std::string_view doing, std::string_view sql) {
  auto cursor = db.query(doing, sql);
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  return *row ? cursor->integer(0) : 0;
}

base::Error explained(base::Error error, const std::string& file) {
  if (error.code == Errc::corrupt) {
    error.cause =
        fmt::format("{} is damaged ({}). Move it away together with its -wal and -shm files and restore a backup", file,
                    error.cause);
  }
  return error;
}

// A database that was closed in order and is large is not read whole at every start; pages are still checked as used.
base::Status check_file(Connection& db, std::string_view doing, const DataFolder& folder) {
  if (folder.was_clean() && folder.database_bytes() > small_database_bytes) return {};
  auto cursor = db.query(doing, "PRAGMA quick_check(1)");
  if (!cursor) return std::unexpected(cursor.error());
  const auto row = cursor->next();
  if (!row) return std::unexpected(row.error());
  if (!*row || cursor->text(0) != "ok") return fail(Errc::corrupt, std::string{doing}, std::string{cursor->text(0)});
  return {};
}

base::Status apply_step(Connection& db, std::string_view doing, const migrations::Migration& step) {
  auto transaction = Transaction::begin(db, Transaction::Kind::write, doing);
  if (!transaction) return std::unexpected(transaction.error());
  if (auto done = db.execute(doing, step.script); !done) return done;
  const auto noted = db.run(doing,
                            "INSERT INTO schema_version (version, name, applied_at) "
                            "VALUES (?, ?, CAST(strftime('%s', 'now') AS INTEGER) * 1000)",
                            step.version, std::string_view{step.name});
  if (!noted) return std::unexpected(noted.error());
  if (auto committed = transaction->commit(); !committed) return std::unexpected(committed.error().error);
  return {};
}

// Errc::refused for another program's database and for one of a newer program.
base::Status migrate(Connection& db, std::string_view doing, const std::string& file) {
  const auto application = read_number(db, doing, "PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto tables = read_number(db, doing, "SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  if (*application != migrations::sqlite_application_id && *tables != 0) {
    return fail(Errc::refused, std::string{doing},
                file + " is a database of another program; choose another data folder");
  }
  if (*tables == 0) {
    const std::string script = fmt::format(
        "BEGIN IMMEDIATE; PRAGMA application_id = {};"
        "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)"
        " STRICT; COMMIT;",
        migrations::sqlite_application_id);
    if (auto made = db.execute(doing, script.c_str()); !made) return made;
  }
  const auto version = read_number(db, doing, "SELECT coalesce(max(version), 0) FROM schema_version");
  if (!version) return std::unexpected(version.error());
  const auto steps = migrations::sqlite_migrations();
  if (*version > steps.back().version) {
    return fail(Errc::refused, std::string{doing},
                fmt::format("{} has schema version {}, this program knows versions up to {}: start the newer program "
                            "that wrote it, or restore a backup of version {} or older",
                            file, *version, steps.back().version, steps.back().version));
  }
  for (const migrations::Migration& step : steps) {
    if (step.version <= *version) continue;
    if (auto applied = apply_step(db, doing, step); !applied) return applied;
  }
  return {};
}

base::Result<Connection> open_writer(const SqliteConfig& config, const DataFolder& folder, std::string_view doing) {
  auto writer = Connection::open(folder.database(), Connection::Mode::log, busy_wait);
  if (!writer) return std::unexpected(explained(writer.error(), folder.database()));
  if (auto set = writer->execute(doing, writer_pragmas); !set) {
    return std::unexpected(explained(set.error(), folder.database()));
  }
  if (auto sound = check_file(*writer, doing, folder); !sound) {
    return std::unexpected(explained(sound.error(), folder.database()));
  }
  if (auto migrated = migrate(*writer, doing, folder.database()); !migrated) {
    return std::unexpected(explained(migrated.error(), folder.database()));
  }
  if (config.data_bytes_max > 0) {
    const std::string bound = fmt::format("PRAGMA max_page_count = {}", config.data_bytes_max / page_bytes);
    if (auto set = writer->execute(doing, bound.c_str()); !set) return std::unexpected(set.error());
  }
  return writer;
}

}  // namespace

base::Result<std::unique_ptr<Store>> open(const SqliteConfig& config) {
  SECKILL_ASSERT(config.readers >= 1 && config.readers <= 64, "the configuration bounds the number of readers");
  auto folder = DataFolder::own(config.data_folder, config.create);
  if (!folder) return std::unexpected(folder.error());
  if (auto ready = folder->prepare_database(config.create); !ready) return std::unexpected(ready.error());
  const std::string doing = "opening database " + folder->database();
  auto writer = open_writer(config, *folder, doing);
  if (!writer) return std::unexpected(writer.error());
  auto store = std::make_unique<SqliteStore>(std::move(*folder), std::move(*writer));
  const std::string path = config.data_folder + "/" + database_file;
  for (std::size_t i = 0; i < config.readers; ++i) {
    auto reader = Connection::open(path, Connection::Mode::read, busy_wait);
    if (!reader) return std::unexpected(reader.error());
    if (auto set = reader->execute(doing, reader_pragmas); !set) return std::unexpected(set.error());
    store->readers().add(std::move(*reader));
  }
  auto folding = Connection::open(path, Connection::Mode::write, busy_wait);
  if (!folding) return std::unexpected(folding.error());
  if (auto set = folding->execute(doing, "PRAGMA synchronous = FULL"); !set) return std::unexpected(set.error());
  store->start_checkpoints(std::move(*folding));
  return store;
}

SqliteStore::~SqliteStore() {
  checkpointer_.reset();
  // The last connection folds the WAL into the file; the mark is written only after the writer had its last word.
  const auto folded = writer_.execute("closing the database", "PRAGMA wal_checkpoint(TRUNCATE)");
  if (folded) folder_.note_clean_close();
}

void SqliteStore::start_checkpoints(Connection connection) {
  checkpointer_ = std::make_unique<Checkpointer>(writer_, write_mutex_, std::move(connection));
}

void ReaderPool::add(Connection connection) {
  const std::lock_guard lock{mutex_};
  free_.push_back(std::make_unique<Connection>(std::move(connection)));
}

ReaderPool::Lease ReaderPool::borrow() {
  std::unique_lock lock{mutex_};
  returned_.wait(lock, [&] { return !free_.empty(); });
  auto connection = std::move(free_.back());
  free_.pop_back();
  return {*this, std::move(connection)};
}

void ReaderPool::give_back(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock{mutex_};
    free_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

base::Result<WriteWork> SqliteStore::begin_write(std::string_view doing) {
  std::unique_lock lock{write_mutex_};
  auto transaction = Transaction::begin(writer_, Transaction::Kind::write, doing);
  if (!transaction) return std::unexpected(transaction.error());
  return base::Result<WriteWork>{std::in_place, std::move(lock), writer_, std::move(*transaction), doing};
}

base::Status WriteWork::commit() {
  auto committed = transaction_.commit();
  if (committed) return {};
  switch (committed.error().how) {
    case drivers::sqlite::CommitFailure::rolled_back: return std::unexpected(std::move(committed.error().error));
    case drivers::sqlite::CommitFailure::unknown: break;
  }
  std::fprintf(stderr,
               "seckill: %s\n  The disk did not confirm a commit, so nobody can say what the database file holds now. "
               "The process stops; the next start recovers what is really there. Check the disk first.\n",
               committed.error().error.text().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace seckill::store::sqlite
