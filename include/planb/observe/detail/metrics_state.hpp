// SPDX-License-Identifier: MIT
// Where Metrics counts: series in tables that grow and never shrink, so that they are read and found without a lock.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/refuse.hpp>
#include <planb/error/cause.hpp>
#include <planb/error/verdict.hpp>
#include <planb/observe/detail/utf8.hpp>
#include <planb/report/event.hpp>
#include <planb/report/reasons.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

inline constexpr Duration default_buckets[] = {
    std::chrono::milliseconds(5),   std::chrono::milliseconds(10),  std::chrono::milliseconds(25),
    std::chrono::milliseconds(50),  std::chrono::milliseconds(100), std::chrono::milliseconds(250),
    std::chrono::milliseconds(500), std::chrono::seconds(1),        std::chrono::milliseconds(2500),
    std::chrono::seconds(5),        std::chrono::seconds(10),       std::chrono::seconds(30),
    std::chrono::seconds(60),       std::chrono::seconds(120),
};

// How many values an enumeration has: those with a label.
template <class E>
[[nodiscard]] constexpr std::size_t value_count() noexcept {
  std::size_t count = 0;
  while (!to_label(static_cast<E>(count)).empty()) ++count;
  return count;
}

enum class AttemptOutcome : unsigned char { success, failure, interrupted };

// A classifier's class; without one, what the kind of the failure tells.
[[nodiscard]] inline FailureClass class_of(const AttemptFailure& event) noexcept {
  if (event.verdict && event.verdict->failure_class != FailureClass::unknown) return event.verdict->failure_class;
  if (event.cause.kind() == CauseKind::timeout) return FailureClass::timeout;
  if (event.cause.kind() == CauseKind::rejected) return FailureClass::rejected_value;
  return FailureClass::unknown;
}

struct MetricCell {
  std::atomic<std::uint64_t> count = 0;
  std::atomic<bool> listed = false;  // is a series of its family

  void add() noexcept { count.fetch_add(1, std::memory_order_relaxed); }
};

struct MetricTimes {
  explicit MetricTimes(std::size_t bounds) : buckets(new std::atomic<std::uint64_t>[bounds + 1]()) {}

  void add(Duration took, const std::vector<Duration>& bounds) noexcept {
    // So that no sum of them comes near its end.
    constexpr Duration longest = std::chrono::hours(24 * 365);
    took = std::clamp(took, Duration::zero(), longest);
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), took) - bounds.begin();
    sum.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
    buckets[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  }

  MetricCell cell;                                        // only whether it is listed
  std::atomic<std::uint64_t> sum = 0;                     // in nanoseconds
  std::unique_ptr<std::atomic<std::uint64_t>[]> buckets;  // the last one of what is above every bound
};

// How many series a family has.
class SeriesLimit {
 public:
  // Some room is kept for what is counted together.
  void set(std::size_t most) noexcept {
    most_ = most;
    named_ = most - std::clamp<std::size_t>(most / 16, 1, 64);
  }

  // Whether it is a series of the family, or may be from now on.
  [[nodiscard]] bool lists(MetricCell& cell) noexcept { return lists(cell, named_); }
  [[nodiscard]] bool lists_other(MetricCell& cell) noexcept { return lists(cell, most_); }

 private:
  bool lists(MetricCell& cell, std::size_t most) noexcept {
    if (cell.listed.load(std::memory_order_acquire)) return true;
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
      if (used >= most) return cell.listed.load(std::memory_order_acquire);
    } while (!used_.compare_exchange_weak(used, used + 1, std::memory_order_relaxed));
    if (cell.listed.exchange(true, std::memory_order_acq_rel)) used_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  std::size_t most_ = 0;
  std::size_t named_ = 0;
  std::atomic<std::size_t> used_ = 0;
};

struct StepMetrics {
  static constexpr std::size_t classes = value_count<FailureClass>();
  static constexpr std::size_t reasons = value_count<SkipReason>();
  static constexpr std::size_t attempt_cells = classes + 2;
  static constexpr std::size_t first_output = 3;  // in `times`

  // A success, an interrupted one, then failures by their class.
  [[nodiscard]] static constexpr AttemptOutcome outcome_of(std::size_t cell) noexcept {
    return cell == 0 ? AttemptOutcome::success : cell == 1 ? AttemptOutcome::interrupted : AttemptOutcome::failure;
  }

