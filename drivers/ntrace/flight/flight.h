/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions of the flight recorder that the core of the driver calls. Without CONFIG_NTRACE_FLIGHT
 * they do nothing. Code outside this folder uses no other functions of the recorder.
 *
 * The recorder uses the core of the driver in two ways.
 *
 * - It takes and releases a sink by ntrace_sink_start(), ntrace_sink_join(), ntrace_sink_leave()
 *   and ntrace_sink_stop(), with the sink locked. sink->flight marks a sink that the recorder uses.
 *   The core calls the functions below when a perf event needs the sink.
 * - In a panic it stops encoders and sinks without any lock. It only reads encoder->on,
 *   encoder->sink and sink->owner, and the session of that owner.
 */
#ifndef NTRACE_FLIGHT_H
#define NTRACE_FLIGHT_H

#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct ntrace_comp;
struct ntrace_encoder;
struct ntrace_session;
struct ntrace_want;

#ifdef CONFIG_NTRACE_FLIGHT

DECLARE_STATIC_KEY_FALSE(ntrace_flight_key);
extern struct mutex ntrace_flight_mutex;

/* flight.c */
void ntrace_flight_end(void);
bool ntrace_flight_records(void);
bool ntrace_flight_keeps(int cpu);
bool ntrace_flight_rescue(struct ntrace_comp *comp);
bool __ntrace_flight_bars(const struct ntrace_session *s, const struct ntrace_want *want);
void __ntrace_flight_yield(struct ntrace_session *s);
void __ntrace_flight_resume(struct ntrace_session *s);
void __ntrace_flight_leave(struct ntrace_session *s);
void __ntrace_flight_enter(struct ntrace_session *s);

/* causes.c */
int ntrace_causes_init(void);
void ntrace_causes_exit(void);
void ntrace_causes_connected(void);
void ntrace_causes_flush(void);

/* Prevent that the recorder begins or ends before ntrace_flight_unlock(). May sleep. */
static inline void ntrace_flight_lock(void)
{
	mutex_lock(&ntrace_flight_mutex);
}

static inline void ntrace_flight_unlock(void)
{
	mutex_unlock(&ntrace_flight_mutex);
}

/* Return true if the recorder runs, or may have patched the kernel's code */
static __always_inline bool ntrace_flight_hooks(void)
{
	return static_branch_unlikely(&ntrace_flight_key);
}

#else

static inline void ntrace_flight_end(void) {}
static inline bool ntrace_flight_records(void) { return false; }
static inline bool ntrace_flight_keeps(int cpu) { return false; }
static inline bool ntrace_flight_rescue(struct ntrace_comp *comp) { return false; }
static inline bool __ntrace_flight_bars(const struct ntrace_session *s,
					const struct ntrace_want *want) { return false; }
static inline void __ntrace_flight_yield(struct ntrace_session *s) {}
static inline void __ntrace_flight_resume(struct ntrace_session *s) {}
static inline void __ntrace_flight_leave(struct ntrace_session *s) {}
static inline void __ntrace_flight_enter(struct ntrace_session *s) {}
static inline int ntrace_causes_init(void) { return 0; }
static inline void ntrace_causes_exit(void) {}
static inline void ntrace_causes_connected(void) {}
static inline void ntrace_causes_flush(void) {}
static inline void ntrace_flight_lock(void) {}
static inline void ntrace_flight_unlock(void) {}
static inline bool ntrace_flight_hooks(void) { return false; }

#endif

/*
 * Hooks of the flight recorder. The core calls them when a perf event is about to trace on this CPU
 * or has ended, and when the CPU goes idle or offline or returns. They cost nothing while the
 * recorder is off. Context: On the CPU, interrupts off.
 */
static __always_inline void ntrace_flight_yield(struct ntrace_session *s)
{
	if (ntrace_flight_hooks())
		__ntrace_flight_yield(s);
}

/* Return true if the event has to wait because the recorder keeps its sink */
static __always_inline bool ntrace_flight_bars(const struct ntrace_session *s,
					       const struct ntrace_want *want)
{
	return ntrace_flight_hooks() && __ntrace_flight_bars(s, want);
}

static __always_inline void ntrace_flight_resume(struct ntrace_session *s)
{
	if (ntrace_flight_hooks())
		__ntrace_flight_resume(s);
}

static __always_inline void ntrace_flight_leave(struct ntrace_session *s)
{
	if (ntrace_flight_hooks())
		__ntrace_flight_leave(s);
}

static __always_inline void ntrace_flight_enter(struct ntrace_session *s)
{
	if (ntrace_flight_hooks())
		__ntrace_flight_enter(s);
}

#endif /* NTRACE_FLIGHT_H */
