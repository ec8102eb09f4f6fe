/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Definitions that the layers of libntrace share, and that its public header does not contain
 */
#ifndef NTRACE_INTERNAL_H
#define NTRACE_INTERNAL_H

#include <ntrace/ntrace.h>
#include <string.h>

/* libntrace.map hides all symbols that the public header does not declare. */
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

/*
 * The compiler inlines these functions even without optimisation, unless this header redefines the macro of the C
 * library. With sanitizers, the fast path takes 30 times longer to compile if the compiler inlines it.
 */
#ifndef __OPTIMIZE__
#undef __always_inline
#define __always_inline	inline
#elif !defined(__always_inline)
#define __always_inline	inline __attribute__((always_inline))
#endif
#ifndef noinline
#define noinline	__attribute__((noinline))
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Values of MSEO (chapter 3.1) */
#define MSEO_MASK	0x03
#define MSEO_MORE	0x00
#define MSEO_RESERVED	0x02
#define MSEO_END	0x03	/* last byte of a message, or idle */
#define MDO_BITS	6
#define IDLE_BYTE	0xff

static inline unsigned int mseo(uint8_t byte)
{
	return byte & MSEO_MASK;
}

/* Return the little-endian number at @p, which need not be aligned. Compilers make one load of this. */
static __always_inline uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static __always_inline uint32_t load32(const uint8_t *p)
{
	return load16(p) | (uint32_t)load16(p + 2) << 16;
}

static __always_inline uint64_t load64(const uint8_t *p)
{
	return load32(p) | (uint64_t)load32(p + 4) << 32;
}

/* Return @value with copies of bit @bits - 1 in all bits above it. */
static inline int64_t sign_extend(uint64_t value, unsigned int bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Remove the MSEO bits of 8 trace bytes, and return the remaining 48 bits (MDO). */
static inline uint64_t gather_mdo(uint64_t bytes)
{
	uint64_t v = (bytes >> 2) & 0x3f3f3f3f3f3f3f3fULL;

	v = (v & 0x003f003f003f003fULL) | (v & 0x3f003f003f003f00ULL) >> 2;
	v = (v & 0x00000fff00000fffULL) | (v & 0x0fff00000fff0000ULL) >> 4;
	return (v & 0x0000000000ffffffULL) | (v & 0x00ffffff00000000ULL) >> 8;
}

/* Copy a structure. The two sizes may differ. Clear the rest of a destination that is longer. */
void nt_copy_sized(void *to, size_t to_size, const void *from, size_t from_size);

int nt_config_copy(struct nt_config *copy, const struct nt_config *config);

/*
 * These functions do the work of nt_message_decode(), nt_message_desc(), nt_insn_decode(),
 * nt_item_desc() and nt_image_set_reader(). api.c checks the configuration and converts structures
 * of other sizes before it calls them.
 */
int nt_message_parse(const struct nt_config *config, const uint8_t *data, size_t size,
		     struct nt_message *msg);
int nt_message_write(const struct nt_message *msg, char *buf, size_t size);
int nt_insn_parse(const struct nt_config *config, const uint8_t *code, size_t size,
		  struct nt_insn *insn);
int nt_item_write(const struct nt_item *item, char *buf, size_t size);
void nt_image_use_reader(struct nt_image *image, const struct nt_image_reader *reader);

/* Return true if a message whose first byte is @byte is vendor defined (chapter 6). */
static inline bool nt_message_is_vendor(uint8_t byte)
{
	unsigned int tcode = byte >> 2;

	return tcode >= NT_TCODE_VENDOR_FIRST && tcode <= NT_TCODE_VENDOR_LAST;
}

/* Value of CDF, in a draft of the specification, if ProgTraceCorrelation has neither I-CNT nor HIST */
#define NT_CDF_MARKER	2

bool nt_message_is_open(const struct nt_message *msg);
bool nt_message_source(const struct nt_config *config, const uint8_t *p, size_t size, uint16_t *src);
size_t nt_message_end(const uint8_t *p, size_t size, bool *reserved);

/* Reset @frames to the state after nt_frames_new(). */
void nt_frames_reset(struct nt_frames *frames);

/* A reader, which splits the bytes of a stream into messages */
struct nt_reader {
	struct nt_config	config;
	const uint8_t		*data;		/* next byte to read */
	const uint8_t		*end;
	uint64_t		offset;		/* offset of @data in the stream */
	bool			skip;		/* skip bytes up to the next MSEO of 11 */
	size_t			nr_carry;	/* number of bytes in @carry */
	uint64_t		nr_more;	/* number of bytes for which @carry has no room */
	bool			more_reserved;	/* one of the bytes in @nr_more may have a reserved MSEO */
	uint8_t			carry[NT_MESSAGE_MAX + 1];	/* start of an incomplete message */
};

int nt_reader_init(struct nt_reader *reader, const struct nt_config *config);

/* Do the work of nt_reader_next() and nt_reader_end(), see api.c. */
int nt_reader_read(struct nt_reader *reader, struct nt_message *msg);
int nt_reader_finish(struct nt_reader *reader, struct nt_message *msg);

/* Text in a buffer that may be too small */
struct text {
	char	*buf;
	size_t	size;
	size_t	len;	/* length of the whole text */
};

void nt_text_init(struct text *text, char *buf, size_t size);
void nt_text_add(struct text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nt_text_add_ecode(struct text *text, uint64_t ecode);

/* Do the same as nt_sync_name() and nt_evcode_name(), with the names of @dialect. */
const char *nt_dialect_sync_name(unsigned int dialect, unsigned int sync);
const char *nt_dialect_evcode_name(unsigned int dialect, unsigned int evcode);
int nt_text_end(const struct text *text);

#endif /* NTRACE_INTERNAL_H */
