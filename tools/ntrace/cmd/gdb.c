// SPDX-License-Identifier: GPL-2.0-only
/* ntrace gdb - let gdb go forwards and backwards through a recording. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "gdb/stub.h"
#include "ntrace.h"
#include "session/file/whole-file.h"

static const char usage[] =
	"usage: ntrace gdb [OPTIONS] [-- ARGUMENTS OF GDB]\n\n"
	"Start gdb on a recording of perf. It steps, continues and stops at breakpoints, forwards and\n"
	"backwards, and shows all callers. The trace has no data, so variables, registers other than pc, and\n"
	"memory other than code and constants are never known.\n\n"
	"It shows the user code of one process. A recording of the kernel alone, such as that of the flight recorder,\n"
	"is shown as --machine, from its end on.\n";

struct gdb {
	struct recording_options recording;
	unsigned long	pid;
	const char	*gdb, *listen;
	bool		stdio, kernel, machine;
	char		**args;		/* arguments of the user that are passed to gdb */
	pid_t		child;		/* gdb, if this command has started it */
	int		listener;	/* socket to which @child connects, or -1 */
	struct whole_file socket;
	struct stub	*stub;
};

/* ---- Start gdb ---- */

/* Return true if gdb @program supports RISC-V. Some distributions build gdb only for their own architecture. */
static bool knows_riscv(const char *program)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "%s -nx -batch -ex 'set architecture riscv:rv64' -ex 'show architecture' 2>/dev/null | grep -q 'riscv:rv64'",
		 program);
	return !system(command);
}

/* Get the path of ntrace-gdb.py, which is installed beside the command. Return false if the file does not exist. */
static bool find_script(char path[PATH_MAX])
{
	static const char name[] = "../share/ntrace/ntrace-gdb.py";
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof(name));

	if (n > 0) {
		path[n] = '\0';
		strcpy(strrchr(path, '/') + 1, name);
		if (!access(path, R_OK))
			return true;
	}
	return refuse("cannot read %s, the script by which gdb shows callers: %s", n > 0 ? path : name, strerror(errno));
}

/* Start gdb in this process. Return only after an error, which was reported. */
static void exec_gdb(const struct gdb *g, const char *socket, const char *script)
{
	static const char *const names[] = { "gdb-multiarch", "riscv64-linux-gnu-gdb", "riscv64-unknown-linux-gnu-gdb", "gdb" };
	const char **args;
	char remote[PATH_MAX + 16];
	size_t nr, i;

	for (nr = 0; g->args[nr]; nr++)
		;
	args = calloc(nr + 7, sizeof(*args));
	if (!args)
		return;
	snprintf(remote, sizeof(remote), "target remote %s", socket);
	memcpy(args, (const char *[]){ g->gdb, "-q", "-ix", script, "-ex", remote }, 6 * sizeof(*args));
	memcpy(args + 6, g->args, nr * sizeof(*args));
	if (g->gdb) {
		execvp(g->gdb, (char **)args);
		refuse("cannot start %s: %s", g->gdb, strerror(errno));
		return;
	}
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		args[0] = names[i];
		if (strcmp(names[i], "gdb") || knows_riscv(names[i]))
			execvp(names[i], (char **)args);
	}
	refuse("there is no gdb that knows RISC-V. On Debian: apt-get install gdb-multiarch; --gdb names another one");
}

/* ---- Connection ---- */

/*
 * Remove a socket whose process was killed. Return true if it was removed. A connection of type SOCK_DGRAM does not disturb
 * a process that listens, because its socket has another type.
 */
static bool remove_unused(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool unused = fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) && errno == ECONNREFUSED;
	struct stat st;

	if (fd >= 0)
		close(fd);
	if (unused && !lstat(addr->sun_path, &st) && S_ISSOCK(st.st_mode) && !unlink(addr->sun_path))
		return true;
	errno = EADDRINUSE;
	return false;
}

