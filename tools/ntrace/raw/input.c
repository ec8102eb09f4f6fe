// SPDX-License-Identifier: GPL-2.0-only
/* Read trace from a file, or from one CPU of a recording. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deframer.h"
#include "cli/options.h"
#include "cli/output.h"
#include "ntrace.h"
#include "session/session.h"
#include "session/file/whole-file.h"

#define PIECE	(256 << 10)
#define IDLE	0xff
/* a byte that is not part of any valid message, because its MSEO bits are 2 (chapter 3.1.4) */
#define BROKEN	0x02
#define MSEO_END 3
#define MAGIC	8		/* maximum number of bytes that identify another kind of file */

struct input {
	struct nt_session *recording;	/* recording to read; NULL: the input is the file @fd */
	int		cpu;
	/* piece (nt_session_trace()) and offset in it of the next byte of @cpu's trace in @recording */
	size_t		piece, at;
	bool		cut;		/* the bytes that were read last do not end with the end of a message */
	bool		more;		/* more bytes follow those in @buf, and need no wait for a pipe */
	int		fd;
	/*
	 * offset of the oldest byte of a ring, from which the file is read; the bytes before this
	 * offset are read last
	 */
	uint64_t	wrapped_at;
	/* number of bytes before @wrapped_at that are still to be read, which is set at the end of the file */
	uint64_t	before_seam;
	const char	*path;
	/* converter of a pin interface; NULL: the file has bytes as a RAM sink stores them */
	struct nt_pins	*pins;
	struct deframer	*deframer;	/* converter of CoreSight frames; NULL: the file does not have frames */
	size_t		begun;		/* number of bytes in @buf that input_open() has already read */
	uint8_t		buf[PIECE];
	uint8_t		converted[2 * PIECE];
};

static const char *input_name(const struct input *input)
{
	return strcmp(input->path, "-") ? input->path : "standard input";
}

/*
 * Read the trace of one CPU of a recording, and return the same values as read(). If a loss of
 * trace has cut off a message, return an invalid byte after it, so that the first bytes of the next
 * stretch do not become part of this message.
 */
static long read_recording(struct input *input, uint8_t *data, size_t size)
{
	struct nt_trace_piece piece;
	size_t n;

	while (nt_session_trace(input->recording, input->cpu, input->piece, &piece)) {
		if (piece.begins && !input->at && input->cut) {
			input->cut = false;
			data[0] = BROKEN;
			data[1] = IDLE;
			return 2;
		}
		if (input->at < piece.size) {
			n = piece.size - input->at < size ? piece.size - input->at : size;
			memcpy(data, piece.data + input->at, n);
			input->at += n;
			input->cut = (data[n - 1] & MSEO_END) != MSEO_END;
			return n;
		}
		input->piece++;
		input->at = 0;
	}
	return 0;
}

