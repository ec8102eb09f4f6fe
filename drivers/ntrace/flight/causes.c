// SPDX-License-Identifier: GPL-2.0-only
/*
 * The causes that stop the flight recorder, and its files in /sys/devices/platform/ntrace-flight.
 *
 * Panic, oops, a hung task, a reboot, a SysRq key and root stop the recorder. Lockups and stalls of
 * RCU stop it if they cause a panic. Without a panic, the kernel only prints text for them. If a
 * watchdog resets the machine, no code can stop the recorder before the reset. The driver of the
 * next kernel then stops the sinks when it is loaded.
 */
#include <linux/kdebug.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/platform_device.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/sysfs.h>
#include <linux/sysrq.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../topology.h"
#include "record.h"

static char *ntrace_flight_param = "";
module_param_named(flight, ntrace_flight_param, charp, 0444);
MODULE_PARM_DESC(flight, "memory of the flight recorder: off, SIZE, SIZE@ADDRESS, or the name of a reserve_mem= region; empty: the device tree decides");

/* The text of /sys/devices/platform/ntrace-flight/state while nothing is recorded */
static const char * const ntrace_found_names[] = {
	[NTRACE_RECORD_EMPTY] = "idle",
	[NTRACE_RECORD_HALF] = "half-written",
	[NTRACE_RECORD_DAMAGED] = "damaged",
	[NTRACE_RECORD_KEPT] = "kept",
};

static struct platform_device *ntrace_flight_dev;
/*
 * Contents of the memory that was found. ntrace_flight_mutex protects it and the variables below.
 */
static enum ntrace_record_found ntrace_found;
/* True if this kernel, and not an earlier one, has made the record that is kept */
static bool ntrace_found_now;
/* True if the user has disabled the recorder */
static bool ntrace_flight_disabled;
/* Cause that has stopped the recorder of this kernel, an enum ntrace_flight_code */
static u32 ntrace_stopped_by;
#define NTRACE_REARM_MAX	(7 * 24 * 60 * 60)
/* Seconds for which a record is kept if the machine survives the trouble; 0 means no limit */
static unsigned int ntrace_rearm_seconds = 60;

/* ---- Record where modules are loaded ---- */

/*
 * Record the name and the text address of a module, by which a decoder finds the module's code.
 * ntrace_note_modules() finds the modules in the kset of /sys/module.
 */
static void ntrace_note_module(struct module *mod, bool gone)
{
	const u8 *id = NULL;
	u64 text;

#ifdef CONFIG_STACKTRACE_BUILD_ID
	id = mod->build_id;
#endif
	text = (uintptr_t)mod->mem[MOD_TEXT].base;
	if (text)
		ntrace_record_module(mod->name, text, gone ? 0 : mod->mem[MOD_TEXT].size, id);
}

static void ntrace_note_modules(void)
{
#ifdef MODULE
	struct kset *all = THIS_MODULE->mkobj.kobj.kset;
	struct kobject *k;

	spin_lock(&all->list_lock);
	list_for_each_entry(k, &all->list, entry) {
		struct module_kobject *mk = container_of(k, struct module_kobject, kobj);

		/* Code that is built into the kernel has an entry without a struct module. */
		if (mk->mod && mk->mod->state != MODULE_STATE_UNFORMED)
			ntrace_note_module(mk->mod, false);
	}
	spin_unlock(&all->list_lock);
#endif
}

static int ntrace_on_module(struct notifier_block *nb, unsigned long action, void *data)
{
	if (action != MODULE_STATE_COMING && action != MODULE_STATE_GOING)
		return NOTIFY_OK;
	guard(mutex)(&ntrace_flight_mutex);
	if (ntrace_flight_records())
		ntrace_note_module(data, action == MODULE_STATE_GOING);
	return NOTIFY_OK;
}

static struct notifier_block ntrace_module_nb = {
	.notifier_call = ntrace_on_module,
};

/* ---- Begin and end ---- */

