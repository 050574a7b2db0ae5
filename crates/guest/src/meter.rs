//! What each disk did in each phase of a trial, counted as requests end.
//!
//! The first process says when a phase may begin and when it is over. It begins `after` ns behind
//! the first request that follows (fio's start is not part of the measurement, nor is its ramp),
//! and ends with the last request that ended before its end was said.

use crate::library::Arrival;
use crate::order::{Order, Step};
use disklab_disks::Op;
use disklab_trace::Served;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one disk did in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceCounts {
    /// The kernel's name for it.
    pub name: String,
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// At least one request was at the disk, ns.
    pub busy_ns: u64,
    /// Sum over requests: end - arrival, ns.
    pub wait_ns: u64,
    /// Sum over requests: end - start of service, ns.
    pub service_ns: u64,
    /// Sum over requests: how long each was at the disk within the phase, whether it ended in it or
    /// not, ns. By the phase's length, that is the mean number of requests at the disk.
    pub depth_ns: u64,
    /// Reads and writes that arrived in the phase, but for the disk's first.
    pub followers: u64,
    /// Of those, the ones that did not begin where the read or write before them, in order of
    /// arrival, had ended.
    pub apart: u64,
    /// Sum over them: how far from there they began, either way, in sectors of 512 bytes.
    pub apart_sectors: u64,
    /// What only the model knows (seeks, cache hits, ...): see `disklab_disks::Counters`.
    pub model: Value,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// Reads that arrived in the phase, of all disks in one order, but for the guest's first.
    pub read_followers: u64,
    /// Of those, the ones that went to another disk than the read before them.
    pub read_switches: u64,
    pub devices: Vec<DeviceCounts>,
}

/// Where the first process and the meter stand.
#[derive(Debug)]
enum State {
    Idle,
    /// A phase was announced; no request yet.
    Announced {
        name: String,
        after: u64,
    },
    /// A request has come: counting begins at `begin`.
    Waiting {
        name: String,
        begin: u64,
    },
    Counting {
        phase: Phase,
        models: Vec<Value>,
    },
}

/// Counts.
#[derive(Debug)]
pub struct Meter {
    state: State,
    /// The disks', by the kernel.
    names: Vec<String>,
    /// By disk: requests at the disk, and since when that has not been zero.
    present: Vec<(u32, u64)>,
    order: Order,
    phases: Vec<Phase>,
}

impl Meter {
    /// Of the disks with these names.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            state: State::Idle,
            present: vec![(0, 0); names.len()],
            order: Order::new(names.len()),
            names,
            phases: Vec::new(),
        }
    }

    /// A phase may begin: `after` ns behind the next request.
    pub fn announce(&mut self, name: &str, after: u64) {
        self.state = State::Announced { name: name.to_owned(), after };
    }

    /// A request arrives at a disk. `models` tells the models' own counters, if they are needed
    /// now.
    pub fn arrived(&mut self, arrival: &Arrival, now: u64, models: impl FnOnce() -> Vec<Value>) {
        let disk = arrival.disk;
        if let State::Announced { name, after } = &mut self.state {
            self.state = State::Waiting { name: std::mem::take(name), begin: now + *after };
        }
        self.begin_if_due(now, models);
        let (count, since) = &mut self.present[disk];
        if *count == 0 {
            *since = now;
        }
        *count += 1;
        let step = self.order.next(arrival);
        if let State::Counting { phase, .. } = &mut self.state {
            phase.follow(disk, step);
        }
    }

    fn begin_if_due(&mut self, now: u64, models: impl FnOnce() -> Vec<Value>) {
        let State::Waiting { name, begin } = &mut self.state else { return };
        if now < *begin {
            return;
        }
        let counts = |name: &String| DeviceCounts { name: name.clone(), ..DeviceCounts::default() };
        let devices = self.names.iter().map(counts).collect();
        let phase = Phase {
            name: std::mem::take(name),
            begin_ns: *begin,
            end_ns: *begin,
            read_followers: 0,
            read_switches: 0,
            devices,
        };
        for (count, since) in &mut self.present {
            if *count > 0 {
                *since = (*since).max(phase.begin_ns);
            }
        }
        self.state = State::Counting { phase, models: models() };
    }

    /// A request has ended.
    pub fn ended(&mut self, served: &Served, models: impl FnOnce() -> Vec<Value>) {
        self.begin_if_due(served.ended, models);
        let (count, since) = &mut self.present[served.disk];
        *count -= 1;
        let busy = if *count == 0 { served.ended.saturating_sub(*since) } else { 0 };
        let State::Counting { phase, .. } = &mut self.state else { return };
        phase.end_ns = served.ended;
        let device = &mut phase.devices[served.disk];
        let bytes = u64::from(served.sectors) * 512;
        match served.op {
            Op::Read => {
                device.reads += 1;
                device.read_bytes += bytes;
            }
            Op::Write | Op::WriteZeroes => {
                device.writes += 1;
                device.write_bytes += bytes;
            }
            Op::Flush => device.flushes += 1,
            Op::Discard => device.discards += 1,
        }
        device.busy_ns += busy;
        device.depth_ns += served.ended - served.submitted.max(phase.begin_ns);
        device.wait_ns += served.ended - served.submitted;
        device.service_ns += served.ended - served.started;
    }

    /// The phase is over. `models` are the models' counters now, `present` the requests at the
    /// disks: disk, and since when. True if there was a phase that had begun.
    pub fn end(&mut self, models: &[Value], present: impl Iterator<Item = (usize, u64)>) -> bool {
        let State::Counting { mut phase, models: before } =
            std::mem::replace(&mut self.state, State::Idle)
        else {
            return false;
        };
        for (disk, since) in present {
            phase.devices[disk].depth_ns += phase.end_ns.saturating_sub(since.max(phase.begin_ns));
        }
        for (i, device) in phase.devices.iter_mut().enumerate() {
            let (count, since) = &mut self.present[i];
            if *count > 0 {
                device.busy_ns += phase.end_ns.saturating_sub(*since);
                *since = phase.end_ns.max(*since);
            }
            device.model = difference(&before[i], &models[i]);
        }
        self.phases.push(phase);
        true
    }

    /// Whether requests are being counted.
    pub fn counts(&self) -> bool {
        matches!(self.state, State::Counting { .. })
    }

    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }
}

