// SPDX-License-Identifier: MIT
// ScheduleBounds: between what delays a schedule may answer, ask by ask, and when it is sure to have ended. What does
// not depend on chance, on time or on functions of the caller's is run as it is; for the rest, every node has a rule
// here that gives bounds.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/cause.hpp>
#include <planb/schedule/detail/combinators.hpp>
#include <planb/schedule/detail/node.hpp>
#include <planb/schedule/detail/random.hpp>
#include <planb/schedule/impl/combinators.hpp>
#include <planb/schedule/impl/jitter.hpp>
#include <planb/schedule/impl/leaves.hpp>
#include <planb/schedule/schedule.hpp>
#include <planb/time/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace planb::inline PLANB_ABI::detail {

// Longer than any: no bound is known.
inline constexpr Duration boundless = (Duration::max)();

// What a schedule may answer when it is asked. Where it may not recur it has ended.
struct DelayBounds {
  bool may_end = false;
  bool may_recur = true;
  Duration low{};
  Duration high{};
  Duration low_cap = no_cap;  // of the Wait's cap: between these
  Duration high_cap = no_cap;
  double spread = 1;           // of the Wait's: no less
  Duration until = boundless;  // it recurs only where no more than this has passed since it was first asked
};

// The question. Between two of them lies a wait and an attempt.
struct BoundsAsk {
  Duration low_gap{};   // since the last question, no less
  Duration high_gap{};  // and no more
  Duration since{};     // since the first question, no more
  Duration cap = no_cap;
  bool anywhen = false;  // not the next question, but any that may come
};

// A node of the tree, with the state of a run through it.
struct BoundsPart {
  enum class Kind : unsigned char {
    unknown,  // answers anything
    spaced,
    exponential,
    growing,  // from its argument upwards
    fixed,
    windowed,
    recurs,
    during,
    duration,
    delays,
    decorrelated,
    concat,
    both,
    either,
    up_to,
    capped,
    by_a_fifth,
    down_to_zero,
    down_to_half,
    add_delay,
    modify_delay,
    while_input,
    tap,
  };

  Kind kind = Kind::unknown;
  const ScheduleNode* node = nullptr;
  std::vector<BoundsPart> inner;
  std::vector<Duration> times;  // its arguments, by their types
  std::optional<int> count;
  std::optional<double> factor;
  bool by_function = false;

  bool exact = false;  // no chance, no time and no function in it, so that its node is run
  std::vector<StateSlot> state;

  bool started = false;  // a stopwatch: what has passed since it was first asked, and when that was
  Duration low_elapsed{};
  Duration high_elapsed{};
  Duration first_asked{};
  int asked = 0;
  Duration previous{};       // of decorrelated_jitter: the highest
  bool ended[2] = {};        // of the inner ones: surely
  bool maybe_ended[2] = {};  // or it may have

  [[nodiscard]] bool is(std::initializer_list<Kind> kinds) const noexcept {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  [[nodiscard]] Duration time(std::size_t i = 0) const noexcept { return i < times.size() ? times[i] : Duration(); }
};

// Reads the tree out of a schedule: every node tells its name and its arguments.
class BoundsReader final : public ScheduleWriter {
 public:
  [[nodiscard]] static BoundsPart read(const ScheduleNode& node) {
    BoundsReader reader;
    reader.part_.node = &node;
    node.describe(reader);
    finish(reader.part_);
    return std::move(reader.part_);
  }

  void word(std::string_view /*name of the caller's own*/) override {}
  void open(std::string_view name) override { part_.kind = kind_of(name); }
  void add(Duration value) override { part_.times.push_back(value); }
  void add(double value) override { part_.factor = value; }
  void add(int value) override { part_.count = value; }
  void add(const ScheduleNode& inner) override { part_.inner.push_back(read(inner)); }
  void add_function() override { part_.by_function = true; }
  void close() override {}

 private:
  using Kind = BoundsPart::Kind;

