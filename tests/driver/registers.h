/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared components, shared functions and the list of cases of registers*.c */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel.h"
#include "fabric/coresight.h"
#include "fabric/fabric.h"
#include "route.h"
#include "fake.h"

extern unsigned int locked;
extern struct device dev;
extern struct ntrace_encoder enc, enc2;
extern struct ntrace_funnel funnel;
extern struct ntrace_sink sink;
extern struct ntrace_comp bridge, bridge2;
extern struct ntrace_csfunnel csfunnel;
extern struct ntrace_comp etf;
extern unsigned int funnel_fifo;
extern const struct ntrace_filter all;

int setup(void **state);
int bring_up(struct ntrace_comp *comp, void *base);
void take_route(struct ntrace_encoder *e);
void connect_to(struct ntrace_encoder *e, struct ntrace_comp *via);
void direct(const struct fake_encoder_options *eo, const struct fake_ram_options *ro);
void settle(void);
int start(struct ntrace_encoder *e, struct ntrace_window *win, bool paused);
int stop(struct ntrace_encoder *e);
struct ntrace_window window(unsigned int offset, unsigned int size);
void traced(struct ntrace_window *win, unsigned int n);
u64 plain_config(void);
void programmed(void);
void shared(void);
void start_both(struct ntrace_window *win);
void stop_both(void);
void both_can_be_traced(unsigned int offset);
void funnel_counts_itself(void);

/* The driver requires that its callers hold the sink's lock and have disabled interrupts */
#ifdef __KERNEL__
#define with_interrupts_off(flags)	local_irq_save(flags)
#define with_interrupts_as(flags)	local_irq_restore(flags)
#else
#define with_interrupts_off(flags)	((flags) = 0)
#define with_interrupts_as(flags)	((void)(flags))
#endif

#define LOCKED(call)				\
({						\
	unsigned long _flags;			\
	int _ret;				\
						\
	with_interrupts_off(_flags);		\
	raw_spin_lock(&sink.lock);		\
	locked = 1;				\
	_ret = (call);				\
	locked = 0;				\
	raw_spin_unlock(&sink.lock);		\
	with_interrupts_as(_flags);		\
	settle();				\
	_ret;					\
})

/*
 * In the debug kernel, register reads of the model take longer than the time for which the driver waits for
 * trTsActive or Active
 */
#ifdef __KERNEL__
#define LATE(X)
#else
#define LATE(X)	X(timestamp_unit_that_wakes_late) X(slow_component_is_waited_for)
#endif

#define CASES(X) \
	X(full_encoder_has_it_all) X(minimal_encoder_has_nothing_more) \
	X(minimal_encoder_refuses_the_rest) X(best_mode_is_what_there_is) \
	X(event_without_ts_mode_has_that_of_the_default) \
	X(prescaler_is_of_internal_clocks) X(counter_that_began_anew) \
	X(component_that_never_becomes_active) \
	X(versions) X(other_protocol_is_refused) X(other_components) \
	X(nothing_is_written_to_what_is_not_supported) X(suspended_component_is_left_alone) \
	X(alignment_is_found) X(range_is_found) X(fixed_buffer_is_refused) X(other_memory_formats_are_refused) \
	X(granule_of_4_gib_is_refused) X(fixed_buffer_that_is_reserved) \
	X(reserved_memory_is_kept_to) X(reserved_memory_of_a_size_that_is_not_taken) \
	X(trace_arrives_in_the_window) X(second_session_begins_anew) \
	X(full_window_stops_the_sink) X(write_pointer_in_the_middle) \
	X(window_it_does_not_take) X(sram_is_read_back) X(sram_is_read_in_parts) \
	X(stop_on_wrap_is_verified) X(sink_that_always_stops) X(period_suits_all_members) \
	X(filters_are_written) X(ranges_are_left_out) \
	X(overflow_is_counted) \
	X(window_of_a_power_of_two) \
	X(paused_traces_nothing) X(funnel_is_on_while_an_encoder_is) \
	 X(members_stand_still) X(encoder_left_enabled) X(filters_that_choose_more) \
	X(funnel_has_a_timestamp_unit) X(new_window_for_all_members) X(failing_member_stops_all) \
	X(sink_that_does_not_empty) X(power_was_off) X(comparators_are_off_after_a_reset) \
	X(closed_sink_stays_closed) X(restart_reads_three_registers) \
	X(input_that_no_path_uses_is_disabled) X(drained_funnel_keeps_its_setup) X(sink_that_fills_in_the_flush) \
	X(counters_go_on_after_a_full_window) X(next_window_has_no_more_than_its_own) \
	X(full_window_without_a_page) X(encoder_that_rests_is_left_alone) \
	X(rest_goes_when_the_window_is_taken) X(funnel_of_a_stalled_hart_is_not_reset) \
	X(sink_that_keeps_the_rest) X(encoder_of_two_formats) LATE(X) \
	X(frames_arrive_in_the_window) X(second_window_of_frames) X(debugger_holds_the_etr) \
	X(bus_refuses_frames) X(each_bridge_has_an_id) \
	X(features_that_are_always_on) X(return_mode_that_is_fixed) X(recovered_component_is_set_up_before_it_is_used) \
	X(each_is_awaited) X(paused_does_not_even_begin) \
	X(encoder_that_is_not_enabled_frees_its_funnel) X(what_kept_its_power_goes_on) \
	X(what_others_use_is_not_reset) X(stuck_funnel_is_left_alone) X(registers_hold_one_event) X(write_pointer_elsewhere) \
	X(slow_reset_is_awaited) X(quiesced_in_order) X(tried_values_do_not_stay) \
	X(encoder_of_another_format) X(counted_returns_are_for_who_asks) \
	X(returns_without_a_mode_are_for_who_asks) X(source_without_bits_is_inhibited) \
	X(privilege_and_range_have_to_match) X(longest_sync_period_there_is) \
	X(fields_that_do_not_take) X(counter_that_stands_still) X(counter_that_lags) X(base_of_a_hart_that_is_held_up) \
	X(base_after_an_event_without_timestamps) \
	X(base_after_an_event_with_another_clock) X(counter_is_read_whole) X(counter_that_never_stands) \
	X(sifive_is_probed) X(sifive_programs_what_silicon_takes) \
	X(sifive_stops_when_its_window_is_full) X(sifive_window_across_a_line_is_refused) \
	X(sifive_writes_to_reserved_memory) X(sifive_sink_error_is_reported) X(sifive_power_was_off) X(nothing_is_no_version_0) \
	X(timestamp_of_one_mode) X(circular_after_one_that_stopped) \
	X(memory_of_the_system_is_preferred) X(mode_that_is_no_longer_taken_is_an_error) X(start_is_coarser_than_limit) \
	X(setting_that_is_no_longer_taken_is_an_error) X(range_ends_at_the_top_of_the_address_space) \
	X(sifive_counter_that_never_stands)

#define DECLARE(f) void f(void **state);
CASES(DECLARE)

#endif
