// SPDX-License-Identifier: GPL-2.0-only
/*
 * How components are connected.
 *
 * A component is a platform device of the device tree; what it is, its
 * registers say. The graph of the device tree says which output leads to which
 * input (Documentation/devicetree/bindings/riscv/riscv,trace-component.yaml).
 * An encoder whose path ends at a sink makes its CPU traceable.
 */
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/of.h>
#include <linux/of_graph.h>

#include "ntrace.h"

static struct ntrace_comp *ntrace_find_comp(const struct device_node *node)
{
	struct ntrace_comp *comp;

	list_for_each_entry(comp, &ntrace_comps, node)
		if (comp->dev->of_node == node)
			return comp;
	return NULL;
}

/* The number of the port that @endpoint, an output, leads to */
static unsigned int ntrace_input(const struct device_node *endpoint)
{
	struct device_node *remote = of_graph_get_remote_endpoint(endpoint);
	struct of_endpoint at = { };

	of_graph_parse_endpoint(remote, &at);
	of_node_put(remote);
	return at.port;
}

/*
 * The component that @comp sends to, and the @input of that. An encoder may have several outputs:
 * the first that leads to a usable component is taken.
 */
static struct ntrace_comp *ntrace_next_comp(const struct ntrace_comp *comp, u8 *input,
					    const char **why)
{
	struct device_node *ports = of_get_child_by_name(comp->dev->of_node, "out-ports");
	struct device_node *endpoint, *remote;
	struct ntrace_comp *next = NULL;

	*why = "has no output in the device tree";
	if (!ports)
		return NULL;
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		if (!remote) {
			*why = "has an output that leads nowhere";
			continue;
		}
		next = ntrace_find_comp(remote);
		of_node_put(remote);
		if (next) {
			*input = ntrace_input(endpoint);
			of_node_put(endpoint);
			break;
		}
		*why = "has an output to a component that cannot be used";
	}
	of_node_put(ports);
	return next;
}

/* Fill enc->path; @at is where it breaks off, @why the reason */
static bool ntrace_build_path(struct ntrace_encoder *enc, struct ntrace_comp **at,
			      const char **why)
{
	struct ntrace_comp *comp = &enc->comp;
	unsigned int len = 0;
	u8 input = 0;

	while (comp && len < NTRACE_PATH_MAX) {
		enc->path[len++] = comp;
		*at = comp;
		if (ntrace_is_sink(comp)) {
			enc->sink = to_ntrace_sink(comp);
			enc->path_len = len;
			return true;
		}
		comp = ntrace_next_comp(comp, &input, why);
		if (comp && len < NTRACE_PATH_MAX)
			enc->inputs[len] = input;
		if (comp && comp->type == TR_COMP_ENCODER) {
			*why = "has an output to an encoder";
			return false;
		}
	}
	if (comp)
		*why = "is on a path that is too long or goes in circles";
	return false;
}

/* Is @sink at the end of an output of @node? */
static bool ntrace_node_leads_to(const struct device_node *node, const struct device_node *sink,
				 unsigned int depth)
{
	struct device_node *ports, *endpoint, *remote;
	bool leads = false;

	ports = depth ? of_get_child_by_name(node, "out-ports") : NULL;
	if (!ports)
		return false;
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		leads |= remote && (remote == sink ||
				    ntrace_node_leads_to(remote, sink, depth - 1));
		of_node_put(remote);
	}
	of_node_put(ports);
	return leads;
}

/* An ATB bridge names the CPU of its encoder, too, but has an input. */
static bool ntrace_node_is_encoder(const struct device_node *node)
{
	struct device_node *ports = of_get_child_by_name(node, "in-ports");

	of_node_put(ports);
	return !ports;
}

/*
 * How many encoders of the device tree lead to @sink, and in @rank how many of them belong to a
 * CPU below @cpu. That does not change when encoders come late, or go.
 */