/* Send a uevent with NTRACE_FLIGHT=@what, which is "kept" after a reset, or "stopped" */
static void ntrace_flight_tell(const char *what)
{
	char text[32], *env[] = { text, NULL };

	snprintf(text, sizeof(text), "NTRACE_FLIGHT=%s", what);
	kobject_uevent_env(&ntrace_flight_dev->dev.kobj, KOBJ_CHANGE, env);
}

static int ntrace_causes_begin(void)
{
	int ret;

	lockdep_assert_held(&ntrace_flight_mutex);
	if (ntrace_found == NTRACE_RECORD_KEPT || ntrace_found == NTRACE_RECORD_DAMAGED)
		return -EEXIST;
	ntrace_flight_pretend(false);
	ret = ntrace_flight_begin();
	if (ret)
		return ret;
	ntrace_found = NTRACE_RECORD_EMPTY;
	ntrace_note_modules();
	return 0;
}

/* Drop the record that is kept, and start a new one */
static int ntrace_flight_drop(void)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	ntrace_flight_pretend(false);
	ntrace_record_clear();
	ntrace_found = NTRACE_RECORD_EMPTY;
	ntrace_found_now = false;
	return ntrace_flight_disabled ? 0 : ntrace_causes_begin();
}

/* Return true if the recorder stopped for trouble that the machine survived */
static bool ntrace_flight_survived(void)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	return ntrace_found_now && (ntrace_stopped_by == NTRACE_FLIGHT_CAUSE_OOPS ||
				    ntrace_stopped_by == NTRACE_FLIGHT_CAUSE_HUNG_TASK);
}

/*
 * Drop the record of trouble that the machine survived, after the time in "rearm". A user may
 * be able to cause an oops, and must not be able to turn off the recorder by it.
 */
static void ntrace_flight_rearm(struct work_struct *work)
{
	guard(mutex)(&ntrace_flight_mutex);
	if (ntrace_flight_survived() && ntrace_rearm_seconds)
		ntrace_flight_drop();
}

static DECLARE_DELAYED_WORK(ntrace_rearm_work, ntrace_flight_rearm);

/* If the machine survived the trouble, drop the record ntrace_rearm_seconds from now */
static void ntrace_flight_keep(void)
{
	lockdep_assert_held(&ntrace_flight_mutex);
	if (ntrace_flight_survived() && ntrace_rearm_seconds)
		mod_delayed_work(system_percpu_wq, &ntrace_rearm_work, ntrace_rearm_seconds * HZ);
	else
		cancel_delayed_work(&ntrace_rearm_work);
}

/* Handle a stop of the recorder, which has not updated the state of sinks and encoders */
static void ntrace_flight_stopped(struct work_struct *work)
{
	mutex_lock(&ntrace_flight_mutex);
	ntrace_flight_end();
	ntrace_flight_pretend(true);
	ntrace_found = NTRACE_RECORD_KEPT;
	ntrace_found_now = true;
	ntrace_flight_keep();
	mutex_unlock(&ntrace_flight_mutex);
	dev_info(&ntrace_flight_dev->dev, "the flight recorder has stopped; ntrace flight save saves its record\n");
	ntrace_flight_tell("stopped");
}

static DECLARE_WORK(ntrace_stopped_work, ntrace_flight_stopped);

/*
 * Queue the work. The code that stops the recorder cannot queue it itself if it holds a scheduler
 * lock, for example in a tracepoint.
 */
static void ntrace_flight_queue(struct irq_work *work)
{
	schedule_work(&ntrace_stopped_work);
}

static DEFINE_IRQ_WORK(ntrace_stopped_irq, ntrace_flight_queue);

/* Stop the recorder for a cause that the system may survive. Context: Any. */
static void ntrace_stop_for(u32 code, const char *text, struct task_struct *task)
{
	if (!ntrace_flight_stop(code, text, task))
		return;
	WRITE_ONCE(ntrace_stopped_by, code);
	irq_work_queue(&ntrace_stopped_irq);
}

