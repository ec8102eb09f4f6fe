/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Exceptions that are caught, thrown again, replaced and stored, while destructors throw and catch others. */
#include <exception>
#define NOINLINE __attribute__((noinline))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct guard {
	int n;
	NOINLINE ~guard() { try { leaf(n); if (n & 1) throw n; } catch (int) { leaf(-n); } }
};
NOINLINE static void down(int n) { guard g{n}; if (!n) throw 1L; down(n - 1); leaf(n); }
NOINLINE static void again(int n) { try { down(n); } catch (long) { leaf(n); throw; } }
NOINLINE static void other(int n) { try { again(n); } catch (long) { leaf(n); throw 2.0; } }
NOINLINE static std::exception_ptr stored(int n) { try { other(n); } catch (...) { return std::current_exception(); } return nullptr; }
int main()
{
	for (int i = 0; i < 10; i++) {
		try { std::rethrow_exception(stored(i)); } catch (double) { leaf(i); }
	}
	return 0;
}
