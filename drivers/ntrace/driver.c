// SPDX-License-Identifier: GPL-2.0-only
/*
 * The platform driver. Each component is a device of the device tree. Its registers identify its
 * type.
 */
#include <linux/clk.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/irq.h>
#include <linux/libnvdimm.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/property.h>
#include <linux/reset.h>
#include <linux/sizes.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "fabric/fabric.h"
#include "flight/flight.h"
#include "pmu.h"
#include "session.h"
#include "topology.h"

/* True after all devices that existed when the module was loaded have been probed */
static bool ntrace_loaded;
/* True after the flight recorder has ended because the module is being unloaded */
static bool ntrace_leaving;

static int ntrace_setup_encoder(struct ntrace_encoder *enc)
{
	struct clk *clk = enc->comp.clocks[NTRACE_CLOCK_TIMESTAMP];
	int cpu = ntrace_node_cpu(enc->comp.dev->of_node);

	if (cpu < 0) {
		dev_err(enc->comp.dev, "trace encoder without a \"cpus\" property\n");
		return cpu;
	}
	enc->cpu = cpu;
	INIT_LIST_HEAD(&enc->member);
	INIT_LIST_HEAD(&enc->held);
	/*
	 * Take the frequency from the device tree, because no register of the encoder contains it
	 */
	enc->ts_clock = clk ? clk_get_rate(clk) : 0;
	enc->ts_freq = enc->ts_clock;
	return enc->comp.ops->setup(&enc->comp);
}

static irqreturn_t ntrace_sink_irq(int irq, void *sink)
{
	return ntrace_sink_interrupt(sink) ? IRQ_HANDLED : IRQ_NONE;
}

/*
 * Request the interrupt of a sink, see ntrace_sink_interrupt(). The interrupt is optional, and not
 * part of the specification.
 */
static int ntrace_request_irq(struct ntrace_sink *sink)
{
	struct device *dev = sink->comp.dev;
	int irq = platform_get_irq_optional(to_platform_device(dev), 0);

	if (irq == -ENXIO)
		return 0;
	/*
	 * The sink raises the interrupt when it sets trRamWrap. The bit stays set in a snapshot
	 * buffer, and while nothing is traced, so a level-triggered interrupt would never end.
	 */
	if (irq >= 0 && !(irq_get_trigger_type(irq) & IRQ_TYPE_EDGE_BOTH)) {
		dev_warn(dev, "trace RAM sink at %pa: its interrupt is not used, because it is not edge triggered\n",
			 &sink->comp.addr);
		return 0;
	}
	if (irq >= 0)
		irq = devm_request_irq(dev, irq, ntrace_sink_irq, IRQF_NO_THREAD, dev_name(dev),
				       sink);
	if (irq < 0)
		return dev_err_probe(dev, irq,
				     "trace RAM sink at %pa: cannot get its interrupt\n",
				     &sink->comp.addr);
	return 0;
}

/*
 * Return the memory region that the sink writes. A region with the name "flight" belongs to the
 * flight recorder.
 */
static struct device_node *ntrace_sink_region(const struct device_node *node)
{
	int index = 0;

	if (of_property_present(node, "memory-region-names"))
		index = of_property_match_string(node, "memory-region-names", "trace");
	return index < 0 ? NULL : of_parse_phandle(node, "memory-region", index);
}

/*
 * Map memory that the device tree reserves for the sink. The sink gets its physical address,
 * because no IOMMU translates the writes of the sink.
 */
