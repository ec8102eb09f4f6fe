// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections between components.
 *
 * A component is a platform device of the device tree. Its registers identify its type. The graph
 * of the device tree contains the connections from outputs to inputs
 * (Documentation/devicetree/bindings/riscv/riscv,trace-component.yaml). An encoder whose path ends
 * at a sink makes its CPU traceable.
 */
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_graph.h>

#include "fabric/fabric.h"
#include "route.h"
#include "topology.h"

static struct ntrace_comp *ntrace_find_comp(const struct device_node *node)
{
	struct ntrace_comp *comp;

	list_for_each_entry(comp, &ntrace_comps, node)
		if (comp->dev->of_node == node)
			return comp;
	return NULL;
}

/* Return the number of the port to which the output @endpoint leads */
static unsigned int ntrace_input(const struct device_node *endpoint)
{
	struct device_node *remote = of_graph_get_remote_endpoint(endpoint);
	struct of_endpoint at = { };

	of_graph_parse_endpoint(remote, &at);
	of_node_put(remote);
	return at.port;
}

/*
 * Return true if the component has this input. A funnel numbers its inputs, and other components
 * have one input.
 */
static bool ntrace_has_input(const struct ntrace_comp *comp, unsigned int input)
{
	u16 inputs = comp->ops->inputs;

	return !inputs || (input < BITS_PER_TYPE(inputs) && inputs & BIT(input));
}

/* Component at which the last search for a sink ended, and the reason */
struct ntrace_dead_end {
	const struct ntrace_comp	*at;
	const char			*why;
};

static bool ntrace_reaches(const struct ntrace_encoder *enc, const struct ntrace_sink *sink)
{
	return enc->route.len && enc->sink == sink;
}

static bool ntrace_follow_outputs(struct ntrace_route *route, struct ntrace_dead_end *end);

/* Follow an output of the last component of @route */
static bool ntrace_follow_output(struct ntrace_route *route, const struct device_node *endpoint,
				 struct ntrace_dead_end *end)
{
	struct device_node *remote = of_graph_get_remote_port_parent(endpoint);
	struct ntrace_comp *next = remote ? ntrace_find_comp(remote) : NULL;
	unsigned int input;

	of_node_put(remote);
	end->at = route->path[route->len - 1];
	input = remote ? ntrace_input(endpoint) : 0;
	if (!remote)
		end->why = "has an output that leads nowhere";
	else if (!next)
		end->why = "has an output to a component that cannot be used";
	else if (next->type == TR_COMP_ENCODER)
		end->why = "has an output to an encoder";
	else if (!ntrace_has_input(next, input))
		end->why = "is connected to an input that its funnel does not have";
	else if (route->len == NTRACE_PATH_MAX)
		end->why = "is on a path that is too long or goes in circles";
	else
		end->why = NULL;
	if (end->why)
		return false;
	route->inputs[route->len] = input;
	route->path[route->len++] = next;
	if (ntrace_follow_outputs(route, end))
		return true;
	route->len--;
	return false;
}

/*
 * Complete @route, whose last component is known, to the first usable sink. Try outputs in the
 * order of the device tree.
 */
static bool ntrace_follow_outputs(struct ntrace_route *route, struct ntrace_dead_end *end)
{
	struct ntrace_comp *comp = route->path[route->len - 1];
	struct device_node *ports __free(device_node) =
		of_get_child_by_name(comp->dev->of_node, "out-ports");
	struct device_node *endpoint;

	if (comp->ops->is_sink) {
		route->sink = to_ntrace_sink(comp);
		return true;
	}
	end->at = comp;
	end->why = "has no output in the device tree";
	if (!ports)
		return false;
	for_each_endpoint_of_node(ports, endpoint)
		if (ntrace_follow_output(route, endpoint, end)) {
			of_node_put(endpoint);
			return true;
		}
	return false;
}

