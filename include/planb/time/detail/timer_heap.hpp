// SPDX-License-Identifier: MIT
// TimerHeap: what is pending, by its time.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/time/duration.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// The earliest first, and of one time the one that was set first. It costs log N to put something in, to move it and to
// take it out, and only reserve() allocates. T has a member `heap_place`.
template <class T>
class TimerHeap {
 public:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }
  [[nodiscard]] static bool holds(const T& item) noexcept { return item.heap_place != nowhere; }
  [[nodiscard]] T& first() const noexcept { return *slots_.front().item; }
  [[nodiscard]] TimePoint first_due() const noexcept { return slots_.front().due; }

  // Room for one more.
  void reserve() {
    if (slots_.size() == slots_.capacity()) slots_.reserve(slots_.empty() ? 16 : 2 * slots_.size());
  }

  // There must be room.
  void add(T& item, TimePoint due) noexcept {
    slots_.emplace_back(due, next_++, &item);
    rise(slots_.size() - 1);
  }

  void remove(T& item) noexcept {
    const std::size_t place = std::exchange(item.heap_place, nowhere);
    const Slot last = slots_.back();
    slots_.pop_back();
    if (place != slots_.size()) settle(place, last);
  }

  // As if it were set now.
  void move(T& item, TimePoint due) noexcept { settle(item.heap_place, Slot(due, next_++, &item)); }

  // Gives the memory back. It must be empty.
  void release() noexcept { std::vector<Slot>().swap(slots_); }

 private:
  struct Slot {
    Slot(TimePoint d, std::uint64_t o, T* i) noexcept : due(d), order(o), item(i) {}
    [[nodiscard]] bool before(const Slot& other) const noexcept {
      return due < other.due || (due == other.due && order < other.order);
    }

    TimePoint due;
    std::uint64_t order;
    T* item;
  };

  // Four children each: half as deep as with two, and they lie side by side.
  static constexpr std::size_t children = 4;

  void put(std::size_t place, const Slot& slot) noexcept {
    slots_[place] = slot;
    slot.item->heap_place = place;
  }

  void settle(std::size_t place, const Slot& slot) noexcept {
    slots_[place] = slot;
    if (place != 0 && slot.before(slots_[(place - 1) / children])) {
      rise(place);
    } else {
      sink(place);
    }
  }

  void rise(std::size_t place) noexcept {
    const Slot slot = slots_[place];
    while (place != 0) {
      const std::size_t parent = (place - 1) / children;
      if (!slot.before(slots_[parent])) break;
      put(place, slots_[parent]);
      place = parent;
    }
    put(place, slot);
  }

  void sink(std::size_t place) noexcept {
    const Slot slot = slots_[place];
    for (;;) {
      std::size_t best = place * children + 1;
      if (best >= slots_.size()) break;
      const std::size_t end = slots_.size() - best < children ? slots_.size() : best + children;
      for (std::size_t i = best + 1; i < end; ++i) {
        if (slots_[i].before(slots_[best])) best = i;
      }
      if (!slots_[best].before(slot)) break;
      put(place, slots_[best]);
      place = best;
    }
    put(place, slot);
  }

  std::vector<Slot> slots_;
  std::uint64_t next_ = 0;
};

}  // namespace planb::inline PLANB_ABI::detail
