// SPDX-License-Identifier: MIT
// What this build has: exceptions, RTTI, std::stop_token. Everything else asks here.
#pragma once

#include <planb/detail/version.hpp>

#include <version>

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define PLANB_HAS_EXCEPTIONS 1
#define PLANB_ABI_X x
#else
#define PLANB_HAS_EXCEPTIONS 0
#define PLANB_ABI_X n
#endif

#if defined(__cpp_rtti) || defined(_CPPRTTI)
#define PLANB_HAS_RTTI 1
#define PLANB_ABI_R r
#else
#define PLANB_HAS_RTTI 0
#define PLANB_ABI_R n
#endif

#if defined(__cpp_lib_jthread) && __cpp_lib_jthread >= 201911L
#define PLANB_HAS_STOP_TOKEN 1
#define PLANB_ABI_S s
#else
#define PLANB_HAS_STOP_TOKEN 0
#define PLANB_ABI_S n
#endif

// A checked build notices misuse that costs something to look for: a plan that ends while it is being run. On where a
// sanitizer is; define it as 0 or 1 to have it another way.
#ifndef PLANB_CHECKED
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLANB_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLANB_CHECKED 1
#endif
#endif
#endif
#ifndef PLANB_CHECKED
#define PLANB_CHECKED 0
#endif
#if PLANB_CHECKED
#define PLANB_ABI_C c
#else
#define PLANB_ABI_C
#endif

// Where std::current_exception() refers to the thrown object itself (the Itanium C++ ABI), the address of an exception
// stays good for as long as an exception_ptr holds it. Elsewhere it copies, and no address outlives its handler.
#ifndef PLANB_STABLE_EXCEPTIONS
#if defined(_MSC_VER)
#define PLANB_STABLE_EXCEPTIONS 0
#else
#define PLANB_STABLE_EXCEPTIONS 1
#endif
#endif
#if PLANB_STABLE_EXCEPTIONS
#define PLANB_ABI_E
#else
#define PLANB_ABI_E u
#endif

// 1: what is no template is only declared, and defined in the one source file that includes planb/src.hpp, or in the
// CMake target planb::compiled. Say it for all files that share planb's types. Defined as nothing, it is meant as 1.
#ifndef PLANB_SEPARATE_COMPILATION
#define PLANB_SEPARATE_COMPILATION 0
#elif 0 - PLANB_SEPARATE_COMPILATION - 1 == 1
#undef PLANB_SEPARATE_COMPILATION
#define PLANB_SEPARATE_COMPILATION 1
#endif
#if PLANB_SEPARATE_COMPILATION
#define PLANB_ABI_B b
#else
#define PLANB_ABI_B
#endif

#if !defined(_WIN32) && __has_include(<pthread.h>)
#define PLANB_HAS_POSIX_THREADS 1
#else
#define PLANB_HAS_POSIX_THREADS 0
#endif

// The Itanium C++ ABI's runtime tells the type of a thrown object without another throw.
#if PLANB_HAS_EXCEPTIONS && PLANB_HAS_RTTI && !defined(_MSC_VER) && __has_include(<cxxabi.h>)
#define PLANB_HAS_CXXABI 1
#else
#define PLANB_HAS_CXXABI 0
#endif

// Two builds that differ in one of these lay out the same types differently, or define them elsewhere. An inline
// namespace keeps their symbols apart, so that linking them together cannot mix them up, and a compiled planb that was
// built in another way is not found: planb::v1_xrs, planb::v1_nns, planb::v1_xrsb, ...
#define PLANB_ABI_JOIN2(x, r, s, c, e, b) v1_##x##r##s##c##e##b
#define PLANB_ABI_JOIN(x, r, s, c, e, b) PLANB_ABI_JOIN2(x, r, s, c, e, b)
#define PLANB_ABI PLANB_ABI_JOIN(PLANB_ABI_X, PLANB_ABI_R, PLANB_ABI_S, PLANB_ABI_C, PLANB_ABI_E, PLANB_ABI_B)

// VISIBLE: types that must be one and the same in every shared library of a program, also under -fvisibility=hidden.
// HIDDEN: those of which each must have its own.
#if defined(__GNUC__)
#define PLANB_VISIBLE __attribute__((visibility("default")))
#define PLANB_NOINLINE __attribute__((noinline))
#define PLANB_INLINE inline __attribute__((always_inline))
#define PLANB_INLINE_LAMBDA __attribute__((always_inline))
#define PLANB_COLD __attribute__((noinline, cold))
#elif defined(_MSC_VER)
#define PLANB_VISIBLE
#define PLANB_NOINLINE __declspec(noinline)
#define PLANB_INLINE __forceinline
#define PLANB_INLINE_LAMBDA
#define PLANB_COLD __declspec(noinline)
#else
#define PLANB_VISIBLE
#define PLANB_NOINLINE
#define PLANB_INLINE inline
#define PLANB_INLINE_LAMBDA
#define PLANB_COLD
#endif
#if defined(__GNUC__) && !defined(_WIN32) && !defined(__CYGWIN__)
#define PLANB_HIDDEN __attribute__((visibility("hidden")))
#else
#define PLANB_HIDDEN
#endif

// DECL: of a definition that is no template, in a room's impl/ folder. DECL_INLINE: the same, where it is to be inlined
// by all who see it. COLD_DECL: of a declaration whose definition is PLANB_COLD. (GCC wants to hear that of an inline
// function with its definition.)
#if PLANB_SEPARATE_COMPILATION
#define PLANB_DECL
#define PLANB_DECL_INLINE
#if defined(__GNUC__)
#define PLANB_COLD_DECL __attribute__((cold))
#else
#define PLANB_COLD_DECL
#endif
#else
#define PLANB_DECL inline
#define PLANB_DECL_INLINE PLANB_INLINE
#define PLANB_COLD_DECL
#endif