static int ntrace_sink_memory(struct ntrace_sink *sink)
{
	struct device *dev = sink->comp.dev;
	struct device_node *node = ntrace_sink_region(dev->of_node);
	bool cached = !sink->past_caches, ram;
	struct reserved_mem *mem;
	void *addr;

	if (!node)
		return 0;
	mem = of_reserved_mem_lookup(node);
	of_node_put(node);
	if (!mem) {
		dev_err(dev, "trace RAM sink at %pa: its memory-region is not reserved\n",
			&sink->comp.addr);
		return -EINVAL;
	}
	/*
	 * If the region lacks the property "no-map", the kernel has already mapped it cached, so
	 * caches may contain lines of it
	 */
	ram = region_intersects(mem->base, mem->size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	      REGION_DISJOINT;
	sink->mem_cached = !cached && (ram || !ntrace_maps_uncached());
	cached |= sink->mem_cached;
	addr = devm_memremap(dev, mem->base, mem->size, cached ? MEMREMAP_WB : MEMREMAP_WC);
	if (IS_ERR(addr)) {
		dev_err(dev, "trace RAM sink at %pa: its memory-region cannot be mapped (%ld)\n",
			&sink->comp.addr, PTR_ERR(addr));
		return PTR_ERR(addr);
	}
	/* Drop old lines from the caches, which could otherwise write them back over newer trace */
	if (sink->mem_cached)
		arch_invalidate_pmem(addr, mem->size);
	sink->mem = addr;
	sink->mem_start = mem->base;
	sink->mem_end = mem->base + mem->size;
	return 0;
}

static int ntrace_setup_sink(struct ntrace_sink *sink)
{
	struct ntrace_comp *comp = &sink->comp;
	int ret;

	raw_spin_lock_init(&sink->lock);
	INIT_LIST_HEAD(&sink->members);
	INIT_LIST_HEAD(&sink->held);
	sink->past_caches = device_get_dma_attr(comp->dev) != DEV_DMA_COHERENT;
	if (comp->ops->foreign)
		return comp->ops->setup(comp);
	ret = ntrace_sink_memory(sink) ?: comp->ops->setup(comp);
	return ret ?: ntrace_scrap_make(sink) ?: ntrace_request_irq(sink);
}

/* Memory for any kind of component, because its kind is unknown before its registers are read */
union ntrace_any {
	struct ntrace_comp	comp;
	struct ntrace_encoder	encoder;
	struct ntrace_funnel	funnel;
	struct ntrace_sink	sink;
	struct ntrace_csfunnel	csfunnel;
};

/* Reset a component that was recognised, and find out its capabilities */
static int ntrace_setup_comp(union ntrace_any *any)
{
	struct ntrace_comp *comp = &any->comp;
	int ret = comp->ops->foreign ? 0 : ntrace_comp_reset(comp);

	if (ret)
		return ret;
	if (comp->type == TR_COMP_ENCODER)
		ret = ntrace_setup_encoder(&any->encoder);
	else if (comp->ops->is_sink)
		ret = ntrace_setup_sink(&any->sink);
	else
		ret = comp->ops->setup(comp);
	/* Drop the claim on the CoreSight component, so that a debugger can use it */
	if (ret && comp->ops->foreign)
		comp->ops->quiesce(comp);
	return ret;
}

/* Connect all encoders whose path has become complete. Called whenever a component was found. */
static void ntrace_connect_all(void)
{
	struct ntrace_encoder *enc;
	bool connected = false;

	lockdep_assert_held(&ntrace_mutex);
	while ((enc = ntrace_connect())) {
		connected = true;
		ntrace_context_probe(enc->cpu);
		ntrace_pmu_link(enc);
		dev_info(enc->comp.dev, "traces CPU %u into %s %s, modes%s%s%s\n", enc->cpu,
			 enc->sink->comp.ops->name, dev_name(enc->sink->comp.dev),
			 enc->caps.modes & BIT(TR_TE_INST_MODE_BTM) ? " BTM" : "",
			 enc->caps.modes & BIT(TR_TE_INST_MODE_HTM) ? " HTM" : "",
			 enc->sink->area->copied ? ", copied" : "");
	}
	if (connected && ntrace_loaded)
		ntrace_causes_connected();
}

/*
 * Delay of the log messages about CPUs that cannot be traced. The kernel defers devices that wait
 * for others, so components may be found long after the driver was registered. The messages follow
 * when no component was found for this time.
 */
#define NTRACE_REPORT_DELAY	HZ

static void ntrace_report(struct work_struct *work)
{
	guard(mutex)(&ntrace_mutex);
	if (!ntrace_loaded)
		return;
	ntrace_report_unconnected();
	if (cpumask_empty(ntrace_cpus()))
		pr_info_once("ntrace: no CPU can be traced\n");
}

static DECLARE_DELAYED_WORK(ntrace_report_later, ntrace_report);

/* Use a component that was recognised. The caller holds ntrace_mutex, and keeps CPUs awake. */
static int ntrace_use_comp(union ntrace_any *any)
{
	struct ntrace_comp *comp = &any->comp;
	int ret = ntrace_setup_comp(any);

	if (!ret && comp->ops->is_sink)
		ret = ntrace_registry_add_sink(&any->sink);
	/*
	 * From here on, a process can read these files. If it needs ntrace_mutex, it waits until
	 * the component is set up.
	 */
	if (!ret) {
		ret = device_add_groups(comp->dev, ntrace_comp_groups(comp));
		if (ret && comp->ops->is_sink)
			ntrace_registry_del_sink(&any->sink);
		if (ret && comp->ops->free)
			comp->ops->free(comp);
	}
	if (ret) {
		/* Leave the component in reset */
		if (!comp->ops->foreign)
			ntrace_write(comp, TR_CONTROL, 0);
		return ret;
	}
	comp->state = NTRACE_COMP_READY;
	list_add_tail(&comp->node, &ntrace_comps);
	ntrace_connect_all();
	return 0;
}

static int ntrace_add_comp(union ntrace_any *any)
{
	struct ntrace_comp *comp = &any->comp;
	int ret;

	/*
	 * Do not access the encoder of a hart that Linux does not use. The hart never goes online,
	 * so its encoder may never have power.
	 */
	if (ntrace_node_cpu(comp->dev->of_node) == -ENODEV) {
		dev_err(comp->dev, "trace encoder is not used, because Linux does not use its CPU\n");
		return -ENODEV;
	}
	if (ntrace_waits_for_cpu(comp))
		return -EPROBE_DEFER;
	ret = comp->ops->foreign ? comp->ops->identify(comp) : ntrace_comp_recognise(comp);
	if (ret)
		return ret;
	if (comp->ops->foreign || !(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ENABLE) ||
	    ntrace_flight_rescue(comp))
		return ntrace_use_comp(any);
	comp->state = NTRACE_COMP_FOREIGN;
	dev_notice(comp->dev, "%s at %pa is in use by a debugger, because it is enabled; end its session, or switch the machine off and on, and then load the driver again\n",
		   comp->ops->name, &comp->addr);
	return -EBUSY;
}

/*
 * Register the PMU if the first encoder was found after the module was loaded. The caller keeps
 * CPUs awake. It has held ntrace_mutex before, so this CPU sees the current value of ntrace_loaded.
 */
static void ntrace_register_late(void)
{
	if (READ_ONCE(ntrace_loaded) && ntrace_pmu_register())
		pr_err("ntrace: cannot register the PMU with perf\n");
}

/* Time that components stay resumed after the last event */
#define NTRACE_AUTOSUSPEND_MS	1000

/* Resume the component, and keep it resumed until the end of ntrace_probe() */
static int ntrace_start_power(struct ntrace_comp *comp)
{
	struct device *dev = comp->dev;
	int ret = ntrace_power_find(comp);

	if (ret)
		return ret;
	pm_runtime_set_autosuspend_delay(dev, NTRACE_AUTOSUSPEND_MS);
	pm_runtime_use_autosuspend(dev);
	pm_runtime_enable(dev);
	ret = ntrace_power_get(comp);
	if (ret) {
		pm_runtime_dont_use_autosuspend(dev);
		pm_runtime_disable(dev);
	}
	return ret;
}

static void ntrace_end_power(struct ntrace_comp *comp)
{
	pm_runtime_dont_use_autosuspend(comp->dev);
	pm_runtime_force_suspend(comp->dev);
	reset_control_assert(comp->reset);
}

static int ntrace_map(struct platform_device *pdev, struct ntrace_comp *comp)
{
	struct device *dev = &pdev->dev;
	struct resource *res;
	void __iomem *base;

	base = devm_platform_get_and_ioremap_resource(pdev, 0, &res);
	if (IS_ERR(base))
		return PTR_ERR(base);
	/*
	 * A component has 4 KiB of registers (Trace Control Interface, chapter "Trace Components")
	 */
	if (resource_size(res) < SZ_4K) {
		dev_err(dev, "register region %pR is smaller than 4 KiB\n", res);
		return -EINVAL;
	}
	ntrace_comp_init(comp, of_device_get_match_data(dev), dev, base, res->start);
	return 0;
}

static int ntrace_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	union ntrace_any *any;
	int ret;

	any = devm_kzalloc(dev, sizeof(*any), GFP_KERNEL);
	if (!any)
		return -ENOMEM;
	ret = ntrace_map(pdev, &any->comp);
	if (ret)
		return ret;
	platform_set_drvdata(pdev, any);
	ret = ntrace_start_power(&any->comp);
	if (ret)
		return ret;

	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ret = ntrace_add_comp(any);
	mutex_unlock(&ntrace_mutex);
	mod_delayed_work(system_percpu_wq, &ntrace_report_later, NTRACE_REPORT_DELAY);
	if (!ret)
		ntrace_register_late();
	ntrace_let_sleep();
	if (!ret) {
		ntrace_debugfs_add(&any->comp);
		ntrace_power_put(&any->comp);
		return 0;
	}
	/* Wait until a pending message is printed, because the driver core frees its text next */
	irq_work_sync(&any->comp.say);
	pm_runtime_put_noidle(dev);
	/*
	 * Do not turn off the power and clocks of a component that a debugger uses, because this
	 * would end the debugger's session
	 */
	if (any->comp.state == NTRACE_COMP_FOREIGN)
		pm_runtime_disable(dev);
	else
		ntrace_end_power(&any->comp);
	/* The log contains the reason, so the driver core need not add another message */
	return ret == -EPROBE_DEFER ? ret : -ENODEV;
}