  [[nodiscard]] static Kind kind_of(std::string_view name) noexcept {
    struct Named {
      std::string_view name;
      Kind kind;
    };
    static constexpr Named table[] = {
        {Spaced::name, Kind::spaced},
        {Exponential::name, Kind::exponential},
        {Fibonacci::name, Kind::growing},
        {Linear::name, Kind::growing},
        {Fixed::name, Kind::fixed},
        {Windowed::name, Kind::windowed},
        {Recurs::name, Kind::recurs},
        {Once::name, Kind::recurs},
        {Forever::name, Kind::spaced},
        {During::name, Kind::during},
        {OnceAfter::name, Kind::duration},
        {Delays::name, Kind::delays},
        {Decorrelated::name, Kind::decorrelated},
        {"concat", Kind::concat},
        {"max", Kind::both},
        {"min", Kind::either},
        {UpToTimes::name, Kind::up_to},
        {Capped::name, Kind::capped},
        {ByAFifth::name, Kind::by_a_fifth},
        {DownToZero::name, Kind::down_to_zero},
        {DownToHalf::name, Kind::down_to_half},
        {AddDelay::name, Kind::add_delay},
        {"modify_delay", Kind::modify_delay},
        {WhileInput::name, Kind::while_input},
        {"tap", Kind::tap},
    };
    const auto* const found =
        std::find_if(std::begin(table), std::end(table), [name](const Named& entry) { return entry.name == name; });
    return found == std::end(table) ? Kind::unknown : found->kind;
  }

  static void finish(BoundsPart& part) {
    part.exact = part.is({Kind::spaced, Kind::exponential, Kind::growing, Kind::recurs, Kind::duration, Kind::delays,
                          Kind::concat, Kind::both, Kind::either, Kind::capped});
    if (part.kind == Kind::up_to) part.exact = part.count.has_value();
    if (part.kind == Kind::add_delay) part.exact = !part.by_function;
    for (const BoundsPart& inner : part.inner) part.exact = part.exact && inner.exact;
    if (!part.exact) return;
    part.state.resize(part.node->slot_count());
    part.node->start(part.state.data());
  }

  BoundsPart part_;
};

class ScheduleBounds {
 public:
  // The schedule must outlive it.
  explicit ScheduleBounds(const Schedule& schedule) : root_(BoundsReader::read(*ScheduleAccess::node(schedule))) {}

  // Of the next question. Not asked again once it has surely ended.
  [[nodiscard]] DelayBounds next(const BoundsAsk& ask) { return bounds(root_, ask); }

  // Of any question.
  [[nodiscard]] DelayBounds anywhen() { return bounds(root_, {.anywhen = true}); }

  // It recurs no more often than this; none where no limit is known.
  [[nodiscard]] std::optional<long long> most() const { return most(root_); }

 private:
  using Kind = BoundsPart::Kind;

  [[nodiscard]] static DelayBounds ended() noexcept { return {.may_end = true, .may_recur = false}; }

  [[nodiscard]] static DelayBounds within_cap(Duration low, Duration high, const BoundsAsk& ask) noexcept {
    return {.low = (std::min)(low, ask.cap), .high = (std::min)(high, ask.cap)};
  }

  // One or the other.
  [[nodiscard]] static DelayBounds either_of(const DelayBounds& a, const DelayBounds& b) noexcept {
    if (!a.may_recur || !b.may_recur) {
      DelayBounds one = a.may_recur ? a : b;
      one.may_end = true;
      return one;
    }
    return {.may_end = a.may_end || b.may_end,
            .low = (std::min)(a.low, b.low),
            .high = (std::max)(a.high, b.high),
            .low_cap = (std::min)(a.low_cap, b.low_cap),
            .high_cap = (std::max)(a.high_cap, b.high_cap),
            .spread = (std::min)(a.spread, b.spread),
            .until = (std::max)(a.until, b.until)};
  }

  // within() of the combinators.
  static void cut(DelayBounds& wait, Duration cap) noexcept {
    Duration low = cap;
    if (wait.high > cap && wait.spread < 1) {
      low = Duration{static_cast<Duration::rep>(static_cast<double>(cap.count()) * wait.spread)};
    }
    wait.low = (std::min)(wait.low, low);
    wait.high = (std::min)(wait.high, cap);
  }

  // lengthen() of the combinators, by as much as `extra`.
  static void lengthen(DelayBounds& wait, Duration extra, const BoundsAsk& ask) noexcept {
    if (extra < ask.cap) {
      cut(wait, ask.cap - extra);
      wait.low = add(wait.low, extra);
      wait.high = add(wait.high, extra);
    } else {
      wait.low = wait.high = extra;
      cut(wait, ask.cap);
    }
    wait.low_cap = add(wait.low_cap, extra);
    wait.high_cap = add(wait.high_cap, extra);
  }

  template <class Rule>
  static void spread(DelayBounds& wait, const BoundsAsk& ask) noexcept {
    wait.low = (std::min)({Rule::low(wait.low), wait.low_cap, ask.cap});
    wait.high = (std::min)({Rule::high(wait.high), wait.high_cap, ask.cap});
    wait.spread *= Rule::spread;
  }

