// SPDX-License-Identifier: MIT
// grpc_classifier: what a gRPC status says about the provider, and so what is to be done.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/detail/http_rules.hpp>
#include <planb/error/error_traits.hpp>
#include <planb/error/predicate.hpp>

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace planb::inline PLANB_ABI {

// The numbers of gRPC's status codes, so that no header of gRPC is needed.
enum class GrpcCode : unsigned char {
  ok,
  cancelled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};

// Reads the number of a gRPC status, 0 to 16, from an error's status or code, or the status's name ("UNAVAILABLE") from
// its code; the outermost error first that has one. Absl's status codes are the same numbers. Where there is none: a
// timeout and a failed connection are worth a retry, a value that was refused and anything else leaves the step. At
// last the error's own word is heard (error_traits::retryable), as http_classifier does.
//
//   unavailable, deadline_exceeded, resource_exhausted, aborted, internal, unknown   retry
//   unauthenticated, permission_denied, not_found                                    next step, with an alert
//   unimplemented, data_loss, cancelled                                              next step
//   invalid_argument, failed_precondition, out_of_range, already_exists              abort: it is about the request
//
// The wait of a server's pushback is an error's `retry_after` (parse_retry_after reads grpc-retry-pushback-ms); below
// zero it means that no retry is wanted, which an error says by `retryable`.
//
// E are the caller's own error types, read through error_traits; naming them makes them readable in the whole plan.
template <class... E>
class GrpcClassifier {
 public:
  [[nodiscard]] Verdict operator()(const Cause& cause) const;

  // The same with another verdict for this code. Refused with std::invalid_argument: what is no code of gRPC's.
  [[nodiscard]] GrpcClassifier on_code(GrpcCode code, Verdict verdict) const {
    const auto place = static_cast<std::size_t>(code);
    if (place >= table_.size()) detail::refuse("grpc_classifier: on_code(): gRPC's codes are 0 to 16");
    GrpcClassifier changed = *this;
    changed.table_[place] = verdict;
    return changed;
  }

  // The types that it makes readable.
  [[nodiscard]] static constexpr detail::NamedErrors named_errors() noexcept {
    if constexpr (sizeof...(E) == 0) {
      return {};
    } else {
      return {detail::error_ops_of<E...>, sizeof...(E)};
    }
  }

 private:
  using Table = std::array<Verdict, 17>;

  static constexpr Table default_table() noexcept {
    using enum Action;
    using enum FailureClass;
    return {{
        {next_step, false, FailureClass::unknown},  // ok: no failure; whoever made an error of it knows why
        {next_step, false, FailureClass::unknown},  // cancelled: by the other side, since a stop of ours ends the run
        {retry, false, server_error},               // unknown
        {abort, false, invalid_request},            // invalid_argument
        {retry, false, timeout},                    // deadline_exceeded
        {next_step, true, not_found},               // not_found
        {abort, false, invalid_request},            // already_exists
        {next_step, true, auth},                    // permission_denied
        {retry, false, rate_limited},               // resource_exhausted
        {abort, false, invalid_request},            // failed_precondition
        {retry, false, conflict},                   // aborted
        {abort, false, invalid_request},            // out_of_range
        {next_step, false, server_error},           // unimplemented
        {retry, false, server_error},               // internal
        {retry, false, overloaded},                 // unavailable
        {next_step, false, server_error},           // data_loss
        {next_step, true, auth},                    // unauthenticated
    }};
  }

  Table table_ = default_table();
};

// As in `.classify = grpc_classifier()`, or with the caller's own error types: `grpc_classifier<RpcError>()`.
template <class... E>
[[nodiscard]] GrpcClassifier<E...> grpc_classifier() {
  static_assert((std::is_same_v<E, std::remove_cvref_t<E>> && ...),
                "planb: grpc_classifier<E...> names error types without const or reference");
  static_assert((detail::HttpReading::can_read<E> && ...),
                "planb: grpc_classifier<E...>: an error type here needs something to read: a member `status` or `code` "
                "(gRPC's number), or the same in planb::error_traits");
  return {};
}

namespace detail {

// gRPC's number in a code: "14", "UNAVAILABLE", "Unavailable".
[[nodiscard]] inline std::optional<std::size_t> grpc_number(std::string_view code) {
  static constexpr std::string_view names[] = {
      "ok",        "cancelled",      "unknown",           "invalid_argument",   "deadline_exceeded",
      "not_found", "already_exists", "permission_denied", "resource_exhausted", "failed_precondition",
      "aborted",   "out_of_range",   "unimplemented",     "internal",           "unavailable",
      "data_loss", "unauthenticated"};
  if (code.empty()) return std::nullopt;
  if (code.size() <= 2 && code.find_first_not_of("0123456789") == std::string_view::npos) {
    std::size_t number = 0;
    for (const char digit : code) number = number * 10 + static_cast<std::size_t>(digit - '0');
    return number < std::size(names) ? std::optional(number) : std::nullopt;
  }
  for (std::size_t i = 0; i != std::size(names); ++i) {
    if (HttpMatch::code(names[i], code)) return i;
  }
  return std::nullopt;
}

// What is to be read: the number, or the kind of an error that has none.
[[nodiscard]] inline std::optional<std::size_t> grpc_number(const HttpReading& reading) {
  if (reading.status && *reading.status <= 16) {  // a status is above zero
    return static_cast<std::size_t>(*reading.status);
  }
  return detail::grpc_number(std::string_view(reading.code));
}

}  // namespace detail

template <class... E>
Verdict GrpcClassifier<E...>::operator()(const Cause& cause) const {
  if (cause.kind() == CauseKind::defect || cause.kind() == CauseKind::interrupted) return {Action::abort};
  detail::HttpReading reading;
  static_cast<void>(reading.read<E...>(cause, false));
  std::optional<std::size_t> number = detail::grpc_number(reading);
  if (!number) {
    detail::CauseAccess::any_wrapped(cause, [&](const Cause& inner) {
      static_cast<void>(reading.read<E...>(inner, true));
      number = detail::grpc_number(reading);
      return number.has_value();
    });
  }
  Verdict verdict = detail::HttpTable::not_read;
  if (number) {
    verdict = table_[*number];
  } else if (cause.kind() == CauseKind::rejected) {
    verdict = detail::HttpTable::value_rejected;
  } else if (cause.kind() == CauseKind::timeout || reading.kind == FailureClass::timeout) {
    verdict = detail::HttpTable::timed_out;
  } else if (reading.kind == FailureClass::connection) {
    verdict = detail::HttpTable::connection_failed;
  }
  if (verdict.action == Action::retry || verdict.action == Action::next_step) {
    if (const std::optional<bool> retryable = detail::own_word<E...>(cause)) {
      verdict.action = *retryable ? Action::retry : Action::next_step;
    }
  }
  return verdict;
}

}  // namespace planb::inline PLANB_ABI