  StepMetrics(std::string label, std::size_t bounds)
      : name(std::move(label)),
        times{MetricTimes(bounds), MetricTimes(bounds), MetricTimes(bounds), MetricTimes(bounds)} {}

  std::string name;
  std::array<MetricCell, attempt_cells> attempts;
  std::array<MetricCell, reasons> skips;
  MetricTimes times[4];         // of attempts by their outcome, and to their first output
  StepMetrics* next = nullptr;  // in its list; set before it can be found
};

struct ChainMetrics {
  static constexpr std::size_t ends = value_count<RunEnd>();
  static constexpr std::size_t lists = 128;

  ChainMetrics(std::string label, std::size_t bounds)
      : name(std::move(label)), duration(bounds), other("_other", bounds) {}
  ChainMetrics(const ChainMetrics&) = delete;
  ChainMetrics& operator=(const ChainMetrics&) = delete;
  ~ChainMetrics() {
    for (std::atomic<StepMetrics*>& list : steps) {
      for (StepMetrics* step = list.load(std::memory_order_acquire); step != nullptr;) {
        delete std::exchange(step, step->next);
      }
    }
  }

  template <class Use>
  void each_step(Use use) const {
    for (const std::atomic<StepMetrics*>& list : steps) {
      for (const StepMetrics* step = list.load(std::memory_order_acquire); step != nullptr; step = step->next)
        use(*step);
    }
    use(other);
  }

  std::string name;
  std::array<MetricCell, ends> runs;
  MetricCell fallbacks;
  MetricTimes duration;
  StepMetrics other;
  std::array<std::atomic<StepMetrics*>, lists> steps = {};
};

class MetricsState {
 public:
  MetricsState(std::vector<Duration> bounds, std::size_t most)
      : bounds_(checked(std::move(bounds), most)), most_(most), other_("_other", bounds_.size()) {
    for (SeriesLimit& limit : limits_) limit.set(most);
  }

  [[nodiscard]] const std::vector<Duration>& bounds() const noexcept { return bounds_; }

