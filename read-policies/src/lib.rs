//! The read policies of `read-policies/`, compiled for this machine: the same C files that the
//! guest kernel's btrfs has.
//!
//! ```
//! use disklab_read_policies::{Choice, Mirror, Request};
//!
//! let busy = Mirror { devid: 1, reads_in_flight: 3, live: true, ..Mirror::default() };
//! let idle = Mirror { devid: 2, live: true, ..Mirror::default() };
//! let request = Request::new(&[busy, idle], 12).unwrap();
//! let queue = Choice::parse("queue:reads", 12).unwrap();
//! assert_eq!(queue.decide(&request), 1);
//! assert_eq!(queue.to_string(), "queue:reads,ties=first");
//! ```

mod choice;
mod policy;
mod raw;
pub mod registry;
mod request;

pub use choice::Choice;
pub use policy::{Kind, Parameter, Policy, policies};
pub use raw::{CHECKPOINT_AGE, MIRRORS_MAX, Mirror, WINDOW};
pub use request::{BLOCK_BITS, Request};
