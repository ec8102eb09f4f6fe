// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users of open events and of sinks, which the files "users" of the PMU and of sinks list. A
 * user without CAP_PERFMON sees only its own events.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/hashtable.h>
#include <linux/sysfs.h>

#include "flight/flight.h"
#include "topology.h"
#include "session.h"

/* Protects the lists below. It is taken after ntrace_mutex. */
static DEFINE_MUTEX(ntrace_users_mutex);
/* Events that are not inherited, in the order in which they were opened */
static LIST_HEAD(ntrace_users);
/* All events */
static DEFINE_HASHTABLE(ntrace_users_by_event, 8);

/*
 * Set the name of a user. A process chooses its name, so replace characters that could end the line
 * of a file or of the log.
 */
static void ntrace_user_name(struct ntrace_user *user)
{
	char *c;

	get_task_comm(user->comm, current->group_leader);
	for (c = user->comm; *c; c++)
		if (!isascii(*c) || !isprint(*c))
			*c = '?';
}

/**
 * ntrace_user_add - add the user of an event that was opened by the current process, or inherited
 * @user: User of the event
 * @event: The event
 * @parent: User of the event's parent, or NULL
 */
void ntrace_user_add(struct ntrace_user *user, const struct perf_event *event,
		     const struct ntrace_user *parent)
{
	user->event = event;
	user->inherited = parent;
	if (parent) {
		user->pid = get_pid(parent->pid);
		user->uid = parent->uid;
		strscpy(user->comm, parent->comm, sizeof(user->comm));
	} else {
		user->pid = get_pid(task_tgid(current));
		user->uid = current_euid();
		ntrace_user_name(user);
	}
	mutex_lock(&ntrace_users_mutex);
	hash_add(ntrace_users_by_event, &user->hash, (unsigned long)event);
	if (!parent)
		list_add_tail(&user->node, &ntrace_users);
	mutex_unlock(&ntrace_users_mutex);
}

/* Remove the user of an event that ends. Its hw.target still exists. */
void ntrace_user_del(struct ntrace_user *user)
{
	mutex_lock(&ntrace_users_mutex);
	hash_del(&user->hash);
	if (!user->inherited)
		list_del(&user->node);
	mutex_unlock(&ntrace_users_mutex);
	put_pid(user->pid);
}

/* Return true if perf allows only one of these events, because the PMU is exclusive. */
static bool ntrace_events_exclude(const struct perf_event *a, const struct perf_event *b)
{
	if (!a->hw.target != !b->hw.target)
		return true;
	return a->hw.target == b->hw.target && (a->cpu == b->cpu || a->cpu < 0 || b->cpu < 0);
}

#define NTRACE_BUSY_REFUSED	\
	"the event of %s (pid %d) is refused, because %s (pid %d) has one that excludes it"

/* Log which event made perf refuse the event of @user with EBUSY, if there is one */
void ntrace_user_say_refused(const struct ntrace_user *user)
{
	const struct ntrace_user *other;

	mutex_lock(&ntrace_users_mutex);
	list_for_each_entry(other, &ntrace_users, node) {
		if (other == user || !ntrace_events_exclude(user->event, other->event))
			continue;
		ntrace_busy_say(NTRACE_BUSY_REFUSED, user->comm, pid_nr(user->pid), other->comm,
				pid_nr(other->pid));
		break;
	}
	mutex_unlock(&ntrace_users_mutex);
}

/*
 * Return the process id as the reader of a file sees it, or 0 if this reader must not see the
 * process
 */
static pid_t ntrace_user_seen(const struct ntrace_user *user)
{
	if (!uid_eq(user->uid, current_euid()) && !perfmon_capable())
		return 0;
	return pid_vnr(user->pid);
}

/* Append a line, or nothing if the whole line does not fit. Return the new length. */
static __printf(3, 4) int ntrace_users_line(char *buf, int len, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(buf + len, PAGE_SIZE - len, fmt, args);
	va_end(args);
	if (len + n < PAGE_SIZE)
		return len + n;
	buf[len] = 0;
	return len;
}

/* Show CPUS PID COMM of each open event, for the PMU */
ssize_t ntrace_users_show(char *buf)
{
	const struct ntrace_user *user;
	int len = 0;

	mutex_lock(&ntrace_users_mutex);
	list_for_each_entry(user, &ntrace_users, node) {
		const struct cpumask *cpus = user->event->cpu < 0 ? ntrace_cpus() :
							cpumask_of(user->event->cpu);
		pid_t pid = ntrace_user_seen(user);

		if (pid)
			len = ntrace_users_line(buf, len, "%*pbl %d %s\n", cpumask_pr_args(cpus),
						pid, user->comm);
	}
	mutex_unlock(&ntrace_users_mutex);
	return len;
}

static const struct ntrace_user *ntrace_user_of(const struct perf_event *event)
{
	const struct ntrace_user *user;

	lockdep_assert_held(&ntrace_users_mutex);
	hash_for_each_possible(ntrace_users_by_event, user, hash, (unsigned long)event)
		if (user->event == event)
			return user;
	return NULL;
}

/*
 * Return the state of an event. If its CPU idles, this is the state in which the event will
 * continue.
 */
static const char *ntrace_state_name(const struct ntrace_session *s)
{
	enum ntrace_session_state state = READ_ONCE(s->state);

	switch (state == NTRACE_SESSION_RESTING ? READ_ONCE(s->rested) : state) {
	case NTRACE_SESSION_WAITING:
	case NTRACE_SESSION_ORPHAN:
		return "waits";
	case NTRACE_SESSION_FULL:
		return "full";
	default:
		return "traces";
	}
}

/*
 * Show the use that the CPU of @enc makes of its sink, in one line. Its event may end at any time,
 * because the CPU does not wait for this function. So only the address of the event is used, to
 * find it among the open events.
 */
static int ntrace_sink_user(char *buf, int len, const struct ntrace_encoder *enc)
{
	const struct ntrace_session *s = enc->session;
	const struct perf_event *event = s ? READ_ONCE(s->event) : NULL;
	const struct ntrace_user *user = event ? ntrace_user_of(event) : NULL;
	pid_t pid = user ? ntrace_user_seen(user) : 0;

	if (ntrace_flight_has(enc))
		len = ntrace_users_line(buf, len, "%u records 0 flight\n", enc->cpu);
	if (pid)
		len = ntrace_users_line(buf, len, "%u %s %d %s\n", enc->cpu,
					ntrace_state_name(s), pid, user->comm);
	return len;
}

/* Show CPU STATE PID COMM of each user of a sink */
static ssize_t users_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ntrace_sink *sink = to_ntrace_sink((struct ntrace_comp *)dev_get_drvdata(dev));
	struct ntrace_encoder *enc;
	unsigned int cpu;
	int len = 0;

	mutex_lock(&ntrace_mutex);
	mutex_lock(&ntrace_users_mutex);
	for_each_cpu(cpu, ntrace_cpus()) {
		enc = ntrace_encoder_of(cpu);
		if (READ_ONCE(enc->sink) == sink)
			len = ntrace_sink_user(buf, len, enc);
	}
	mutex_unlock(&ntrace_users_mutex);
	mutex_unlock(&ntrace_mutex);
	return len;
}
static DEVICE_ATTR_RO(users);

static struct attribute *ntrace_sink_attrs[] = {
	&dev_attr_users.attr,
	NULL
};

static const struct attribute_group ntrace_sink_group = {
	.attrs = ntrace_sink_attrs,
};

/* The attributes of a sink's device */
const struct attribute_group *ntrace_sink_groups[] = {
	&ntrace_sink_group,
	NULL
};
