// SPDX-License-Identifier: GPL-2.0-only
/*
 * When registers may be looked at: idle states, CPU hotplug, and components that serve no CPU
 * that is online.
 */
#include <linux/cpumask.h>
#include <linux/of.h>
#include <linux/of_graph.h>
#include <linux/pm_qos.h>
#include <linux/smp.h>
#include <linux/wait.h>

#include "ntrace.h"

/* Counts who wants all CPUs to keep their state */
static DEFINE_MUTEX(ntrace_awake_mutex);
static DECLARE_WAIT_QUEUE_HEAD(ntrace_awake_wait);
static unsigned int ntrace_awake_users;
static struct pm_qos_request ntrace_awake_request;

static void ntrace_do_nothing(void *unused)
{
}

/*
 * Each CPU that is online has done what it was interrupted for. May sleep. One interrupt runs
 * calls that are waited for before the others: at the second the others of the first are over.
 */
void ntrace_sync_cpus(void)
{
	on_each_cpu(ntrace_do_nothing, NULL, 1);
	on_each_cpu(ntrace_do_nothing, NULL, 1);
}

/**
 * ntrace_keep_awake - no CPU that is online loses its state, from now on
 *
 * An idle state may cost an encoder its state too, and what is behind it: while a CPU looks at
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
}

/* Undo ntrace_keep_awake() */
void ntrace_let_sleep(void)
{
	mutex_lock(&ntrace_awake_mutex);
	if (!--ntrace_awake_users) {
		cpu_latency_qos_remove_request(&ntrace_awake_request);
		wake_up_all(&ntrace_awake_wait);
	}
	mutex_unlock(&ntrace_awake_mutex);
}

/* This CPU goes offline, where its components may lose their power: nobody is to look at them */
void ntrace_wait_asleep(void)
{
	wait_event(ntrace_awake_wait, !READ_ONCE(ntrace_awake_users));
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
 * Is there a CPU that is online among those that @node serves? Whatever serves others only may
 * be without power. The device tree says it before any register is looked at.
 */
static bool ntrace_node_has_power(const struct device_node *node, unsigned int depth)
{
	struct device_node *ports, *endpoint, *remote;
	bool inputs = false, power = false;
	int cpu = ntrace_node_cpu(node);

	if (cpu != -EINVAL)
		return cpu < 0 || cpu_online(cpu);
	ports = of_get_child_by_name(node, "in-ports");
	if (!ports || !depth) {
		of_node_put(ports);
		return true;
	}
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		inputs |= !!remote;
		power |= remote && ntrace_node_has_power(remote, depth - 1);
		of_node_put(remote);
	}
	of_node_put(ports);
	return power || !inputs;
}

/**
 * ntrace_has_power - may registers of a component be looked at?
 * @comp: the component
 *
 * Context: between ntrace_keep_awake() and ntrace_let_sleep().
 */
bool ntrace_has_power(const struct ntrace_comp *comp)
{
	return ntrace_node_has_power(comp->dev->of_node, NTRACE_PATH_MAX);
}