/* Wait until a stop of the recorder has been handled, so that the record can be read or dropped */
static void ntrace_flight_settle(void)
{
	irq_work_sync(&ntrace_stopped_irq);
	flush_work(&ntrace_stopped_work);
}

/* ---- Causes ---- */

/*
 * Stop the recorder at the first message that the kernel prints during an oops or a panic. The
 * kernel itself sets oops_in_progress before it prints that message. The notifiers run later. The
 * kernel calls those of a panic after it has started the crash kernel, and those of an oops after
 * it has printed the registers, so that a slow console would fill a ring with its own trace.
 *
 * The text of the message is only written into the record. The driver does not evaluate it, because
 * users can choose the content of many messages. The text does not end with 0.
 */
static void ntrace_on_console(void *data, const char *text, size_t len)
{
	u32 code = NTRACE_FLIGHT_CAUSE_OOPS;
	char copy[128];
	size_t skip;

	if (likely(!READ_ONCE(oops_in_progress)) || !ntrace_flight_listens())
		return;
	if (ntrace_cpu_panics())
		code = NTRACE_FLIGHT_CAUSE_PANIC;
	len = min(len, sizeof(copy) - 1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	skip = str_has_prefix(copy, "Kernel panic - not syncing: ");
	ntrace_stop_for(code, copy + skip, current);
}

static int ntrace_on_panic(struct notifier_block *nb, unsigned long action, void *text)
{
	/* Queue no work, because the system does not continue */
	ntrace_flight_stop(NTRACE_FLIGHT_CAUSE_PANIC, text, current);
	return NOTIFY_DONE;
}

static int ntrace_on_die(struct notifier_block *nb, unsigned long action, void *data)
{
	const struct die_args *args = data;

	if (action == DIE_OOPS)
		ntrace_stop_for(NTRACE_FLIGHT_CAUSE_OOPS, args->str, current);
	return NOTIFY_DONE;
}

static int ntrace_on_reboot(struct notifier_block *nb, unsigned long action, void *text)
{
	ntrace_stop_for(NTRACE_FLIGHT_CAUSE_REBOOT, text, current);
	return NOTIFY_DONE;
}

static int ntrace_on_restart(struct notifier_block *nb, unsigned long action, void *text)
{
	ntrace_flight_stop(NTRACE_FLIGHT_CAUSE_RESTART, text, current);
	return NOTIFY_DONE;
}

static void ntrace_on_hang(void *data, struct task_struct *task)
{
	ntrace_stop_for(NTRACE_FLIGHT_CAUSE_HUNG_TASK, "the task is blocked for too long", task);
}

/*
 * Record the new name of a thread that exec or prctl() renames. If the thread is not switched out
 * after that, no entry of a switch contains the new name.
 */
static void ntrace_on_rename(void *data, struct task_struct *task, const char *comm)
{
	if (task == current)
		ntrace_flight_renamed(comm);
}

/* Run before all other notifiers, because their code would also be traced */
static struct notifier_block ntrace_panic_nb = {
	.notifier_call = ntrace_on_panic, .priority = INT_MAX,
};

static struct notifier_block ntrace_die_nb = {
	.notifier_call = ntrace_on_die, .priority = INT_MAX,
};

static struct notifier_block ntrace_reboot_nb = {
	.notifier_call = ntrace_on_reboot, .priority = INT_MAX,
};

static struct notifier_block ntrace_restart_nb = {
	.notifier_call = ntrace_on_restart, .priority = 255,
};

#define NTRACE_SYSRQ_KEY	'y'

static void ntrace_on_sysrq(u8 key)
{
	ntrace_stop_for(NTRACE_FLIGHT_CAUSE_SYSRQ, NULL, current);
}

static const struct sysrq_key_op ntrace_sysrq_op = {
	.handler = ntrace_on_sysrq,
	.help_msg = "stop-flight-recorder(y)",
	.action_msg = "Stop the flight recorder",
	.enable_mask = SYSRQ_ENABLE_DUMP,
};

static void ntrace_sysrq_register(void)
{
	if (register_sysrq_key(NTRACE_SYSRQ_KEY, &ntrace_sysrq_op) &&
	    IS_ENABLED(CONFIG_MAGIC_SYSRQ))
		pr_info("ntrace: SysRq-%c has another use, so it does not stop the flight recorder\n",
			NTRACE_SYSRQ_KEY);
}

/*
 * The kernel does not export these tracepoints, so find them by name. A kernel may lack one of
 * them.
 */
static struct ntrace_probe {
	const char		*name;
	void			*func;
	struct tracepoint	*tp;
} ntrace_probes[] = {
	{ "console", ntrace_on_console },
	{ "sched_process_hang", ntrace_on_hang },
	{ "task_rename", ntrace_on_rename },
};

static void ntrace_causes_hook(void)
{
	struct ntrace_probe *p = ntrace_probes;

	register_module_notifier(&ntrace_module_nb);
	atomic_notifier_chain_register(&panic_notifier_list, &ntrace_panic_nb);
	register_die_notifier(&ntrace_die_nb);
	register_reboot_notifier(&ntrace_reboot_nb);
	register_restart_handler(&ntrace_restart_nb);
	ntrace_sysrq_register();
	for (; p < ntrace_probes + ARRAY_SIZE(ntrace_probes); p++) {
		p->tp = ntrace_find_tracepoint(p->name);
		if (p->tp && tracepoint_probe_register(p->tp, p->func, NULL))
			p->tp = NULL;
	}
}

static void ntrace_causes_unhook(void)
{
	struct ntrace_probe *p = ntrace_probes;

	for (; p < ntrace_probes + ARRAY_SIZE(ntrace_probes); p++)
		if (p->tp)
			tracepoint_probe_unregister(p->tp, p->func, NULL);
	tracepoint_synchronize_unregister();
	/*
	 * This call has no effect if the driver could not register the SysRq key NTRACE_SYSRQ_KEY,
	 * because other code had registered it
	 */
	unregister_sysrq_key(NTRACE_SYSRQ_KEY, &ntrace_sysrq_op);
	unregister_restart_handler(&ntrace_restart_nb);
	unregister_reboot_notifier(&ntrace_reboot_nb);
	unregister_die_notifier(&ntrace_die_nb);
	atomic_notifier_chain_unregister(&panic_notifier_list, &ntrace_panic_nb);
	unregister_module_notifier(&ntrace_module_nb);
}

/* ---- Files in sysfs ---- */

static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const char *state;

	guard(mutex)(&ntrace_flight_mutex);
	state = ntrace_found_names[ntrace_found];
	if (ntrace_flight_records())
		state = "recording";
	/*
	 * After the recorder has stopped, ntrace_flight_listens() still returns true until
	 * ntrace_flight_stopped() has handled the stop
	 */
	else if ((ntrace_found == NTRACE_RECORD_KEPT && ntrace_found_now) ||
		 ntrace_flight_listens())
		state = "stopped";
	return sysfs_emit(buf, "%s\n", state);
}
static DEVICE_ATTR_RO(state);

