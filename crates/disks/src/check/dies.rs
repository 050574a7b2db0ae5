//! Checks that a die does one operation and a channel one transfer at a time, and that each takes
//! its time.

use std::ops::Range;

use disklab_config::device::Ssd;
use disklab_units::{Nanos, Rate};

use super::law::{Broken, Law, ensure};
use crate::event_log::{DieWork, DiskEvent};

pub(super) struct DieLaw {
    /// The times of all types of pages.
    senses: Vec<Nanos>,
    least_program: Nanos,
    erase: Nanos,
    suspend: Nanos,
    channel: Rate,
    each: Vec<DieHistory>,
    /// The time from which each channel is free.
    channels: Vec<Nanos>,
}

#[derive(Clone, Default)]
struct DieHistory {
    free: Nanos,
    /// The time that the present program or erase has run; `interruptions` is how often it was
    /// interrupted.
    ran: Nanos,
    interruptions: u64,
}

impl DieLaw {
    pub fn new(model: &Ssd) -> Self {
        let slc = model.slc.as_ref();
        let fast = slc.map_or(model.program_page, |slc| slc.program_page);
        let senses = model.read_page.iter().copied().chain(slc.map(|slc| slc.read_page));
        Self {
            senses: senses.collect(),
            least_program: model.program_page.min(fast),
            erase: model.erase_block,
            suspend: model.suspend.unwrap_or_default(),
            channel: model.channel,
            each: vec![DieHistory::default(); model.dies() as usize],
            channels: vec![Nanos::ZERO; model.channels.max(1) as usize],
        }
    }

    fn die(&mut self, index: u32, what: DieWork, span: Range<Nanos>, interrupted: bool) -> Broken {
        let Range { start: begun, end } = span;
        let needed = match what {
            DieWork::Sense => Nanos::ZERO,
            DieWork::Program => self.least_program,
            DieWork::Erase => self.erase,
            DieWork::Suspend => self.suspend,
        };
        let suspend = self.suspend;
        let die =
            self.each.get_mut(index as usize).ok_or_else(|| format!("there is no die {index}"))?;
        let free = std::mem::replace(&mut die.free, end);
        ensure(begun >= free, || {
            format!("die {index} begins to {what:?} at {begun} and is not free before {free}")
        })?;
        let ran = end.saturating_sub(begun);
        match what {
            DieWork::Sense => {
                let senses = &self.senses;
                return ensure(senses.contains(&ran), || {
                    format!("die {index} senses a page in {ran}; its pages take one of {senses:?}")
                });
            }
            DieWork::Suspend => return long_enough(index, what, ran, needed),
            DieWork::Program | DieWork::Erase => {}
        }
        die.ran += ran;
        if interrupted {
            die.interruptions += 1;
            return Ok(());
        }
        let ran = std::mem::take(&mut die.ran);
        // Resuming after an interruption takes as long as the interruption.
        let needed = needed + suspend * std::mem::take(&mut die.interruptions);
        long_enough(index, what, ran, needed)
    }
}

fn long_enough(die: u32, what: DieWork, ran: Nanos, needed: Nanos) -> Broken {
    ensure(ran >= needed, || format!("die {die} does {what:?} in {ran}; it takes {needed}"))
}

impl Law for DieLaw {
    fn happened(&mut self, event: &DiskEvent) -> Broken {
        match *event {
            DiskEvent::Die { die, what, begun, end, interrupted } => {
                self.die(die, what, begun..end, interrupted)
            }
            DiskEvent::Channel { channel, begun, end, bytes } => {
                let free = self
                    .channels
                    .get_mut(channel as usize)
                    .ok_or_else(|| format!("there is no channel {channel}"))?;
                let free = std::mem::replace(free, end);
                let needed = self.channel.time_for(bytes);
                ensure(begun >= free && end.saturating_sub(begun) >= needed, || {
                    format!(
                        "channel {channel} carries {bytes} from {begun} to {end}; it is free at \
                         {free}, and they take {needed}"
                    )
                })
            }
            _ => Ok(()),
        }
    }
}
