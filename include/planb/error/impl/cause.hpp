// SPDX-License-Identifier: MIT
// The definitions of cause.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/error_traits.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <utility>

#if PLANB_HAS_CXXABI
#include <cxxabi.h>
#endif

namespace planb::inline PLANB_ABI {

PLANB_DECL const char* AttemptTimeout::what() const noexcept { return "timed out"; }

PLANB_DECL Cause& Cause::operator=(const Cause& other) {
  if (this != &other) *this = Cause(other);
  return *this;
}

PLANB_DECL Cause& Cause::operator=(Cause&& other) noexcept {
  if (this != &other) {
    reset();
    kind_ = other.kind_;
    held_ = other.held_;
    is_value_ = other.is_value_;
    named_ = other.named_;
    ops_ = other.ops_;
    take(other);
  }
  return *this;
}

PLANB_DECL const ProviderError* Cause::provider_error() const {
  if (held_ == Held::nothing || is_value_) return nullptr;
  if (held_ == Held::thrown) {
    const auto& thrown = as<detail::Thrown>();
    if (PLANB_STABLE_EXCEPTIONS && thrown.known == nullptr) return nullptr;
    if (!thrown.exact) return get_if<ProviderError>();
  }
  return ops_->as_provider_error != nullptr ? ops_->as_provider_error(object()) : nullptr;
}

PLANB_COLD PLANB_DECL RejectedValue::RejectedValue(const Cause& cause)
    : state_(std::make_shared<const std::pair<Cause, std::string>>(cause, cause.message())) {}

PLANB_DECL const char* RejectedValue::what() const noexcept { return state_->second.c_str(); }

}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_EXCEPTIONS
PLANB_COLD PLANB_DECL Cause CauseAccess::caught(const std::exception& e, CauseKind kind) noexcept {
  Cause cause;
  Thrown thrown{std::current_exception()};
#if PLANB_STABLE_EXCEPTIONS
  thrown.known = &e;
#elif PLANB_HAS_RTTI
  thrown.type = &typeid(e);
#else
  static_cast<void>(e);
#endif
  cause.hold(std::move(thrown));
  cause.kind_ = kind;
  return cause;
}

#endif

PLANB_DECL void CauseAccess::set_rejected(Cause& cause) noexcept {
  cause.kind_ = CauseKind::rejected;
  cause.is_value_ = true;
}

PLANB_DECL void CauseAccess::name(Cause& cause, const ErrorOps* const* types, std::size_t count) {
  if (cause.held_ != Cause::Held::thrown) return name_returned(cause, types, count);
  Thrown& thrown = cause.as<Thrown>();
  const bool known_before = cause.ops_ != nullptr;
  if (count != 0) {
    cause.named_ = named_sets.joined(cause.named_, types, count);
    if (cause.named_ != 0) {
      types = named_sets[cause.named_].types.get();
      count = named_sets[cause.named_].count;
    }
  }
  if (known_before) return;
  for (std::size_t i = 0; i != count; ++i) {
    const ErrorOps& type = *types[i];
    if (thrown.known != nullptr && type.says == 0) continue;  // its what() says as much
    if ((cause.ops_ != nullptr && type.says <= cause.ops_->says) || is_missed(thrown, i)) continue;
    if (const void* const object = type.find(thrown)) {
      thrown.named = object;
      cause.ops_ = &type;
    } else if (i < 32 && cause.named_ != 0) {
      thrown.missed |= std::uint32_t{1} << i;
    }
  }
  const TypeId type = thrown.object_type();
  if (type == nullptr) return;
  thrown.exact = cause.ops_ != nullptr && same_type(type, cause.ops_->type);
  if (thrown.exact) {
    thrown.wraps = cause.ops_->wrapped != nullptr ? Thrown::Wraps::something : Thrown::Wraps::nothing;
  } else if (thrown.known != nullptr) {
    thrown.wraps = wraps(*thrown.known, type) ? Thrown::Wraps::something : Thrown::Wraps::nothing;
  }
}