static ssize_t enable_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", ntrace_flight_records());
}

/*
 * Write 1 to start a record, or 0 to end and drop it. While the record of an earlier failure is
 * kept for the user, writing 1 fails until the user drops that record with the file "clear".
 */
static ssize_t enable_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	guard(mutex)(&ntrace_flight_mutex);
	if (on && !ntrace_flight_records()) {
		ret = ntrace_causes_begin();
	} else if (!on && ntrace_flight_records() && ntrace_found == NTRACE_RECORD_EMPTY) {
		ntrace_flight_end();
		ntrace_record_clear();
	}
	ntrace_flight_disabled = !on;
	return ret ?: count;
}
static DEVICE_ATTR_RW(enable);

/* Drop the kept record, which the user has copied or does not need */
static ssize_t clear_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	bool yes;
	int ret = kstrtobool(buf, &yes);

	if (!ret && !yes)
		ret = -EINVAL;
	if (ret)
		return ret;
	ntrace_flight_settle();
	guard(mutex)(&ntrace_flight_mutex);
	ret = ntrace_flight_records() ? -EBUSY : ntrace_flight_drop();
	ntrace_flight_keep();
	return ret ?: count;
}
static DEVICE_ATTR_WO(clear);

/* Stop the recorder, write the text into the record, and keep the record */
static ssize_t trigger_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t count)
{
	char text[128];

	strscpy(text, buf, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	if (!ntrace_flight_records())
		return -ENODATA;
	ntrace_stop_for(NTRACE_FLIGHT_CAUSE_USER, text, current);
	ntrace_flight_settle();
	return count;
}
static DEVICE_ATTR_WO(trigger);

static ssize_t rearm_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", ntrace_rearm_seconds);
}

