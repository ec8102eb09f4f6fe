// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules for access to registers. Whether the registers of a component can be accessed depends on
 * runtime PM, with its clocks and resets, on idle states, and on CPU hotplug. A component whose
 * CPUs are all offline may have no power.
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

/* Number of callers of ntrace_keep_awake() that have not called ntrace_let_sleep(), and its lock */
static DEFINE_MUTEX(ntrace_awake_mutex);
static DECLARE_WAIT_QUEUE_HEAD(ntrace_awake_wait);
static unsigned int ntrace_awake_users;
static struct pm_qos_request ntrace_awake_request;
/*
 * CPUs that are going offline, and have waited for the callers of ntrace_keep_awake(). Later
 * callers must not access the components of these CPUs.
 */
static struct cpumask ntrace_going;
/*
 * Lockdep annotation. A CPU that goes offline waits for the callers of ntrace_keep_awake(), so a
 * caller that waits for this CPU would deadlock. Lockdep treats the callers as readers of a lock,
 * and the CPU as its writer.
 */
#ifdef CONFIG_LOCKDEP
static struct lockdep_map ntrace_awake_map =
	STATIC_LOCKDEP_MAP_INIT("ntrace_awake", &ntrace_awake_map);
#endif

static void ntrace_do_nothing(void *unused)
{
}

/*
 * Wait until each online CPU has handled its pending function calls (IPIs). May sleep. In one
 * interrupt, a CPU first runs the functions for which a sender waits, as on_each_cpu() does here,
 * and then the other functions. The second on_each_cpu() interrupts the CPU again, which can only
 * happen after the CPU has also run the other functions of the first interrupt.
 */
void ntrace_sync_cpus(void)
{
	on_each_cpu(ntrace_do_nothing, NULL, 1);
	on_each_cpu(ntrace_do_nothing, NULL, 1);
}

/**
 * ntrace_keep_awake - keep the state of all online CPUs
 *
 * In an idle state, an encoder and the components on its path may lose their state. So while a CPU
 * accesses components of another CPU, this other CPU must not enter an idle state. When this
 * function returns, all CPUs have left their idle states, and their components are restored. Until
 * ntrace_let_sleep(), CPUs also do not go offline, see ntrace_wait_asleep(). So the caller must not
 * wait for a CPU to go offline or online.
 *
 * Components of CPUs that are already offline may be without power, see ntrace_has_power().
 *
 * Context: May sleep.
 */
void ntrace_keep_awake(void)
{
	mutex_lock(&ntrace_awake_mutex);
	if (!ntrace_awake_users++) {
		cpu_latency_qos_add_request(&ntrace_awake_request, 0);
		ntrace_sync_cpus();
	}
	mutex_unlock(&ntrace_awake_mutex);
	smp_mb();	/* Pairs with the barrier in ntrace_wait_asleep() */
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
 * Wait for all callers of ntrace_keep_awake(), because @cpu goes offline, and its components may
 * lose their power. Linux still reports the CPU as online for a while, so ntrace_going keeps later
 * callers from its components.
 */
void ntrace_wait_asleep(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &ntrace_going);
	/*
	 * Pairs with the barrier in ntrace_keep_awake(). Either this function sees
	 * ntrace_awake_users and waits, or the caller of ntrace_keep_awake() sees that @cpu is in
	 * ntrace_going.
	 */
	smp_mb();
	lock_map_acquire(&ntrace_awake_map);
	lock_map_release(&ntrace_awake_map);
	wait_event(ntrace_awake_wait, !READ_ONCE(ntrace_awake_users));
}

/* Mark @cpu as online, because it has gone online, or could not go offline */
void ntrace_cpu_stays(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &ntrace_going);
}

/*
 * Return the CPU of an encoder, -EINVAL if @node is not an encoder, or -ENODEV if Linux does not
 * use that CPU
 */
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
 * Add the CPUs to @cpus whose trace passes through @node, or all CPUs if the device tree names no
 * CPU. While all of these CPUs are offline, the component may be without power.
 */
static void ntrace_node_cpus(const struct device_node *node, unsigned int depth,
			     struct cpumask *cpus)
{
	struct device_node *ports, *endpoint, *remote;
	int cpu = ntrace_node_cpu(node);
	bool inputs = false;

