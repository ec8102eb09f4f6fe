/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* C++ virtual functions, thunks, lambdas and std::function. */
#include <functional>
#include <map>
#include <memory>
#include <string>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct a { virtual int f(int n) { leaf(n); return n; } virtual ~a() {} };
struct b { virtual int g(int n) { leaf(n); return n + 1; } virtual ~b() {} };
struct c : a, b { int f(int n) override { return n ? g(n - 1) : 0; } int g(int n) override { return n ? f(n - 1) : 1; } };
NOINLINE static int both(a *x, b *y, int n) { return x->f(n) + y->g(n); }
int main()
{
	std::map<std::string, std::function<int(int)>> m;
	auto x = std::make_unique<c>();

	m["one"] = [&](int n) { return both(x.get(), x.get(), n); };
	m["two"] = [&](int n) { return n ? m["one"](n - 1) : 0; };
	int r = 0;
	for (int i = 0; i < 10; i++) for (auto &f : m) r += f.second(i);
	return r == 0;
}
