// SPDX-License-Identifier: MIT
// The definitions of retry_after.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/retry_after.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL HintHeader::HintHeader(std::string_view name) noexcept {
  const auto is = [&](std::string_view other) { return HintReader::same(name, other); };
  const auto has = [&](std::string_view part) { return HintReader::has_part(name, part); };
  const bool millis = name.size() > 3 && HintReader::same(name.substr(name.size() - 3), "-ms");
  if (millis) form.unit = 1'000'000;
  if (is("retry-after") || is("retry-after-ms") || is("x-ms-retry-after-ms")) {
    kind = Kind::wait;
  } else if (is("grpc-retry-pushback-ms")) {
    kind = Kind::wait;
    form.below_zero_is_never = true;
  } else if (is("ratelimit")) {
    kind = Kind::structured;
  } else if ((has("ratelimit") || has("rate-limit")) && has("reset")) {
    kind = Kind::reset;
    form.epochs = !millis;
  }
}

PLANB_DECL std::optional<Duration> longest_hint(std::string_view list, std::chrono::system_clock::time_point now,
                                                HintForm form) noexcept {
  std::optional<Duration> longest;
  HintReader::for_each(list, now, form, [&](std::optional<Duration> wait) { longest = (std::max)(longest, wait); });
  return longest;
}

PLANB_DECL LimitName::LimitName(std::string_view name, std::string_view part) noexcept {
  const std::size_t at = HintReader::find_part(name, part);
  before = name.substr(0, at);
  after = name.substr(at + part.size());
  for (const std::string_view unit : {"-ms", "-after"}) {
    const std::size_t rest = after.size() - (std::min)(unit.size(), after.size());
    if (HintReader::same(after.substr(rest), unit)) after = after.substr(0, rest);
  }
}

PLANB_DECL bool LimitName::is(const LimitName& other) const noexcept {
  return HintReader::same(before, other.before) && HintReader::same(after, other.after);
}

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL std::optional<Duration> parse_retry_after(std::string_view value,
                                                     std::chrono::system_clock::time_point now) noexcept {
  if (value.find_first_of("=\"") != std::string_view::npos) return detail::RateLimitReader(value).read();
  return detail::longest_hint(value, now, {.epochs = true});
}

PLANB_DECL std::optional<Duration> parse_retry_after(std::string_view header, std::string_view value,
                                                     std::chrono::system_clock::time_point now) noexcept {
  const detail::HintHeader known(header);
  switch (known.kind) {
    case detail::HintHeader::Kind::none: break;
    case detail::HintHeader::Kind::wait:
    case detail::HintHeader::Kind::reset: return detail::longest_hint(value, now, known.form);
    case detail::HintHeader::Kind::structured: return detail::RateLimitReader(value).read();
  }
  return std::nullopt;
}

PLANB_DECL std::optional<Duration> parse_retry_after(
    int status, std::initializer_list<std::pair<std::string_view, std::string_view>> headers,
    std::chrono::system_clock::time_point now) noexcept {
  return planb::parse_retry_after<decltype(headers)>(status, headers, now);
}

}  // namespace planb::inline PLANB_ABI
