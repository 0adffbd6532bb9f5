// SPDX-License-Identifier: MIT
// The definitions of rate_limit_field.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/rate_limit_field.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL RateLimitReader::RateLimitReader(std::string_view text) noexcept : text_(text) {}

PLANB_DECL std::optional<Duration> RateLimitReader::read() noexcept {
  while (!text_.empty()) {
    member();
    while (!text_.empty() && text_.front() != ',') text_.front() == '"' ? quoted() : head(1);  // not understood
    take(',');
  }
  close(whole_);
  return longest_;
}

PLANB_DECL bool RateLimitReader::is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

PLANB_DECL void RateLimitReader::skip_blanks() noexcept {
  while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
}

PLANB_DECL bool RateLimitReader::take(char c) noexcept {
  skip_blanks();
  if (text_.empty() || text_.front() != c) return false;
  text_.remove_prefix(1);
  skip_blanks();
  return true;
}

PLANB_DECL std::string_view RateLimitReader::quoted() noexcept {
  std::size_t end = 1;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
  return head((std::min)(end + 1, text_.size()));
}

PLANB_DECL std::string_view RateLimitReader::bare(bool name) noexcept {
  const auto ends = [name](char c) { return c == ',' || c == ';' || c == '"' || is_blank(c) || (name && c == '='); };
  const auto* const end = std::find_if(text_.data(), text_.data() + text_.size(), ends);
  return head(static_cast<std::size_t>(end - text_.data()));
}

PLANB_DECL std::string_view RateLimitReader::item(bool name) noexcept {
  return !text_.empty() && text_.front() == '"' ? quoted() : bare(name);
}

PLANB_DECL std::string_view RateLimitReader::head(std::size_t size) noexcept {
  const std::string_view part = text_.substr(0, size);
  text_.remove_prefix(size);
  return part;
}

PLANB_DECL void RateLimitReader::member() noexcept {
  skip_blanks();
  const std::string_view name = item(true);
  if (take('=')) {
    const std::string_view value = item(false);
    if (HintReader::same(name, "limit")) note(&Policy::limit, value);
    if (HintReader::same(name, "remaining")) note(&Policy::remaining, value);
    if (HintReader::same(name, "reset")) note(&Policy::reset, value);
  }
  Policy policy{};
  while (take(';')) {
    const std::string_view key = item(true);
    const std::string_view value = take('=') ? item(false) : std::string_view();
    if (HintReader::same(key, "r")) policy.remaining = value;
    if (HintReader::same(key, "t")) policy.reset = value;
  }
  skip_blanks();
  if (text_.empty() || text_.front() == ',') close(policy);
}

PLANB_DECL void RateLimitReader::note(std::string_view Policy::*part, std::string_view value) noexcept {
  if (!(whole_.*part).empty()) close(whole_);
  whole_.*part = value;
}

PLANB_DECL void RateLimitReader::close(Policy& policy) noexcept {
  const std::optional<Duration> remaining = number(policy.remaining);
  const std::optional<Duration> reset = number(policy.reset);
  if (remaining && reset && *remaining == Duration::zero()) {
    longest_ = longest_ ? (std::max)(*longest_, *reset) : *reset;
  }
  policy = {};
}

PLANB_DECL std::optional<Duration> RateLimitReader::number(std::string_view text) noexcept {
  if (text.find_first_not_of("-.0123456789") != std::string_view::npos) return std::nullopt;
  return HintReader(text, {}).read(HintForm{});
}

}  // namespace planb::inline PLANB_ABI::detail