  static void start_watch(BoundsPart& part, const BoundsAsk& ask) noexcept {
    if (part.started) {
      part.low_elapsed = add(part.low_elapsed, ask.low_gap);
      part.high_elapsed = add(part.high_elapsed, ask.high_gap);
    } else {
      part.started = true;
      part.first_asked = ask.since;
    }
  }

  // While no more than `time` has passed since it was first asked.
  static void limit(DelayBounds& wait, const BoundsPart& part, Duration time) noexcept {
    if (part.low_elapsed > time) wait = ended();
    if (part.high_elapsed > time) wait.may_end = true;
    wait.until = (std::min)(wait.until, add(part.first_asked, time));
  }

  [[nodiscard]] static DelayBounds run(BoundsPart& part, const BoundsAsk& ask) {
    const Cause none;
    Random random(0);
    const Answer answer = part.node->next(part.state.data(), ScheduleAsk{TimePoint(), none, random, ask.cap});
    if (!answer) return ended();
    return {.low = answer->delay,
            .high = answer->delay,
            .low_cap = answer->cap,
            .high_cap = answer->cap,
            .spread = answer->spread};
  }

  [[nodiscard]] static DelayBounds bounds(BoundsPart& part, const BoundsAsk& ask) {
    if (part.exact && !ask.anywhen) return run(part, ask);
    switch (part.kind) {
      case Kind::unknown: break;
      case Kind::spaced:
      case Kind::duration: return within_cap(part.time(), part.time(), ask);
      case Kind::exponential: {
        const bool shrinks = part.factor && *part.factor < 1;
        return within_cap(shrinks ? Duration() : part.time(), shrinks ? part.time() : boundless, ask);
      }
      case Kind::growing: return within_cap(part.time(), boundless, ask);
      case Kind::fixed:
      case Kind::windowed: return on_grid(part, ask);
      case Kind::recurs: return {};
      case Kind::during: {
        DelayBounds wait;
        if (ask.anywhen) return wait;
        start_watch(part, ask);
        limit(wait, part, part.time());
        return wait;
      }
      case Kind::delays: {
        if (part.times.empty()) return ended();
        const auto [low, high] = std::minmax_element(part.times.begin(), part.times.end());
        return within_cap(*low, *high, ask);
      }
      case Kind::decorrelated: return decorrelated(part, ask);
      case Kind::concat: return concat(part, ask);
      case Kind::both: return both(part, ask);
      case Kind::either: return either(part, ask);
      case Kind::up_to: {
        if (part.count && !ask.anywhen && part.asked++ >= *part.count) return ended();
        if (!part.count && !ask.anywhen) start_watch(part, ask);
        DelayBounds wait = bounds(part.inner[0], ask);
        if (!part.count && !ask.anywhen) limit(wait, part, part.time());
        return wait;
      }
      case Kind::capped:
      case Kind::by_a_fifth:
      case Kind::down_to_zero:
      case Kind::down_to_half:
      case Kind::add_delay:
      case Kind::modify_delay:
      case Kind::while_input:
      case Kind::tap: return changed(part, ask);
    }
    return {.may_end = true, .high = ask.cap};
  }

  // One that changes what the inner one answers.
  [[nodiscard]] static DelayBounds changed(BoundsPart& part, BoundsAsk ask) {
    if (part.kind == Kind::capped) ask.cap = (std::min)(ask.cap, part.time());
    BoundsAsk inner_ask = ask;
    if (part.kind == Kind::modify_delay) inner_ask.cap = no_cap;
    DelayBounds wait = bounds(part.inner[0], inner_ask);
    if (!wait.may_recur) return wait;
    if (part.kind == Kind::capped) {
      wait.low_cap = (std::min)(wait.low_cap, part.time());
      wait.high_cap = (std::min)(wait.high_cap, part.time());
    }
    if (part.kind == Kind::by_a_fifth) spread<ByAFifth>(wait, ask);
    if (part.kind == Kind::down_to_zero) spread<DownToZero>(wait, ask);
    if (part.kind == Kind::down_to_half) spread<DownToHalf>(wait, ask);
    if (part.kind == Kind::add_delay && !part.by_function) lengthen(wait, part.time(), ask);
    if (part.kind == Kind::add_delay && part.by_function) {  // by anything
      wait.high = boundless;
      cut(wait, ask.cap);
      wait.high_cap = no_cap;
    }
    if (part.kind == Kind::modify_delay) {
      wait.low = Duration();
      wait.high = ask.cap;
      wait.high_cap = no_cap;
    }
    if (part.kind == Kind::while_input) wait.may_end = true;
    return wait;
  }