	if (cpu >= 0)
		cpumask_set_cpu(cpu, cpus);
	if (cpu != -EINVAL)
		return;
	ports = depth ? of_get_child_by_name(node, "in-ports") : NULL;
	if (ports)
		for_each_endpoint_of_node(ports, endpoint) {
			remote = of_graph_get_remote_port_parent(endpoint);
			inputs |= !!remote;
			if (remote)
				ntrace_node_cpus(remote, depth - 1, cpus);
			of_node_put(remote);
		}
	of_node_put(ports);
	if (!inputs)
		cpumask_setall(cpus);
}

/* Return true if the trace of an online CPU that does not go offline passes through @comp */
bool ntrace_serves_active(const struct ntrace_comp *comp)
{
	unsigned int cpu;

	for_each_cpu_and(cpu, &comp->cpus, cpu_online_mask)
		if (!cpumask_test_cpu(cpu, &ntrace_going))
			return true;
	return false;
}

/**
 * ntrace_has_power - return true if registers of a component may be accessed
 * @comp: The component
 *
 * Context: Between ntrace_keep_awake() and ntrace_let_sleep().
 */
bool ntrace_has_power(const struct ntrace_comp *comp)
{
	return comp->powered && ntrace_serves_active(comp);
}

/* True if a component was not probed because all CPUs that it serves are offline */
static bool ntrace_waiting;

/**
 * ntrace_waits_for_cpu - return true if a component has no power until a CPU goes online
 * @comp: The component, which is resumed
 *
 * If it returns true, the driver probes the component again when a CPU has gone online.
 *
 * Context: The same as for ntrace_has_power().
 */
bool ntrace_waits_for_cpu(const struct ntrace_comp *comp)
{
	if (ntrace_has_power(comp))
		return false;
	/*
	 * The CPU may go online at this time. Either ntrace_has_power() below sees the CPU, or
	 * ntrace_somebody_waits() sees that ntrace_waiting is set.
	 */
	smp_store_mb(ntrace_waiting, true);
	return !ntrace_has_power(comp);
}

/*
 * Return true if components must be probed again. The caller calls this after a CPU has gone
 * online, and after ntrace_has_power() returns true for its components.
 */
bool ntrace_somebody_waits(void)
{
	/* Pairs with the barrier in ntrace_waits_for_cpu() */
	smp_mb();
	return READ_ONCE(ntrace_waiting);
}

/* Clear ntrace_waiting, because all components are probed now */
void ntrace_nobody_waits(void)
{
	WRITE_ONCE(ntrace_waiting, false);
}

/*
 * Get the CPUs that the component serves, and its clocks and reset line, from the device tree. All
 * are optional. The function stores the CPUs in @comp, so that the driver does not search the
 * device tree for them again. A search takes longer if the device tree has more CPUs.
 */
int ntrace_power_find(struct ntrace_comp *comp)
{
	static const char * const names[NTRACE_NR_CLOCKS] = {
		[NTRACE_CLOCK_BUS] = "apb", [NTRACE_CLOCK_TIMESTAMP] = "timestamp",
	};
	struct device *dev = comp->dev;
	unsigned int i;

	ntrace_node_cpus(dev->of_node, NTRACE_PATH_MAX, &comp->cpus);
	for (i = 0; i < NTRACE_NR_CLOCKS; i++) {
		comp->clocks[i] = devm_clk_get_optional(dev, names[i]);
		if (IS_ERR(comp->clocks[i]))
			return dev_err_probe(dev, PTR_ERR(comp->clocks[i]), "no clock \"%s\"\n",
					     names[i]);
	}
	comp->reset = devm_reset_control_get_optional_exclusive(dev, NULL);
	if (IS_ERR(comp->reset))
		return dev_err_probe(dev, PTR_ERR(comp->reset), "cannot get the reset line\n");
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
 * Start clocks and release the reset, so that the registers answer. Runtime PM calls this after it
 * has switched the power domain on, if there is one.
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

/* Undo ntrace_power_up(). Runtime PM calls this before it may switch the power domain off. */
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
 * Undo ntrace_power_get(). Events often follow each other, so the component suspends only after a
 * delay.
 */
void ntrace_power_put(struct ntrace_comp *comp)
{
	pm_runtime_mark_last_busy(comp->dev);
	pm_runtime_put_autosuspend(comp->dev);
}
