//! Tests the inputs and the decisions of read policies, by traces of real guests.

use std::collections::BTreeMap;

use crate::place::{self, TestGuest};
use crate::read_policies::{RAID1C4, RAID10, choices_on, policies_on, pool, said};
use disklab_config::policy::PREFIX;
use disklab_kernels::Kernel;
use disklab_read_policies::{Choice, Mirror, Request, policies};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("decisions_are_the_native_ones", decisions_are_the_native_ones),
        crate::test("missing_and_replaced_devices", missing_and_replaced_devices),
        crate::test("mirrors_are_described_as_they_are", mirrors_are_described_as_they_are),
    ]
}

/// Every policy reads and writes on two, three and four mirrors and on RAID10. The same C code in
/// this program repeats each decision that the kernel traced.
fn decisions_are_the_native_ones() {
    for kernel in place::kernels() {
        println!("on Linux {}", kernel.version);
        decisions_on(&kernel);
    }
}

fn decisions_on(kernel: &Kernel) {
    let mut decisions = BTreeMap::<String, usize>::new();
    for profile in
        ["raid1 /dev/vda /dev/vdb", "raid1c3 /dev/vda /dev/vdb /dev/vdc", RAID1C4, RAID10]
    {
        let mut place = pool(&format!(
            "mkdir -p /mnt/t; mount -t tracefs t /mnt/t
             pool {profile}; files
             echo 60000 > /mnt/t/buffer_size_kb
             echo 1 > /mnt/t/events/btrfs_read_policy/enable
             for policy in {}; do
                 echo $policy > $sys/read_policy
                 set_policy=$(sed 's/.*\\[\\(.*\\)\\].*/\\1/' $sys/read_policy)
                 echo policy=$set_policy > /mnt/t/trace_marker
                 load randrw 4k 150; load read 64k 60
             done
             echo 0 > /mnt/t/tracing_on; cat /mnt/t/trace > /mnt/trial/trace.txt; cat \
             /mnt/t/per_cpu/cpu0/stats",
            choices_on(kernel)
        ));
        place.kernel = kernel.clone();
        let said = said(&place);
        assert!(
            said.iter().any(|line| line == "overrun: 0"),
            "the trace's buffer was too small: {said:?}"
        );
        for (active, decision) in under_policies(&place, "trace.txt") {
            let choice = decision.replay(&active);
            *decisions.entry(choice.policy().name.to_owned()).or_default() += 1;
        }
    }
    println!("decisions replayed: {decisions:?}");
    let all = policies_on(kernel);
    let is_seen = |name: &str| decisions.get(name.trim_start_matches(PREFIX)) > Some(&500);
    let seen: Vec<&String> = all.iter().filter(|name| is_seen(name)).collect();
    assert_eq!(seen, all.iter().collect::<Vec<_>>(), "{decisions:?}");
}

/// Every policy reads degraded mounts of every profile, and a device that is being replaced.
/// Correct data would prove little, since btrfs tries the next mirror after a failure; the test
/// checks the decisions themselves.
fn missing_and_replaced_devices() {
    for kernel in place::kernels() {
        println!("on Linux {}", kernel.version);
        missing_and_replaced_on(&kernel);
    }
}