  [[nodiscard]] ChainMetrics& chain(std::string_view name) {
    std::string label = label_of(name);
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::unique_ptr<ChainMetrics>& known : chains_) {
      if (known->name == label) return *known;
    }
    if (label == other_.name || chains_.size() >= most_) return other_;
    chains_.push_back(std::make_unique<ChainMetrics>(std::move(label), bounds_.size()));
    return *chains_.back();
  }

  template <class Use>
  void each_chain(Use use) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::unique_ptr<ChainMetrics>& chain : chains_) use(*chain);
    use(other_);
  }

  void count_attempt(ChainMetrics& chain, std::string_view name, int index, AttemptOutcome outcome,
                     FailureClass failure_class, Duration took) {
    std::size_t cell = 2 + static_cast<std::size_t>(failure_class);
    if (outcome != AttemptOutcome::failure) cell = outcome == AttemptOutcome::success ? 0 : 1;
    StepMetrics& own = step(chain, name, index);
    pick(attempts, chain, own, [&](StepMetrics& s) -> MetricCell& { return s.attempts[cell]; }).attempts[cell].add();
    const auto times = static_cast<std::size_t>(outcome);
    pick(durations, chain, own, [&](StepMetrics& s) -> MetricCell& { return s.times[times].cell; })
        .times[times]
        .add(took, bounds_);
  }

  void count_output(ChainMetrics& chain, std::string_view name, int index, Duration after) {
    constexpr std::size_t times = StepMetrics::first_output;
    pick(outputs, chain, step(chain, name, index), [](StepMetrics& s) -> MetricCell& { return s.times[times].cell; })
        .times[times]
        .add(after, bounds_);
  }

  void count_skip(ChainMetrics& chain, std::string_view name, int index, SkipReason reason) {
    const auto cell = static_cast<std::size_t>(reason);
    pick(skips, chain, step(chain, name, index), [&](StepMetrics& s) -> MetricCell& { return s.skips[cell]; })
        .skips[cell]
        .add();
  }

  void count_run(ChainMetrics& chain, RunEnd end, bool fell_back, Duration took) {
    const auto cell = static_cast<std::size_t>(end);
    pick(runs, chain, [&](ChainMetrics& c) -> MetricCell& { return c.runs[cell]; }).runs[cell].add();
    if (fell_back) {
      pick(fallbacks, chain, [](ChainMetrics& c) -> MetricCell& { return c.fallbacks; }).fallbacks.add();
    }
    pick(run_durations, chain, [](ChainMetrics& c) -> MetricCell& {
      return c.duration.cell;
    }).duration.add(took, bounds_);
  }

 private:
  enum Family : std::size_t { attempts, skips, runs, fallbacks, durations, outputs, run_durations, family_count };

  [[nodiscard]] static std::vector<Duration> checked(std::vector<Duration>&& bounds, std::size_t most) {
    if (most == 0) refuse("Metrics: max_series is how many series a family may have, so it must be 1 or more");
    Duration last = Duration::zero();
    for (const Duration bound : bounds) {
      if (bound <= last) refuse("Metrics: the buckets' bounds ascend, and the first is above zero");
      last = bound;
    }
    if (bounds.empty()) refuse("Metrics: at least one bucket is needed, such as 1s");
    return std::move(bounds);
  }

  static constexpr std::size_t longest_label = 200;

  [[nodiscard]] static bool is_plain(std::string_view name) noexcept {
    return name.size() <= longest_label &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  }

  // Whatever a name has in it, a label is UTF-8 on one line, and of bounded length.
  [[nodiscard]] static std::string label_of(std::string_view name) {
    if (is_plain(name)) return std::string(name);
    std::string label;
    each_char(name, longest_label, [&](char32_t code) { append_utf8(label, is_control(code) ? U' ' : code); });
    return label;
  }

  // The series of that step: its own, the chain's for all others, or the one that counts what nothing else has room
  // for.
  template <class Cell>
  [[nodiscard]] StepMetrics& pick(Family family, ChainMetrics& chain, StepMetrics& own, Cell cell) {
    SeriesLimit& limit = limits_[family];
    if (&own != &chain.other && limit.lists(cell(own))) return own;
    if (limit.lists_other(cell(chain.other))) return chain.other;
    cell(other_.other).listed.store(true, std::memory_order_release);
    return other_.other;
  }

  template <class Cell>
  [[nodiscard]] ChainMetrics& pick(Family family, ChainMetrics& chain, Cell cell) {
    if (&chain != &other_ && limits_[family].lists(cell(chain))) return chain;
    if (limits_[family].lists_other(cell(other_))) return other_;
    cell(other_).listed.store(true, std::memory_order_release);
    return other_;
  }

  [[nodiscard]] StepMetrics& step(ChainMetrics& chain, std::string_view name, int index) {
    if (name.empty()) return step(chain, "step " + std::to_string(index));
    if (!is_plain(name)) return step(chain, label_of(name));
    return step(chain, name);
  }

  [[nodiscard]] StepMetrics& step(ChainMetrics& chain, std::string_view label) {
    std::atomic<StepMetrics*>& list = chain.steps[hash(label) % ChainMetrics::lists];
    StepMetrics* first = list.load(std::memory_order_acquire);
    if (StepMetrics* const known = find(first, nullptr, label)) return *known;
    if (label == chain.other.name || steps_.load(std::memory_order_relaxed) >= most_) return chain.other;
    auto fresh = std::make_unique<StepMetrics>(std::string(label), bounds_.size());
    StepMetrics* looked_at = first;
    fresh->next = first;
    while (!list.compare_exchange_weak(first, fresh.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
      if (StepMetrics* const known = find(first, looked_at, label)) return *known;  // another thread was quicker
      fresh->next = looked_at = first;
    }
    steps_.fetch_add(1, std::memory_order_relaxed);
    return *fresh.release();
  }

  [[nodiscard]] static StepMetrics* find(StepMetrics* from, const StepMetrics* to, std::string_view label) noexcept {
    for (; from != to; from = from->next) {
      if (from->name == label) return from;
    }
    return nullptr;
  }

  // FNV-1a
  [[nodiscard]] static std::uint32_t hash(std::string_view text) noexcept {
    std::uint32_t value = 0x811c9dc5;
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x01000193;
    return value;
  }

  std::vector<Duration> bounds_;
  std::size_t most_;
  std::array<SeriesLimit, family_count> limits_;
  std::atomic<std::size_t> steps_ = 0;
  mutable std::mutex mutex_;  // of the list of chains
  std::vector<std::unique_ptr<ChainMetrics>> chains_;
  ChainMetrics other_;
};

}  // namespace planb::inline PLANB_ABI::detail
