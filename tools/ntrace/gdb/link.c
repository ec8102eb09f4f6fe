// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read and write packets of gdb's remote protocol in their frames, which are $PACKET#CHECKSUM. The manual of gdb has
 * them in "Overview" of "Remote Protocol".
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "stub.h"

#define INTERRUPT	3	/* byte with which gdb interrupts a command, outside of packets */

/* Return the next byte; -1 at the end of the connection. */
static int next_byte(struct stub *stub)
{
	ssize_t n;

	if (stub->at == stub->nr) {
		do {
			n = read(stub->in, stub->input, sizeof(stub->input));
		} while (n < 0 && errno == EINTR);
		if (n <= 0)
			return -1;
		stub->at = 0;
		stub->nr = n;
	}
	return stub->input[stub->at++];
}

static bool send_bytes(const struct stub *stub, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size) {
		n = write(stub->out, at, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 && stub->out == STDOUT_FILENO)
			output_failed("-");
		if (n <= 0)
			return false;
		at += n;
		size -= n;
	}
	return true;
}

static int digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Read the packet after '$'. If another '$' follows before the end of the packet, a new packet begins there. Return 1;
 * 0 if the checksum is wrong or the packet is too long; -1 at the end of the connection.
 */
static int read_packet(struct stub *stub)
{
	unsigned int sum = 0;
	bool escaped = false, fits = true;
	int c, high, low;

	stub->size = 0;
	while ((c = next_byte(stub)) != '#') {
		if (c < 0)
			return -1;
		if (c == '$') {
			sum = stub->size = 0;
			escaped = false;
			fits = true;
			continue;
		}
		sum += c;
		if (c == '}' && !escaped) {
			escaped = true;
			continue;
		}
		fits = fits && stub->size < STUB_PACKET;
		if (fits)
			stub->packet[stub->size++] = escaped ? c ^ 0x20 : c;
		escaped = false;
	}
	high = next_byte(stub);
	low = high < 0 ? -1 : next_byte(stub);
	if (low < 0)
		return -1;
	stub->packet[stub->size] = '\0';
	return fits && digit(high) >= 0 && digit(low) >= 0 && (digit(high) << 4 | digit(low)) == (int)(sum & 0xff);
}

bool link_read(struct stub *stub)
{
	int c, ret;

	for (;;) {
		c = next_byte(stub);
		if (c < 0)
			return false;
		/* the client can interrupt a series of steps between two packets; the next step then reports it */
		stub->interrupted |= c == INTERRUPT;
		if (c != '$')
			continue;
		ret = read_packet(stub);
		if (ret < 0)
			return false;
		if (!stub->no_acks && !send_bytes(stub, ret ? "+" : "-", 1))
			return false;
		if (ret)
			return true;
	}
}

bool link_interrupted(struct stub *stub)
{
	struct pollfd fd = { .fd = stub->in, .events = POLLIN };
	bool before = stub->interrupted;

	stub->interrupted = false;
	if (before)
		return true;
	if (stub->at == stub->nr && poll(&fd, 1, 0) > 0) {
		/* the end of the connection also stops the command */
		if (next_byte(stub) < 0)
			return true;
		stub->at--;
	}
	for (; stub->at < stub->nr; stub->at++) {
		if (stub->input[stub->at] == '$')
			return false;
		if (stub->input[stub->at] == INTERRUPT) {
			stub->at++;
			return true;
		}
	}
	return false;
}

/* ---- Replies ---- */

void reply_add(struct stub *stub, const void *data, size_t size)
{
	if (size > STUB_PACKET - stub->reply_size) {
		stub->reply_too_long = true;
		return;
	}
	memcpy(stub->reply + stub->reply_size, data, size);
	stub->reply_size += size;
}

void reply_text(struct stub *stub, const char *text)
{
	reply_add(stub, text, strlen(text));
}

void reply_format(struct stub *stub, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reply_add(stub, text, n < 0 ? 0 : n < (int)sizeof(text) ? n : sizeof(text) - 1);
}

void reply_hex(struct stub *stub, const void *data, size_t size)
{
	const uint8_t *at = data;
	char text[2];

	for (; size--; at++) {
		text[0] = "0123456789abcdef"[*at >> 4];
		text[1] = "0123456789abcdef"[*at & 15];
		reply_add(stub, text, 2);
	}
}

void reply_number(struct stub *stub, uint64_t value, size_t size)
{
	uint8_t bytes[8];
	size_t i;

	for (i = 0; i < size && i < 8; i++)
		bytes[i] = value >> (8 * i);
	reply_hex(stub, bytes, i);
}

static void put(uint8_t *frame, size_t *n, unsigned int *sum, uint8_t c)
{
	frame[(*n)++] = c;
	*sum += c;
}

bool link_send(struct stub *stub)
{
	uint8_t frame[2 * sizeof(stub->reply) + 4];
	unsigned int sum = 0;
	size_t i, n = 1;

	if (stub->reply_too_long) {
		memcpy(stub->reply, "E01", 3);
		stub->reply_size = 3;
	}
	frame[0] = '$';
	for (i = 0; i < stub->reply_size; i++) {
		uint8_t c = stub->reply[i];

		if (c == '#' || c == '$' || c == '}' || c == '*') {
			put(frame, &n, &sum, '}');
			c ^= 0x20;
		}
		put(frame, &n, &sum, c);
	}
	frame[n++] = '#';
	frame[n++] = "0123456789abcdef"[sum >> 4 & 15];
	frame[n++] = "0123456789abcdef"[sum & 15];
	stub->reply_size = 0;
	stub->reply_too_long = false;
	return send_bytes(stub, frame, n);
}

/* ---- Packets ---- */

bool packet_number(const char **at, uint64_t *value)
{
	const char *from = *at;

	for (*value = 0; digit(**at) >= 0; (*at)++) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | digit(**at);
	}
	return *at > from;
}

long packet_hex(const char *text, uint8_t *data, size_t max)
{
	size_t n = 0;

	for (; digit(text[0]) >= 0; text += 2) {
		if (digit(text[1]) < 0 || n == max)
			return -1;
		data[n++] = digit(text[0]) << 4 | digit(text[1]);
	}
	return n;
}
