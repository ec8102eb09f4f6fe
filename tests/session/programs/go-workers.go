/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -trimpath */
/* Equal workers of Go, with a mutex, a wait group, a select, a timer and a collection of garbage. */
package main

import (
	"runtime"
	"sync"
	"time"
)

type shape interface{ area() int }
type square struct{ n int }
type circle struct{ n int }

//go:noinline
func (s square) area() int { return s.n * s.n }

//go:noinline
func (c *circle) area() int { return 3 * c.n * c.n }

var total int
var lock sync.Mutex

//go:noinline
func add(s shape) {
	lock.Lock()
	defer lock.Unlock()
	total += s.area()
}

//go:noinline
func work(id int, jobs chan int, wg *sync.WaitGroup) {
	defer wg.Done()
	for n := range jobs {
		if n%2 == 0 {
			add(square{n})
		} else {
			add(&circle{n})
		}
	}
}

func main() {
	var wg sync.WaitGroup
	jobs := make(chan int, 3)
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go work(i, jobs, &wg)
	}
	for i := 0; i < 30; i++ {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	runtime.GC()
	tick, never := time.After(time.Millisecond), make(chan int)
	select {
	case <-tick:
		add(square{2})
	case <-never:
	}
	m := map[string]int{}
	for i := 0; i < 50; i++ {
		m[string(rune('a'+i%26))] += i
	}
	total += len(m)
}
