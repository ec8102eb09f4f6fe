// SPDX-License-Identifier: GPL-2.0-only
/*
 * When registers may be accessed: runtime PM with clocks and resets, idle states, CPU hotplug, and
 * components that serve no CPU that is online.
 */
#include <linux/clk.h>
#include <linux/cpumask.h>
#include <linux/lockdep.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/reset.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "component.h"
#include "power.h"

/* How many callers want all CPUs to keep their state */
static DEFINE_MUTEX(ntrace_awake_mutex);
static DECLARE_WAIT_QUEUE_HEAD(ntrace_awake_wait);
static unsigned int ntrace_awake_users;
static struct pm_qos_request ntrace_awake_request;
/* CPUs on their way to be offline: they have waited for those callers, and wait for no other */
static struct cpumask ntrace_going;
/*
 * A CPU that goes offline waits for these callers, so whoever waits for that CPU meanwhile never
 * goes on. To lockdep they are readers of a lock that the CPU writes.
 */
#ifdef CONFIG_LOCKDEP
static struct lockdep_map ntrace_awake_map =
	STATIC_LOCKDEP_MAP_INIT("ntrace_awake", &ntrace_awake_map);
#endif

static void ntrace_do_nothing(void *unused)
{
}

/*
 * Each CPU that is online has done what it was interrupted for. May sleep. In one interrupt, calls
 * that somebody waits for run before the others: so when the second call returns, the others of the
 * first interrupt are done.
 */
void ntrace_sync_cpus(void)
{
	on_each_cpu(ntrace_do_nothing, NULL, 1);
	on_each_cpu(ntrace_do_nothing, NULL, 1);
}

/**
 * ntrace_keep_awake - no CPU that is online loses its state, from now on
 *
 * An idle state may cost an encoder its state too, and what it leads to: while a CPU looks at
 * components of another, that one is to stay out of it. One that was in such a state has
 * come back when this returns, and its components are restored. None goes offline either, see
 * ntrace_wait_asleep(): who has called this must not wait for a CPU that goes or comes.
 *
 * Components of CPUs that are offline already may be without power: see ntrace_has_power().
 * May sleep.
 */
void ntrace_keep_awake(void)
{
	mutex_lock(&ntrace_awake_mutex);
	if (!ntrace_awake_users++) {
		cpu_latency_qos_add_request(&ntrace_awake_request, 0);
		ntrace_sync_cpus();
	}
	mutex_unlock(&ntrace_awake_mutex);
	smp_mb();	/* see ntrace_wait_asleep() */
	lock_map_acquire_read(&ntrace_awake_map);
}

/* Undo ntrace_keep_awake() */
void ntrace_let_sleep(void)
{
	lock_map_release(&ntrace_awake_map);
	mutex_lock(&ntrace_awake_mutex);
	if (!--ntrace_awake_users) {
		cpu_latency_qos_remove_request(&ntrace_awake_request);
		wake_up_all(&ntrace_awake_wait);
	}
	mutex_unlock(&ntrace_awake_mutex);
}

/*
 * @cpu goes offline, and its components may lose their power: nobody may access them any more. This
 * waits for those who do. Linux still calls the CPU online for a while, so those who come later are
 * kept away by ntrace_going.
 */
void ntrace_wait_asleep(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &ntrace_going);
	/* Either this sees the caller of ntrace_keep_awake(), or that one sees @cpu in the mask */
	smp_mb();
	lock_map_acquire(&ntrace_awake_map);
	lock_map_release(&ntrace_awake_map);
	wait_event(ntrace_awake_wait, !READ_ONCE(ntrace_awake_users));
}

/* @cpu is online, or stays so; ntrace_wait_asleep() was called if it ever went */
void ntrace_cpu_stays(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &ntrace_going);
}

/* Is @cpu one whose components may be looked at? */
static bool ntrace_cpu_is_here(unsigned int cpu)
{
	return cpu_online(cpu) && !cpumask_test_cpu(cpu, &ntrace_going);
}

/* The CPU of an encoder; -EINVAL if @node is none, -ENODEV if Linux does not use that CPU */
int ntrace_node_cpu(const struct device_node *node)
{
	struct device_node *cpu = of_parse_phandle(node, "cpus", 0);
	int id;

	if (!cpu)
		cpu = of_parse_phandle(node, "cpu", 0);
	if (!cpu)
		return -EINVAL;
	id = of_cpu_node_to_id(cpu);
	of_node_put(cpu);
	return id < 0 ? -ENODEV : id;
}

/*
 * Does @node serve a CPU that is online, and is to stay so? A component that serves none may have
 * no power. The device tree answers this before any register is accessed.
 */
