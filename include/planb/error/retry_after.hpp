// SPDX-License-Identifier: MIT
// parse_retry_after: a provider's wait hint, in every form in which one is sent.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/hint_reader.hpp>
#include <planb/error/detail/rate_limit_field.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

// The wait that a header's `value` asks for, seen from `now`. Forms, with spaces around them ignored:
//   2, 1.5                                     seconds
//   1s, 6m0s, 12ms, 45.8379s, 1h2m3s           units from d to ns, the larger first, each once
//   Sun, 06 Nov 1994 08:49:37 GMT              an HTTP date; its two obsolete forms as well
//   1994-11-06T08:49:37Z                       RFC 3339, with any offset and any fraction
//   1738108800, 1738108800123                  an epoch in seconds or milliseconds
//   30, 60                                     a header that came twice and was joined: the longest of what is read
//   "default";r=0;t=40                         the structured RateLimit: `t` seconds of the policies whose `r` is 0
//   limit=100, remaining=0, reset=40           the same in earlier drafts
// Dates in the past and negative values give zero, anything else that is none of these gives nothing, and what is too
// long for a Duration gives the longest one. Nothing is rounded down: an early retry is a refused one.
//
// A bare number is an epoch where it can only be one: in seconds, from half of `now` (and ten years) to twice `now`; in
// milliseconds, from ten years before `now` to twice `now`. Any other number is a delay in seconds.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view value,
                                                        std::chrono::system_clock::time_point now) noexcept;

// The same with the header's name, in any case; others than these give nothing:
//   retry-after                                never an epoch
//   retry-after-ms, x-ms-retry-after-ms        a bare number is one of milliseconds
//   grpc-retry-pushback-ms                     the same; below zero it means "do not retry", and gives Duration::max()
//   any with `ratelimit` or `rate-limit`, and `reset`, in it; in those that end in `-ms` milliseconds, and no epochs
//   ratelimit                                  structured
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view header, std::string_view value,
                                                        std::chrono::system_clock::time_point now) noexcept;

// The wait that an answer asks for: its status and all of its headers, a range of names with values, such as a
// std::multimap<std::string, std::string>. The longest of those that count:
//   - the first three lines above, in any answer
//   - where these give nothing and the answer was a 429 or a 503, the others. They come with every answer, so one does
//     not count where a header beside it says that something remains of its limit: x-ratelimit-remaining-tokens above
//     zero for x-ratelimit-reset-tokens.
template <class Headers>
[[nodiscard]] std::optional<Duration> parse_retry_after(int status, const Headers& headers,
                                                        std::chrono::system_clock::time_point now);
[[nodiscard]] std::optional<Duration> parse_retry_after(
    int status, std::initializer_list<std::pair<std::string_view, std::string_view>> headers,
    std::chrono::system_clock::time_point now) noexcept;

namespace detail {

// What a header of this name says, and how its numbers are read.
struct HintHeader {
  enum class Kind : unsigned char {
    none,
    wait,        // a wait
    reset,       // when a limit is filled up again, whether anything remains of it or not
    structured,  // both
  };

  explicit HintHeader(std::string_view name) noexcept;

  Kind kind = Kind::none;
  HintForm form;
};

[[nodiscard]] std::optional<Duration> longest_hint(std::string_view list, std::chrono::system_clock::time_point now,
                                                   HintForm form) noexcept;

// Names and values as texts: an array's up to its terminator, if it has one. A null pointer is an empty text.
template <class Text>
[[nodiscard]] std::string_view header_text(const Text& text) {
  if constexpr (std::is_array_v<Text>) {
    const std::string_view all(std::data(text), std::size(text));
    return all.substr(0, all.find('\0'));
  } else {
    if constexpr (std::is_pointer_v<Text>) {
      if (text == nullptr) return {};
    }
    return text;
  }
}

template <class Header>
concept HasFirstAndSecond = requires(const Header& header) {
  std::string_view(header.first);
  std::string_view(header.second);
};
template <class Header>
concept HasNameAndValue = requires(const Header& header) {
  std::string_view(header.name);
  std::string_view(header.value);
};

template <class Headers>
concept RangeOfHeaders = requires(const Headers& headers) {
  std::end(headers);
  requires HasFirstAndSecond<std::remove_cvref_t<decltype(*std::begin(headers))>> ||
      HasNameAndValue<std::remove_cvref_t<decltype(*std::begin(headers))>>;
};

// Calls `use` with the name and the value of each header.
template <class Headers, class Use>
void for_each_header(const Headers& headers, Use use) {
  for (const auto& header : headers) {
    if constexpr (HasFirstAndSecond<std::remove_cvref_t<decltype(header)>>) {
      use(detail::header_text(header.first), detail::header_text(header.second));
    } else {
      use(detail::header_text(header.name), detail::header_text(header.value));
    }
  }
}

// The limit that a header of such a name is about: the name without `part`, which is in it, and without what tells its
// unit.
struct LimitName {
  LimitName(std::string_view name, std::string_view part) noexcept;

  [[nodiscard]] bool is(const LimitName& other) const noexcept;

  std::string_view before;
  std::string_view after;
};

// Whether headers say that something remains of the limit that the header `reset` is about.
template <class Headers>
[[nodiscard]] bool remains(const Headers& headers, std::string_view reset) {
  const LimitName limit(reset, "reset");
  bool some = false;
  bool none = false;
  detail::for_each_header(headers, [&](std::string_view name, std::string_view value) {
    if (!HintReader::has_part(name, "remaining") || !limit.is(LimitName(name, "remaining"))) return;
    HintReader::for_each(value, {}, {}, [&](std::optional<Duration> number) {
      if (number) (*number > Duration::zero() ? some : none) = true;
    });
  });
  return some && !none;
}

}  // namespace detail

template <class Headers>
std::optional<Duration> parse_retry_after(int status, const Headers& headers,
                                          std::chrono::system_clock::time_point now) {
  static_assert(detail::RangeOfHeaders<Headers>,
                "planb: parse_retry_after(status, headers, now) reads a range of names with values: pairs of texts, "
                "or structs with the texts `name` and `value`");
  std::optional<Duration> wait;
  std::optional<Duration> reset;
  if constexpr (detail::RangeOfHeaders<Headers>) {
    using Kind = detail::HintHeader::Kind;
    detail::for_each_header(headers, [&](std::string_view name, std::string_view value) {
      const Kind kind = detail::HintHeader(name).kind;
      if (kind == Kind::none) return;
      if (kind == Kind::wait) {
        wait = (std::max)(wait, planb::parse_retry_after(name, value, now));
      } else if ((status == 429 || status == 503) && (kind == Kind::structured || !detail::remains(headers, name))) {
        reset = (std::max)(reset, planb::parse_retry_after(name, value, now));
      }
    });
  }
  return wait ? wait : reset;
}

}  // namespace planb::inline PLANB_ABI

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/retry_after.hpp>  // IWYU pragma: export
#endif
