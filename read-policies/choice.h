/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Parser for the text of /sys/fs/btrfs/<fsid>/read_policy after its prefix, for example "queue",
 * "latency-rr:120" or "latency-rr:margin=120,burst=100". Only one source file of a program may
 * include this header.
 */
#ifndef BTRFS_READ_POLICIES_CHOICE_H
#define BTRFS_READ_POLICIES_CHOICE_H

#include "policy.h"

#include "registry.h"

/* The number of policies in the registry. */
#define READ_POLICIES	(sizeof(read_policies) / sizeof(read_policies[0]))

/* Sets `choice` to a policy with the default values of its parameters. */
static inline void read_choice_default(struct read_choice *choice, const struct read_policy *policy)
{
	choice->policy = policy;
	for (u32 i = 0; i < READ_PARAMETERS_MAX; i++)
		choice->values[i] = policy->parameters[i].value;
}

/* A part of a text. The part has a length and no terminating NUL. */
struct read_word {
	const char *start;
	u32 length;
};

/* Returns true if the word equals `text`. */
static inline bool read_word_is(struct read_word word, const char *text)
{
	return strlen(text) == word.length && !memcmp(word.start, text, word.length);
}

/*
 * Moves the text before the first `separator` from `rest` to `front`, and drops the separator.
 * Returns true if `rest` contains the separator. Otherwise moves the whole text and returns false.
 */
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

/*
 * Parses decimal digits. If `bytes` is true, one suffix K, M or G in either case may follow.
 * Returns 0, or -EINVAL for any other text and for a number that does not fit.
 */
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
	/* Any number of 18 decimal digits fits in 64 bits. */
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

/*
 * Finds a word among `words`, which are separated by spaces, and stores its index. Returns 0, or
 * -EINVAL if the word is not among them.
 */
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

/* Parses the value of one parameter. Returns 0, or -EINVAL for an invalid value. */
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
	/* The filesystem checks later whether the device exists. */
	if (parameter->kind == READ_DEVICE)
		return *value ? 0 : -EINVAL;
	if (*value < parameter->least || *value > parameter->most)
		return -EINVAL;
	if (parameter->kind == READ_BYTES)
		*value = (*value + block - 1) & ~(block - 1);
	return 0;
}

/*
 * Parses one "value" or "key=value" at `position` in the list. `seen` has one bit for each
 * parameter that was set before. Returns 0, or -EINVAL for an invalid or repeated parameter.
 */
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
		/* Only the first parameter may omit its name, and only at the first position. */
		return -EINVAL;
	}
	if (i == READ_PARAMETERS_MAX || !parameters[i].kind || *seen & 1u << i)
		return -EINVAL;
	*seen |= 1u << i;
	return read_parameter_parse(&parameters[i], word, block_bits, &choice->values[i]);
}

/*
 * Parses `length` bytes of text. A parameter that the text does not name gets its default value.
 * Returns 0, or -EINVAL for an unknown name, a value out of range, or any text before or after,
 * including spaces. One newline at the end is allowed, because echo(1) writes one.
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

/*
 * Returns the word at `index` in `words`, or the last word if there are fewer. The format "%.*s"
 * prints the result.
 */
static inline struct read_word read_word_at(const char *words, u64 index)
{
	struct read_word rest = { words, strlen(words) };
	struct read_word front;

	while (read_word_cut(&rest, ' ', &front) && index--)
		;
	return front;
}

#endif