/* Disconnect all paths through @gone, so that nothing uses the component after it is freed */
static void ntrace_disconnect_all(const struct ntrace_comp *gone)
{
	struct ntrace_encoder *enc;

	lockdep_assert_held(&ntrace_mutex);
	while ((enc = ntrace_encoder_through(gone))) {
		ntrace_pmu_unlink(enc);
		ntrace_pmu_detach(enc);
		ntrace_disconnect(enc);
	}
	/*
	 * A CPU that has just gone online may still use the path to restore its registers, so wait
	 * for each CPU
	 */
	ntrace_sync_cpus();
}

static void ntrace_close_local(void *sink)
{
	ntrace_sink_close(sink, true);
}

/*
 * Close a sink. If its CPU is offline, the sink does not trace and may have no power, so only
 * prevent a new start.
 */
static void ntrace_close_sink(struct ntrace_sink *sink)
{
	unsigned long flags;
	bool power = ntrace_has_power(&sink->comp);

	if (power && !smp_call_function_single(sink->cpu, ntrace_close_local, sink, 1))
		return;
	local_irq_save(flags);
	ntrace_sink_close(sink, power);
	local_irq_restore(flags);
}

/*
 * Remove a component. Either the module is being unloaded, and no event exists, or a device that
 * this component needs, such as a clock, is removed while events may exist.
 */