/* Listen at a path that only the user can open. Return -1 after an error, which was reported. */
static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mode_t mask = umask(077);
	bool ok;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		ok = false;
	} else {
		strcpy(addr.sun_path, path);
		ok = fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr));
		if (!ok && errno == EADDRINUSE)
			ok = remove_unused(&addr) && !bind(fd, (struct sockaddr *)&addr, sizeof(addr));
		ok = ok && !listen(fd, 1);
	}
	umask(mask);
	if (ok)
		return fd;
	refuse("cannot listen at %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Wait for a client. Return -1 if the process @child ends before a client connects. If @child is 0, there is none. */
static int accept_client(int listener, pid_t child, int *status)
{
	struct pollfd fd = { .fd = listener, .events = POLLIN };

	while (poll(&fd, 1, 100) <= 0) {
		if (child && waitpid(child, status, WNOHANG) == child)
			return -1;
	}
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static int serve_path(struct gdb *g)
{
	char script[PATH_MAX];
	int listener = find_script(script) ? listen_at(g->listen) : -1, client, status;

	if (listener < 0)
		return EXIT_USAGE;
	fprintf(stderr, "ntrace: gdb -ix %s -ex 'target remote %s' can connect now\n", script, g->listen);
	client = accept_client(listener, 0, NULL);
	status = client < 0 ? EXIT_USAGE : stub_serve(g->stub, client, client);
	close(client);
	close(listener);
	unlink(g->listen);
	return status;
}

/*
 * Start gdb before the recording is decoded, because both take time. gdb waits until this process serves it. If this
 * process ends before that, gdb also ends, and the signal handler of whole_file_begin() removes the socket.
 */
static bool start_gdb(struct gdb *g)
{
	char script[PATH_MAX], name[32];
	const char *path;

	if (!find_script(script))
		return false;
	snprintf(name, sizeof(name), "/tmp/ntrace-gdb-%d", (int)getpid());
	path = whole_file_begin(&g->socket, name, 0600);
	if (!path || unlink(path))
		return refuse("cannot make a socket in /tmp: %s", strerror(errno));
	g->listener = listen_at(path);
	if (g->listener < 0)
		return false;
	g->child = fork();
	if (!g->child) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		exec_gdb(g, path, script);
		_exit(127);
	}
	return g->child > 0 || refuse("cannot start gdb: %s", strerror(errno));
}

/* End gdb if it still waits, and remove its socket. */
static void end_gdb(struct gdb *g)
{
	if (g->child > 0) {
		kill(g->child, SIGTERM);
		waitpid(g->child, NULL, 0);
	}
	if (g->listener >= 0)
		close(g->listener);
	if (g->socket.part[0])
		whole_file_end(&g->socket, false);
}

/* Serve gdb, and return its exit status. */
static int serve_gdb(struct gdb *g)
{
	int client, status = 0;

	/* ignore Ctrl-C, because gdb handles it and then sends a byte to the stub */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	client = accept_client(g->listener, g->child, &status);
	if (client >= 0) {
		stub_serve(g->stub, client, client);
		close(client);
		waitpid(g->child, &status, 0);
	}
	g->child = 0;
	return !WIFEXITED(status) || WEXITSTATUS(status) == 127 ? EXIT_USAGE : WEXITSTATUS(status);
}

/* ---- Command ---- */

/* Return true if a file before @nth has the same path. */
static bool has_earlier(struct stub *stub, const struct nt_replay_object *file, size_t nth)
{
	struct nt_replay_object other;

	while (nth--) {
		if (stub_file(stub, nth, &other) && other.path == file->path)
			return true;
	}
	return false;
}

/* Report each file without a build ID, because it may differ from the traced file. */
static void report_files(struct stub *stub)
{
	struct nt_replay_object object;
	size_t i;

	for (i = 0; stub_file(stub, i, &object); i++) {
		if (object.file && !object.has_build_id && !has_earlier(stub, &object, i))
			fprintf(stderr, "ntrace: the recording has no build ID of %s, so %s may be another file\n",
				object.path, object.file);
	}
}

/* Show a process, or the machine. Return NULL after an error. */
static struct nt_replay *show(struct gdb *g, struct nt_session *session, int32_t pid)
{
	const struct nt_replay_options options = {
		.size = sizeof(options), .pid = g->machine ? -1 : pid, .kernel = g->kernel || g->machine, .cpus = g->machine,
	};

	g->stub->machine = g->machine;
	g->stub->kernel = options.kernel;
	g->stub->pid = g->machine ? 1 : pid;
	return nt_replay_new(session, &options);
}

static struct nt_replay *show_any(struct gdb *g, struct nt_session *session)
{
	struct nt_replay *replay = NULL;
	int32_t pid = g->pid;
	size_t others = 0;

	if (g->pid || g->machine)
		return show(g, session, pid);
	if (nt_replay_main(session, &pid, &others))
		return NULL;
	if (others)
		fprintf(stderr, "ntrace: this is process %d, which executed the most instructions; --pid shows one of %zu others\n",
			pid, others);
	replay = pid >= 0 ? show(g, session, pid) : NULL;
	if (pid >= 0 && (!replay || nt_replay_insns(replay)))
		return replay;
	nt_replay_free(replay);
	/*
	 * show the end of the machine's trace, because a recording with only kernel code is from
	 * the flight recorder, which stopped at a crash
	 */
	g->machine = true;
	if (g->stub->goes_to == STUB_GOTO_NONE)
		stub_goto(g->stub, "end");
	return show(g, session, -1);
}

static int no_insns(struct gdb *g, struct nt_session *session)
{
	const char *text;
	int32_t pid = 0;

	recording_report(session);
	nt_session_thread(session, g->pid, UINT64_MAX, &pid, &text);
	if (g->pid && pid > 0 && pid != (int32_t)g->pid) {
		fprintf(stderr, "ntrace: %lu is a thread of process %d, which --pid %d shows\n", g->pid, pid, pid);
		return EXIT_TRACE;
	}
	/*
	 * If files with code are missing, recording_report() has named them, and no instructions are known because of
	 * them. In this case, print no other reason. If the recording does not contain the process that --pid selects,
	 * this is the reason instead.
	 */
	if ((!g->pid || pid > 0) && nt_session_missing(session, 0, &text, &text))
		return EXIT_TRACE;
	if (!g->pid)
		fputs("ntrace: the recording has no instructions whose code is known\n", stderr);
	g->recording.filter.pid = g->pid;
	return nothing_matched(&g->recording, session, NULL);
}

static int run_session(struct gdb *g, struct nt_session *session)
{
	bool at_time = g->stub->goes_to == STUB_GOTO_TIME;
	struct nt_config config;
	int cpu, moved;

	g->stub->session = session;
	if (!nt_replay_has_code(session, g->pid ? (int32_t)g->pid : -1))
		return no_insns(g, session);
	if (!g->stdio && !g->listen && !start_gdb(g))
		return EXIT_USAGE;
	g->stub->replay = show_any(g, session);
	if (!g->stub->replay)
		return recording_failed(session);
	if (!nt_replay_insns(g->stub->replay))
		return no_insns(g, session);
	recording_report(session);
	g->stub->xlen = nt_session_cpu(session, 0, &cpu, &config) && config.xlen == 32 ? 32 : 64;
	moved = run_goto(g->stub);
	if (moved < 0)
		return recording_failed(session);
	if (at_time && moved == NT_REPLAY_END)
		fputs("ntrace: nothing was executed at the time of --at or later, so this is the last instruction\n", stderr);
	stub_begin(g->stub);
	report_files(g->stub);
	if (g->stdio)
		return stub_serve(g->stub, STDIN_FILENO, STDOUT_FILENO);
	return g->listen ? serve_path(g) : serve_gdb(g);
}

static int run_gdb(struct gdb *g)
{
	struct nt_session *session = recording_open(&g->recording);
	int status;

	if (!session)
		return EXIT_USAGE;
	status = run_session(g, session);
	end_gdb(g);
	stub_free(g->stub);
	nt_session_close(session);
	return status;
}

static bool set_at(const struct option_entry *option, const char *arg)
{
	struct gdb *g = option->to;

	return stub_goto(g->stub, arg) ||
	       refuse("--at expects begin, end or a time in seconds such as 12.345, not '%s'", arg);
}

int cmd_gdb(int argc, char **argv)
{
	static struct stub stub;
	struct gdb g = { .stub = &stub, .listener = -1 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&g.recording),
		OPTION_NUMBER(0, "pid", "N", &g.pid, 1, "the process to show (the one with the most instructions)"),
		OPTION_FLAG(0, "kernel", &g.kernel, "also show the kernel's code that the threads of the process execute"),
		OPTION_FLAG(0, "machine", &g.machine, "show the kernel and all processes; each CPU is a thread"),
		OPTION_CALL(0, "at", "TIME|begin|end", set_at, &g,
			    "where to start; TIME is in seconds, as script prints it (begin)"),
		OPTION_TEXT(0, "gdb", "PROGRAM", &g.gdb,
			    "gdb for RISC-V (gdb-multiarch, riscv64-linux-gnu-gdb or gdb)"),
		OPTION_FLAG(0, "stdio", &g.stdio, "serve a gdb that runs: target remote | ntrace gdb --stdio ..."),
		OPTION_TEXT(0, "listen", "PATH", &g.listen, "serve a gdb that runs: target remote PATH"),
		{ 0 }
	};
	int status;

	memset(&stub, 0, sizeof(stub));
	recording_init(&g.recording);
	status = options_parse(argc, argv, "+", usage, options);
	if (status >= 0)
		return status;
	g.args = argv + optind;
	if (g.stdio + !!g.listen + !!g.gdb > 1 || ((g.stdio || g.listen) && *g.args))
		return usage_error("--stdio and --listen serve a gdb that already runs, so they exclude each other, --gdb and arguments of gdb");
	if (g.recording.strict)
		return usage_error("gdb decodes only what it shows, so --strict cannot be given");
	if (g.machine && (g.pid || g.kernel))
		return usage_error("--machine shows the kernel and all processes, so it excludes --pid and --kernel");
	return run_gdb(&g);
}
