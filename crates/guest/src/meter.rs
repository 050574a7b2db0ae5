//! Counts each disk's requests in each phase of a trial, as requests end.
//!
//! The first process announces a phase and its end. The phase begins `after` ns behind the first
//! request that follows, so that neither fio's start nor its ramp is measured. It ends with the
//! last request that ended before the end was announced.

use crate::order::{Arrival, Order, OrderStep};
use disklab_disks::Op;
use disklab_protocol::closing::{DeviceCounts, PhaseCounts, combine};
use disklab_trace::Served;
use disklab_units::Nanos;
use serde_json::Value;

/// The state of the current phase.
#[derive(Debug)]
enum MeterState {
    /// No phase is active.
    Idle,
    /// A phase was announced, and no request has come yet.
    Announced { name: String, after: u64 },
    /// A request has come: counting begins at `begin`.
    Waiting { name: String, begin: u64 },
    /// The phase has begun; `models` are the models' counters at its begin.
    Counting { phase: PhaseCounts, models: Vec<Value> },
}

/// Counts.
#[derive(Debug)]
pub struct Meter {
    state: MeterState,
    /// Names of the disks in the kernel.
    names: Vec<String>,
    /// Requests at each disk, and the time since which there is at least one.
    present: Vec<(u32, u64)>,
    order: Order,
    phases: Vec<PhaseCounts>,
}

impl Meter {
    /// Returns a meter of the disks with these names.
    pub fn new(names: Vec<String>) -> Self {
        Self {
            state: MeterState::Idle,
            present: vec![(0, 0); names.len()],
            order: Order::new(names.len()),
            names,
            phases: Vec::new(),
        }
    }

    /// Announces a phase, which begins `after` ns behind the next request.
    pub fn announce(&mut self, name: String, after: u64) {
        self.state = MeterState::Announced { name, after };
    }

    /// Counts a request that arrives at a disk. `models` returns the models' own counters, if they
    /// are needed now.
    pub fn arrived(&mut self, arrival: &Arrival, now: u64, models: impl FnOnce() -> Vec<Value>) {
        let disk = arrival.disk;
        if let MeterState::Announced { name, after } = &mut self.state {
            self.state = MeterState::Waiting { name: std::mem::take(name), begin: now + *after };
        }
        self.begin_if_due(now, models);
        let (count, since) = &mut self.present[disk];
        if *count == 0 {
            *since = now;
        }
        *count += 1;
        let present = *count;
        let step = self.order.next(arrival);
        if let MeterState::Counting { phase, .. } = &mut self.state {
            let most = &mut phase.devices[disk].most;
            *most = (*most).max(Some(present));
            follow(phase, disk, step);
        }
    }

    fn begin_if_due(&mut self, now: u64, models: impl FnOnce() -> Vec<Value>) {
        let MeterState::Waiting { name, begin } = &mut self.state else { return };
        if now < *begin {
            return;
        }
        for (count, since) in &mut self.present {
            if *count > 0 {
                *since = (*since).max(*begin);
            }
        }
        let counts = |(name, (present, _)): (&String, &(u32, u64))| DeviceCounts {
            name: name.clone(),
            most: Some(*present),
            service: Some(Nanos(0)),
            depth: Some(Nanos(0)),
            followers: Some(0),
            apart: Some(0),
            apart_sectors: Some(0),
            ..DeviceCounts::default()
        };
        let phase = PhaseCounts {
            name: std::mem::take(name),
            begin: Nanos(*begin),
            end: Nanos(*begin),
            read_followers: Some(0),
            read_switches: Some(0),
            devices: self.names.iter().zip(&self.present).map(counts).collect(),
        };
        self.state = MeterState::Counting { phase, models: models() };
    }

    /// Counts a request that has ended.
    pub fn ended(&mut self, served: &Served, models: impl FnOnce() -> Vec<Value>) {
        self.begin_if_due(served.ended, models);
        let (count, since) = &mut self.present[served.disk];
        *count -= 1;
        let busy = if *count == 0 { served.ended.saturating_sub(*since) } else { 0 };
        let MeterState::Counting { phase, .. } = &mut self.state else { return };
        phase.end = Nanos(served.ended);
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
        device.busy.0 += busy;
        device.wait.0 += served.ended - served.submitted;
        let add = |sum: &mut Option<Nanos>, from: u64| {
            sum.get_or_insert_default().0 += served.ended - from;
        };
        add(&mut device.depth, served.submitted.max(phase.begin.0));
        add(&mut device.service, served.started);
    }

    /// Ends the phase. `models` are the models' counters now, `present` the requests at the disks:
    /// disk, and since when. Returns true if a phase had begun.
    pub fn end(&mut self, models: &[Value], present: impl Iterator<Item = (usize, u64)>) -> bool {
        let MeterState::Counting { mut phase, models: before } =
            std::mem::replace(&mut self.state, MeterState::Idle)
        else {
            return false;
        };
        for (disk, since) in present {
            let depth = phase.devices[disk].depth.get_or_insert_default();
            depth.0 += phase.end.0.saturating_sub(since.max(phase.begin.0));
        }
        for (i, device) in phase.devices.iter_mut().enumerate() {
            let (count, since) = &mut self.present[i];
            if *count > 0 {
                device.busy.0 += phase.end.0.saturating_sub(*since);
                *since = phase.end.0.max(*since);
            }
            device.model = Some(combine(&before[i], &models[i], |b, e| e.saturating_sub(b)));
        }
        self.phases.push(phase);
        true
    }