static unsigned int ntrace_count_sources(const struct ntrace_sink *sink, unsigned int cpu,
					 unsigned int *rank)
{
	struct device_node *node;
	unsigned int n = 0;
	int id;

	*rank = 0;
	for_each_compatible_node(node, NULL, NTRACE_COMPATIBLE) {
		id = ntrace_node_is_encoder(node) ? ntrace_node_cpu(node) : -ENODEV;
		if (id < 0 || !of_device_is_available(node) ||
		    !ntrace_node_leads_to(node, sink->comp.dev->of_node, NTRACE_PATH_MAX))
			continue;
		n++;
		*rank += id < cpu;
	}
	return n;
}

static bool ntrace_sink_is_connected(const struct ntrace_sink *sink)
{
	unsigned int cpu;

	for_each_cpu(cpu, ntrace_cpus())
		if (ntrace_encoder_of(cpu)->sink == sink)
			return true;
	return false;
}

/*
 * Number an encoder in the stream of its sink: "all encoders operating within the same trace
 * stream must configure the trTeSrcBits field identically". A sink of one encoder needs no SRC,
 * and so does the only one that is connected, if SRC cannot tell it from others.
 */
static int ntrace_number_source(struct ntrace_encoder *enc)
{
	struct ntrace_sink *sink = enc->sink;
	bool connected = ntrace_sink_is_connected(sink);
	unsigned int rank, bits, n = ntrace_count_sources(sink, enc->cpu, &rank);

	lockdep_assert_held(&ntrace_mutex);

	if (connected && sink->encoders == 1)
		return -EOPNOTSUPP;
	bits = order_base_2(n);
	sink->encoders = max(n, 1U);
	if (!ntrace_encoder_set_src(enc, bits, rank) && (n <= 1 || enc->src_bits == bits))
		return 0;
	if (connected)
		return -EOPNOTSUPP;
	sink->encoders = 1;
	return ntrace_encoder_set_src(enc, 0, 0);
}

/* The encoder of a sink that no other uses is always its member; others come and go */
static void ntrace_enter_sink(struct ntrace_encoder *enc)
{
	struct ntrace_sink *sink = enc->sink;

	INIT_LIST_HEAD(&enc->member);
	if (sink->encoders == 1)
		list_add(&enc->member, &sink->members);
	sink->cpu = enc->cpu;
}

/* Events that want this CPU to be ready, by CPU. Protected by ntrace_mutex. */
static unsigned int ntrace_holders[NR_CPUS];

/**
 * ntrace_cpu_hold - keep the components resumed that trace a CPU
 * @cpu: the CPU; it may have no encoder, or get it later
 *
 * Context: ntrace_mutex is held.
 * Return: 0, or a negative error: ntrace_cpu_release() must not be called then
 */
int ntrace_cpu_hold(unsigned int cpu)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);
	int ret = 0;

	lockdep_assert_held(&ntrace_mutex);
	if (enc && !ntrace_holders[cpu])
		ret = ntrace_path_get(enc);
	if (!ret)
		ntrace_holders[cpu]++;
	return ret;
}

/* Undo ntrace_cpu_hold(). Context: ntrace_mutex is held. */
void ntrace_cpu_release(unsigned int cpu)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

	lockdep_assert_held(&ntrace_mutex);
	if (!--ntrace_holders[cpu] && enc)
		ntrace_path_put(enc);
}

/* Number the encoder in its stream, with all of its path resumed */
static bool ntrace_join_stream(struct ntrace_encoder *enc)
{
	unsigned int i;

	if (ntrace_path_get(enc)) {
		dev_err(enc->comp.dev, "CPU %u cannot be traced: its path has no power\n",
			enc->cpu);
		return false;
	}
	/* An idle state may have cost their registers since they were found */
	for (i = 0; i < enc->path_len; i++)
		ntrace_path_restore_comp(enc->path[i]);
	if (ntrace_number_source(enc)) {
		dev_err(enc->comp.dev, "CPU %u cannot be traced: several encoders send to %s, and trTeSrcBits and trTeSrcID cannot tell them apart\n",
			enc->cpu, dev_name(enc->sink->comp.dev));
		ntrace_path_put(enc);
		return false;
	}
	return true;
}

static bool ntrace_connect_encoder(struct ntrace_encoder *enc)
{
	struct ntrace_comp *at;
	const char *why;

	if (enc->path_len || ntrace_encoder_of(enc->cpu) || !ntrace_build_path(enc, &at, &why))
		return false;
	if (!ntrace_join_stream(enc)) {
		enc->path_len = 0;
		return false;
	}
	ntrace_enter_sink(enc);
	ntrace_registry_add_encoder(enc);
	return true;
}

