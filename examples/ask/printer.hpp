// Printer: what one prompt puts on the screen.
#pragma once

#include <planb/report/event.hpp>
#include <planb/report/plan_error.hpp>

#include "route.hpp"
#include "text.hpp"

#include <ostream>
#include <string>

namespace ask {

// Events and the answer go to `out`, alerts and errors to `err`; where it is quiet, no events.
class Printer {
 public:
  Printer(std::ostream& out, std::ostream& err, bool quiet) : out_(out), err_(err), quiet_(quiet) {}

  void event(const planb::Event& event) {
    // Of the run's end the answer or the error says enough, and pieces of an answer are seen as they come.
    const bool of_attempts =
        event.get_if<planb::FirstOutput>() == nullptr && event.get_if<planb::RunFinish>() == nullptr;
    if (!quiet_ && of_attempts) line(planb::to_string(event));
    if (const auto* const start = event.get_if<planb::AttemptStart>(); start != nullptr) {
      // What the reader has of an answer so far is void.
      const std::string next = one_line(start->step_name, 80);
      if (shown_) line("-- " + failed_ + (broke_off_ ? " broke off" : " failed") + "; " + next + " starts afresh --");
      broke_off_ = false;
    } else if (const auto* const failure = event.get_if<planb::AttemptFailure>(); failure != nullptr) {
      failed_ = one_line(failure->step_name, 80);
      if (failure->verdict && failure->verdict->alert) err_ << alert_line(*failure) << std::endl;
    }
  }

  void answer(const std::string& text, const std::string& by, int attempt) {
    line(quiet_ ? text : '\n' + text + '\n');
    signature(by, attempt);
  }

  // A piece of the answer. False: it cannot be written, so that no more is wanted.
  bool piece(const std::string& text) {
    out_ << text << std::flush;
    if (!text.empty()) {
      shown_ = broke_off_ = true;
      in_line_ = text.back() != '\n';
    }
    return static_cast<bool>(out_);
  }
  void end_of_pieces(const std::string& by, int attempt) {
    end_line();
    if (!quiet_) line({});
    signature(by, attempt);
  }

  void error(const planb::PlanError& error) {
    end_line();
    err_ << "ask: " << error.what() << std::endl;
  }

 private:
  void line(const std::string& text) {
    end_line();
    out_ << text << std::endl;
  }
  void end_line() {
    if (in_line_) out_ << std::endl;
    in_line_ = false;
  }
  void signature(const std::string& by, int attempt) {
    if (!quiet_) line("Answered by " + by + ", attempt " + std::to_string(attempt));
  }

  std::ostream& out_;
  std::ostream& err_;
  const bool quiet_;
  std::string failed_;      // who failed last
  bool shown_ = false;      // pieces, of whatever attempt
  bool broke_off_ = false;  // the running attempt has shown some
  bool in_line_ = false;    // the last of them ended within a line
};

}  // namespace ask
