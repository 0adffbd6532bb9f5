// expect-first: answers with bool (a classifier with planb::Verdict)
#include <planb/plan/plan.hpp>

#ifdef TWIN
const planb::Classifier classify = [](const planb::Cause&) { return planb::Verdict{planb::Action::abort}; };
#else
const planb::Classifier classify = [](const planb::Cause&) { return planb::Action::abort; };
#endif
