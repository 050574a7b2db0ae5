//! All chance in a guest comes from its seed; nothing of the host shows in it.

use crate::place::Place;
use disklab_units::Seed;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("randomness_is_the_seeds", randomness_is_the_seeds),
        crate::test("nothing_of_the_host", nothing_of_the_host),
    ]
}

/// What programs take for random or unique: bytes of the kernel, UUIDs, addresses, pids, dates.
const CHANCE: &str = "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; \
                      grep -m1 stack /proc/self/maps; echo $$; date +%s.%N; mktemp -u";

fn chance(seed: u64, burn_pids: u32) -> String {
    let mut place = Place::shell(CHANCE);
    place.machine.seed = Seed(seed);
    place.plan.burn_pids = burn_pids;
    place.run().unwrap();
    place.said()
}

fn randomness_is_the_seeds() {
    let first = chance(1, 0);
    assert_eq!(first, chance(1, 0));
    let other = chance(2, 3);
    let differing = first.lines().zip(other.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(first.lines().count(), 6, "{first}");
    // All but the date, which is the same virtual moment.
    assert_eq!(differing, 5, "{first}\n{other}");
}

fn nothing_of_the_host() {
    let place = Place::shell("env | sort; cat /proc/uptime; hostname; cat /proc/loadavg | cut -d' ' -f1-4");
    place.run().unwrap();
    let said = place.said();
    assert!(!said.contains("CARGO"), "{said}");
    let again = Place::shell("env | sort; cat /proc/uptime; hostname; cat /proc/loadavg | cut -d' ' -f1-4");
    again.run().unwrap();
    assert_eq!(said, again.said());
}
