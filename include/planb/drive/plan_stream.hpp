// SPDX-License-Identifier: MIT
// PlanStream: the elements that a plan's sources give, as one range.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/detail/held.hpp>
#include <planb/drive/committing.hpp>
#include <planb/drive/detail/call_with.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/drive/detail/held_back.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/engine/stream_options.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/detail/misuse.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>
#include <planb/plan/plan.hpp>
#include <planb/plan/provide.hpp>
#include <planb/report/plan_error.hpp>
#include <planb/report/report.hpp>

#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI {

namespace detail {

// What a source returns: an input range, or an expected-like of one.
template <class Made>
struct SourceRange {
  using type = Made&;
  static type get(std::remove_reference_t<Made>& made) { return made; }
};
template <class Made>
requires(!std::ranges::range<Made> && ResultType<Made>) struct SourceRange<Made> {
  using type = decltype(result_traits<std::remove_cvref_t<Made>>::value(std::declval<Made&>()));
  static type get(std::remove_reference_t<Made>& made) { return result_traits<std::remove_cvref_t<Made>>::value(made); }
};

template <class Made>
concept OpensRange = !std::is_void_v<Made> && !std::is_rvalue_reference_v<Made> &&
                     std::ranges::input_range<typename SourceRange<Made>::type> &&
                     std::is_lvalue_reference_v<typename SourceRange<Made>::type>;

// A stream in one block: the run, the context of the running attempt, and what its source has opened.
template <class Ctx, class Source>
class StreamState {
  using Target = std::remove_reference_t<decltype(detail::stream_target(std::declval<Source&>()))>;
  using Made = std::remove_cv_t<decltype(detail::call_with(std::declval<Target&>(), std::declval<const Attempt&>(),
                                                           std::declval<std::remove_reference_t<Ctx>&>()))>;
  using Range = std::remove_reference_t<typename SourceRange<Made>::type>;
  using Given = std::remove_cv_t<std::ranges::range_reference_t<Range>>;
  using Rule = decltype(detail::commit_rule(std::declval<Source&>()));
  static constexpr bool refers = std::is_reference_v<Given>;

 public:
  // An element that the source makes anew is handed on as an rvalue, as by std::generator.
  using reference = std::conditional_t<refers, Given, Given&&>;
  using value_type = std::ranges::range_value_t<Range>;

  StreamState(const ExecutionPlan<Ctx>& plan, Source&& source, const StreamOptions& options)
      : plan_(plan), source_(std::forward<Source>(source)), options_(options), rule_(detail::commit_rule(source_)) {}
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;
  ~StreamState() {
    if (!run_ || !run_->attempting()) return;
    {
      const CurrentMetadata::Scope scope(run_->metadata());
      close();
    }
#if PLANB_HAS_EXCEPTIONS
    try {
      run_->succeed();  // the consumer stopped early
    } catch (...) {     // a defect of a gate's, or an unwind, which cannot be held up: a destructor lets neither out
      if (detail::unwinding()) std::terminate();
    }
#else
    run_->succeed();
#endif
  }

  void begin() {
    if (run_) return;
    run_.emplace(PlanAccess::storage(plan_).rules.view(), options_, options_.partial);
    make_attempts();
  }

  // Gets the next element, or ends the stream.
  void go_on() {
    if (!run_->attempting()) misuse("a stream was asked for more after its end");
    FailureRoom failure;
    const Pulled pulled = attempt_with(failure, [&] { return pull(failure); });
    if (pulled != Pulled::element && !settle(pulled, failure)) make_attempts();
  }

  [[nodiscard]] bool at_end() const noexcept { return element_ == nullptr; }
  [[nodiscard]] reference element() const noexcept { return static_cast<reference>(*element_); }
  [[nodiscard]] const PlanError* error() const noexcept { return error_ ? &*error_ : nullptr; }
  [[nodiscard]] RunReport report() const { return run_ ? run_->report() : RunReport{.end = RunEnd::running}; }

 private:
  enum class Pulled : unsigned char { element, end, failed };
  using Element = std::remove_reference_t<Given>;
  using Kept = std::remove_cvref_t<Given>;  // of an element that is held back
  struct HeldElement {
    explicit HeldElement(reference element) : value(static_cast<reference>(element)) {}

