// The Lua scripts of the lanes as they are sent: whole, with what they share. Written at build time from scripts/.
#pragma once

#include <span>
#include <string_view>

namespace seckill::admission::redis {

struct ScriptText {
  std::string_view name;  // of the file, without .lua
  std::string_view text;
};

// All of them, by name. Any thread.
[[nodiscard]] std::span<const ScriptText> script_texts() noexcept;

}  // namespace seckill::admission::redis
