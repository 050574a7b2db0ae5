//! Uses process ids up.

use super::perform::{Perform, Session};
use super::steps::Failure;
use crate::site::Site;
use disklab_protocol::action::{PIDS, Pids};

impl Perform for Pids {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![match self {
            Self::Align => format!("# use process ids up to a multiple of {PIDS}"),
            Self::Consume(count) => format!("# use {count} process ids up"),
        }]
    }

    fn run(&self, _: &mut Session) -> Result<(), Failure> {
        match self {
            Self::Align => {
                while consume_pid()? % PIDS != PIDS - 1 {}
                Ok(())
            }
            Self::Consume(count) => (0..*count).try_for_each(|_| consume_pid().map(drop)),
        }
    }
}

/// Uses a process id up, and returns it.
fn consume_pid() -> Result<i32, Failure> {
    let thread = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get());
    thread.join().map_err(|_| "using up a process id: its thread failed".to_owned())
}
