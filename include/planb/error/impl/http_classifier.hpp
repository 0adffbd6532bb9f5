// SPDX-License-Identifier: MIT
// The definitions of http_classifier.hpp.
#pragma once

#include <planb/detail/config.hpp>
#include <planb/error/http_classifier.hpp>

namespace planb::inline PLANB_ABI::detail {

PLANB_DECL Verdict verdict_of(planb::ContentRefusal refusal) {
  switch (refusal) {
    case planb::ContentRefusal::next_step: return {Action::next_step, false, FailureClass::content_refused};
    case planb::ContentRefusal::next_guarded: return {Action::next_guarded, false, FailureClass::content_refused};
    case planb::ContentRefusal::abort: return {Action::abort, false, FailureClass::content_refused};
  }
  refuse("http_classifier: say what a refusal means: ContentRefusal::next_step, next_guarded or abort");
}

}  // namespace planb::inline PLANB_ABI::detail
