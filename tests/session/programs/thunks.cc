/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Virtual functions of several bases, which thunks reach, and functions in objects. */
#include <algorithm>
#include <functional>
#include <string>
#include <vector>
#define NOINLINE __attribute__((noinline))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct a { virtual int f(int n) { leaf(n); return n; } virtual ~a() {} };
struct b { virtual int g(int n) { leaf(-n); return n; } virtual ~b() {} };
struct c : virtual a, b { int f(int n) override { return g(n) + 1; } int g(int n) override { leaf(n); return n + 1; } };
struct d : c { int g(int n) override { return b::g(n) * 2; } };
NOINLINE static int use(a *x, b *y, int n) { return x->f(n) + y->g(n); }
int main()
{
	std::vector<std::function<int(int)>> all;
	std::vector<std::string> names;

	for (int i = 0; i < 10; i++) {
		d x;
		c y;
		all.push_back([=](int n) { leaf(n); return n + i; });
		names.push_back(std::to_string(i * 37 % 10) + " with a long name");
		leaf(use(&x, &y, i));
	}
	std::sort(names.begin(), names.end(), [](const auto &x, const auto &y) { leaf(1); return x > y; });
	for (auto &f : all)
		leaf(f(1));
	return 0;
}
