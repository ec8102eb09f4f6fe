/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -std=c++20 */
/* Coroutines of C++20, which share the stack of their caller. */
#include <coroutine>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct gen {
	struct promise_type {
		int value;
		gen get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int n) { value = n; return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> h;
};
static gen count(int n) { for (int i = 0; i < n; i++) { leaf(i); co_yield i; leaf(i); } }
NOINLINE static int sum(int n) { gen g = count(n); int r = 0; for (g.h.resume(); !g.h.done(); g.h.resume()) r += g.h.promise().value; g.h.destroy(); return r; }
int main() { for (int i = 0; i < 8; i++) sum(i); return 0; }