static long read_file(struct input *input, uint8_t *data, size_t size)
{
	long n;

	do {
		n = read(input->fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n;
}

/*
 * Read a ring from its oldest byte to the end of the file, and then from the start. Return the same
 * values as read().
 */
static long read_ring(struct input *input, uint8_t *data, size_t size)
{
	long n;

	if (!input->before_seam) {
		n = read_file(input, data, size);
		if (n || !input->wrapped_at)
			return n;
		input->before_seam = input->wrapped_at;
		input->wrapped_at = 0;
		if (lseek(input->fd, 0, SEEK_SET) < 0)
			return -1;
	}
	if (size > input->before_seam)
		size = input->before_seam;
	n = read_file(input, data, size);
	if (n > 0)
		input->before_seam -= n;
	if (!input->before_seam)
		lseek(input->fd, 0, SEEK_END);
	return n;
}

static long read_bytes(struct input *input, uint8_t *data, size_t size)
{
	long n;

	if (input->recording)
		return read_recording(input, data, size);

	n = read_ring(input, data, size);
	if (n < 0 && errno == EISDIR)
		fprintf(stderr, "ntrace: %s is a folder, not a trace. A recording with --kcore is given by its name\n", input_name(input));
	else if (n < 0)
		fprintf(stderr, "ntrace: %s: %s\n", input_name(input), strerror(errno));
	return n;
}

/*
 * If the file is a recording or an ELF file, report it, and return true. A trace cannot begin with
 * the first bytes of these files, because one of the first four bytes has the reserved MSEO bits 2
 * (chapter 3.1.1).
 */
static bool is_another_kind(const struct input *input)
{
	if (input->begun >= 8 && !memcmp(input->buf, "PERFILE2", 8)) {
		fprintf(stderr, "ntrace: %s is a recording of perf: give its file name, because a recording cannot be read from a pipe here\n",
			input_name(input));
		return true;
	}
	if (input->begun >= 4 && !memcmp(input->buf, "\177ELF", 4)) {
		fprintf(stderr, "ntrace: %s is an ELF file, not a trace; a program is given by --elf\n",
			input_name(input));
		return true;
	}
	return false;
}

/* Read at least MAGIC bytes, because a pipe may return one byte at a time. */
static bool begin(struct input *input)
{
	long n;

	while (input->begun < MAGIC) {
		n = read_bytes(input, input->buf + input->begun, PIECE - input->begun);
		if (n < 0)
			return false;
		if (!n)
			break;
		input->begun += n;
	}
	if (!input->begun)
		fprintf(stderr, "ntrace: %s is empty: no trace was written\n", input_name(input));
	return !is_another_kind(input);
}

/* Create an input. Return NULL if out of memory. */
static struct input *input_new(const struct options *options)
{
	struct input *input = malloc(sizeof(*input));

	if (!input)
		return NULL;
	input->begun = 0;
	input->recording = options->recording;
	input->cpu = options->cpu;
	input->piece = input->at = 0;
	input->cut = input->more = false;
	input->fd = -1;
	input->wrapped_at = options->wrapped_at;
	input->before_seam = 0;
	input->pins = options->pins ? nt_pins_new(options->pins) : NULL;
	input->deframer = options->frames ? deframer_new(options->frame_id) : NULL;
	if (!input->pins == !options->pins && !input->deframer == !options->frames)
		return input;
	input_close(input);
	return NULL;
}

struct input *input_open(const char *path, const struct options *options)
{
	struct input *input = input_new(options);

	if (!input) {
		fprintf(stderr, "ntrace: out of memory\n");
		return NULL;
	}
	input->path = path;
	if (!input->recording)
		input->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	whole_file_input(input->fd);
	if (input->fd < 0 && !input->recording)
		refuse("%s: %s", path, strerror(errno));
	else if (input->fd >= 0 && input->wrapped_at && lseek(input->fd, input->wrapped_at, SEEK_SET) < 0)
		refuse("%s: --wrapped-at needs a file, not a pipe", path);
	else if (!output_is_input() && begin(input))
		return input;
	input_close(input);
	return NULL;
}

static long read_piece(struct input *input)
{
	long n = input->begun;

	input->begun = 0;
	if (!n)
		n = read_bytes(input, input->buf, PIECE);
	/* if a pipe returns fewer bytes, more bytes may arrive much later */
	input->more = input->recording || n == PIECE;
	return n;
}

/* Read the next bytes of the trace, and convert those of a pin interface to the format of a RAM sink. */
static long read_sink(struct input *input, const uint8_t **data)
{
	long n = read_piece(input);
	size_t used, made;

	*data = input->buf;
	if (!input->pins)
		return n;
	/* a piece that has only idle bytes is converted to no bytes, but is not the end of the file */
	while (n > 0) {
		made = nt_pins_convert(input->pins, input->buf, n, &used, input->converted,
				       sizeof(input->converted));
		*data = input->converted;
		if (made)
			return made;
		n = read_piece(input);
	}
	return n;
}

long input_read(struct input *input, const uint8_t **data)
{
	const uint8_t *frames;
	size_t made;
	long n;

	if (!input->deframer)
		return read_sink(input, data);
	while (!(made = deframer_next(input->deframer, data))) {
		n = read_sink(input, &frames);
		if (n < 0 || (!n && deframer_end(input->deframer)))
			return n;
		if (n)
			deframer_put(input->deframer, frames, n, input->more);
	}
	return made;
}

void input_close(struct input *input)
{
	if (!input)
		return;
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	nt_pins_free(input->pins);
	deframer_free(input->deframer);
	free(input);
}

/* State of a stream in input_each() */
struct stream {
	bool		is_open;
	uint64_t	offset;		/* offset of the stream's next byte */
	unsigned int	breaks;		/* value of deframer_breaks() at the last bytes of the stream */
};

static bool give(const struct input *input, struct stream *streams, bool middle, const struct input_streams *to, void *ctx,
		 const uint8_t *data, size_t size)
{
	unsigned int id = input->deframer ? deframer_id(input->deframer) : 0;
	unsigned int breaks = input->deframer ? deframer_breaks(input->deframer) : 0;
	struct stream *s = &streams[id];
	bool interrupted = s->is_open && s->breaks != breaks;

	if (interrupted && to->end && !to->end(ctx, id))
		return false;
	if ((interrupted || !s->is_open) && !to->begin(ctx, id, s->offset, s->is_open || middle || breaks))
		return false;
	*s = (struct stream){ .is_open = true, .offset = s->offset + size, .breaks = breaks };
	return to->bytes(ctx, id, data, size);
}

int input_each(const char *path, const struct options *options, const struct input_streams *to, void *ctx)
{
	struct input *input = input_open(path, options);
	struct stream streams[NT_FRAMES_IDS] = { 0 };
	const uint8_t *data;
	bool ok = input, damaged;
	unsigned int id;
	long n = 0;

	while (ok && (n = input_read(input, &data)) > 0)
		ok = give(input, streams, options->middle, to, ctx, data, n);
	for (id = 0; ok && to->end && id < NT_FRAMES_IDS; id++)
		ok = !streams[id].is_open || to->end(ctx, id);
	damaged = input && input->deframer && deframer_errors(input->deframer);
	input_close(input);
	return !ok || n < 0 ? EXIT_USAGE : damaged ? EXIT_TRACE : EXIT_CLEAN;
}
