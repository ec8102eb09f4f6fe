/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -trimpath */
/* Goroutines, channels, growing stacks, panics and deferred calls of Go. */
package main

import "runtime"

var sink int

//go:noinline
func leaf(n int) int { sink += n; return n }

//go:noinline
func fib(n int) int {
	if n < 2 {
		return leaf(n)
	}
	return fib(n-1) + fib(n-2)
}

// Each call needs some stack, so that the stack grows, and moves, several times
//
//go:noinline
func grow(n int) int {
	var a [64]int
	a[n%64] = n
	if n > 0 {
		a[0] = grow(n-1) + leaf(n)
	}
	return a[n%64] + a[0]
}

//go:noinline
func fails(n int) { leaf(n); panic(n) }

//go:noinline
func catches(n int) (r int) {
	defer func() { r = recover().(int) + leaf(n) }()
	fails(n)
	return 0
}

//go:noinline
func produce(n int, c chan int) {
	for i := 0; i < n; i++ {
		c <- fib(5)
	}
	close(c)
}

//go:noinline
func square(in, out chan int) {
	for v := range in {
		out <- leaf(v) * v
	}
	close(out)
}

func main() {
	a, b := make(chan int), make(chan int)
	go produce(6, a)
	go square(a, b)
	for v := range b {
		leaf(v)
	}
	for i := 0; i < 3; i++ {
		catches(i)
	}
	grow(100)
	done := make(chan bool)
	go func() { grow(200); done <- true }()
	<-done
	for i := 0; i < 3; i++ {
		runtime.Gosched()
		leaf(i)
	}
	fib(10)
}