  [[nodiscard]] static DelayBounds on_grid(BoundsPart& part, const BoundsAsk& ask) noexcept {
    const Duration interval = part.time();
    const bool first = !ask.anywhen && !part.started;
    if (!ask.anywhen) part.started = true;
    const Duration shortest = part.kind == Kind::fixed ? Duration() : (std::min)(Duration(1), interval);
    return within_cap(first ? interval : shortest, interval, ask);
  }

  [[nodiscard]] static DelayBounds decorrelated(BoundsPart& part, const BoundsAsk& ask) noexcept {
    const Duration base = part.time(0);
    const Duration cap = part.time(1);
    Duration previous = boundless;
    if (!ask.anywhen) previous = part.asked++ == 0 ? base : part.previous;
    const Duration high = (std::min)({add(add(previous, previous), previous), cap, ask.cap});
    const Duration low = ask.cap <= base && base < cap ? ask.cap / 3 : (std::min)(base, ask.cap);
    DelayBounds wait{.low = low, .high = (std::max)(low, high), .low_cap = cap, .high_cap = cap};
    if (high > Duration()) wait.spread = static_cast<double>(low.count()) / static_cast<double>(high.count());
    part.previous = (std::max)(wait.high, base);
    return wait;
  }

  // Where it is not sure when the first one ends, the second may be anywhere.
  [[nodiscard]] static DelayBounds concat(BoundsPart& part, BoundsAsk ask) {
    if (ask.anywhen) return either_of(bounds(part.inner[0], ask), bounds(part.inner[1], ask));
    DelayBounds first = ended();
    if (!part.ended[0]) {
      first = bounds(part.inner[0], ask);
      if (!first.may_end && !part.maybe_ended[0]) return first;
      part.ended[0] = !first.may_recur;
    }
    if (part.ended[0] && !part.maybe_ended[0]) return bounds(part.inner[1], ask);
    part.maybe_ended[0] = true;
    ask.anywhen = true;
    DelayBounds wait = either_of(first, bounds(part.inner[1], ask));
    wait.may_end = true;
    return wait;
  }

  [[nodiscard]] static DelayBounds both(BoundsPart& part, const BoundsAsk& ask) {
    const DelayBounds a = bounds(part.inner[0], ask);
    if (!a.may_recur) return a;
    const DelayBounds b = bounds(part.inner[1], ask);
    if (!b.may_recur) return b;
    DelayBounds wait = either_of(a, b);
    wait.low = (std::max)(a.low, b.low);
    wait.until = (std::min)(a.until, b.until);
    return wait;
  }

  [[nodiscard]] static DelayBounds either(BoundsPart& part, const BoundsAsk& ask) {
    DelayBounds each[2] = {ended(), ended()};
    for (std::size_t i = 0; i != 2; ++i) {
      if (part.ended[i] && !ask.anywhen) continue;
      each[i] = bounds(part.inner[i], ask);
      if (ask.anywhen) {
        each[i].may_end = true;
        continue;
      }
      each[i].may_end = each[i].may_end || part.maybe_ended[i];
      part.maybe_ended[i] = each[i].may_end;
      part.ended[i] = !each[i].may_recur;
    }
    DelayBounds wait = either_of(each[0], each[1]);
    wait.may_end = each[0].may_end && each[1].may_end;
    if (!each[0].may_recur || !each[1].may_recur) return wait;
    // The longest: of both where both recur, of one where the other may have ended.
    wait.high = (std::min)(each[0].high, each[1].high);
    if (each[0].may_end) wait.high = (std::max)(wait.high, each[1].high);
    if (each[1].may_end) wait.high = (std::max)(wait.high, each[0].high);
    return wait;
  }

  [[nodiscard]] static std::optional<long long> most(const BoundsPart& part) {
    const auto inner = [&part](std::size_t i) { return most(part.inner[i]); };
    const auto less = [](std::optional<long long> a, std::optional<long long> b) {
      return a && b ? std::optional((std::min)(*a, *b)) : a ? a : b;
    };
    if (part.kind == Kind::recurs) return part.count.value_or(1);
    if (part.kind == Kind::duration) return 1;
    if (part.kind == Kind::delays) return static_cast<long long>(part.times.size());
    if (part.kind == Kind::both) return less(inner(0), inner(1));
    if (part.kind == Kind::up_to && part.count) return less(*part.count, inner(0));
    if (part.is({Kind::concat, Kind::either})) {
      const std::optional<long long> a = inner(0);
      const std::optional<long long> b = inner(1);
      if (!a || !b) return std::nullopt;
      return part.kind == Kind::concat ? *a + *b : (std::max)(*a, *b);
    }
    return part.inner.size() == 1 ? inner(0) : std::nullopt;
  }

  BoundsPart root_;
};

}  // namespace planb::inline PLANB_ABI::detail