/* The funnels of a path count from its end: encoder and inner funnels share that */
static void ntrace_connect_funnels(struct ntrace_encoder *enc)
{
	unsigned int i;

	for (i = enc->path_len - 2; i; i--) {
		struct ntrace_comp *comp = enc->path[i];

		if (comp->type == NTRACE_COMP_CSFUNNEL)
			ntrace_cs_funnel_open(to_ntrace_csfunnel(comp), enc->inputs[i]);
		if (comp->type != TR_COMP_FUNNEL)
			continue;
		ntrace_funnel_connect(to_ntrace_funnel(comp),
				      enc->path[i + 1]->type == TR_COMP_FUNNEL);
		ntrace_funnel_open(to_ntrace_funnel(comp), enc->inputs[i]);
	}
	if (enc->path_len > 2)
		ntrace_encoder_start_counter(enc);
}

/* The timestamp unit of a funnel has changed, and those that share it with it */
void ntrace_measure_behind(const struct ntrace_comp *funnel)
{
	unsigned int cpu, i;

	lockdep_assert_held(&ntrace_mutex);
	for_each_cpu(cpu, ntrace_cpus()) {
		struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

		for (i = 1; i < enc->path_len - 1; i++) {
			if (enc->path[i] != funnel || !cpu_online(cpu) || ntrace_path_get(enc))
				continue;
			ntrace_encoder_measure(enc);
			ntrace_path_put(enc);
		}
	}
}

/**
 * ntrace_connect - complete the path of an encoder, if there is one that can be
 *
 * To be called again until there is none, whenever a component was found.
 *
 * Context: ntrace_mutex is held, and CPUs are kept awake.
 * Return: an encoder whose CPU can be traced from now on, or NULL
 */
struct ntrace_encoder *ntrace_connect(void)
{
	struct ntrace_encoder *enc;
	struct ntrace_comp *comp;

	lockdep_assert_held(&ntrace_mutex);
	list_for_each_entry(comp, &ntrace_comps, node) {
		if (comp->type != TR_COMP_ENCODER)
			continue;
		enc = to_ntrace_encoder(comp);
		if (!ntrace_connect_encoder(enc))
			continue;
		ntrace_connect_funnels(enc);
		/* An event of this CPU may be there already; it keeps the path resumed */
		if (!ntrace_holders[enc->cpu])
			ntrace_path_put(enc);
		return enc;
	}
	return NULL;
}

/* Its CPU cannot be traced any more, and does not. Context: ntrace_mutex is held. */
void ntrace_disconnect(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	if (ntrace_holders[enc->cpu])
		ntrace_path_put(enc);
	ntrace_registry_del_encoder(enc);
	list_del_init(&enc->member);
	enc->path_len = 0;
}

/* An encoder whose path leads through @comp, or NULL. Context: ntrace_mutex is held. */
struct ntrace_encoder *ntrace_encoder_through(const struct ntrace_comp *comp)
{
	unsigned int cpu, i;

	lockdep_assert_held(&ntrace_mutex);
	for_each_cpu(cpu, ntrace_cpus()) {
		struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

		for (i = 0; i < enc->path_len; i++)
			if (enc->path[i] == comp)
				return enc;
	}
	return NULL;
}

/* Once all devices were tried: say which CPUs cannot be traced, and why */
void ntrace_report_unconnected(void)
{
	struct ntrace_encoder *enc;
	struct ntrace_comp *comp, *at;
	const char *why;

	lockdep_assert_held(&ntrace_mutex);
	list_for_each_entry(comp, &ntrace_comps, node) {
		if (comp->type != TR_COMP_ENCODER)
			continue;
		enc = to_ntrace_encoder(comp);
		if (enc->path_len)
			continue;
		if (ntrace_build_path(enc, &at, &why))
			why = "belongs to a CPU that another encoder traces";
		enc->path_len = 0;
		dev_err(comp->dev, "CPU %u cannot be traced: %s %s %s\n", enc->cpu,
			ntrace_type_name(at->type), dev_name(at->dev), why);
	}
}
