// Fewer and larger writes of SQLite's write-ahead log. SQLite writes each page of a commit in two calls (24 bytes, then
// the page); a landing of 500 orders has about 1,500 pages, so those calls cost more than the disk. This file layer
// gathers writes that follow each other and hands them on in one piece, at the latest before the sync that makes a
// commit real.
//
// Requires synchronous=FULL on every connection that writes through it: SQLite shows a commit to other connections only
// after that sync, so nobody can look for a page that is still gathered. Order of writes is kept. Keeps P5.
#pragma once

namespace seckill::drivers::sqlite {

// The name to open a connection with. Registers the layer at its first call; other files than the log pass through to
// the default layer untouched. Any thread.
[[nodiscard]] const char* gathering_file_layer();

}  // namespace seckill::drivers::sqlite