static void ntrace_remove(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);
	struct ntrace_comp *comp = &any->comp;
	bool records = false, leaving = READ_ONCE(ntrace_leaving);

	ntrace_debugfs_remove(comp);
	/*
	 * Remove the attributes before ntrace_mutex is locked. device_remove_groups() waits until
	 * no process reads an attribute, and this process may wait for ntrace_mutex.
	 */
	device_remove_groups(&pdev->dev, ntrace_comp_groups(comp));
	/*
	 * While the module is unloaded, ntrace_leave() has already ended the recorder, and keeps
	 * CPUs awake. Do not call ntrace_flight_lock() in this case, because it must be called
	 * before CPUs are kept awake.
	 */
	if (!leaving) {
		ntrace_flight_lock();
		records = ntrace_flight_records();
		ntrace_flight_end();
	}
	ntrace_keep_awake();
	mutex_lock(&ntrace_mutex);
	ntrace_disconnect_all(comp);
	list_del(&comp->node);
	if (comp->ops->free)
		comp->ops->free(comp);
	if (comp->ops->is_sink) {
		ntrace_close_sink(&any->sink);
		ntrace_registry_del_sink(&any->sink);
	}
	if (ntrace_has_power(comp))
		comp->ops->quiesce(comp);
	/*
	 * Encoders of a removed sink may have a route to another sink. Then start a record of the
	 * encoders that remain.
	 */
	if (ntrace_loaded)
		ntrace_connect_all();
	if (ntrace_loaded && records)
		ntrace_causes_connected();
	mutex_unlock(&ntrace_mutex);
	ntrace_let_sleep();
	if (!leaving)
		ntrace_flight_unlock();
	irq_work_sync(&comp->say);
	ntrace_end_power(comp);
}