static bool ntrace_node_serves(const struct device_node *node, unsigned int depth)
{
	struct device_node *ports, *endpoint, *remote;
	bool inputs = false, power = false;
	int cpu = ntrace_node_cpu(node);

	if (cpu != -EINVAL)
		return cpu >= 0 && ntrace_cpu_is_here(cpu);
	ports = of_get_child_by_name(node, "in-ports");
	if (!ports || !depth) {
		of_node_put(ports);
		return true;
	}
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		inputs |= !!remote;
		power |= remote && ntrace_node_serves(remote, depth - 1);
		of_node_put(remote);
	}
	of_node_put(ports);
	return power || !inputs;
}

/* Does trace of a CPU come through @comp that stays online? */
bool ntrace_serves_active(const struct ntrace_comp *comp)
{
	return ntrace_node_serves(comp->dev->of_node, NTRACE_PATH_MAX);
}

/**
 * ntrace_has_power - may registers of a component be looked at?
 * @comp: The component
 *
 * Context: Between ntrace_keep_awake() and ntrace_let_sleep().
 */
bool ntrace_has_power(const struct ntrace_comp *comp)
{
	return comp->powered && ntrace_serves_active(comp);
}

/* Something could not be done with a component that only serves offline CPUs */
static bool ntrace_waiting;

/**
 * ntrace_waits_for_cpu - is a component without power? Who asked tries again when a CPU has come
 * @comp: The component, which is resumed
 *
 * Context: As ntrace_has_power().
 */
bool ntrace_waits_for_cpu(const struct ntrace_comp *comp)
{
	if (ntrace_has_power(comp))
		return false;
	/* Its CPU may come now: either this sees it, or ntrace_somebody_waits() sees this */
	smp_store_mb(ntrace_waiting, true);
	return !ntrace_has_power(comp);
}

/* A CPU has come online, and ntrace_has_power() knows of it: is there a reason to try again? */
bool ntrace_somebody_waits(void)
{
	/* Pairs with the barrier in ntrace_waits_for_cpu() */
	smp_mb();
	return READ_ONCE(ntrace_waiting);
}

/* All is tried again now */
void ntrace_nobody_waits(void)
{
	WRITE_ONCE(ntrace_waiting, false);
}

/* Get the clocks and the reset line that the device tree names; all are optional */
int ntrace_power_find(struct ntrace_comp *comp)
{
	static const char * const names[NTRACE_NR_CLOCKS] = {
		[NTRACE_CLOCK_BUS] = "apb", [NTRACE_CLOCK_TIMESTAMP] = "timestamp",
	};
	struct device *dev = comp->dev;
	unsigned int i;

	for (i = 0; i < NTRACE_NR_CLOCKS; i++) {
		comp->clocks[i] = devm_clk_get_optional(dev, names[i]);
		if (IS_ERR(comp->clocks[i]))
			return dev_err_probe(dev, PTR_ERR(comp->clocks[i]), "no clock \"%s\"\n",
					     names[i]);
	}
	comp->reset = devm_reset_control_get_optional_exclusive(dev, NULL);
	if (IS_ERR(comp->reset))
		return dev_err_probe(dev, PTR_ERR(comp->reset), "no reset line\n");
	return 0;
}

static void ntrace_power_set(struct ntrace_comp *comp, bool on)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&comp->lock, flags);
	comp->powered = on;
	raw_spin_unlock_irqrestore(&comp->lock, flags);
}

/*
 * The power domain is on: start clocks and release the reset, so that the registers answer. Called
 * by runtime PM.
 */
int ntrace_power_up(struct ntrace_comp *comp)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < NTRACE_NR_CLOCKS; i++)
		ret = clk_prepare_enable(comp->clocks[i]);
	if (!ret)
		ret = reset_control_deassert(comp->reset);
	else
		i--;
	if (!ret) {
		ntrace_power_set(comp, true);
		return 0;
	}
	while (i--)
		clk_disable_unprepare(comp->clocks[i]);
	return ret;
}

/* Undo ntrace_power_up(); the power domain may go off next. Called by runtime PM. */
void ntrace_power_down(struct ntrace_comp *comp)
{
	unsigned int i = NTRACE_NR_CLOCKS;

	ntrace_power_set(comp, false);
	while (i--)
		clk_disable_unprepare(comp->clocks[i]);
}

/* Resume a component, and keep it resumed. May sleep. */
int ntrace_power_get(struct ntrace_comp *comp)
{
	return pm_runtime_resume_and_get(comp->dev);
}

/*
 * Undo ntrace_power_get(). Events often come one after the other, so it suspends only after a
 * while.
 */
void ntrace_power_put(struct ntrace_comp *comp)
{
	pm_runtime_mark_last_busy(comp->dev);
	pm_runtime_put_autosuspend(comp->dev);
}
