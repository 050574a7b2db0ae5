use crate::read::choices;

choices! {
    /// An I/O scheduler of the kernel's block layer, in the kernel's words.
    pub enum Scheduler: "scheduler" {
        None = "none",
        MqDeadline = "mq-deadline",
        Kyber = "kyber",
        Bfq = "bfq",
    }
}

impl Scheduler {
    /// The kernel option it needs, without `CONFIG_`.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::MqDeadline => Some("MQ_IOSCHED_DEADLINE"),
            Self::Kyber => Some("MQ_IOSCHED_KYBER"),
            Self::Bfq => Some("IOSCHED_BFQ"),
        }
    }
}

/// What the kernel itself chooses for a disk with one queue, as SATA disks have.
impl Default for Scheduler {
    fn default() -> Self {
        Self::MqDeadline
    }
}
