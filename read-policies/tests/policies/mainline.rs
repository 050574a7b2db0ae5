//! Compares pid, round-robin and devid with mainline's formulas, written here again from
//! fs/btrfs/volumes.c (6.13 to 7.3).

use disklab_read_policies::{Choice, Mirror, Request};
use proptest::prelude::*;

/// The fields of `struct btrfs_device` that find_live_mirror() reads.
#[derive(Debug, Clone)]
struct Stripe {
    devid: u64,
    /// Whether the device has a `bdev`.
    present: bool,
    /// Whether the device is `srcdev` of a replacement that avoids it.
    avoided: bool,
}

/// Repeats the fallback loop of find_live_mirror().
fn live(preferred: usize, stripes: &[Stripe]) -> usize {
    for tolerance in [false, true] {
        let good = |stripe: &Stripe| stripe.present && (tolerance || !stripe.avoided);
        if good(&stripes[preferred]) {
            return preferred;
        }
        if let Some(first) = stripes.iter().position(good) {
            return first;
        }
    }
    preferred
}

fn by_pid(stripes: &[Stripe], pid: u32) -> usize {
    live(pid as usize % stripes.len(), stripes)
}

/// Repeats round-robin's formula. The value is rounded up to whole sectors where it is stored, and
/// the counter is an unsigned int.
fn by_turns(stripes: &[Stripe], total_reads: u32, contiguous: u64, sector_bits: u32) -> usize {
    let sector = 1_u64 << sector_bits;
    let least = (contiguous.div_ceil(sector) * sector) >> sector_bits;
    let mut order: Vec<usize> = (0..stripes.len()).collect();
    order.sort_by_key(|&index| stripes[index].devid);
    live(order[(u64::from(total_reads) / least) as usize % stripes.len()], stripes)
}

fn by_device(stripes: &[Stripe], read_devid: u64) -> usize {
    live(stripes.iter().position(|stripe| stripe.devid == read_devid).unwrap_or(0), stripes)
}

/// Returns the request that btrfs is to hand to a policy: a device that is avoided is live only if
/// there is no other.
fn request(stripes: &[Stripe], bits: u32) -> Request {
    let others = stripes.iter().any(|stripe| stripe.present && !stripe.avoided);
    let mirror = |stripe: &Stripe| Mirror {
        devid: stripe.devid,
        live: stripe.present && !(stripe.avoided && others),
        ..Mirror::default()
    };
    Request::new(&stripes.iter().map(mirror).collect::<Vec<_>>(), bits).unwrap()
}

/// Generates stripes of which at most one is avoided. Their ids differ, as they do in a filesystem.
fn stripes() -> impl Strategy<Value = Vec<Stripe>> {
    let ids = prop_oneof![
        prop::collection::btree_set(1..6_u64, 1..=4),
        prop::collection::btree_set(1..=u64::MAX, 1..=4)
    ];
    let ids = ids.prop_map(|ids| ids.into_iter().collect::<Vec<_>>()).prop_shuffle();
    (ids, prop::collection::vec(prop::bool::weighted(0.8), 4), prop::option::of(0..4_usize))
        .prop_map(|(ids, present, avoided)| {
            let stripe =
                |(i, devid)| Stripe { devid, present: present[i], avoided: avoided == Some(i) };
            ids.into_iter().enumerate().map(stripe).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pid(stripes in stripes(), pid in 0..=i32::MAX as u32) {
        let choice = Choice::parse("pid", 12).unwrap();
        prop_assert_eq!(choice.decide(&request(&stripes, 12).by(pid)), by_pid(&stripes, pid));
    }

    #[test]
    fn round_robin(
        stripes in stripes(),
        total in any::<u32>(),
        bytes in prop_oneof![1..1_u64 << 20, 1..=1_u64 << 30],
        bits in 12..=16_u32,
    ) {
        let choice = Choice::parse(format!("round-robin:{bytes}"), bits).unwrap();
        let answer = choice.decide(&request(&stripes, bits).after(total));
        prop_assert_eq!(answer, by_turns(&stripes, total, bytes, bits));
    }

    #[test]
    fn devid(stripes in stripes(), other in 1..6_u64, which in 0..5_usize) {
        let devid = stripes.get(which).map_or(other, |stripe| stripe.devid);
        // A kernel keeps no more digits of it than these.
        prop_assume!(devid < 1_000_000_000_000_000_000);
        let choice = Choice::parse(format!("devid:{devid}"), 12).unwrap();
        prop_assert_eq!(choice.decide(&request(&stripes, 12)), by_device(&stripes, devid));
    }
}
