// SPDX-License-Identifier: MIT
// The structured RateLimit header: how long until a limit of which nothing remains is filled up again.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/hint_reader.hpp>
#include <planb/time/duration.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Reads a list of policies, `"default";r=0;t=40, "daily";r=99;t=3600`, or what earlier drafts had in their place,
// `limit=100, remaining=0, reset=40`. What cannot be read of it is passed over.
class RateLimitReader {
 public:
  explicit RateLimitReader(std::string_view text) noexcept;

  // The longest wait of those policies of which nothing remains; nothing where there is none.
  [[nodiscard]] std::optional<Duration> read() noexcept;

 private:
  // What is said of one policy: empty where it is not said.
  struct Policy {
    std::string_view limit;
    std::string_view remaining;
    std::string_view reset;
  };

  [[nodiscard]] static bool is_blank(char c) noexcept;

  void skip_blanks() noexcept;

  // The character, with blanks around it.
  bool take(char c) noexcept;

  // A quoted string, with its quotes; one that does not end takes all that is left.
  std::string_view quoted() noexcept;

  // A name, a number or anything else that is not quoted.
  std::string_view bare(bool name) noexcept;

  std::string_view item(bool name) noexcept;

  std::string_view head(std::size_t size) noexcept;

  // One policy with its parameters, or one part of what earlier drafts say.
  void member() noexcept;

  // A part that has been said already begins another policy, as where the header came twice.
  void note(std::string_view Policy::*part, std::string_view value) noexcept;

  void close(Policy& policy) noexcept;

  // Nothing but a number, read as one of seconds; below zero it is zero.
  [[nodiscard]] static std::optional<Duration> number(std::string_view text) noexcept;

  std::string_view text_;
  Policy whole_{};  // what earlier drafts say in several members
  std::optional<Duration> longest_;
};

}  // namespace planb::inline PLANB_ABI::detail

#if !PLANB_SEPARATE_COMPILATION
#include <planb/error/impl/rate_limit_field.hpp>  // IWYU pragma: export
#endif