static ssize_t rearm_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	unsigned int seconds;
	int ret = kstrtouint(buf, 0, &seconds);

	if (ret)
		return ret;
	if (seconds > NTRACE_REARM_MAX)
		return -EINVAL;
	guard(mutex)(&ntrace_flight_mutex);
	ntrace_rearm_seconds = seconds;
	ntrace_flight_keep();
	return count;
}
static DEVICE_ATTR_RW(rearm);

static ssize_t config_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%llx\n", READ_ONCE(ntrace_flight_config));
}

/* Set the NTRACE_CONFIG_* of the next record, or 0 for the defaults of the encoder */
static ssize_t config_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	u64 config;
	int ret = kstrtou64(buf, 0, &config);

	if (!ret && config & ~NTRACE_CONFIG_VALID)
		ret = -EINVAL;
	if (!ret)
		WRITE_ONCE(ntrace_flight_config, config);
	return ret ?: count;
}
static DEVICE_ATTR_RW(config);

static ssize_t user_mode_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(ntrace_flight_user));
}

static ssize_t user_mode_store(struct device *dev, struct device_attribute *attr, const char *buf,
			       size_t count)
{
	bool user;
	int ret = kstrtobool(buf, &user);

	if (!ret)
		WRITE_ONCE(ntrace_flight_user, user);
	return ret ?: count;
}
static DEVICE_ATTR_RW(user_mode);

static ssize_t size_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%zu\n", ntrace_record_size());
}
static DEVICE_ATTR_RO(size);

/*
 * Copy the contents of the memory, which have the format of <linux/ntrace-flight.h>. They change
 * during recording.
 */
static ssize_t record_read(struct file *file, struct kobject *kobj, NTRACE_BIN_ATTR *attr,
			   char *buf, loff_t at, size_t count)
{
	size_t size;

	guard(mutex)(&ntrace_flight_mutex);
	size = ntrace_record_size();
	count = at < size ? min_t(u64, count, size - at) : 0;
	if (count)
		ntrace_record_read(buf, at, count);
	/* Keep the record, so that it does not change while a reader copies it */
	ntrace_flight_keep();
	return count;
}

static const struct bin_attribute bin_attr_record = {
	.attr = { .name = "record", .mode = 0400 },
	.read = record_read,
};

static struct attribute *ntrace_flight_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_enable.attr,
	&dev_attr_clear.attr,
	&dev_attr_trigger.attr,
	&dev_attr_rearm.attr,
	&dev_attr_config.attr,
	&dev_attr_user_mode.attr,
	&dev_attr_size.attr,
	NULL
};

static const struct attribute_group ntrace_flight_group = {
	.attrs = ntrace_flight_attrs,
};