static void ntrace_close_sinks(void)
{
	struct ntrace_comp *comp;

	lockdep_assert_held(&ntrace_mutex);
	list_for_each_entry(comp, &ntrace_comps, node) {
		if (!comp->ops->is_sink)
			continue;
		/* Prevent a change of the power state while the sink is accessed */
		pm_runtime_get_noresume(comp->dev);
		pm_runtime_barrier(comp->dev);
		ntrace_close_sink(to_ntrace_sink(comp));
	}
}

/*
 * Stop all components before a kexec. The next kernel must not find a sink that writes, or a link
 * that seems to belong to a debugger. All sinks are closed before the first link, because trace may
 * be passing through the link.
 */
static void ntrace_shutdown(struct platform_device *pdev)
{
	union ntrace_any *any = platform_get_drvdata(pdev);
	struct ntrace_comp *comp = &any->comp;
	unsigned long flags;

	guard(ntrace_awake)();
	guard(mutex)(&ntrace_mutex);
	if (comp->state == NTRACE_COMP_READY)
		ntrace_close_sinks();
	if (comp->state == NTRACE_COMP_READY && !comp->ops->is_sink) {
		if (ntrace_has_power(comp))
			ntrace_path_leave_link(comp);
		/* Keep the component from being enabled again after an idle state or a resume */
		raw_spin_lock_irqsave(&comp->lock, flags);
		comp->state = NTRACE_COMP_NEW;
		raw_spin_unlock_irqrestore(&comp->lock, flags);
	}
}

static int ntrace_runtime_suspend(struct device *dev)
{
	struct ntrace_comp *comp = dev_get_drvdata(dev);

	scoped_guard(ntrace_awake)
		if (ntrace_has_power(comp))
			ntrace_path_leave_link(comp);
	ntrace_power_down(comp);
	return 0;
}

static int ntrace_runtime_resume(struct device *dev)
{
	struct ntrace_comp *comp = dev_get_drvdata(dev);
	int ret = ntrace_power_up(comp);

	if (ret)
		return ret;
	ntrace_keep_awake();
	/* The component of an offline CPU is set up when the CPU goes online */
	if (ntrace_has_power(comp))
		ntrace_path_restore_comp(comp);
	/* No register of a CoreSight component shows whether it has lost its state */
	if (comp->state == NTRACE_COMP_READY && comp->ops->foreign && dev->pm_domain)
		ret = comp->ops->revive(comp);
	ntrace_let_sleep();
	if (ret)
		ntrace_power_down(comp);
	return ret;
}

/*
 * Tracing stops before the first component suspends, and continues after the last one has resumed.
 * In between, the kernel runs without trace, and at last the power domains are turned off.
 */