/* Find a route from @enc to a sink. If there is none, @end gets the reason. */
static bool ntrace_find_route(struct ntrace_encoder *enc, struct ntrace_route *route,
			      struct ntrace_dead_end *end)
{
	memset(route, 0, sizeof(*route));
	route->path[0] = &enc->comp;
	route->len = 1;
	return ntrace_follow_outputs(route, end);
}

/* Return true if an output of @node leads to @sink */
static bool ntrace_node_leads_to(const struct device_node *node, const struct device_node *sink,
				 unsigned int depth)
{
	struct device_node *ports __free(device_node) =
		depth ? of_get_child_by_name(node, "out-ports") : NULL;
	struct device_node *endpoint, *remote;
	bool leads = false;

	if (!ports)
		return false;
	for_each_endpoint_of_node(ports, endpoint) {
		remote = of_graph_get_remote_port_parent(endpoint);
		leads |= remote && (remote == sink ||
				    ntrace_node_leads_to(remote, sink, depth - 1));
		of_node_put(remote);
	}
	return leads;
}

/* All components that the driver knows by their compatible strings */
const struct of_device_id ntrace_of_match[] = {
	{ .compatible = NTRACE_COMPATIBLE, .data = &ntrace_riscv_comp_ops },
#ifdef CONFIG_NTRACE_SIFIVE
	{ .compatible = "sifive,trace-encoder0", .data = &ntrace_sifive_encoder_comp_ops },
	{ .compatible = "sifive,trace-funnel0", .data = &ntrace_sifive_funnel_comp_ops },
#endif
#ifdef CONFIG_NTRACE_CORESIGHT
	{ .compatible = "arm,coresight-dynamic-funnel", .data = &ntrace_csfunnel_comp_ops },
	{ .compatible = "arm,coresight-tmc", .data = &ntrace_tmc_comp_ops },
#endif
	{ }
};
MODULE_DEVICE_TABLE(of, ntrace_of_match);

/*
 * Return true if the component has no input. Among the components that name a CPU, only encoders
 * have no input. An ATB bridge also names the CPU of its encoder, but has an input.
 */
static bool ntrace_node_is_encoder(const struct device_node *node)
{
	struct device_node *ports __free(device_node) = of_get_child_by_name(node, "in-ports");

	return !ports;
}

/*
 * Count the encoders in the device tree that lead to @sink. Set @rank to the number of these whose
 * CPU is below @cpu. The result does not change when encoders are found late, or are removed.
 */
static unsigned int ntrace_count_sources(const struct ntrace_sink *sink, unsigned int cpu,
					 unsigned int *rank)
{
	struct device_node *node;
	unsigned int n = 0;
	int id;

	*rank = 0;
	for_each_matching_node(node, ntrace_of_match) {
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
		if (ntrace_reaches(ntrace_encoder_of(cpu), sink))
			return true;
	return false;
}

/*
 * Accept the source number that hardware has assigned to an encoder. Such numbers need not have the
 * order of the CPUs.
 */
static int ntrace_accept_source(struct ntrace_encoder *enc, const struct ntrace_sink *sink,
				unsigned int bits)
{
	int ret = ntrace_encoder_set_src(enc, bits, 0);
	unsigned int cpu;

	for_each_cpu(cpu, ntrace_cpus())
		if (ntrace_reaches(ntrace_encoder_of(cpu), sink) &&
		    ntrace_encoder_of(cpu)->src_id == enc->src_id)
			ret = -EOPNOTSUPP;
	return ret;
}

/*
 * Give an encoder its SRC in the stream of its sink, and set trTeSrcBits, because "all encoders
 * operating within the same trace stream must configure the trTeSrcBits field identically". A sink
 * with one encoder does not need SRC. If an encoder does not accept its SRC, only the first encoder
 * of its sink is connected, without SRC.
 */
static int ntrace_number_source(struct ntrace_encoder *enc, struct ntrace_sink *sink)
{
	bool connected = ntrace_sink_is_connected(sink);
	unsigned int rank, bits, n = ntrace_count_sources(sink, enc->cpu, &rank);

	lockdep_assert_held(&ntrace_mutex);

	if (connected && sink->encoders == 1)
		return -EOPNOTSUPP;
	sink->encoders = max(n, 1U);
	bits = order_base_2(n);
	if (enc->caps.src_fixed)
		return ntrace_accept_source(enc, sink, bits);
	if (!ntrace_encoder_set_src(enc, bits, rank) && (n <= 1 || enc->src_bits == bits))
		return 0;
	if (connected)
		return -EOPNOTSUPP;
	sink->encoders = 1;
	return ntrace_encoder_set_src(enc, 0, 0);
}

/* Number of events that need the path of each CPU. Protected by ntrace_mutex. */
static unsigned int ntrace_holders[NR_CPUS];

/**
 * ntrace_cpu_hold - keep the components resumed that trace a CPU
 * @cpu: The CPU; it may have no encoder, or get one later
 *
 * Context: The caller holds ntrace_mutex.
 * Return: 0, or a negative error, in which case ntrace_cpu_release() must not be called
 */
int ntrace_cpu_hold(unsigned int cpu)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);
	int ret = 0;

	lockdep_assert_held(&ntrace_mutex);
	if (enc && !ntrace_holders[cpu])
		ret = ntrace_route_get(&enc->route);
	if (!ret)
		ntrace_holders[cpu]++;
	return ret;
}