PLANB_DECL bool CauseAccess::wraps([[maybe_unused]] const std::exception& error, [[maybe_unused]] TypeId type) {
#if PLANB_HAS_RTTI
  if (type == &typeid(ProviderError) || type == &typeid(std::runtime_error)) return false;
  return dynamic_cast<const std::nested_exception*>(&error) != nullptr ||
         dynamic_cast<const CauseCarrier*>(&error) != nullptr;
#else
  return true;
#endif
}

#if PLANB_HAS_EXCEPTIONS
// A text for exceptions that no class describes.
[[nodiscard]] PLANB_COLD inline std::string describe_unknown(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const std::exception& e) {
    return detail::what_text(e.what());
  } catch (int number) {
    return detail::read_message(number);
  } catch (unsigned number) {
    return detail::read_message(number);
  } catch (long number) {
    return detail::read_message(number);
  } catch (unsigned long number) {
    return detail::read_message(number);
  } catch (long long number) {
    return detail::read_message(number);
  } catch (unsigned long long number) {
    return detail::read_message(number);
  } catch (double number) {
    return detail::read_message(number);
  } catch (bool truth) {
    return detail::read_message(truth);
  } catch (...) {
    if (detail::unwinding()) throw;
    return "unknown exception";
  }
}

// Errors that are no classes of anybody's: they can be read without being named. Numbers have no more than a text.
inline constexpr const ErrorOps* plain_errors[] = {
    &error_ops<std::string>,
    &error_ops<std::errc>,
    &error_ops<std::error_code>,
    &error_ops<std::error_condition>,
};

// The text of a thrown pointer to characters or std::string_view.
[[nodiscard]] PLANB_COLD inline std::optional<std::string> borrowed_text(const std::exception_ptr& pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const char* text) {
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
  } catch (const std::string_view& text) {
    return std::string(text);
  } catch (...) {
    if (detail::unwinding()) throw;
    return std::nullopt;
  }
}

// The type of what is being handled, or null where only more throws would tell.
[[nodiscard]] inline TypeId handled_type() noexcept {
#if PLANB_HAS_CXXABI
  return abi::__cxa_current_exception_type();
#else
  return nullptr;
#endif
}

PLANB_COLD PLANB_DECL Cause CauseAccess::caught_unknown(std::exception_ptr pointer) noexcept {
  Cause cause;
  const TypeId type = handled_type();
  try {
    const auto is = [&](TypeId other) { return type == nullptr || same_type(type, other); };
    if (is(type_id<const char*>()) || is(type_id<char*>()) || is(type_id<std::string_view>())) {
      if (std::optional<std::string> text = borrowed_text(pointer)) {
        cause.keep(BorrowedText<std::exception_ptr>(std::move(*text), std::move(pointer)));
        return cause;
      }
    }
    Thrown thrown{std::move(pointer)};
    thrown.type = type;
    if (type != nullptr) {
      const TypeFacts::Slot* const known = has_bases(type) ? wrappers.find(type) : nullptr;
      if (!has_bases(type) || (known != nullptr && !known->yes)) thrown.wraps = Thrown::Wraps::nothing;
    }
    for (const ErrorOps* const plain : plain_errors) {
      if (!is(plain->type)) continue;
      thrown.named = plain->find(thrown);
      if (thrown.named == nullptr) continue;
      cause.ops_ = plain;
      // Where the type is not known, a class may be a base of what was thrown.
      thrown.exact = type != nullptr || !plain->is_class;
      if (thrown.exact) thrown.wraps = Thrown::Wraps::nothing;
      break;
    }
    cause.hold(std::move(thrown));
  } catch (...) {  // no memory
    if (cause.held_ == Cause::Held::nothing) cause.hold(Thrown{std::current_exception()});
  }
  return cause;
}

#endif

