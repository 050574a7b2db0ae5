/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The text of /sys/fs/btrfs/<fsid>/read_policy behind its prefix: "queue", "latency-rr:120",
 * "latency-rr:margin=120,burst=100". Included once in a program.
 */
#ifndef BTRFS_READ_POLICIES_CHOICE_H
#define BTRFS_READ_POLICIES_CHOICE_H

#include "policy.h"

#include "registry.h"

#define READ_POLICIES	(sizeof(read_policies) / sizeof(read_policies[0]))

/* Sets `choice` to a policy with its defaults. */
static inline void read_choice_default(struct read_choice *choice, const struct read_policy *policy)
{
	choice->policy = policy;
	for (u32 i = 0; i < READ_PARAMETERS_MAX; i++)
		choice->values[i] = policy->parameters[i].value;
}

/* A stretch of text, not terminated. */
struct read_word {
	const char *start;
	u32 length;
};

static inline bool read_word_is(struct read_word word, const char *text)
{
	return strlen(text) == word.length && !memcmp(word.start, text, word.length);
}

/* Cuts the text up to `separator` off the front of `rest`; true if the separator was there. */
static inline bool read_word_cut(struct read_word *rest, char separator, struct read_word *front)
{
	*front = *rest;
	for (u32 i = 0; i < rest->length; i++) {
		if (rest->start[i] != separator)
			continue;
		front->length = i;
		rest->start += i + 1;
		rest->length -= i + 1;
		return true;
	}
	rest->start += rest->length;
	rest->length = 0;
	return false;
}

/* Digits, for bytes with K, M or G behind them. Nothing else, and nothing that does not fit. */
static inline int read_word_number(struct read_word word, bool bytes, u64 *number)
{
	u32 shift = 0;
	u64 value = 0;

	if (bytes && word.length) {
		switch (word.start[word.length - 1] | 0x20) {
		case 'k':
			shift = 10;
			break;
		case 'm':
			shift = 20;
			break;
		case 'g':
			shift = 30;
			break;
		}
		word.length -= shift != 0;
	}
	/* 18 digits fit always. */
	if (!word.length || word.length > 18)
		return -EINVAL;
	for (u32 i = 0; i < word.length; i++) {
		if (word.start[i] < '0' || word.start[i] > '9')
			return -EINVAL;
		value = value * 10 + (word.start[i] - '0');
	}
	if (value > U64_MAX >> shift)
		return -EINVAL;
	*number = value << shift;
	return 0;
}

static inline int read_word_index(struct read_word word, const char *words, u64 *index)
{
	struct read_word rest = { words, strlen(words) };
	struct read_word front;
	bool more;

	*index = 0;
	do {
		more = read_word_cut(&rest, ' ', &front);
		if (front.length == word.length && !memcmp(front.start, word.start, word.length))
			return 0;
		++*index;
	} while (more);
	return -EINVAL;
}

static inline int read_parameter_parse(const struct read_parameter *parameter,
				       struct read_word word, u32 block_bits, u64 *value)
{
	u64 block = (u64)1 << block_bits;
	int ret;

	if (parameter->kind == READ_WORD)
		return read_word_index(word, parameter->words, value);
	ret = read_word_number(word, parameter->kind == READ_BYTES, value);
	if (ret)
		return ret;
	/* Whether there is such a device is for the filesystem to say. */
	if (parameter->kind == READ_DEVICE)
		return *value ? 0 : -EINVAL;
	if (*value < parameter->least || *value > parameter->most)
		return -EINVAL;
	if (parameter->kind == READ_BYTES)
		*value = (*value + block - 1) & ~(block - 1);
	return 0;
}

static inline int read_choice_parse_value(struct read_choice *choice, struct read_word word,
					  u32 position, u32 block_bits, u32 *seen)
{
	const struct read_parameter *parameters = choice->policy->parameters;
	struct read_word key;
	u32 i = 0;

	if (read_word_cut(&(struct read_word){ word.start, word.length }, '=', &key)) {
		while (i < READ_PARAMETERS_MAX && parameters[i].kind &&
		       !read_word_is(key, parameters[i].key))
			i++;
		word.start += key.length + 1;
		word.length -= key.length + 1;
	} else if (position) {
		/* Only the first parameter may go without its name, and only in the first place. */
		return -EINVAL;
	}
	if (i == READ_PARAMETERS_MAX || !parameters[i].kind || *seen & 1u << i)
		return -EINVAL;
	*seen |= 1u << i;
	return read_parameter_parse(&parameters[i], word, block_bits, &choice->values[i]);
}

/*
 * Reads `length` bytes of text; what it does not name has its default. 0, or -EINVAL for an unknown
 * name, a value out of range, anything before or after, also a space. One newline at the end is
 * what echo(1) writes.
 */
static inline int read_choice_parse(const char *text, u32 length, u32 block_bits,
				    struct read_choice *choice)
{
	struct read_word rest = { text, length };
	struct read_word front;
	u32 seen = 0;
	bool more;
	u32 i = 0;

	if (rest.length && rest.start[rest.length - 1] == '\n')
		rest.length--;
	more = read_word_cut(&rest, ':', &front);
	while (i < READ_POLICIES && !read_word_is(front, read_policies[i]->name))
		i++;
	if (i == READ_POLICIES)
		return -EINVAL;
	read_choice_default(choice, read_policies[i]);
	for (u32 position = 0; more; position++) {
		more = read_word_cut(&rest, ',', &front);
		if (read_choice_parse_value(choice, front, position, block_bits, &seen))
			return -EINVAL;
	}
	return 0;
}

/* The index-th of `words`, or the last; as "%.*s" takes it. */
static inline struct read_word read_word_at(const char *words, u64 index)
{
	struct read_word rest = { words, strlen(words) };
	struct read_word front;

	while (read_word_cut(&rest, ' ', &front) && index--)
		;
	return front;
}

#endif