    /// Returns true if requests are being counted.
    pub fn counts(&self) -> bool {
        matches!(self.state, MeterState::Counting { .. })
    }

    pub fn phases(&self) -> &[PhaseCounts] {
        &self.phases
    }
}

fn follow(phase: &mut PhaseCounts, disk: usize, step: OrderStep) {
    let device = &mut phase.devices[disk];
    if let Some(distance) = step.distance {
        count(&mut device.followers, 1);
        count(&mut device.apart, u64::from(distance > 0));
        count(&mut device.apart_sectors, distance);
    }
    if let Some(switched) = step.switched {
        count(&mut phase.read_followers, 1);
        count(&mut phase.read_switches, u64::from(switched));
    }
}

fn count(counter: &mut Option<u64>, more: u64) {
    *counter.get_or_insert_default() += more;
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

    /// Lets a request arrive at disk 0.
    fn arrive(meter: &mut Meter, now: u64, seeks: u64) {
        let arrival =
            Arrival { disk: 0, tag: 0, op: Op::Read, fua: false, sector: now, sectors: 8 };
        meter.arrived(&arrival, now, || model(seeks));
    }

    /// Returns the counters of a disk that has done `seeks`.
    fn model(seeks: u64) -> Vec<Value> {
        vec![serde_json::json!({ "seeks": seeks })]
    }

    #[test]
    fn counts_from_the_first_request_to_the_last() {
        let mut meter = meter();
        arrive(&mut meter, 5, 0);
        meter.ended(&served(0, 5, 5, 10), || model(0));
        meter.announce("measure".to_owned(), 0);
        arrive(&mut meter, 100, 3);
        arrive(&mut meter, 110, 3);
        meter.ended(&served(0, 100, 100, 120), || model(3));
        meter.ended(&served(0, 110, 120, 140), || model(3));
        arrive(&mut meter, 150, 3);
        meter.ended(&served(0, 150, 150, 160), || model(3));
        assert!(meter.end(&model(6), std::iter::empty()));
        let [phase] = meter.phases() else { panic!("one phase") };
        let d = &phase.devices[0];
        assert_eq!((phase.begin.0, phase.end.0, d.reads, d.read_bytes), (100, 160, 3, 3 * 4096));
        assert_eq!((d.busy, d.wait, d.service), (Nanos(50), Nanos(60), Some(Nanos(50))));
        assert_eq!(d.model.as_ref().unwrap()["seeks"], 3);
        assert_eq!(d.depth, Some(d.wait), "all began and ended in the phase");
        assert_eq!(d.most, Some(2));
        assert_eq!((d.followers, d.apart, d.apart_sectors), (Some(3), Some(3), Some(87 + 2 + 32)));
        assert_eq!((phase.read_followers, phase.read_switches), (Some(3), Some(0)));
    }

    #[test]
    fn a_ramp_is_left_out_even_of_a_request_that_spans_its_end() {
        let mut meter = meter();
        meter.announce("measure".to_owned(), 50);
        arrive(&mut meter, 100, 0);
        meter.ended(&served(0, 100, 100, 120), || model(0));
        arrive(&mut meter, 120, 0);
        meter.ended(&served(0, 120, 120, 180), || model(0));
        assert!(meter.end(&model(0), std::iter::empty()));
        let phase = &meter.phases()[0];
        assert_eq!(
            (phase.begin.0, phase.end.0, phase.devices[0].reads, phase.devices[0].busy.0),
            (150, 180, 1, 30)
        );
    }

    #[test]
    fn the_depth_is_of_the_time_within_the_phase() {
        let mut meter = meter();
        meter.announce("measure".to_owned(), 50);
        arrive(&mut meter, 100, 0);
        arrive(&mut meter, 140, 0);
        // The phase begins at 150 with two requests at the disk, and ends at 200 with two others.
        arrive(&mut meter, 160, 0);
        meter.ended(&served(0, 100, 100, 180), || model(0));
        meter.ended(&served(0, 140, 180, 200), || model(0));
        arrive(&mut meter, 220, 0);
        assert!(meter.end(&model(0), [(0, 160), (0, 220)].into_iter()));
        let device = &meter.phases()[0].devices[0];
        assert_eq!((device.depth, device.most), (Some(Nanos(30 + 50 + 40)), Some(3)));
    }

    #[test]
    fn a_phase_without_a_request_is_none() {
        let mut meter = meter();
        meter.announce("measure".to_owned(), 0);
        assert!(!meter.end(&model(0), std::iter::empty()));
        assert!(meter.phases().is_empty());
    }
}
