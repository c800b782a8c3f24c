#include "gateway/static_files.hpp"

#include <string>

namespace seckill::gateway {
namespace {

// Nothing from elsewhere, no inline script, no framing: what a page may do is what its own files do.
constexpr std::string_view content_security_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

http::PreparedReply prepare(const StaticFile& file, int status) {
  http::Reply reply{status, file.content_type, status == 304 ? std::string{} : std::string{file.bytes}};
  reply.header("ETag", std::string{file.etag});
  reply.header("Cache-Control", std::string{file.cache_control});
  if (status == 200) {
    reply.header("X-Content-Type-Options", "nosniff");
    reply.header("Referrer-Policy", "no-referrer");
    if (file.content_type.starts_with("text/html")) {
      reply.header("Content-Security-Policy", std::string{content_security_policy});
      reply.header("X-Frame-Options", "DENY");
    }
  }
  return http::PreparedReply{reply};
}

// RFC 9110 §13.1.2: a list of entity tags, compared weakly, or "*".
bool names(std::string_view if_none_match, std::string_view etag) noexcept {
  if (if_none_match == "*") return true;
  std::size_t at = if_none_match.find(etag);
  while (at != std::string_view::npos) {
    const std::size_t end = at + etag.size();
    const bool begins =
        at == 0 || if_none_match[at - 1] == ' ' || if_none_match[at - 1] == ',' || if_none_match[at - 1] == '/';
    const bool ends = end == if_none_match.size() || if_none_match[end] == ' ' || if_none_match[end] == ',';
    if (begins && ends) return true;
    at = if_none_match.find(etag, at + 1);
  }
  return false;
}

}  // namespace

StaticFiles::StaticFiles(std::span<const StaticFile> files) {
  for (const StaticFile& file : files) {
    files_[file.path] = Prepared{file.etag, std::make_shared<const http::PreparedReply>(prepare(file, 200)),
                                 std::make_shared<const http::PreparedReply>(prepare(file, 304))};
  }
}

std::shared_ptr<const http::PreparedReply> StaticFiles::find(std::string_view path,
                                                             std::string_view if_none_match) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return nullptr;
  const bool same = !if_none_match.empty() && names(if_none_match, found->second.etag);
  return same ? found->second.not_modified : found->second.whole;
}

}  // namespace seckill::gateway
