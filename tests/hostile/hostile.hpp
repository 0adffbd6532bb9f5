// Types of a namespace whose operators and functions take anything: the library must not find them. None of them
// compiles where it is called. (Not among them: what the standard library's own containers would find, as a binary minus.)
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace hostile {

template <class... T>
constexpr bool never = sizeof...(T) == 1000;

#define PLANB_TEST_UNARY(op)                                                                       \
  template <class T>                                                                               \
  void operator op(T&&) {                                                                          \
    static_assert(never<T>, "the library has found a user's unary operator " #op); \
  }
#define PLANB_TEST_BINARY(op)                                                                      \
  template <class T, class U>                                                                      \
  void operator op(T&&, U&&) {                                                                     \
    static_assert(never<T, U>, "the library has found a user's binary operator " #op); \
  }
#define PLANB_TEST_FUNCTION(name)                                                   \
  template <class... T>                                                             \
  void name(T&&...) {                                                               \
    static_assert(never<T...>, "the library has found a user's function " #name); \
  }

#ifndef PLANB_TEST_WITHOUT_ADDRESS_OF
PLANB_TEST_UNARY(&)
#endif
PLANB_TEST_UNARY(!)
PLANB_TEST_UNARY(~)
PLANB_TEST_UNARY(+)
PLANB_TEST_UNARY(-)
PLANB_TEST_BINARY(&&)
PLANB_TEST_BINARY(||)
PLANB_TEST_BINARY(&)
PLANB_TEST_BINARY(|)
PLANB_TEST_BINARY(->*)
template <class T, class U>
void operator,(T&&, U&&) {
  static_assert(never<T, U>, "the library has found a user's comma");
}

PLANB_TEST_FUNCTION(add)
PLANB_TEST_FUNCTION(addressof)
PLANB_TEST_FUNCTION(append_clipped)
PLANB_TEST_FUNCTION(as_const)
PLANB_TEST_FUNCTION(at)
PLANB_TEST_FUNCTION(await_attempt)
PLANB_TEST_FUNCTION(awaiter_of)
PLANB_TEST_FUNCTION(between)
PLANB_TEST_FUNCTION(build)
PLANB_TEST_FUNCTION(call)
PLANB_TEST_FUNCTION(call_with)
PLANB_TEST_FUNCTION(carries_error)
PLANB_TEST_FUNCTION(check_error)
PLANB_TEST_FUNCTION(commit_rule)
PLANB_TEST_FUNCTION(construct_at)
PLANB_TEST_FUNCTION(describe)
PLANB_TEST_FUNCTION(destroy)
PLANB_TEST_FUNCTION(destroy_at)
PLANB_TEST_FUNCTION(drive)
PLANB_TEST_FUNCTION(exchange)
PLANB_TEST_FUNCTION(forward)
PLANB_TEST_FUNCTION(get)
PLANB_TEST_FUNCTION(get_if)
PLANB_TEST_FUNCTION(if_caught_as)
PLANB_TEST_FUNCTION(invoke)
PLANB_TEST_FUNCTION(invoke_lvalue)
PLANB_TEST_FUNCTION(is_answered)
PLANB_TEST_FUNCTION(is_being_handled)
PLANB_TEST_FUNCTION(is_empty)
PLANB_TEST_FUNCTION(make_policy)
PLANB_TEST_FUNCTION(make_shared)
PLANB_TEST_FUNCTION(make_unique)
PLANB_TEST_FUNCTION(may_be_sliced)
PLANB_TEST_FUNCTION(merge)
PLANB_TEST_FUNCTION(message)
PLANB_TEST_FUNCTION(misuse)
PLANB_TEST_FUNCTION(move)
PLANB_TEST_FUNCTION(name)
PLANB_TEST_FUNCTION(next)
PLANB_TEST_FUNCTION(raw_code)
PLANB_TEST_FUNCTION(read_code)
PLANB_TEST_FUNCTION(read_message)
PLANB_TEST_FUNCTION(read_or)
PLANB_TEST_FUNCTION(read_retry_after)
PLANB_TEST_FUNCTION(read_retryable)
PLANB_TEST_FUNCTION(read_status)
PLANB_TEST_FUNCTION(refusal)
PLANB_TEST_FUNCTION(refuse)
PLANB_TEST_FUNCTION(retry)
PLANB_TEST_FUNCTION(run)
PLANB_TEST_FUNCTION(run_with_plan)
PLANB_TEST_FUNCTION(same_type)
PLANB_TEST_FUNCTION(says_errc)
PLANB_TEST_FUNCTION(stream_target)
PLANB_TEST_FUNCTION(push_with_plan)
PLANB_TEST_FUNCTION(stream_with_plan)
PLANB_TEST_FUNCTION(sync_wait)
PLANB_TEST_FUNCTION(throw_plan_error)
PLANB_TEST_FUNCTION(to_string)
PLANB_TEST_FUNCTION(to_text)
PLANB_TEST_FUNCTION(try_run_with_plan)
PLANB_TEST_FUNCTION(type_id)
PLANB_TEST_FUNCTION(unwinding)
PLANB_TEST_FUNCTION(visit)
PLANB_TEST_FUNCTION(with_system_code)
PLANB_TEST_FUNCTION(with_value)
PLANB_TEST_FUNCTION(wraps)

struct Tag {};

template <class T>  // so that the template arguments of the library's types belong to this namespace as well
struct Ctx {
  int id = 0;
};
using Client = Ctx<Tag>;

template <class T>
struct BasicError {
  int code_number = 503;

  [[nodiscard]] int status() const { return code_number; }
  [[nodiscard]] std::string message() const { return "busy"; }
};
using Error = BasicError<Tag>;

// Of a size that a Cause does not hold in place.
struct LargeError : Error {
  char text[100] = {};
};

template <class T, class E>
class BasicResult {
 public:
  using value_type = T;
  using error_type = E;

  BasicResult(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  explicit BasicResult(E error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const { return value_.has_value(); }
  [[nodiscard]] const E& error() const { return *error_; }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T& operator*() const { return *value_; }

 private:
  std::optional<T> value_;
  std::optional<E> error_;
};

struct Answer {
  int of = 0;
};
using Reply = BasicResult<Answer, Error>;
using LargeReply = BasicResult<Answer, LargeError>;

struct Env {
  int id = 0;
};

}  // namespace hostile

using hostile::Answer;
using hostile::Client;
using hostile::Reply;

// Out of the namespace: what the programs call.
inline Reply reply(const Client& client) { return client.id == 1 ? Reply(hostile::Error()) : Reply(Answer{client.id}); }
inline hostile::LargeReply large_reply(const Client& client) {
  return client.id == 1 ? hostile::LargeReply(hostile::LargeError()) : hostile::LargeReply(Answer{client.id});
}

struct Callable {  // its own namespace counts, too
  Reply operator()(Client& client) const { return reply(client); }
};