fn missing_and_replaced_on(kernel: &Kernel) {
    let mut place = pool(&format!(
        "mkdir -p /mnt/t; mount -t tracefs t /mnt/t; echo 20000 > /mnt/t/buffer_size_kb
         traced() {{
             echo > /mnt/t/trace; echo 1 > /mnt/t/events/btrfs_read_policy/enable
             \"$@\"
             echo 0 > /mnt/t/events/btrfs_read_policy/enable; grep decision: /mnt/t/trace >> \
             /mnt/trial/$name.txt
         }}
         all() {{
             for policy in {}; do
                 echo $policy > $sys/read_policy
                 echo 3 > /proc/sys/vm/drop_caches
                 test \"$(md5sum < /mnt/p/a)\" = \"$sum\" || echo \"$policy read something else\"
             done
         }}
         for profile in 'raid1 /dev/vda /dev/vdb' 'raid1c3 /dev/vda /dev/vdb /dev/vdc' \
         '{RAID1C4}' '{RAID10}'; do
             pool $profile; files; sum=$(md5sum < /mnt/p/a)
             umount /mnt/p
             btrfs device scan --forget
             dd if=/dev/zero of=/dev/vdb bs=4k seek=16 count=1 conv=notrunc status=none
             btrfs device scan /dev/vdc /dev/vdd > /mnt/trial/scan.txt 2>&1 || true
             mount -o degraded /dev/vda /mnt/p; sys=$(echo /sys/fs/btrfs/*-*)
             name=missing; traced all
             echo \"$profile: $(cat $sys/devinfo/2/missing) $(cat $sys/devinfo/2/read_stats)\"
             umount /mnt/p; btrfs device scan --forget
         done
         pool raid1 /dev/vda /dev/vdb; files; sum=$(md5sum < /mnt/p/a)
         replace() {{ btrfs replace start -f -B $1 2 $2 /mnt/p & all; wait $!; }}
         name=replaced; traced replace '' /dev/vdc
         name=avoided; traced replace -r /dev/vdb
         all; echo replaced",
        policies_on(kernel).join(" ")
    ));
    place.kernel = kernel.clone();
    let said = said(&place);
    let wrong: Vec<_> = said.iter().filter(|line| line.contains("something else")).collect();
    assert!(wrong.is_empty(), "{said:?}");
    let missing: Vec<_> =
        said.iter().filter(|line| line.contains(": 1 cumulative ios 0 ")).collect();
    assert_eq!(missing.len(), 4, "{said:?}");
    assert_eq!(said.last().map(String::as_str), Some("replaced"));

    let decisions = |name: &str| traced(&place, name);
    let missing = decisions("missing.txt");
    assert!(missing.iter().any(|decision| decision.mirrors.len() == 4));
    for Decision { answer, mirrors, .. } in &missing {
        assert!(
            mirrors[*answer].live
                && mirrors.iter().all(|mirror| mirror.live == (mirror.devid != 2))
        );
    }
    // Device 0 is the replacing device. Without -r, the old device keeps serving; with it, the old
    // device is used only if there is no other.
    let dead =
        |name: &str| decisions(name).iter().filter(|d| d.mirrors.iter().any(|m| !m.live)).count();
    assert_eq!(dead("replaced.txt"), 0);
    assert!(dead("avoided.txt") > 0);
    for Decision { answer, mirrors, .. } in decisions("avoided.txt") {
        assert!(
            mirrors[answer].live && mirrors.iter().all(|mirror| mirror.live || mirror.devid == 2)
        );
    }
}

/// The positions and queues that policies see agree with the earlier decisions, for one read at a
/// time.
fn mirrors_are_described_as_they_are() {
    let place = pool(
        "mkdir -p /mnt/t; mount -t tracefs t /mnt/t; echo 20000 > /mnt/t/buffer_size_kb
         pool raid10 /dev/vda /dev/vdb /dev/vdc /dev/vdd; files
         echo disklab-md-raid1 > $sys/read_policy
         echo 1 > /mnt/t/events/btrfs_read_policy/enable
         one() { fio --name=r --filename=/mnt/p/a --size=8M --rw=$1 --bs=$2 --iodepth=$3 \
         --direct=1 --ioengine=libaio --randrepeat=0 --clocksource=clock_gettime \
         --output=/mnt/trial/fio.txt; grep decision: /mnt/t/trace > /mnt/trial/$4; echo > \
         /mnt/t/trace; }
         cat /mnt/p/a > /dev/null; echo > /mnt/t/trace
         one read 256k 1 runs.txt; one randread 4k 1 alone.txt; one randread 4k 8 queue.txt; one \
         randrw 4k 8 mixed.txt",
    );
    said(&place);
    let mut last = BTreeMap::<u64, (u64, u64)>::new();
    let mut runs = 0;
    for name in ["runs.txt", "alone.txt"] {
        for Decision { answer, mirrors, length, .. } in traced(&place, name) {
            assert!(length <= 64 << 10, "a stripe holds 64 KiB, and {length} bytes were told");
            for mirror in &mirrors {
                assert_eq!(mirror.writes_in_flight, 0);
                if name == "alone.txt" {
                    assert_eq!(mirror.reads_in_flight, 0);
                }
                if let Some(&(end, start)) = last.get(&mirror.devid) {
                    assert_eq!(
                        (mirror.next_read, mirror.run_start),
                        (end, start),
                        "device {}",
                        mirror.devid
                    );
                    assert_eq!(mirror.sent, end);
                    if name == "alone.txt" {
                        assert_eq!(mirror.head, end);
                    }
                }
            }
            let chosen = &mirrors[answer];
            let goes_on = last.get(&chosen.devid).is_some_and(|&(end, _)| end == chosen.physical);
            runs += usize::from(goes_on);
            let start = if goes_on { last[&chosen.devid].1 } else { chosen.physical };
            last.insert(chosen.devid, (chosen.physical + length, start));
        }
    }
    // 8 MiB are in stripes of 64 KiB on two pairs. All but the first read of each continue a
    // previous one.
    assert!(runs >= 120, "{runs} reads went on where one had ended");
    let most = traced(&place, "queue.txt")
        .iter()
        .flat_map(|d| d.mirrors.clone())
        .map(|m| m.reads_in_flight)
        .max();
    assert!((3..8).contains(&most.unwrap()), "{most:?}");
    // These disks serve in order. If the last request was a completed read, nothing moves the head
    // afterwards. A write to both mirrors is reported when the slower mirror has it.
    let mixed = traced(&place, "mixed.txt");
    let mirrors = mixed.iter().flat_map(|decision| &decision.mirrors);
    let at_rest = |mirror: &&Mirror| {
        mirror.reads_in_flight + mirror.writes_in_flight == 0 && mirror.sent == mirror.next_read
    };
    let at_rest: Vec<_> = mirrors.filter(at_rest).collect();
    assert!(at_rest.len() > 50, "{} mirrors were seen at rest", at_rest.len());
    for mirror in at_rest {
        assert_eq!(mirror.head, mirror.sent, "device {}", mirror.devid);
    }
}

/// A line of the trace.
struct Decision {
    policy: String,
    values: Vec<u64>,
    mirrors: Vec<Mirror>,
    logical: u64,
    length: u64,
    blocks_read: u32,
    block_bits: u32,
    pid: u32,
    answer: usize,
}

/// Returns the decisions in a file of the trial's folder, of which there must be some.
fn traced(place: &TestGuest, name: &str) -> Vec<Decision> {
    let text = std::fs::read_to_string(place.path(name)).unwrap();
    let decisions: Vec<Decision> =
        text.lines().filter(|line| line.contains("btrfs_read_decision:")).map(decision).collect();
    assert!(decisions.len() > 50, "{name} has {} decisions", decisions.len());
    decisions
}

/// Returns the decisions in a file, each with the policy that was active in sysfs at that time.
fn under_policies(place: &TestGuest, name: &str) -> Vec<(String, Decision)> {
    let text = std::fs::read_to_string(place.path(name)).unwrap();
    let mut active = "pid".to_owned();
    let mut decisions = Vec::new();
    for line in text.lines() {
        if let Some((_, policy)) = line.split_once("tracing_mark_write: policy=") {
            policy.clone_into(&mut active);
        } else if line.contains("btrfs_read_decision:") {
            decisions.push((active.clone(), decision(line)));
        }
    }
    assert!(decisions.len() > 50, "{name} has {} decisions", decisions.len());
    decisions
}

fn decision(line: &str) -> Decision {
    let read = || {
        let field = |name: &str| {
            let rest = line.split_once(&format!(" {name}="))?.1;
            Some(rest.split(' ').next().unwrap_or(rest))
        };
        let number = |name: &str| field(name)?.parse::<u64>().ok();
        let small = |name: &str| u32::try_from(number(name)?).ok();
        let numbers = |name: &str| {
            let list = field(name)?.strip_prefix('{')?.strip_suffix('}')?;
            let number = |hex: &str| u64::from_str_radix(hex.strip_prefix("0x")?, 16).ok();
            list.split(',').map(number).collect::<Option<Vec<u64>>>()
        };
        let mirrors = numbers("mirrors")?;
        let (mirrors, []) = mirrors.as_chunks::<14>() else { return None };
        Some(Decision {
            policy: field("policy")?.to_owned(),
            values: numbers("values")?,
            mirrors: mirrors.iter().map(mirror).collect(),
            logical: number("logical")?,
            length: number("length")?,
            blocks_read: small("blocks_read")?,
            block_bits: small("block_bits")?,
            pid: small("pid")?,
            answer: small("answer")? as usize,
        })
    };
    read().unwrap_or_else(|| panic!("this is no decision: {line}"))
}

impl Decision {
    /// Repeats the decision here, and compares. `active` is the policy in sysfs, which gives the
    /// parameters of a kernel's own policy.
    fn replay(&self, active: &str) -> Choice {
        let request = Request::new(&self.mirrors, self.block_bits).unwrap();
        let request = request.place(self.logical, self.length).by(self.pid).after(self.blocks_read);
        let choice = if let Some(ours) = self.policy.strip_prefix(PREFIX) {
            let policy = policies().iter().find(|policy| policy.name == ours).unwrap();
            Choice::with_values(policy, &self.values).unwrap()
        } else {
            assert_eq!(self.policy, "kernel");
            Choice::parse(active, self.block_bits).unwrap()
        };
        assert_eq!(choice.decide(&request), self.answer, "{choice}: {request:?}");
        choice
    }
}

/// Parses numbers in the order of the trace event, which is that of the struct.
fn mirror(numbers: &[u64; 14]) -> Mirror {
    let mut numbers = numbers.iter().copied();
    let mut next = || numbers.next().unwrap();
    let mirror = Mirror {
        devid: next(),
        physical: next(),
        next_read: next(),
        run_start: next(),
        sent: next(),
        head: next(),
        optimal_io: next(),
        ios: next(),
        wait: next(),
        recent_ios: next(),
        recent_wait: next(),
        ..Mirror::default()
    };
    let [in_flight, age, flags] = [next(), next(), next()];
    Mirror {
        reads_in_flight: (in_flight >> 32) as u32,
        writes_in_flight: in_flight as u32,
        age: (age as u32).cast_signed(),
        rotational: flags & 1 != 0,
        live: flags & 2 != 0,
        ..mirror
    }
}