#if PLANB_HAS_EXCEPTIONS && !PLANB_STABLE_EXCEPTIONS
class CarriedCause : public CauseCarrier {
 public:
  explicit CarriedCause(const CauseCarrier& other) {
    if (other.carried() != nullptr) cause_ = *other.carried();
  }
  [[nodiscard]] const Cause* carried() const noexcept override { return &cause_; }

 private:
  Cause cause_;
};
#endif

PLANB_COLD PLANB_DECL Wrapped CauseAccess::wrapped(const Cause& cause) {
  if (!cause.may_wrap()) return {};
  if (cause.held_ != Cause::Held::thrown) return cause.ops_->wrapped(cause.object());
  Wrapped found;
#if PLANB_HAS_EXCEPTIONS
  const Thrown& thrown = cause.as<Thrown>();
#if PLANB_HAS_RTTI
  if (thrown.known != nullptr) {
    found.carrier = dynamic_cast<const CauseCarrier*>(thrown.known);
    if (found.carrier == nullptr) found.nesting = dynamic_cast<const std::nested_exception*>(thrown.known);
    return found;
  }
#endif
#if PLANB_STABLE_EXCEPTIONS
  try {
    std::rethrow_exception(thrown.pointer);
  } catch (const CauseCarrier& e) {
    found.carrier = &e;
  } catch (const std::nested_exception& e) {
    found.nesting = &e;
  } catch (...) {
    if (detail::unwinding()) throw;
  }
#else
  if (thrown.copies == nullptr) return found;
  found.carrier = thrown.copies->find<CauseCarrier, CarriedCause>(thrown.pointer);
  if (found.carrier == nullptr) found.nesting = thrown.copies->find<std::nested_exception>(thrown.pointer);
#endif
  if (thrown.type != nullptr && wrappers.find(thrown.type) == nullptr) {
    wrappers.keep(thrown.type, found.carrier != nullptr || found.nesting != nullptr);
  }
#endif
  return found;
}

PLANB_COLD PLANB_DECL bool CauseAccess::visit_wrapped(const Cause& outer, bool (*use)(const Cause&, void*), void* f) {
  constexpr int deepest = 8;
  const Cause* at = &outer;
  Cause layer;
  for (int depth = 0; depth != deepest; ++depth) {
    const Wrapped wraps = wrapped(*at);
    const Cause* carried = wraps.carrier != nullptr ? wraps.carrier->carried() : nullptr;
    Cause inner;
    const NamedSet* const names = outer.named_ != 0 ? &named_sets[outer.named_] : nullptr;
    if (carried != nullptr && names != nullptr && needs_names(*carried, names->types.get(), names->count)) {
      inner = detail::read_or(Cause(), [&] { return Cause(*carried); });
    }
    if (carried != nullptr && inner.held_ == Cause::Held::nothing) {
      at = carried;  // lives in what carries it
    } else {  // or has been copied, to be looked at for more types
#if PLANB_HAS_EXCEPTIONS
      if (wraps.carrier == nullptr && wraps.nesting != nullptr) inner = Cause::of(wraps.nesting->nested_ptr());
#endif
      if (inner.held_ == Cause::Held::nothing) return false;
      if (names != nullptr) name(inner, names->types.get(), names->count);
      layer = std::move(inner);
      at = &layer;
    }
    if (use(*at, f)) return true;
  }
  return false;
}

}  // namespace planb::inline PLANB_ABI::detail