    Kept value;
  };
  struct Nothing {};

  // A part of an attempt. What it throws ends the attempt.
  template <class Part>
  [[nodiscard]] Pulled attempt_with([[maybe_unused]] FailureRoom& failure, Part part) {
    const CurrentMetadata::Scope scope(run_->metadata());
    [[maybe_unused]] const auto keep = [&](auto make) {
      close();
      failure.build(make);
    };
    PLANB_DETAIL_TRY { return part(); }
    PLANB_DETAIL_CATCH(keep, close(); run_->abandon())
    return Pulled::failed;
  }

  // After an attempt. False: another is to be made.
  [[nodiscard]] PLANB_COLD bool settle(Pulled pulled, FailureRoom& failure) {
    {
      const CurrentMetadata::Scope scope(run_->metadata());
      close();
    }
    if (pulled == Pulled::end) return run_->succeed(), true;
    run_->fail(failure);
    return false;
  }

  // Until one has an element, or the stream has ended.
  PLANB_COLD void make_attempts() {
    while (detail::await_attempt(*run_)) {
      FailureRoom failure;
      const Pulled pulled = attempt_with(failure, [&] { return open(failure); });
      if (pulled == Pulled::element || settle(pulled, failure)) return;
    }
    fail();
  }

  [[nodiscard]] Pulled open(FailureRoom& failure) {
    attempt_ = run_->attempt();
    const auto& storage = PlanAccess::storage(plan_);
    if (!context_.filled(storage.provide(attempt_.step_index, context_.room(), attempt_, failure))) {
      return Pulled::failed;
    }
    made_.build([&]() -> Made { return detail::call_with(detail::stream_target(source_), attempt_, context_.get()); });
    if constexpr (!std::ranges::range<Made>) {
      if (detail::carries_error<Made>(made_.get(), failure)) return Pulled::failed;
    }
    Range& range = SourceRange<Made>::get(made_.get());
    if constexpr (Rule::holds) rule_.begin_attempt();
    iterator_.emplace(std::ranges::begin(range));
    end_.emplace(std::ranges::end(range));
    return look(failure);
  }

  [[nodiscard]] Pulled pull(FailureRoom& failure) {
    if (!run_->resume()) return cut_short(failure);
    if constexpr (Rule::holds) {
      if (!held_.empty()) {
        held_.drop_front();
        if (!held_.empty()) return give(std::addressof(held_.front().value), failure);
        if (!made_element_) return Pulled::end;
        return give(made_element_, failure);
      }
    }
    step();
    return look(failure);
  }

  void step() {
    forget();
    ++*iterator_;
  }

  // What the source's iterator is at.
  [[nodiscard]] Pulled look(FailureRoom& failure) {
    for (;;) {
      if (*iterator_ == *end_) {
        if constexpr (Rule::holds) {
          if (!held_.empty()) return give(std::addressof(held_.front().value), failure);
        }
        return Pulled::end;
      }
      Element* const made = dereference();
      if constexpr (ResultType<Element>) {
        if (detail::carries_error<reference>(*made, failure)) return Pulled::failed;
      }
      if constexpr (Rule::holds) {
        bool commits = true;
        if (!detail::is_answered(failure, [&] { commits = rule_.commits(*made); })) return Pulled::failed;
        if (!commits) {
          static_assert(
              std::is_constructible_v<Kept, reference>,
              "planb: committing() keeps the elements before the first that counts, so they must be copyable, "
              "or movable and given as rvalues");
          held_.keep(std::make_unique<HeldElement>(static_cast<reference>(*made)));
          if (!run_->resume()) return cut_short(failure);
          step();
          continue;
        }
        made_element_ = made;
        if (!held_.empty()) return give(std::addressof(held_.front().value), failure);
      }
      return give(made, failure);
    }
  }

  [[nodiscard]] Pulled give(Element* element, FailureRoom& failure) {
    if (!run_->deliver()) return cut_short(failure);
    element_ = element;
    return Pulled::element;
  }

  [[nodiscard]] static Pulled cut_short(FailureRoom& failure) {
    failure.build([] { return Engine::cut_short(); });
    return Pulled::failed;
  }

