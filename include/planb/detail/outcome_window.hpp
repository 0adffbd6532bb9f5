// OutcomeWindow: how many of the last calls failed, over a sliding time window in bounded memory.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace planb::inline PLANB_ABI::detail {

// Ten buckets, each a tenth of the window wide. What is older than the window never counts; what is younger than nine
// tenths of it always does.
//
// Successes are what a healthy provider has most of, so they are counted without a lock: one atomic word for each
// bucket holds the generation for which it counts, the bucket's place in time, and the count. A success of another
// generation finds a foreign mark there, and changes nothing. There are a few rows of such words: threads seldom write
// to the same one. Everything else is called under the owner's lock.
class OutcomeWindow {
 public:
  explicit OutcomeWindow(Duration width) noexcept
      : step_(width.count() >= bucket_count ? width.count() / bucket_count : 1) {
    restart(0);
  }

  // Forgets everything. From now on only successes of this generation count.
  void restart(std::uint64_t generation) noexcept {
    for (Bucket& bucket : buckets_) bucket.failures = 0;
    for (Row& row : rows_) {
      for (std::atomic<std::uint64_t>& successes : row.successes) {
        successes.store(pack(generation, 0, 0), std::memory_order_relaxed);
      }
    }
  }

  // Safe to call at any time, by any number of threads.
  void add_success(std::uint64_t generation, TimePoint now) noexcept {
    const std::int64_t time = stretch(now);
    const std::uint64_t at = place(time);
    std::atomic<std::uint64_t>& successes = rows_[own_row()].successes[bucket(time)];
    std::uint64_t seen = successes.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      if (mark_of(seen) != (generation & mark_mask)) return;
      if (const std::int64_t age = distance(place_of(seen), at); count_of(seen) == 0 || age > 0) {
        next = pack(generation, at, 1);
      } else if (age < 0 || count_of(seen) == count_mask) {  // a result that comes too late, or more than can be told
        return;
      } else {
        next = seen + 1;
      }
    } while (!successes.compare_exchange_weak(seen, next, std::memory_order_relaxed));
  }

  struct Counts {
    std::uint64_t failures = 0;
    std::uint64_t all = 0;
  };

  // Adds a failure, and gives what the window up to `now` holds.
  Counts add_failure(TimePoint now) noexcept {
    const std::int64_t time = stretch(now);
    const std::uint64_t at = place(time);
    if (Bucket& current = buckets_[bucket(time)]; current.failures == 0 || distance(current.place, at) > 0) {
      current.place = at;
      current.failures = 1;
    } else if (current.place == at) {
      ++current.failures;
    }
    Counts counts;
    for (const Bucket& bucket : buckets_) {
      if (is_recent(bucket.place, at)) counts.failures += bucket.failures;
    }
    counts.all = counts.failures;
    for (const Row& row : rows_) {
      for (const std::atomic<std::uint64_t>& word : row.successes) {
        const std::uint64_t successes = word.load(std::memory_order_relaxed);
        if (is_recent(place_of(successes), at)) counts.all += count_of(successes);
      }
    }
    return counts;
  }

 private:
  static constexpr std::int64_t bucket_count = 10;
  static constexpr std::uint32_t row_count = 8;

  // The word: 8 bits of the generation, 30 bits of the place in time, 26 bits of the count. Places wrap around after a
  // thousand million buckets, which is four months for a window of a tenth of a second.
  static constexpr unsigned count_bits = 26;
  static constexpr unsigned place_bits = 30;
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
  static constexpr std::uint64_t mark_mask = 0xFF;

  struct Bucket {
    std::uint64_t place = 0;
    std::uint64_t failures = 0;
  };
  struct alignas(64) Row {  // on cache lines of its own
    std::atomic<std::uint64_t> successes[bucket_count] = {};
  };

  // Threads take turns, so that as many as there are rows have one each.
  [[nodiscard]] static std::uint32_t own_row() noexcept {
    static constinit std::atomic<std::uint32_t> threads{0};
    static constinit thread_local std::uint32_t turn = 0;
    if (turn == 0) turn = (threads.fetch_add(1, std::memory_order_relaxed) % row_count) + 1;
    return turn - 1;
  }

  static constexpr std::uint64_t pack(std::uint64_t generation, std::uint64_t place, std::uint64_t count) noexcept {
    return (generation & mark_mask) << (count_bits + place_bits) | place << count_bits | count;
  }
  static constexpr std::uint64_t mark_of(std::uint64_t word) noexcept { return word >> (count_bits + place_bits); }
  static constexpr std::uint64_t place_of(std::uint64_t word) noexcept { return word >> count_bits & place_mask; }
  static constexpr std::uint64_t count_of(std::uint64_t word) noexcept { return word & count_mask; }

  // From place `a` to place `b`, around the shorter way.
  static constexpr std::int64_t distance(std::uint64_t a, std::uint64_t b) noexcept {
    const auto ahead = static_cast<std::int64_t>((b - a) & place_mask);
    return ahead > static_cast<std::int64_t>(place_mask / 2) ? ahead - static_cast<std::int64_t>(place_mask) - 1
                                                             : ahead;
  }

  // A place after `at` is recent as well: threads do not come in the order in which they read the clock.
  static constexpr bool is_recent(std::uint64_t place, std::uint64_t at) noexcept {
    return distance(place, at) < bucket_count;
  }

  // The number of the bucket's stretch of time, rounded down also before the epoch.
  [[nodiscard]] std::int64_t stretch(TimePoint now) const noexcept {
    const std::int64_t t = now.time_since_epoch().count();
    return t >= 0 ? t / step_ : -((-(t + 1)) / step_) - 1;
  }
  [[nodiscard]] static std::uint64_t place(std::int64_t stretch) noexcept {
    return static_cast<std::uint64_t>(stretch) & place_mask;
  }
  [[nodiscard]] static std::size_t bucket(std::int64_t stretch) noexcept {
    const std::int64_t rest = stretch % bucket_count;
    return static_cast<std::size_t>(rest < 0 ? rest + bucket_count : rest);
  }

  std::int64_t step_;
  Bucket buckets_[bucket_count];  // the failures
  Row rows_[row_count];
};

}  // namespace planb::inline PLANB_ABI::detail
