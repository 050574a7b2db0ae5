//! Tests that completions are the same as in earlier versions, to the nanosecond. Optimisations of
//! the models must not change them.
//!
//! A change of a model's results changes these numbers too. Then replace [`KNOWN`] by the list that
//! the failure prints, and describe the change in the change log.

mod drive;

use disklab_config::device::{Device, Model, Preconditioned, Slc};
use disklab_disks::{Counters, Disk, Op, Request, build};
use disklab_units::{Bytes, Nanos, Random, Seed};
use drive::{ServedRequest, closed_loop, device, flush, read, write};

/// The checksums of each case: of random writes, and of the mixed requests that follow on the same
/// disk.
const KNOWN: [(&str, [u64; 2]); 15] = [
    ("sata-ssd-1tb in order", [0xce7a_989e_9796_59b2, 0xcc23_88e4_dc1e_6c05]),
    ("sata-ssd-1tb at random", [0x1393_770c_868d_4efb, 0x0a13_1f6b_5010_a679]),
    ("sata-ssd-1tb with SLC", [0x177d_3c5e_665d_5307, 0x4d7b_bc76_2494_8ca7]),
    ("sata-ssd-1tb as large as it is", [0x6ef6_bfce_f687_d69f, 0x9922_ff41_e863_0f51]),
    ("plextor-ssd in order", [0xfc37_c7b5_9e2e_9d57, 0x2518_b94a_7234_3e9f]),
    ("plextor-ssd at random", [0x49e3_15de_1835_f4cf, 0xb72f_1bbc_c614_38d9]),
    ("nvme-tlc-1920gb in order", [0x6c39_3e2e_5c29_dd77, 0x7ee9_4ab5_4b68_d8de]),
    ("nvme-tlc-1920gb at random", [0x0399_d804_8be7_e9c1, 0x5bc2_4571_ab53_df5f]),
    ("nvme-enterprise-1920gb in order", [0xab13_83df_84c3_c537, 0xea8a_5e49_67b8_75eb]),
    ("nvme-enterprise-1920gb at random", [0xa938_ab63_9714_b443, 0x9692_ce49_9500_e509]),
    ("transcend-microsdhc", [0x660a_9846_cf27_f53d, 0xae55_21f3_1ca7_c587]),
    ("sandisk-emmc", [0xade0_2540_87c9_f6a3, 0xcc45_3701_5bba_9d38]),
    ("nas-12tb", [0x8b2f_16d1_3942_fdbf, 0x39e9_6f87_63dc_8bae]),
    ("laptop-1tb", [0xa5fa_e4af_f848_5baf, 0xa32f_1fd6_b3af_f23a]),
    ("constant-50us", [0x961a_53aa_e6b3_d267, 0x46f4_c913_0aed_02d8]),
];

/// Returns the device of a case. SSDs are made small, so that few requests overwrite them several
/// times: the data of a die fills 64 blocks.
fn case(case: &str) -> Device {
    let (name, how) = case.split_once(' ').unwrap_or((case, ""));
    let mut device = device(name);
    if let Model::Ssd(ssd) = &mut device.model
        && how != "as large as it is"
    {
        device.bytes = Bytes::mib(1024);
        ssd.raw_size = Bytes::mib(1280);
        ssd.pages_per_block = (device.bytes.0 / (u64::from(ssd.dies()) * ssd.row().0 * 64)) as u32;
        ssd.write_buffer = Bytes::mib(2);
        if how == "at random" {
            ssd.preconditioned = Preconditioned::AtRandom;
        }
        ssd.slc = (how == "with SLC").then(|| Slc {
            cache: Bytes::mib(64),
            cell_bits: 2,
            read_page: Nanos::from_micros(20),
            program_page: Nanos::from_micros(100),
        });
    }
    device
}

/// Returns the FNV-1a checksum, by 64-bit words, of times and counters.
fn checksum(served: &[ServedRequest], counters: Counters) -> u64 {
    let times =
        served.iter().flat_map(|served| [served.request.sector, served.started.0, served.at.0]);
    let work = [counters.media_written_sectors, counters.moved_sectors, counters.erased_blocks];
    times
        .chain(work)
        .fold(0xcbf2_9ce4_8422_2325, |sum, word| (sum ^ word).wrapping_mul(0x0100_0000_01b3))
}

/// Draws a place. Half of the places are in an eighth of the disk, whose blocks are therefore
/// collected repeatedly.
fn place(random: &mut Random, units: u64) -> u64 {
    let among = if random.below(2) == 0 { units / 8 } else { units };
    random.below(among) * 8
}

fn anything(random: &mut Random, units: u64) -> Request {
    let sectors = 8 << random.below(6) as u32;
    let sector = place(random, units) + random.below(64).saturating_sub(56);
    match random.below(100) {
        0..45 => read(sector, sectors),
        45..85 => write(sector, sectors),
        85..90 => Request { fua: true, ..write(sector, sectors) },
        90..95 => Request { op: Op::Discard, ..read(sector, sectors * 16) },
        95..98 => Request { op: Op::WriteZeroes, ..read(sector, sectors) },
        _ => flush(),
    }
}

fn run(name: &str) -> [u64; 2] {
    let device = case(name);
    // Requests to other devices take much longer, and this test's time too.
    let count = if matches!(device.model, Model::Ssd(_)) { 100_000 } else { 4_000 };
    let mut disk: Box<dyn Disk> = build(&device.model, device.bytes, Seed(1));
    let (mut random, units) = (Random::new(Seed(2)), device.bytes.0 / 4096);
    let writes =
        closed_loop(disk.as_mut(), Nanos(0), 32, count, |_| write(place(&mut random, units), 8));
    let first = checksum(&writes, disk.counters());
    // The drive rests, which lets it do the work that it postponed.
    let start = writes.last().expect("some were served").at + Nanos::from_secs(2);
    let mixed = closed_loop(disk.as_mut(), start, 32, count / 10, |_| anything(&mut random, units));
    [first, checksum(&mixed, disk.counters())]
}

#[test]
fn every_answer_is_as_ever() {
    let found = KNOWN.map(|(name, _)| (name, run(name)));
    let list: Vec<String> = found
        .iter()
        .map(|(name, [one, two])| format!("    ({name:?}, [{one:#018x}, {two:#018x}]),"))
        .collect();
    let list = list.join("\n");
    assert!(found == KNOWN, "not the same; now it is\n{list}");
}
