//! The `[host]` of an array: the time that the machine itself takes of each request.
//!
//! ```toml
//! [host]
//! submit = "8 us"               # from the kernel to the disk
//! complete = "7 us"             # from the disk back to the kernel
//! requests_per_second = 70_000  # the limit of its processor, of all disks together
//! link = "270 MB/s"             # of the port of each hard disk and SSD
//! ```

use disklab_units::{Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::from_table;

from_table! {
    /// The time that the machine around the disks takes. The guest's own processor takes none.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct HostTime {
        /// Time from a request of the kernel until its disk or controller gets it.
        pub submit: Nanos = within_or(Nanos::ZERO..=Nanos::from_millis(10), Nanos::ZERO),
        /// Time from the answer of a disk or controller until the kernel gets it.
        pub complete: Nanos = within_or(Nanos::ZERO..=Nanos::from_millis(10), Nanos::ZERO),
        /// Largest number of requests that its processor does in a second, over all disks together.
        /// One core does one thing at a time: half of a request's time when the request is
        /// submitted, half when it is answered. `None`: the processor limits nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub requests_per_second: Option<u32> = lenient_within(100..=100_000_000),
        /// The rate of the port that each hard disk or SSD is connected to, after its encoding. The
        /// slower of this rate and the disk's own `link` applies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub link: Option<Rate> = lenient_within(Rate(10_000_000)..=Rate(64_000_000_000)),
    }
}

impl HostTime {
    /// Returns the time for which a request holds the processor each way.
    pub fn core_time(&self) -> Nanos {
        let each = |count: u32| Nanos(500_000_000 / u64::from(count));
        self.requests_per_second.map_or(Nanos::ZERO, each)
    }

    /// Returns the time of a request to its disk, if the processor is free.
    pub fn way_there(&self) -> Nanos {
        self.submit.max(self.core_time())
    }

    /// Returns the time of an answer back, if the processor is free.
    pub fn way_back(&self) -> Nanos {
        self.complete.max(self.core_time())
    }

    /// Returns the part of a request's whole latency that fio counts as completion latency
    /// (`clat`), the latency of its percentiles. This part begins once the request was submitted.
    pub fn completion_latency(&self, whole: Nanos) -> Nanos {
        whole.saturating_sub(self.way_there())
    }
}