/* Release the path of an encoder, so that its components can suspend */
static void ntrace_path_retire(struct ntrace_encoder *enc)
{
	unsigned long flags;

	/*
	 * Drop the trace that the path still holds. The encoder does not trace, so it adds no new
	 * trace.
	 */
	if (!list_empty(&enc->held)) {
		ntrace_keep_awake();
		local_irq_save(flags);
		if (ntrace_has_power(&enc->comp))
			ntrace_path_rest(enc);
		local_irq_restore(flags);
		ntrace_let_sleep();
	}
	ntrace_route_put(&enc->route);
}

/* Undo ntrace_cpu_hold(). The caller holds ntrace_mutex. */
void ntrace_cpu_release(unsigned int cpu)
{
	struct ntrace_encoder *enc = ntrace_encoder_of(cpu);

	lockdep_assert_held(&ntrace_mutex);
	if (!--ntrace_holders[cpu] && enc)
		ntrace_path_retire(enc);
}

/* Number the encoder in its stream, while the whole route is resumed */
static bool ntrace_join_stream(struct ntrace_encoder *enc, const struct ntrace_route *route)
{
	unsigned int i;

	if (ntrace_route_get(route)) {
		dev_err(enc->comp.dev, "CPU %u cannot be traced into %s: its path has no power\n",
			enc->cpu, dev_name(route->sink->comp.dev));
		return false;
	}
	for (i = 0; i < route->len; i++)
		if (ntrace_waits_for_cpu(route->path[i])) {
			ntrace_route_put(route);
			return false;
		}
	/*
	 * Restore the registers, because an idle state may have cleared them after the components
	 * were found
	 */
	for (i = 0; i < route->len; i++)
		ntrace_path_restore_comp(route->path[i]);
	if (ntrace_number_source(enc, route->sink)) {
		dev_err(enc->comp.dev, "CPU %u cannot be traced: several encoders send to %s, and trTeSrcBits and trTeSrcID cannot tell them apart\n",
			enc->cpu, dev_name(route->sink->comp.dev));
		ntrace_route_put(route);
		return false;
	}
	return true;
}

/*
 * Connect the funnels of a path from its end, because the encoder and inner funnels may share the
 * timestamp of the last funnel.
 */
static void ntrace_connect_funnels(const struct ntrace_route *route)
{
	unsigned int i;

	for (i = route->len - 2; i; i--) {
		struct ntrace_comp *comp = route->path[i];

		if (comp->type == TR_COMP_FUNNEL)
			ntrace_funnel_connect(to_ntrace_funnel(comp),
					      route->path[i + 1]->type == TR_COMP_FUNNEL);
		if (comp->ops->open)
			comp->ops->open(comp, route->inputs[i]);
	}
}

