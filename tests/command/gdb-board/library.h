/* SPDX-License-Identifier: GPL-2.0-only */
int leaf(int n);
int sum(int n);
void each(int n, void (*fn)(int n));