static int ntrace_flight_add_device(void)
{
	struct platform_device *dev;
	int ret;

	dev = platform_device_register_simple("ntrace-flight", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ntrace_flight_dev = dev;
	ret = device_add_group(&ntrace_flight_dev->dev, &ntrace_flight_group);
	if (!ret)
		ret = device_create_bin_file(&ntrace_flight_dev->dev, &bin_attr_record);
	return ret;
}

/* ---- The driver ---- */

static void ntrace_flight_connected(struct work_struct *work)
{
	int ret;

	guard(mutex)(&ntrace_flight_mutex);
	if (ntrace_flight_disabled)
		return;
	if (ntrace_found >= NTRACE_RECORD_DAMAGED) {
		ntrace_flight_pretend(true);
		return;
	}
	ntrace_flight_end();
	ret = ntrace_causes_begin();
	if (ret == -EOPNOTSUPP)
		dev_warn_once(&ntrace_flight_dev->dev, "the flight recorder does not record, because the encoders have no RAM sink of the Trace Control Interface 1.0 with a circular buffer\n");
	else if (ret && ret != -ENODEV)
		dev_warn(&ntrace_flight_dev->dev, "the flight recorder cannot start (%d)\n", ret);
}

static DECLARE_WORK(ntrace_connected_work, ntrace_flight_connected);

/*
 * Start a new record, because a record must contain all connected encoders, and these have changed.
 * A work starts the record later, because ntrace_flight_mutex must be taken before the locks that
 * the caller holds.
 */
void ntrace_causes_connected(void)
{
	lockdep_assert_held(&ntrace_mutex);
	if (ntrace_flight_dev)
		schedule_work(&ntrace_connected_work);
}

/*
 * Wait until ntrace_connected_work has started one record for all connected encoders, or has
 * failed.
 */
void ntrace_causes_flush(void)
{
	flush_work(&ntrace_connected_work);
}

/**
 * ntrace_causes_init - look for a record, before any component is accessed
 *
 * Return: 0, even without a flight recorder, which the driver does not need; or a negative error
 */
int ntrace_causes_init(void)
{
	int ret = ntrace_record_init(ntrace_flight_param, &ntrace_found);

	if (ret)
		return 0;
	ret = ntrace_flight_add_device();
	if (ret) {
		ntrace_causes_exit();
		return ret;
	}
	if (ntrace_found == NTRACE_RECORD_HALF)
		dev_warn(&ntrace_flight_dev->dev, "the last record has no trace, because the machine was reset while the recorder wrote the header\n");
	if (ntrace_found == NTRACE_RECORD_DAMAGED)
		dev_warn(&ntrace_flight_dev->dev, "found a record that is damaged, or of another version; to start the recorder, write 1 to its file clear in sysfs\n");
	if (ntrace_found == NTRACE_RECORD_KEPT)
		dev_info(&ntrace_flight_dev->dev, "found a record from before the reset; `ntrace flight save` saves it\n");
	if (ntrace_found >= NTRACE_RECORD_DAMAGED)
		ntrace_flight_tell("kept");
	ntrace_causes_hook();
	return 0;
}

/*
 * End the flight recorder. No event traces any more, and the components still exist. From now on
 * ntrace_causes_connected() is not called. ntrace_keep_awake() has not been called yet by this
 * thread.
 */
void ntrace_causes_exit(void)
{
	if (!ntrace_flight_dev) {
		ntrace_record_exit();
		return;
	}
	ntrace_causes_unhook();
	ntrace_flight_settle();
	cancel_work_sync(&ntrace_connected_work);
	device_remove_bin_file(&ntrace_flight_dev->dev, &bin_attr_record);
	device_remove_group(&ntrace_flight_dev->dev, &ntrace_flight_group);
	cancel_delayed_work_sync(&ntrace_rearm_work);
	mutex_lock(&ntrace_flight_mutex);
	if (ntrace_flight_records()) {
		ntrace_flight_end();
		ntrace_record_clear();
	}
	ntrace_flight_pretend(false);
	mutex_unlock(&ntrace_flight_mutex);
	platform_device_unregister(ntrace_flight_dev);
	ntrace_flight_dev = NULL;
	ntrace_record_exit();
}
