/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM btrfs_read_policy

#if !defined(BTRFS_READ_POLICY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BTRFS_READ_POLICY_TRACE_H

#include <linux/tracepoint.h>
#include "read-policies/policy.h"

/*
 * The number of u64 values in the trace for each struct read_mirror. A new field of the struct is
 * added to TP_fast_assign() below and to describe_mirror().
 */
#define READ_MIRROR_NUMBERS	14
static_assert(sizeof(struct read_mirror) == 104);

/*
 * Traces one decision, with the complete input of the policy, so that the decision can be repeated.
 * The input consists of the values of the policy's parameters, the read, and, for each mirror, the
 * fields of struct read_mirror in their order. The requests in flight form one value, with the
 * reads in the upper 32 bits. The flags form the last value (1: rotational, 2: live). For a
 * decision of the kernel's own policy, the name is "kernel" and the event does not contain the
 * parameters.
 */
TRACE_EVENT(btrfs_read_decision,
	TP_PROTO(const struct read_choice *choice, const struct read_request *read, u32 answer),
	TP_ARGS(choice, read, answer),

	TP_STRUCT__entry(
		__string(policy, choice->policy ? choice->policy->name : "")
		__field(u64, logical)
		__field(u64, length)
		__field(u32, blocks_read)
		__field(u32, block_bits)
		__field(u32, pid)
		__field(u32, answer)
		__array(u64, values, READ_PARAMETERS_MAX)
		__dynamic_array(u64, mirrors, read->count * READ_MIRROR_NUMBERS)
	),

	TP_fast_assign(
		u64 *number = __get_dynamic_array(mirrors);

		__assign_str(policy);
		__entry->logical = read->logical;
		__entry->length = read->length;
		__entry->blocks_read = read->blocks_read;
		__entry->block_bits = read->block_bits;
		__entry->pid = read->pid;
		__entry->answer = answer;
		memcpy(__entry->values, choice->values, sizeof(__entry->values));
		for (u32 i = 0; i < read->count; i++) {
			const struct read_mirror *mirror = &read->mirrors[i];

			*number++ = mirror->devid;
			*number++ = mirror->physical;
			*number++ = mirror->next_read;
			*number++ = mirror->run_start;
			*number++ = mirror->sent;
			*number++ = mirror->head;
			*number++ = mirror->optimal_io;
			*number++ = mirror->ios;
			*number++ = mirror->wait;
			*number++ = mirror->recent_ios;
			*number++ = mirror->recent_wait;
			*number++ = (u64)mirror->reads_in_flight << 32 | mirror->writes_in_flight;
			*number++ = (u32)mirror->age;
			*number++ = mirror->rotational | mirror->live << 1;
		}
	),

	TP_printk("policy=%s%s values=%s answer=%u logical=%llu length=%llu blocks_read=%u "
		  "block_bits=%u pid=%u mirrors=%s",
		*__get_str(policy) ? BTRFS_READ_POLICY_PREFIX : "kernel", __get_str(policy),
		__print_array(__entry->values, READ_PARAMETERS_MAX, sizeof(u64)),
		__entry->answer, __entry->logical, __entry->length, __entry->blocks_read,
		__entry->block_bits, __entry->pid,
		__print_dynamic_array(mirrors, sizeof(u64)))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH ../../fs/btrfs
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE read-policy-trace
#include <trace/define_trace.h>
