// SPDX-License-Identifier: MIT
// OutcomeWindow: how many of the last calls failed, over a sliding time window in bounded memory.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/gate/detail/mutex.hpp>
#include <planb/time/duration.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace planb::inline PLANB_ABI::detail {

// The window ends at the latest time that it was handed: threads do not come in the order in which they read the clock.
// What is as old as it is wide never counts; what is younger than nine tenths of it always does, whatever the times are
// and however long nothing was counted.
//
// Time is cut into slices of a twentieth of the window, rounded up, which have a bucket each; a slice counts while all
// of it is in the window. A slice's number is kept whole, so that no other can be taken for it.
//
// Quick successes are what a healthy provider has most of, so they are counted in a few rows, each with a lock and
// cache lines of its own: threads seldom meet at one. A row knows the generation for which it counts, and a success of
// any other changes nothing. Everything else is called under the owner's lock.
class OutcomeWindow {
 public:
  explicit OutcomeWindow(Duration width) noexcept
      : slice_(width.count() / bucket_count + (width.count() % bucket_count != 0 ? 1 : 0)),
        recent_(static_cast<std::uint64_t>(width.count() / slice_)) {}

  // Forgets everything. From now on only successes of this generation count.
  void restart(std::uint64_t generation) noexcept {
    failures_.clear();
    slow_.clear();
    for (Row& row : rows_) {
      const std::lock_guard<Mutex> lock(row.mutex);
      row.generation = generation;
      row.successes.clear();
    }
  }

  // Safe to call at any time, by any number of threads.
  void add_success(std::uint64_t generation, TimePoint now) noexcept {
    const std::int64_t slice = slice_at(now);
    Row& row = rows_[own_row()];
    const std::lock_guard<Mutex> lock(row.mutex);
    if (row.generation == generation) row.successes.add(slice);
  }

  struct Counts {
    std::uint64_t failures = 0;
    std::uint64_t slow = 0;  // successes
    std::uint64_t all = 0;
  };

  // Adds a failure, or a slow success, and gives what the window holds; nothing where it is not in the window itself.
  [[nodiscard]] Counts add_failure(TimePoint now) noexcept { return add(failures_, now); }
  [[nodiscard]] Counts add_slow_success(TimePoint now) noexcept { return add(slow_, now); }

  // What it holds at the latest time that it was handed.
  [[nodiscard]] Counts counts() noexcept { return counts_at(latest()); }

 private:
  static constexpr std::int64_t bucket_count = 20;
  static constexpr std::uint32_t row_count = 8;
  static constexpr std::int64_t none = (std::numeric_limits<std::int64_t>::min)();

  struct Bucket {
    std::int64_t slice = 0;
    std::uint64_t count = 0;
  };
  struct Buckets {
    std::int64_t last = none;  // of all slices
    Bucket buckets[bucket_count] = {};

    void clear() noexcept {
      last = none;
      for (Bucket& bucket : buckets) bucket.count = 0;
    }

    // One that comes so late that its bucket has gone over to a later slice is out of the window.
    void add(std::int64_t slice) noexcept {
      last = (std::max)(last, slice);
      const std::int64_t rest = slice % bucket_count;
      Bucket& bucket = buckets[static_cast<std::size_t>(rest < 0 ? rest + bucket_count : rest)];
      if (bucket.count == 0 || bucket.slice < slice) {
        bucket = {slice, 1};
      } else if (bucket.slice == slice) {
        ++bucket.count;
      }
    }
  };
  struct alignas(64) Row {  // on cache lines of its own
    Mutex mutex;
    std::uint64_t generation = 0;
    Buckets successes;
  };

  // Threads take turns, so that as many as there are rows have one each.
  [[nodiscard]] static std::uint32_t own_row() noexcept {
    static constinit std::atomic<std::uint32_t> threads{0};
    static constinit thread_local std::uint32_t turn = 0;
    if (turn == 0) turn = (threads.fetch_add(1, std::memory_order_relaxed) % row_count) + 1;
    return turn - 1;
  }

  // The slice in which a time lies, rounded down also before the epoch.
  [[nodiscard]] std::int64_t slice_at(TimePoint now) const noexcept {
    const std::int64_t t = now.time_since_epoch().count();
    return t >= 0 ? t / slice_ : -((-(t + 1)) / slice_) - 1;
  }

  // A slice after `last` is one that a success has brought meanwhile. A distance may not fit into a signed number.
  [[nodiscard]] bool is_recent(std::int64_t slice, std::int64_t last) const noexcept {
    return slice > last || static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(slice) < recent_;
  }
  [[nodiscard]] std::uint64_t in_window(const Buckets& outcomes, std::int64_t last) const noexcept {
    std::uint64_t count = 0;
    for (const Bucket& bucket : outcomes.buckets) {
      if (bucket.count != 0 && is_recent(bucket.slice, last)) count += bucket.count;
    }
    return count;
  }

  [[nodiscard]] Counts add(Buckets& outcomes, TimePoint now) noexcept {
    const std::int64_t slice = slice_at(now);
    outcomes.add(slice);
    const std::int64_t last = latest();
    return is_recent(slice, last) ? counts_at(last) : Counts{};
  }
  [[nodiscard]] std::int64_t latest() noexcept {
    std::int64_t last = (std::max)(failures_.last, slow_.last);
    for (Row& row : rows_) {
      const std::lock_guard<Mutex> lock(row.mutex);
      last = (std::max)(last, row.successes.last);
    }
    return last;
  }
  [[nodiscard]] Counts counts_at(std::int64_t last) noexcept {
    Counts counts{.failures = in_window(failures_, last), .slow = in_window(slow_, last)};
    counts.all = counts.failures + counts.slow;
    for (Row& row : rows_) {
      const std::lock_guard<Mutex> lock(row.mutex);
      counts.all += in_window(row.successes, last);
    }
    return counts;
  }

  const std::int64_t slice_;    // its length
  const std::uint64_t recent_;  // so many slices are wholly in the window
  Buckets failures_;
  Buckets slow_;
  Row rows_[row_count];
};

}  // namespace planb::inline PLANB_ABI::detail
