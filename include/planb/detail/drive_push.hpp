// The loop under a pushed stream: engine, attempt, outcome. No policy.
#pragma once

#include <planb/attempt.hpp>
#include <planb/detail/catch.hpp>
#include <planb/detail/config.hpp>
#include <planb/detail/drive.hpp>
#include <planb/detail/engine.hpp>
#include <planb/metadata.hpp>
#include <planb/result.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// A failure that may be there.
class MaybeFailure {
 public:
  MaybeFailure() = default;
  MaybeFailure(const MaybeFailure&) = delete;
  MaybeFailure& operator=(const MaybeFailure&) = delete;
  ~MaybeFailure() {
    if (there) room.failure.~Failure();
  }

  template <class Make>
  void build(Make&& make) {
    room.build(std::forward<Make>(make));
    there = true;
  }

  void tell(Engine& run) {
    there = false;
    room.tell(run);
  }

  FailureRoom room;
  bool there = false;
};

// What an attempt leaves that did not return a success. Gives true where the consumer wanted no more: that is one.
template <class Stream>
[[nodiscard]] PLANB_COLD bool settle(Engine& run, Stream& stream, MaybeFailure& failure) {
  using End = typename Stream::End;
  switch (stream.end()) {
    case End::consumer:
      if (failure.room.failure.cause.kind() == CauseKind::defect) break;
      run.succeed();
      return true;
    case End::sink_threw: run.abandon();
#if PLANB_HAS_EXCEPTIONS
      stream.rethrow_sinks();
#else
      break;
#endif
    case End::rule_threw: run.fail_by_rule(stream.take_cause()); return false;
    case End::bad_element: run.fail(stream.take_cause()); return false;
    case End::cut_short:
      if (!failure.there) failure.build([] { return Engine::cut_short(); });
      break;
    case End::none: break;
  }
  failure.tell(run);
  return false;
}

// `body` makes the attempts, as for drive(), and has the `stream` between producer and sink.
template <class Out, class Body>
typename Out::type drive_push(Engine& run, Body& body) {
  using R = typename Body::Result;
  using End = typename std::remove_reference_t<decltype(body.stream)>::End;
  while (detail::await_attempt(run)) {
    MaybeFailure failure;
    body.stream.begin_attempt();
    {
      SuccessTeller success(run);
      PLANB_DETAIL_TRY {
        const Attempt attempt = run.attempt();
        const CurrentMetadata::Scope scope(run.metadata());
        typename Body::Room room;
        if (body.prepare(attempt.step_index, room, attempt, failure.room.returned)) {
          const RoomGuard guard(room);
          // What is held back at the end is given only once the producer's own result is known to be good.
          const auto good = [&] {
            return body.stream.end() == End::consumer ||
                   (body.stream.end() == End::none && (body.stream.release() || body.stream.end() == End::consumer));
          };
          if constexpr (std::is_void_v<R>) {
            body.invoke(room, attempt);
            if (good()) return;
          } else {
            R result = body.invoke(room, attempt);
            if constexpr (is_checked<R, decltype(body.fn)>) {
              if (body.stream.end() != End::consumer) {
                failure.there = !detail::check(std::forward<R>(result), body.fn, failure.room);
              }
            }
            if (!failure.there && good()) return std::forward<R>(result);
          }
        } else {
          failure.room.build_returned();
          failure.there = true;
        }
      }
      PLANB_DETAIL_CATCH(failure.build, success.disarm(); run.abandon())
      success.disarm();
    }
    if (detail::settle(run, body.stream, failure)) {
      if constexpr (std::is_void_v<R>) {
        return;
      } else {
#if PLANB_HAS_EXCEPTIONS
        failure.room.failure.cause.rethrow();
#endif
      }
    }
  }
  return Out::failure(run);
}

}  // namespace planb::inline PLANB_ABI::detail
