// SPDX-License-Identifier: MIT
// The definitions of error_ops.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/detail/error_ops.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string_view>
#include <typeinfo>

namespace planb::inline PLANB_ABI::detail {

#if PLANB_HAS_EXCEPTIONS
PLANB_COLD PLANB_DECL bool unwinding() noexcept { return std::current_exception() == nullptr; }

#endif

PLANB_DECL const char* UncopyableError::what() const noexcept { return text_.c_str(); }

#if PLANB_HAS_EXCEPTIONS && !PLANB_STABLE_EXCEPTIONS
PLANB_DECL ExceptionText::ExceptionText(const std::exception& e) : UncopyableError(detail::what_text(e.what())) {}

PLANB_DECL std::shared_ptr<ThrownCopies> ThrownCopies::make() noexcept {
  try {
    return std::make_shared<ThrownCopies>();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
#endif

PLANB_DECL SharedErrorPtr::~SharedErrorPtr() {
  if (shared_ != nullptr && shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) shared_->end(shared_);
}

PLANB_DECL std::size_t TypeFacts::hash_of([[maybe_unused]] TypeId type) noexcept {
#if PLANB_HAS_RTTI
  return type->hash_code();
#else
  return 0;
#endif
}

PLANB_DECL const TypeFacts::Slot* TypeFacts::find(TypeId type) const noexcept {
  for (const Slot& slot : known) {
    const unsigned char state = slot.state.load(std::memory_order_acquire);
    if (state == 0) break;
    if (state != 2) continue;
    if (slot.type == type && slot.hash == hash_of(type)) return &slot;
  }
  return nullptr;
}

PLANB_COLD PLANB_DECL void TypeFacts::keep(TypeId type, bool yes, std::ptrdiff_t offset) noexcept {
  for (Slot& slot : known) {
    unsigned char empty = 0;
    if (!slot.state.compare_exchange_strong(empty, 1, std::memory_order_relaxed)) continue;
    slot.type = type;
    slot.hash = hash_of(type);
    slot.offset = offset;
    slot.yes = yes;
    slot.state.store(2, std::memory_order_release);
    return;
  }
}

PLANB_COLD PLANB_DECL bool has_bases([[maybe_unused]] TypeId type) noexcept {
#if PLANB_HAS_CXXABI
  const std::string_view kind = typeid(*type).name();
  return kind.find("si_class_type_info") != kind.npos || kind.find("vmi_class_type_info") != kind.npos;
#else
  return true;
#endif
}

PLANB_DECL std::uint16_t NamedSets::number_of(const ErrorOps* const* types, std::size_t count) noexcept {
  NamedSet* made = nullptr;
  for (unsigned i = 0; i != most; ++i) {
    std::atomic<const NamedSet*>* const place = place_for(i);
    if (place == nullptr) break;
    const NamedSet* known = place->load(std::memory_order_acquire);
    if (known == nullptr) {
      if (made == nullptr) made = make(types, count);
      if (made == nullptr) return 0;
      if (place->compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
        return static_cast<std::uint16_t>(i + 1);
      }
    }
    if (known->count == count && std::equal(types, types + count, known->types.get())) {
      delete made;
      return static_cast<std::uint16_t>(i + 1);
    }
  }
  delete made;
  return 0;
}

PLANB_DECL std::uint16_t NamedSets::joined(std::uint16_t set, const ErrorOps* const* types,
                                           std::size_t count) noexcept {
  if (set == 0) return number_of(types, count);
  const NamedSet& first = (*this)[set];
  const auto is_new = [&](const ErrorOps* type) {
    return std::find(first.types.get(), first.types.get() + first.count, type) == first.types.get() + first.count;
  };
  if (std::none_of(types, types + count, is_new)) return set;
  const std::unique_ptr<const ErrorOps*[]> all(new (std::nothrow) const ErrorOps*[first.count + count]);
  if (all == nullptr) return set;
  const ErrorOps** end = std::copy_n(first.types.get(), first.count, all.get());
  end = std::copy_if(types, types + count, end, is_new);
  const std::uint16_t number = number_of(all.get(), static_cast<std::size_t>(end - all.get()));
  return number != 0 ? number : set;
}

PLANB_DECL const NamedSet& NamedSets::operator[](std::uint16_t number) const noexcept {
  const unsigned i = number - 1U;
  return *pages_[i / page].load(std::memory_order_acquire)->sets[i % page].load(std::memory_order_acquire);
}

PLANB_COLD PLANB_DECL NamedSet* NamedSets::make(const ErrorOps* const* types, std::size_t count) noexcept {
  auto* const set = new (std::nothrow) NamedSet;
  if (set == nullptr) return nullptr;
  set->types.reset(new (std::nothrow) const ErrorOps*[count]);
  if (set->types == nullptr) {
    delete set;
    return nullptr;
  }
  set->count = count;
  std::copy_n(types, count, set->types.get());
  for (std::size_t i = 0; i != count; ++i) set->reads |= types[i]->reads;
  return set;
}

PLANB_COLD PLANB_DECL std::atomic<const NamedSet*>* NamedSets::place_for(unsigned i) noexcept {
  std::atomic<Page*>& at = pages_[i / page];
  Page* known = at.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto* const made = new (std::nothrow) Page;
    if (made == nullptr) return nullptr;
    if (at.compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
      known = made;
    } else {
      delete made;
    }
  }
  return &known->sets[i % page];
}

}  // namespace planb::inline PLANB_ABI::detail
