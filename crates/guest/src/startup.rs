//! What the first process says of a start-up.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The step's name in the record; its field `ready` holds a [`Ready`].
pub const STEP: &str = "startup";

/// What a program is started with, and nothing else.
pub const ENVIRONMENT: [(&str, &str); 4] =
    [("PATH", disklab_block_devices::PATH), ("HOME", "/tmp"), ("LC_ALL", "C"), ("TERM", "dumb")];

/// What a program needs to be running is started so long before it.
pub const SERVER: Duration = Duration::from_secs(2);

/// When it was ready, in virtual ns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    After {
        ns: u64,
    },
    /// It was given up then.
    NotWithin {
        ns: u64,
    },
    /// It cannot be started, or failed.
    Never {
        reason: String,
    },
}
