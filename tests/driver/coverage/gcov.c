// SPDX-License-Identifier: GPL-2.0-only
/*
 * Create files for gcov in /sys/kernel/debug/ntrace_gcov. They contain the counters of an ntrace module that was
 * built with --coverage. The files remain when that module is unloaded, because this module adds up the counters of
 * all loads. A reader gets the counters at the time at which it opens a file.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/vmalloc.h>

#include "gcov.h"
#include "gcov-info.h"

#define FILES_MAX	32

static DEFINE_MUTEX(lock);
static struct dentry *dir;
/* @live points to the counters of the loaded module, or is NULL. @gone has the sums of unloaded modules */
static struct gcov_info **live;
static unsigned int nr_live;
static struct gcov_info *gone[FILES_MAX];

/* Write a word for convert_to_gcda(). If @buffer is NULL, return only the size */
size_t store_gcov_u32(void *buffer, size_t off, u32 v)
{
	if (buffer)
		memcpy(buffer + off, &v, sizeof(v));
	return sizeof(v);
}

size_t store_gcov_u64(void *buffer, size_t off, u64 v)
{
	store_gcov_u32(buffer, off, lower_32_bits(v));
	store_gcov_u32(buffer, off + sizeof(u32), upper_32_bits(v));
	return 2 * sizeof(u32);
}

struct snapshot {
	size_t	size;
	char	data[];
};

/* Return a new structure with the current sum of a file's counters */
static struct gcov_info *sum(unsigned int i)
{
	struct gcov_info *info = NULL;

	if (live && i < nr_live)
		info = gcov_info_dup(live[i]);
	if (!info)
		return gone[i] ? gcov_info_dup(gone[i]) : NULL;
	if (gone[i])
		gcov_info_add(info, gone[i]);
	return info;
}

static int open(struct inode *inode, struct file *file)
{
	struct snapshot *snap = NULL;
	struct gcov_info *info;
	size_t size;

	mutex_lock(&lock);
	info = sum((uintptr_t)inode->i_private);
	if (info) {
		size = convert_to_gcda(NULL, info);
		snap = vmalloc(sizeof(*snap) + size);
		if (snap)
			snap->size = convert_to_gcda(snap->data, info);
		gcov_info_free(info);
	}
	mutex_unlock(&lock);
	file->private_data = snap;
	return snap ? 0 : -ENODEV;
}

static ssize_t read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	const struct snapshot *snap = file->private_data;

	return simple_read_from_buffer(to, len, pos, snap->data, snap->size);
}

static int release(struct inode *inode, struct file *file)
{
	vfree(file->private_data);
	return 0;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = open,
	.read = read,
	.release = release,
};

/* Handle the load of the module. Create files with the names of the module's sources. */
static void come(void)
{
	void **first = __symbol_get("ntrace_gcov_first"), **last = __symbol_get("ntrace_gcov_last");
	unsigned long i;

	mutex_lock(&lock);
	if (first && last) {
		live = (struct gcov_info **)first + 1;
		nr_live = min_t(unsigned long, last - first - 1, FILES_MAX);
	}
	for (i = 0; live && i < nr_live; i++) {
		const char *name = kbasename(gcov_info_filename(live[i]));
		struct dentry *there = debugfs_lookup(name, dir);

		dput(there);
		if (!there)
			debugfs_create_file(name, 0400, dir, (void *)i, &fops);
	}
	mutex_unlock(&lock);
	if (first)
		__symbol_put("ntrace_gcov_first");
	if (last)
		__symbol_put("ntrace_gcov_last");
}

/* Handle the unload of the module, whose code does not run any more. Add its counters to the sums. */
static void go(void)
{
	struct gcov_info *info;
	unsigned int i;

	mutex_lock(&lock);
	for (i = 0; live && i < nr_live; i++) {
		info = sum(i);
		if (!info)
			continue;
		if (gone[i])
			gcov_info_free(gone[i]);
		gone[i] = info;
	}
	live = NULL;
	mutex_unlock(&lock);
}

static int notify(struct notifier_block *nb, unsigned long state, void *data)
{
	const struct module *mod = data;

	if (strcmp(mod->name, "ntrace"))
		return NOTIFY_DONE;
	if (state == MODULE_STATE_LIVE)
		come();
	else if (state == MODULE_STATE_GOING)
		go();
	return NOTIFY_OK;
}

static struct notifier_block nb = {
	.notifier_call = notify,
};

static int __init init(void)
{
	dir = debugfs_create_dir("ntrace_gcov", NULL);
	come();
	return register_module_notifier(&nb);
}
module_init(init);

static void __exit fini(void)
{
	unsigned int i;

	unregister_module_notifier(&nb);
	debugfs_remove(dir);
	for (i = 0; i < FILES_MAX; i++)
		if (gone[i])
			gcov_info_free(gone[i]);
}
module_exit(fini);

MODULE_DESCRIPTION("counters of the driver for gcov");
MODULE_LICENSE("GPL");
