//! Runs trials with the kernel executor (the guest kernel as a process, modelled disks, virtual
//! time), on this machine's own disks, or in the fast model.
//!
//! [`Run`] and [`host::Host`] are the entries: trials in, outcomes in a record. A trial passes
//! three stages. [`describe`] makes its machine and its list of actions, [`execute`] runs them, and
//! [`interpret`] reads the output. `describe` uses neither of the others, and `interpret` does not
//! use `execute`.

mod describe;
mod error;
pub mod estimate;
mod execute;
mod interpret;
mod room;

pub use describe::plan::{content as content_of_disks, plan, preparing_plan};
pub use describe::{facts, key};
pub use error::{Error, Result};
pub use execute::executor::{Event, Events, Executor, Summary};
pub use execute::guest::{Installation, Timeouts};
pub use execute::model::Model;
pub use execute::run::Run;
pub use execute::{ahead, cpus, guest, host, run};
pub use interpret::derive::derive;
pub use interpret::end::End;
pub use interpret::evidence;
pub use interpret::host::{account, disturbance};
pub use interpret::outcome::not_run;
