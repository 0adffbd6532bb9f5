// SPDX-License-Identifier: MIT
// The loop under a pushed stream: engine, attempt, outcome. No policy.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/drive/detail/drive.hpp>
#include <planb/engine/detail/engine.hpp>
#include <planb/error/detail/catch.hpp>
#include <planb/error/result_traits.hpp>
#include <planb/plan/attempt.hpp>
#include <planb/plan/metadata.hpp>

#include <type_traits>
#include <utility>

namespace planb::inline PLANB_ABI::detail {

// Before the context ends.
template <class Stream>
class StreamGuard {
 public:
  explicit StreamGuard(Stream& stream) noexcept : stream_(stream) {}
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard() { stream_.end_attempt(); }

 private:
  Stream& stream_;
};
template <class Stream>
StreamGuard(Stream&) -> StreamGuard<Stream>;

// Whether the attempt is a success, now that its producer's own result is good and what was held back has been given.
template <class Stream>
[[nodiscard]] bool ended_well(const Stream& stream) {
  return stream.end() == Stream::End::consumer || stream.end() == Stream::End::none;
}

// The same, of what is held back at the end: it is given only now.
template <class Stream>
[[nodiscard]] bool settles_well(Stream& stream) {
  if (stream.end() == Stream::End::none) stream.release();
  return detail::ended_well(stream);
}

// What an attempt leaves that did not return a success. Gives true where the consumer wanted no more: that is one.
template <class Stream>
[[nodiscard]] PLANB_COLD bool settle(Engine& run, Stream& stream, FailureKeeper& failure) {
  using End = typename Stream::End;
  if (stream.end() == End::sink_threw) {
    run.abandon();
#if PLANB_HAS_EXCEPTIONS
    stream.rethrow_sinks();
#endif
  }
  if (!failure.defect()) {
    switch (stream.end()) {
      case End::consumer: run.succeed(); return true;
      case End::failed: run.fail(stream.failure()); return false;
      case End::cut_short:
        if (!failure) failure.keep(Engine::cut_short());
        break;
      case End::sink_threw:
      case End::none: break;
    }
  }
  run.fail(failure);
  return false;
}

// A success without a value.
template <class Out>
typename Out::type give_nothing([[maybe_unused]] Engine& run) {
  if constexpr (!Out::as_returned) return Out::success(run, [] {});
}

// Whether what a producer gave is given back as it is, since its consumer wants no more: an error too, where it can be.
template <class Out, class R, class Stream, class Given>
[[nodiscard]] bool is_final(const Stream& stream, [[maybe_unused]] const Given& given) {
  if (stream.end() != Stream::End::consumer) return false;
  if constexpr (!Out::as_returned && ResultType<R>) {
    return detail::has_value(given);
  } else {
    return true;
  }
}

// `body` makes the attempts, as for drive(), and has the `stream` between producer and sink.
template <class Out, class Body>
typename Out::type drive_push(Engine& run, Body& body) {
  using R = typename Body::Result;
  while (detail::await_attempt(run)) {
    FailureKeeper failure;
    body.stream.begin_attempt();
    {
      SuccessTeller success(run);
      [[maybe_unused]] const auto keep = [&](auto make) {
        if (failure.has_answer()) success.leave();
        failure.keep_thrown(make);
      };
      PLANB_DETAIL_TRY {
        const Attempt attempt = run.attempt();
        const CurrentMetadata::Scope scope(run.metadata());
        typename Body::Room room;
        if (body.prepare(attempt.step_index, room, attempt, failure.room())) {
          const RoomGuard guard(room);
          const StreamGuard stream_guard(body.stream);
          if constexpr (std::is_void_v<R>) {
            body.invoke(room, attempt);
            if (detail::settles_well(body.stream)) return detail::give_nothing<Out>(run);
          } else {
            using Held = HeldResult<typename Body::Raw>;
            Held result = body.invoke(room, attempt);
            if (detail::is_final<Out, R>(body.stream, result) ||
                (detail::check<Held>(result, body.fn, failure) && detail::settles_well(body.stream))) {
              failure.answered();
              if constexpr (Out::as_returned) {
                return std::forward<Held>(result);
              } else {
                return Out::success(run, [&]() -> R { return std::forward<Held>(result); });
              }
            }
          }
        } else {
          failure.filled();
        }
      }
      PLANB_DETAIL_CATCH(keep, success.drop())
      success.disarm();
    }
    if (detail::settle(run, body.stream, failure)) {
      if constexpr (std::is_void_v<R>) {
        return detail::give_nothing<Out>(run);
      } else {
#if PLANB_HAS_EXCEPTIONS
        failure.cause().rethrow();
#endif
      }
    }
  }
  return Out::failure(run);
}

}  // namespace planb::inline PLANB_ABI::detail