impl Phase {
    fn follow(&mut self, disk: usize, step: Step) {
        let device = &mut self.devices[disk];
        if let Some(distance) = step.distance {
            device.followers += 1;
            device.apart += u64::from(distance > 0);
            device.apart_sectors += distance;
        }
        if let Some(switched) = step.switched {
            self.read_followers += 1;
            self.read_switches += u64::from(switched);
        }
    }
}

/// Number by number, `end - begin`.
fn difference(begin: &Value, end: &Value) -> Value {
    match (begin, end) {
        (Value::Object(b), Value::Object(e)) => Value::Object(
            e.iter()
                .map(|(k, v)| (k.clone(), difference(b.get(k).unwrap_or(&Value::Null), v)))
                .collect(),
        ),
        (Value::Number(b), Value::Number(e)) => match (b.as_u64(), e.as_u64()) {
            (Some(b), Some(e)) => e.saturating_sub(b).into(),
            _ => end.clone(),
        },
        _ => end.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(disk: usize, submitted: u64, started: u64, ended: u64) -> Served {
        Served { disk, op: Op::Read, fua: false, sector: 0, sectors: 8, submitted, started, ended }
    }

    fn meter() -> Meter {
        Meter::new(vec!["vda".to_owned()])
    }

    /// A request arrives at disk 0.
    fn arrive(meter: &mut Meter, now: u64, seeks: u64) {
        let arrival =
            Arrival { disk: 0, tag: 0, op: Op::Read, fua: false, sector: now, sectors: 8 };
        meter.arrived(&arrival, now, || model(seeks));
    }

    /// A disk that has done `seeks`.
    fn model(seeks: u64) -> Vec<Value> {
        vec![serde_json::json!({ "seeks": seeks })]
    }

    #[test]
    fn counts_from_the_first_request_to_the_last() {
        let mut meter = meter();
        arrive(&mut meter, 5, 0);
        meter.ended(&served(0, 5, 5, 10), || model(0));
        meter.announce("measure", 0);
        arrive(&mut meter, 100, 3);
        arrive(&mut meter, 110, 3);
        meter.ended(&served(0, 100, 100, 120), || model(3));
        meter.ended(&served(0, 110, 120, 140), || model(3));
        arrive(&mut meter, 150, 3);
        meter.ended(&served(0, 150, 150, 160), || model(3));
        assert!(meter.end(&model(6), std::iter::empty()));
        let [phase] = meter.phases() else { panic!("one phase") };
        let d = &phase.devices[0];
        assert_eq!((phase.begin_ns, phase.end_ns, d.reads, d.read_bytes), (100, 160, 3, 3 * 4096));
        assert_eq!((d.busy_ns, d.wait_ns, d.service_ns), (50, 60, 50));
        assert_eq!(d.model["seeks"], 3);
        assert_eq!(d.depth_ns, d.wait_ns, "all began and ended in the phase");
        assert_eq!((d.followers, d.apart, d.apart_sectors), (3, 3, 87 + 2 + 32));
        assert_eq!((phase.read_followers, phase.read_switches), (3, 0));
    }

    #[test]
    fn a_ramp_is_left_out_even_of_a_request_that_spans_its_end() {
        let mut meter = meter();
        meter.announce("measure", 50);
        arrive(&mut meter, 100, 0);
        meter.ended(&served(0, 100, 100, 120), || model(0));
        arrive(&mut meter, 120, 0);
        meter.ended(&served(0, 120, 120, 180), || model(0));
        assert!(meter.end(&model(0), std::iter::empty()));
        let phase = &meter.phases()[0];
        assert_eq!(
            (phase.begin_ns, phase.end_ns, phase.devices[0].reads, phase.devices[0].busy_ns),
            (150, 180, 1, 30)
        );
    }

    #[test]
    fn the_depth_is_of_the_time_within_the_phase() {
        let mut meter = meter();
        meter.announce("measure", 50);
        arrive(&mut meter, 100, 0);
        arrive(&mut meter, 140, 0);
        // The phase begins at 150 with two requests at the disk, and ends at 200 with two others.
        arrive(&mut meter, 160, 0);
        meter.ended(&served(0, 100, 100, 180), || model(0));
        meter.ended(&served(0, 140, 180, 200), || model(0));
        arrive(&mut meter, 220, 0);
        assert!(meter.end(&model(0), [(0, 160), (0, 220)].into_iter()));
        assert_eq!(meter.phases()[0].devices[0].depth_ns, 30 + 50 + 40);
    }

    #[test]
    fn a_phase_without_a_request_is_none() {
        let mut meter = meter();
        meter.announce("measure", 0);
        assert!(!meter.end(&model(0), std::iter::empty()));
        assert!(meter.phases().is_empty());
    }
}