  [[nodiscard]] Element* dereference() {
    if constexpr (refers) {
      Given given = **iterator_;
      return std::addressof(given);
    } else {
      room_.build([&]() -> Given { return **iterator_; });
      return std::addressof(room_.get());
    }
  }

  void forget() noexcept {
    element_ = nullptr;
    if constexpr (Rule::holds) made_element_ = nullptr;
    if constexpr (!refers) room_.reset();
  }

  // The attempt's things end in the order opposite to that in which they came.
  void close() noexcept {
    forget();
    if constexpr (Rule::holds) held_.clear();
    end_.reset();
    iterator_.reset();
    made_.reset();
    context_.reset();
  }

  PLANB_COLD void fail() {
#if PLANB_HAS_EXCEPTIONS
    if (run_->end() != RunEnd::defect) error_.emplace(run_->report());
    Returning<void, FailureStyle::aggregate>::failure(*run_);
#else
    error_.emplace(run_->report());
#endif
  }

  const ExecutionPlan<Ctx> plan_;
  Source source_;
  const StreamOptions options_;
  [[no_unique_address]] Rule rule_;
  std::optional<Engine> run_;
  Attempt attempt_;  // a generator may refer to it
  HeldIf<Ctx> context_;
  HeldIf<Made> made_;
  std::optional<std::ranges::iterator_t<Range>> iterator_;
  std::optional<std::ranges::sentinel_t<Range>> end_;
  Element* element_ = nullptr;  // the consumer's; null where the stream is at its end
  [[no_unique_address]] std::conditional_t<refers, Nothing, HeldIf<std::conditional_t<refers, int, Given>>> room_;
  // Held back by committing(), and the element of the source's that comes after them.
  struct NothingHeld {};
  [[no_unique_address]] std::conditional_t<Rule::holds, HeldBack<HeldElement>, NothingHeld> held_;
  std::conditional_t<Rule::holds, Element*, std::nullptr_t> made_element_ = nullptr;
  std::optional<PlanError> error_;
};

}  // namespace detail

// The elements of a run, made as they are asked for. An input range: it is gone through once. Made by stream_with_plan.
//
// begin() starts the run, and makes attempts until one has an element; `++` goes on with the running attempt, and where
// its source fails with the next one, waits included. Both throw as run_with_plan does when the run fails; the stream
// is at its end then. `++` at the end is a Defect. An attempt that the consumer walks away from, by destroying the
// stream, is a success; a Defect that its gate throws over that is lost.
// One thread at a time. It may be moved, also while it is gone through; its own handlers must not destroy it.
template <class Ctx, class Source>
class [[nodiscard]] PlanStream {
  using State = detail::StreamState<Ctx, Source>;

 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using difference_type = std::ptrdiff_t;
    using value_type = typename State::value_type;

    [[nodiscard]] typename State::reference operator*() const noexcept { return state_->element(); }
    iterator& operator++() {
      state_->go_on();
      return *this;
    }
    void operator++(int) { state_->go_on(); }
    [[nodiscard]] friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
      return it.state_->at_end();
    }

   private:
    friend PlanStream;
    explicit iterator(State& state) noexcept : state_(std::addressof(state)) {}

    State* state_;
  };

  PlanStream(const ExecutionPlan<Ctx>& plan, Source source, const StreamOptions& options)
      : state_(std::make_unique<State>(plan, std::move(source), options)) {}

  // The first call starts the run, and its budget; a later one gives the place where the stream is.
  [[nodiscard]] iterator begin() {
    State& state = checked();
    state.begin();
    return iterator(state);
  }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return std::default_sentinel; }

  // At any time: what has happened so far.
  [[nodiscard]] RunReport report() const { return checked().report(); }

  // Why the run failed, or null. Without exceptions this is how that is known.
  [[nodiscard]] const PlanError* error() const { return checked().error(); }

 private:
  [[nodiscard]] State& checked() const {
    if (state_.get() == nullptr) detail::misuse("this stream was moved from; use the one that it was moved to");
    return *state_;
  }

  std::unique_ptr<State> state_;
};

}  // namespace planb::inline PLANB_ABI
