// Many runs in flight on one thread, over libcurl's multi interface. curl waits for the sockets and keeps the times of
// the transfers; the runs say what to do next.
#pragma once

#include <planb/planb.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fetch {

// Why a transfer failed. planb finds `status`, `retry_after` and `message` by their names; a status of zero means that
// there was no answer.
struct HttpError {
  int status = 0;
  CURLcode curl = CURLE_OK;
  std::optional<planb::Duration> retry_after = std::nullopt;
  std::string message = {};
};

// What a plan's steps provide.
struct Endpoint {
  std::string url;
};

// Before the first Fetcher: curl's own set-up.
struct Library {
  Library() { curl_global_init(CURL_GLOBAL_DEFAULT); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { curl_global_cleanup(); }
};

// One easy handle in a multi handle. It leaves that when it is destroyed, wherever the transfer stands.
class Transfer {
 public:
  Transfer(CURLM* multi, const std::string& url, std::optional<planb::Duration> timeout, void* owner)
      : multi_(multi), easy_(curl_easy_init()) {
    if (easy_ == nullptr) throw std::bad_alloc();
    curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy_, CURLOPT_PRIVATE, owner);
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_NOPROXY, "127.0.0.1");
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
    if (timeout) {
      // Up to the next millisecond: one that ends early would fail by itself, and not by the attempt's time. Zero would
      // be no limit at all.
      const long ms = std::max(1L, static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(*timeout).count()));
      curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, ms);
    }
    curl_multi_add_handle(multi_, easy_);
  }

  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  ~Transfer() {
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_cleanup(easy_);
  }

  [[nodiscard]] std::string& body() noexcept { return body_; }

  // What went wrong, if anything did.
  [[nodiscard]] std::optional<HttpError> error(CURLcode result) const {
    if (result != CURLE_OK) return HttpError{.curl = result, .message = curl_easy_strerror(result)};
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    if (status < 400) return std::nullopt;
    return HttpError{.status = static_cast<int>(status), .retry_after = hint_, .message = body_};
  }

 private:
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Transfer*>(self)->body_.append(data, size * count);
    return size * count;
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    std::optional<planb::Duration>& hint = static_cast<Transfer*>(self)->hint_;
    const std::string_view line(data, size * count);
    const std::string_view name = line.substr(0, std::min(line.find(':'), line.size()));
    const bool fine = is(name, "retry-after-ms");
    if (fine || (is(name, "retry-after") && !hint)) {
      hint = planb::parse_retry_after(name, line.substr(name.size() + 1), std::chrono::system_clock::now());
    }
    return size * count;
  }

  // Case does not count in a header's name.
  [[nodiscard]] static bool is(std::string_view name, std::string_view lower) {
    return std::equal(name.begin(), name.end(), lower.begin(), lower.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
  }

  CURLM* multi_;
  CURL* easy_;
  std::string body_;
  std::optional<planb::Duration> hint_;
};

// All of it belongs to one thread. Others may only request a stop through the options' token.
class Fetcher {
 public:
  using Plan = planb::ExecutionPlan<Endpoint>;
  using Done = std::function<void(const std::optional<std::string>& body, const planb::RunReport&)>;

  Fetcher() : multi_(curl_multi_init()) {
    if (multi_ == nullptr) throw std::bad_alloc();
  }
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  ~Fetcher() {
    fetches_.clear();
    curl_multi_cleanup(multi_);
  }

  // Appends `path` to the URL of whichever step is tried. The run begins with the next turn(), which calls `done` when
  // it is over; that may start and cancel others. The number is for cancel().
  int start(const Plan& plan, std::string path, Done done, const planb::RunOptions& options = {}) {
    fetches_.push_back(std::make_unique<Fetch>(plan, std::move(path), std::move(done), options));
#if PLANB_HAS_STOP_TOKEN
    fetches_.back()->on_stop.emplace(options.stop, Wake{multi_});
#endif
    return fetches_.back()->number = ++count_;
  }

