// The structured RateLimit header: how long until a limit of which nothing remains is filled up again.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/hint_reader.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace planb::inline PLANB_ABI::detail {

// Reads a list of policies, `"default";r=0;t=40, "daily";r=99;t=3600`, or what earlier drafts had in their place,
// `limit=100, remaining=0, reset=40`. What cannot be read of it is passed over.
class RateLimitReader {
 public:
  explicit RateLimitReader(std::string_view text) noexcept : text_(text) {}

  // The longest wait of those policies of which nothing remains; nothing where there is none.
  [[nodiscard]] std::optional<Duration> read() noexcept {
    while (!text_.empty()) {
      member();
      while (!text_.empty() && text_.front() != ',') text_.front() == '"' ? quoted() : head(1);  // not understood
      take(',');
    }
    close(whole_);
    return longest_;
  }

 private:
  // What is said of one policy: empty where it is not said.
  struct Policy {
    std::string_view limit;
    std::string_view remaining;
    std::string_view reset;
  };

  [[nodiscard]] static bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void skip_blanks() noexcept {
    while (!text_.empty() && is_blank(text_.front())) text_.remove_prefix(1);
  }

  // The character, with blanks around it.
  bool take(char c) noexcept {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    skip_blanks();
    return true;
  }

  // A quoted string, with its quotes; one that does not end takes all that is left.
  std::string_view quoted() noexcept {
    std::size_t end = 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
    return head((std::min)(end + 1, text_.size()));
  }

  // A name, a number or anything else that is not quoted.
  std::string_view bare(bool name) noexcept {
    const auto ends = [name](char c) { return c == ',' || c == ';' || c == '"' || is_blank(c) || (name && c == '='); };
    const auto* const end = std::find_if(text_.data(), text_.data() + text_.size(), ends);
    return head(static_cast<std::size_t>(end - text_.data()));
  }

  std::string_view item(bool name) noexcept { return !text_.empty() && text_.front() == '"' ? quoted() : bare(name); }

  std::string_view head(std::size_t size) noexcept {
    const std::string_view part = text_.substr(0, size);
    text_.remove_prefix(size);
    return part;
  }

  // One policy with its parameters, or one part of what earlier drafts say.
  void member() noexcept {
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

  // A part that has been said already begins another policy, as where the header came twice.
  void note(std::string_view Policy::*part, std::string_view value) noexcept {
    if (!(whole_.*part).empty()) close(whole_);
    whole_.*part = value;
  }

  void close(Policy& policy) noexcept {
    const std::optional<Duration> remaining = number(policy.remaining);
    const std::optional<Duration> reset = number(policy.reset);
    if (remaining && reset && *remaining == Duration::zero()) {
      longest_ = longest_ ? (std::max)(*longest_, *reset) : *reset;
    }
    policy = {};
  }

  // Nothing but a number, read as one of seconds; below zero it is zero.
  [[nodiscard]] static std::optional<Duration> number(std::string_view text) noexcept {
    if (text.find_first_not_of("-.0123456789") != std::string_view::npos) return std::nullopt;
    return HintReader(text, {}).read(HintForm{});
  }

  std::string_view text_;
  Policy whole_{};  // what earlier drafts say in several members
  std::optional<Duration> longest_;
};

}  // namespace planb::inline PLANB_ABI::detail