namespace planb::inline PLANB_ABI {

PLANB_DECL Cause Cause::current() {
#if PLANB_HAS_EXCEPTIONS
  return of(std::current_exception());
#else
  return {};
#endif
}

PLANB_DECL Cause::Cause(const Cause& other)
    : kind_(other.kind_), is_value_(other.is_value_), named_(other.named_), ops_(other.ops_) {
  switch (other.held_) {
    case Held::nothing: break;
    case Held::thrown: ::new (static_cast<void*>(room_)) detail::Thrown(other.as<detail::Thrown>()); break;
    case Held::inside: other.ops_->copy(other.room_, room_); break;
    case Held::shared:
      ::new (static_cast<void*>(room_)) detail::SharedErrorPtr(other.as<detail::SharedErrorPtr>());
      break;
  }
  held_ = other.held_;
}

PLANB_DECL void Cause::move_from(Cause& other) noexcept {
  if (held_ == Held::thrown) {
    ::new (static_cast<void*>(room_)) detail::Thrown(std::move(other.as<detail::Thrown>()));
    other.as<detail::Thrown>().~Thrown();
  } else {
    ::new (static_cast<void*>(room_)) detail::SharedErrorPtr(std::move(other.as<detail::SharedErrorPtr>()));
    other.as<detail::SharedErrorPtr>().~SharedErrorPtr();
  }
}

PLANB_DECL void Cause::destroy() noexcept {
  switch (held_) {
    case Held::nothing: break;
    case Held::thrown: as<detail::Thrown>().~Thrown(); break;
    case Held::inside:
      if (!ops_->trivial) ops_->destroy(room_);
      break;
    case Held::shared: as<detail::SharedErrorPtr>().~SharedErrorPtr(); break;
  }
}

PLANB_NOINLINE PLANB_DECL const void* Cause::find_by(
    detail::TypeId type, const void* (*in_returned)(const detail::ErrorOps& ops, const void* error),
    [[maybe_unused]] const void* (*in_thrown)(const detail::Thrown& thrown)) const {
  if (const void* const known = object(); known != nullptr && detail::same_type(ops_->type, type)) return known;
  if (held_ == Held::inside || held_ == Held::shared) return is_value_ ? nullptr : in_returned(*ops_, object());
#if PLANB_HAS_EXCEPTIONS
  if (held_ == Held::thrown) {
    const detail::Thrown& thrown = as<detail::Thrown>();
    if (thrown.exact && !ops_->is_class) return nullptr;  // it has no base
    if (named_ != 0 && thrown.missed != 0) {
      const detail::NamedSet& set = detail::named_sets[named_];
      for (std::size_t i = 0; i != set.count; ++i) {
        if (!detail::CauseAccess::is_missed(thrown, i)) continue;
        if (detail::same_type(set.types[i]->type, type)) return nullptr;
      }
    }
    return in_thrown(thrown);
  }
#endif
  return nullptr;
}

PLANB_COLD PLANB_DECL void Cause::keep_copy(const Defect& error) { keep(Defect(detail::what_text(error.what()))); }
PLANB_COLD PLANB_DECL void Cause::keep_copy(const ProviderError& error) { keep(error); }
PLANB_COLD PLANB_DECL void Cause::keep_text(std::string text) { keep(detail::UncopyableError(std::move(text))); }

PLANB_DECL std::optional<int> Cause::own_status() const {
  // A code may be read as a status.
  return read<std::optional<int>>(detail::Reads::status | detail::Reads::code, &detail::ErrorOps::status,
                                  &detail::read_status<ProviderError>);
}

PLANB_DECL std::string Cause::own_code() const {
  return read<std::string>(detail::Reads::code, &detail::ErrorOps::code, &detail::read_code<ProviderError>);
}

PLANB_DECL std::optional<Duration> Cause::own_retry_after() const {
  return read<std::optional<Duration>>(detail::Reads::retry_after, &detail::ErrorOps::retry_after,
                                       &detail::read_retry_after<ProviderError>);
}

PLANB_DECL std::optional<bool> Cause::own_retryable() const {
  if (ops_ == nullptr || (ops_->retryable == nullptr && named_ == 0)) return std::nullopt;
  return read<std::optional<bool>>(detail::Reads::retryable, &detail::ErrorOps::retryable, nullptr);
}

PLANB_DECL std::optional<int> Cause::status() const {
  std::optional<int> found = own_status();
  if (found || !may_wrap() || !own_code().empty()) return found;
  detail::CauseAccess::any_wrapped(*this, [&](const Cause& layer) {
    found = layer.own_status();
    return found || !layer.own_code().empty();
  });
  return found;
}

PLANB_DECL std::string Cause::code() const {
  std::string found = own_code();
  if (!found.empty() || !may_wrap() || own_status()) return found;
  detail::CauseAccess::any_wrapped(*this, [&](const Cause& layer) {
    found = layer.own_code();
    return !found.empty() || layer.own_status();
  });
  return found;
}

PLANB_DECL std::optional<Duration> Cause::retry_after() const {
  std::optional<Duration> found = own_retry_after();
  if (found || !may_wrap()) return found;
  detail::CauseAccess::any_wrapped(*this, [&](const Cause& layer) {
    found = layer.own_retry_after();
    return found.has_value();
  });
  return found;
}

PLANB_DECL std::optional<bool> Cause::retryable() const {
  std::optional<bool> found = own_retryable();
  if (found || !may_wrap()) return found;
  detail::CauseAccess::any_wrapped(*this, [&](const Cause& layer) {
    found = layer.own_retryable();
    return found.has_value();
  });
  return found;
}

PLANB_COLD PLANB_DECL std::string Cause::message() const {
  std::string text = detail::read_or(std::string(detail::no_text), [this] {
    std::string own;
    if (const void* error = object()) {
      constexpr unsigned message = detail::Reads::message;
      const bool reads = (ops_->reads & message) != 0;  // else there may be a what(), which a base's message beats
      if (reads) own = ops_->message(error);
      if (named_ != 0 && own.empty()) own = read_named(message, &detail::ErrorOps::message);
      if (!reads && own.empty()) own = ops_->message(error);
    }
#if PLANB_HAS_EXCEPTIONS
    if (held_ == Held::thrown && own.empty()) {
      const detail::Thrown& thrown = as<detail::Thrown>();
      if (thrown.known != nullptr) return detail::what_text(thrown.known->what());
      if (ops_ == nullptr || ops_->says == 0) return detail::describe_unknown(thrown.pointer);
    }
#endif
    return own;
  });
  if (is_value_) return text.empty() ? "value rejected" : "value rejected: " + text;
  if (!text.empty() || own_status()) return text;
  switch (kind_) {
    case CauseKind::timeout: return "timed out";
    case CauseKind::interrupted: return "interrupted";
    case CauseKind::rejected: return "value rejected";
    case CauseKind::error:
    case CauseKind::defect: break;
  }
  return "unknown error";
}

PLANB_COLD PLANB_DECL std::exception_ptr Cause::exception() const {
#if PLANB_HAS_EXCEPTIONS
  if (held_ == Held::thrown) return as<detail::Thrown>().pointer;
  try {
    rethrow();
  } catch (...) {
    return std::current_exception();
  }
#else
  return nullptr;
#endif
}

PLANB_COLD PLANB_DECL void Cause::rethrow() const {
#if PLANB_HAS_EXCEPTIONS
  if (is_value_) throw RejectedValue(*this);
  switch (held_) {
    case Held::thrown: std::rethrow_exception(as<detail::Thrown>().pointer);
    case Held::inside:
    case Held::shared: ops_->raise(object()); break;
    case Held::nothing: break;
  }
  if (kind_ == CauseKind::timeout) throw AttemptTimeout();
  throw std::runtime_error(message());
#else
  std::abort();
#endif
}

}  // namespace planb::inline PLANB_ABI

namespace planb::inline PLANB_ABI::detail {

PLANB_COLD PLANB_DECL std::string describe(const Cause& cause) {
  std::string text = cause.message();
  if (const std::optional<int> status = cause.status()) {
    const std::string number = detail::number_text(static_cast<long long>(*status));
    const bool starts_with_it =
        text.compare(0, number.size(), number) == 0 &&
        (text.size() == number.size() || text[number.size()] < '0' || text[number.size()] > '9');
    if (!starts_with_it) text = text.empty() ? number : number + " " + text;
  }
  if (cause.kind() == CauseKind::timeout && CauseAccess::holds(cause)) text = "timed out: " + text;
  return text;
}

}  // namespace planb::inline PLANB_ABI::detail
