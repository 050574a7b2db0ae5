//! Tests that all randomness in a guest comes from its seed, and that no fact about the host is
//! visible in it.

use crate::place::TestGuest;
use disklab_protocol::action::{Action, Pids};
use disklab_units::Seed;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        crate::test("randomness_is_the_seeds", randomness_is_the_seeds),
        crate::test("nothing_of_the_host", nothing_of_the_host),
    ]
}

/// Values that programs take for random or unique: bytes of the kernel, UUIDs, addresses, pids,
/// dates.
const CHANCE: &str = "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; \
                      grep -m1 stack /proc/self/maps; echo $$; date +%s.%N; mktemp -u";

fn chance(seed: u64, pids: u32) -> String {
    let mut place = TestGuest::shell(CHANCE);
    place.machine.seed = Seed(seed);
    place.before.push(Action::Pids(Pids::Consume(pids)));
    place.run().unwrap();
    place.said()
}

fn randomness_is_the_seeds() {
    let first = chance(1, 0);
    assert_eq!(first, chance(1, 0));
    let other = chance(2, 3);
    let differing = first.lines().zip(other.lines()).filter(|(a, b)| a != b).count();
    assert_eq!(first.lines().count(), 6, "{first}");
    // All values differ, except for the date, which is the same virtual moment.
    assert_eq!(differing, 5, "{first}\n{other}");
}

/// Other values that could depend on the host: its environment, load and name; the age, numbers and
/// order of its files, also in the trial's folder; its free space.
const HOST: &str = "env | sort; cat /proc/uptime; hostname; cut -d' ' -f1-4 /proc/loadavg; cat \
    /proc/cpuinfo /proc/mounts; mkdir made; echo written > made/one; echo other > made/two; mv \
    made/two made/three; stat . made made/* earlier earlier/* /etc/passwd \
    /usr/bin/fio /usr/lib; ls -fai . made earlier; grep bin/ /proc/self/maps; df . /; df -i . /; \
    ls -lU --time-style=full-iso / | grep -v ' proc$'";

/// Returns the values in a folder with files made in the order of `names`.
fn seen_of_the_host(names: &[&str]) -> String {
    let place = TestGuest::shell(&format!("{{ {HOST}; }} >seen 2>&1"));
    std::fs::create_dir(place.path("earlier")).unwrap();
    for name in names {
        std::fs::write(place.path("earlier").join(name), "the same").unwrap();
    }
    // A guest cannot make a link in the trial's folder.
    std::os::unix::fs::symlink("a", place.path("earlier/link")).unwrap();
    place.run().unwrap();
    std::fs::read_to_string(place.path("seen")).unwrap()
}

fn nothing_of_the_host() {
    let said = seen_of_the_host(&["b", "a", "c"]);
    assert!(!said.contains("CARGO"), "{said}");
    assert!(!said.contains("host\t"), "{said}");
    assert_eq!(said.matches("\n  File: ").count(), 12, "{said}");
    assert_eq!(said, seen_of_the_host(&["c", "b", "a"]));
}
