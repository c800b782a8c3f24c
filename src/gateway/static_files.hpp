// The buyer page's files, embedded in the binary at build time from web/shop/dist (cmake/EmbedFiles.cmake), so that one
// executable is the whole product. A CDN or nginx may serve the same files instead.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include "gateway/http/reply.hpp"

namespace seckill::gateway {

struct StaticFile {
  std::string_view path;  // "/assets/app.js"; "/" is dist/index.html
  std::string_view content_type;
  std::string_view etag;  // quoted, of the content
  std::string_view cache_control;
  std::string_view bytes;
};

// In no order; generated at build time. Lives for ever.
[[nodiscard]] std::span<const StaticFile> static_files() noexcept;

// Every file's answers, rendered once. Constant after construction; any thread.
class StaticFiles {
 public:
  explicit StaticFiles(std::span<const StaticFile> files);

  // The whole answer, 304 when `if_none_match` names the present content, null when there is no such file.
  [[nodiscard]] std::shared_ptr<const http::PreparedReply> find(std::string_view path,
                                                                std::string_view if_none_match) const;

 private:
  struct Prepared {
    std::string_view etag;
    std::shared_ptr<const http::PreparedReply> whole;
    std::shared_ptr<const http::PreparedReply> not_modified;
  };
  std::unordered_map<std::string_view, Prepared> files_;
};

}  // namespace seckill::gateway