static const struct dev_pm_ops ntrace_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(ntrace_pmu_suspend, ntrace_pmu_resume)
	LATE_SYSTEM_SLEEP_PM_OPS(pm_runtime_force_suspend, pm_runtime_force_resume)
	RUNTIME_PM_OPS(ntrace_runtime_suspend, ntrace_runtime_resume, NULL)
};

static struct platform_driver ntrace_driver = {
	.probe = ntrace_probe,
	.remove = ntrace_remove,
	.shutdown = ntrace_shutdown,
	.driver = {
		.name = "ntrace",
		.of_match_table = ntrace_of_match,
		.pm = pm_ptr(&ntrace_pm_ops),
		.suppress_bind_attrs = true,
	},
};

static int ntrace_probe_dev(struct device *dev, void *unused)
{
	if (!dev->driver && of_match_node(ntrace_of_match, dev->of_node) && device_attach(dev) < 0)
		dev_dbg(dev, "waits for another device or driver\n");
	return 0;
}

static void ntrace_probe_work(struct work_struct *work)
{
	ntrace_nobody_waits();
	bus_for_each_dev(&platform_bus_type, NULL, NULL, ntrace_probe_dev);
	guard(ntrace_awake)();
	scoped_guard(mutex, &ntrace_mutex)
		ntrace_connect_all();
	mod_delayed_work(system_percpu_wq, &ntrace_report_later, NTRACE_REPORT_DELAY);
	ntrace_register_late();
}

/*
 * ntrace_probe_again() queues this work on a freezable queue. During a resume, CPUs go online
 * before devices resume, and the work must not probe a device that is suspended.
 */
static DECLARE_WORK(ntrace_probe_later, ntrace_probe_work);

/* Called when a CPU has gone online */
static void ntrace_probe_again(void)
{
	if (ntrace_somebody_waits())
		queue_work(system_freezable_wq, &ntrace_probe_later);
}

/* Stop all tracing, because the module is being unloaded. CPUs are kept awake when this returns. */
static void ntrace_leave(void)
{
	scoped_guard(mutex, &ntrace_mutex)
		WRITE_ONCE(ntrace_loaded, false);
	ntrace_causes_exit();
	WRITE_ONCE(ntrace_leaving, true);
	ntrace_keep_awake();
}

/* Wait for all users of the module's code, after the last device was unbound */
static void ntrace_undo(void)
{
	ntrace_debugfs_exit();
	ntrace_cpus_exit();
	cancel_work_sync(&ntrace_probe_later);
	cancel_delayed_work_sync(&ntrace_report_later);
	ntrace_context_exit();
}

static int __init ntrace_init(void)
{
	int ret;

	ret = ntrace_cpus_init(ntrace_probe_again);
	if (ret)
		return ret;
	ntrace_debugfs_init();
	ret = ntrace_causes_init();
	if (ret)
		goto out_undo;
	/*
	 * Prevent idle states until ntrace_pmu_register() has registered the notifier that restores
	 * registers after an idle state
	 */
	ntrace_keep_awake();
	ret = platform_driver_register(&ntrace_driver);
	if (ret)
		goto out;

	scoped_guard(mutex, &ntrace_mutex)
		WRITE_ONCE(ntrace_loaded, true);
	mod_delayed_work(system_percpu_wq, &ntrace_report_later, NTRACE_REPORT_DELAY);
	ret = ntrace_pmu_register();
	if (ret) {
		ntrace_let_sleep();
		ntrace_leave();
		ntrace_pmu_unregister();
		platform_driver_unregister(&ntrace_driver);
		goto out;
	}
	scoped_guard(mutex, &ntrace_mutex)
		ntrace_causes_connected();
	ntrace_let_sleep();
	ntrace_causes_flush();
	return 0;
out:
	ntrace_let_sleep();
	ntrace_causes_exit();
out_undo:
	ntrace_undo();
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_leave();
	ntrace_pmu_unregister();
	platform_driver_unregister(&ntrace_driver);
	ntrace_let_sleep();
	ntrace_undo();
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace");
MODULE_LICENSE("GPL");
