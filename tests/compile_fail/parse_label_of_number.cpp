// expect-first: planb: parse_label<E>: E is one of planb's enumerations, such as FailureClass
#include <planb/error/labels.hpp>
#include <planb/error/verdict.hpp>

#ifdef TWIN
auto read(std::string_view text) { return planb::parse_label<planb::Action>(text); }
#else
auto read(std::string_view text) { return planb::parse_label<int>(text); }
#endif