/* Connect an encoder. Return false if it was already connected, or cannot be connected. */
static bool ntrace_connect_encoder(struct ntrace_encoder *enc)
{
	struct ntrace_dead_end end;
	struct ntrace_route route;

	if (enc->route.len || ntrace_encoder_of(enc->cpu) ||
	    !ntrace_find_route(enc, &route, &end) || !ntrace_join_stream(enc, &route))
		return false;
	enc->route = route;
	route.sink->cpu = enc->cpu;
	ntrace_path_use(enc);
	ntrace_connect_funnels(&route);
	if (route.len > 2)
		ntrace_encoder_start_counter(enc);
	/* Let the path suspend, unless an event of this CPU already exists, and needs the path */
	if (!ntrace_holders[enc->cpu])
		ntrace_route_put(&route);
	ntrace_registry_add_encoder(enc);
	enc->reported = false;
	return true;
}

/* Return true if the route of @enc leads through @comp */
static bool ntrace_encoder_uses(const struct ntrace_encoder *enc, const struct ntrace_comp *comp)
{
	unsigned int i;

	for (i = 0; i < enc->route.len; i++)
		if (enc->route.path[i] == comp)
			return true;
	return false;
}

/* Return true if there is an event that may trace through @comp */
bool ntrace_is_held(const struct ntrace_comp *comp)
{
	unsigned int cpu;

	lockdep_assert_held(&ntrace_mutex);
	for_each_cpu(cpu, ntrace_cpus())
		if (ntrace_holders[cpu] && ntrace_encoder_uses(ntrace_encoder_of(cpu), comp))
			return true;
	return false;
}

/**
 * ntrace_connect - complete the path of an encoder, if possible
 *
 * Whenever a component was found, call this repeatedly until it returns NULL.
 *
 * Context: The caller holds ntrace_mutex, and CPUs are kept awake.
 * Return: An encoder whose CPU can be traced from now on, or NULL
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
		if (ntrace_connect_encoder(enc))
			return enc;
	}
	return NULL;
}

/* Disconnect @enc, while its CPU is not traced. The caller holds ntrace_mutex. */
void ntrace_disconnect(struct ntrace_encoder *enc)
{
	lockdep_assert_held(&ntrace_mutex);
	ntrace_registry_del_encoder(enc);
	ntrace_keep_awake();
	ntrace_path_leave(enc);
	ntrace_let_sleep();
	if (ntrace_holders[enc->cpu])
		ntrace_route_put(&enc->route);
	/* Forget the components of the route, because they may be removed */
	enc->route.len = 0;
}

/* Return an encoder whose path leads through @comp, or NULL. The caller holds ntrace_mutex. */
struct ntrace_encoder *ntrace_encoder_through(const struct ntrace_comp *comp)
{
	unsigned int cpu;

	lockdep_assert_held(&ntrace_mutex);
	for_each_cpu(cpu, ntrace_cpus())
		if (ntrace_encoder_uses(ntrace_encoder_of(cpu), comp))
			return ntrace_encoder_of(cpu);
	return NULL;
}

/*
 * Log why a CPU cannot be traced. Log each CPU once, and again after it was traceable in between.
 */
void ntrace_report_unconnected(void)
{
	struct ntrace_dead_end end;
	struct ntrace_route route;
	struct ntrace_comp *comp;

	lockdep_assert_held(&ntrace_mutex);
	list_for_each_entry(comp, &ntrace_comps, node) {
		struct ntrace_encoder *enc = to_ntrace_encoder(comp);

		if (comp->type != TR_COMP_ENCODER || enc->route.len || enc->reported)
			continue;
		/* Skip a CPU that is offline; its encoder is connected when the CPU goes online */
		if (!ntrace_serves_active(comp))
			continue;
		enc->reported = true;
		if (ntrace_find_route(enc, &route, &end)) {
			end.at = route.path[route.len - 1];
			end.why = "belongs to a CPU that another encoder traces";
		}
		dev_err(comp->dev, "CPU %u cannot be traced: %s %s %s\n", enc->cpu,
			end.at->ops->name, dev_name(end.at->dev), end.why);
	}
}