  // Drops a run: its attempt ends as interrupted, and `done` is not called. Not from an event handler.
  void cancel(int number) {
    fetches_.remove_if([&](const auto& fetch) { return fetch->number == number; });
  }

  [[nodiscard]] std::size_t runs() const noexcept { return fetches_.size(); }
  [[nodiscard]] CURLM* multi() const noexcept { return multi_; }

  // One turn of the loop: goes on with every run that can go on, then waits until something happens, but no longer than
  // `longest`.
  void turn(planb::Duration longest = std::chrono::minutes(1)) {
    if (advance_all() || fetches_.empty()) return;
    curl_multi_poll(multi_, nullptr, 0, time_to_wait(longest), nullptr);
    take_results();
  }

  void run() {
    while (!fetches_.empty()) turn();
  }

 private:
  // Wakes a loop that waits, from any thread.
  struct Wake {
    CURLM* multi;
    void operator()() const noexcept { curl_multi_wakeup(multi); }
  };

  struct Fetch {
    Fetch(const Plan& plan, std::string p, Done d, const planb::RunOptions& o)
        : path(std::move(p)), done(std::move(d)), options(o), run(plan, o) {}

    const std::string path;
    const Done done;
    const planb::RunOptions options;
    int number = 0;
    planb::PlanRun<Endpoint> run;
    planb::ContextSlot<Endpoint> endpoint;  // after the run, and before what uses it: the last one goes first
    std::optional<Transfer> transfer;
    std::optional<std::string> body;
    std::optional<planb::TimePoint> due;
#if PLANB_HAS_STOP_TOKEN
    std::optional<std::stop_callback<Wake>> on_stop;
#endif
  };

  // Whether a run was over: then its `done` may have started others, and there is no time to wait.
  bool advance_all() {
    std::list<std::unique_ptr<Fetch>> over;
    for (auto it = fetches_.begin(); it != fetches_.end();) {
      const auto here = it++;
      if (!advance(**here)) over.splice(over.end(), fetches_, here);
    }
    for (const auto& fetch : over) fetch->done(fetch->body, fetch->run.report());
    return !over.empty();
  }

  // Until the run has to wait for something. False: it is over.
  bool advance(Fetch& fetch) {
    if (fetch.transfer) {
      if (!fetch.options.stop.stop_requested()) return true;
      end_attempt(fetch);
      fetch.run.fail({});  // told as interrupted, since a stop was requested
    }
    for (;;) {
      fetch.due.reset();
      switch (fetch.run.next()) {
        case planb::RunPhase::attempt:
          if (!fetch.run.provide(fetch.endpoint)) break;
          fetch.transfer.emplace(multi_, fetch.endpoint->url + fetch.path, fetch.run.attempt().timeout(), &fetch);
          return true;
        case planb::RunPhase::wait: fetch.due = fetch.run.due(); return true;
        case planb::RunPhase::over: return false;
      }
    }
  }

  static void end_attempt(Fetch& fetch) {
    fetch.transfer.reset();
    fetch.endpoint.reset();
  }

  // In milliseconds, until the first wait is over. The times of the transfers are known to curl.
  [[nodiscard]] int time_to_wait(planb::Duration longest) const {
    const planb::TimePoint now = planb::SteadyClock().now();
    for (const auto& fetch : fetches_) {
      if (fetch->due) longest = std::min(longest, *fetch->due - now);
    }
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(std::max(longest, planb::Duration{})).count());
  }

  void take_results() {
    int left = 0;
    curl_multi_perform(multi_, &left);
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode result = message->data.result;  // the message goes with the transfer
      void* owner = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner);
      Fetch& fetch = *static_cast<Fetch*>(owner);
      std::optional<HttpError> error = fetch.transfer->error(result);
      std::string body = std::move(fetch.transfer->body());
      end_attempt(fetch);
      if (error) {
        fetch.run.fail(planb::Cause::of(*std::move(error)));
      } else {
        fetch.body = std::move(body);
        fetch.run.succeed();
      }
    }
  }

  CURLM* multi_;
  std::list<std::unique_ptr<Fetch>> fetches_;
  int count_ = 0;
};

}  // namespace fetch
