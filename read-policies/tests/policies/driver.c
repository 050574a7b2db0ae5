// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Passes random requests to every policy, and random text to the parser, under sanitizers. */
#include <stdio.h>
#include <stdlib.h>
#include "choice.h"

static u64 state = 1;

static u64 any(void)
{
	/* The number is one of splitmix64, shifted so that it has from 1 to 64 bits. */
	u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return z >> (z & 63);
}

static void fill(struct read_request *read)
{
	read->logical = any();
	read->length = any();
	read->blocks_read = any();
	read->block_bits = 9 + any() % 8;
	read->pid = any();
	read->count = 1 + any() % READ_MIRRORS_MAX;
	for (u32 i = 0; i < read->count; i++) {
		struct read_mirror *mirror = &read->mirrors[i];

		mirror->devid = any();
		mirror->physical = any();
		mirror->next_read = any() % 2 ? any() : mirror->physical;
		mirror->run_start = any();
		mirror->sent = any() % 2 ? any() : mirror->physical;
		mirror->head = any() % 2 ? any() : mirror->physical;
		mirror->optimal_io = any();
		mirror->ios = any();
		mirror->wait = any();
		mirror->recent_ios = any();
		mirror->recent_wait = any();
		mirror->reads_in_flight = any();
		mirror->writes_in_flight = any();
		mirror->age = (s32)(any() % (READ_CHECKPOINT_AGE + READ_WINDOW + 1)) - READ_WINDOW;
		mirror->rotational = any() % 2;
		mirror->live = any() % 4;
	}
}

/*
 * Parses random text, which may begin with a policy's name. Its other letters are those that may
 * follow a name. The text fills its memory exactly, so that a read beyond its end is detected.
 */
static void parse(struct read_choice *choice)
{
	static const char following[] = "::==,,0123456789kKmMgGabcdefilmnoprst- \n";
	const char *name = read_policies[any() % READ_POLICIES]->name;
	u32 before = any() % (strlen(name) + 1), more = any() % 40;
	char *text = malloc(before + more);

	if (any() % 4)
		before = before ? strlen(name) : 0;
	text = realloc(text, before + more ? before + more : 1);
	memcpy(text, name, before);
	for (u32 i = 0; i < more; i++)
		text[before + i] = following[any() % (sizeof(following) - 1)];
	read_choice_parse(text, before + more, 9 + any() % 8, choice);
	free(text);
}

static u64 within(const struct read_parameter *parameter)
{
	if (parameter->kind == READ_WORD)
		return any() % 2;
	if (parameter->kind == READ_DEVICE)
		return any();
	return parameter->least + any() % (parameter->most - parameter->least + 1);
}

int main(void)
{
	struct read_request read = { 0 };
	struct read_choice choice;
	s32 age;

	for (u32 round = 0; round < 100000; round++) {
		for (u32 p = 0; p < READ_POLICIES; p++) {
			const struct read_policy *policy = read_policies[p];

			fill(&read);
			read_choice_default(&choice, policy);
			for (u32 i = 0; i < READ_PARAMETERS_MAX && policy->parameters[i].kind; i++)
				choice.values[i] = within(&policy->parameters[i]);
			if (read_decide(policy, choice.values, &read) >= read.count)
				return 1;
			age = read_policy_age(policy, read.mirrors[0].age, round & 1, choice.values);
			if (age < -READ_WINDOW || age > READ_CHECKPOINT_AGE)
				return 2;
		}
		parse(&choice);
	}
	for (u32 p = 0; p < READ_POLICIES; p++) {
		for (u32 i = 0; i < READ_PARAMETERS_MAX && read_policies[p]->parameters[i].kind; i++) {
			const struct read_parameter *parameter = &read_policies[p]->parameters[i];

			if (parameter->kind == READ_WORD && !read_word_at(parameter->words, any()).length)
				return 3;
		}
	}
	puts("ok");
	return 0;
}
