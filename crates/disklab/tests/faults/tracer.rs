//! Runs the program, stops it at each system call that can fail, and makes chosen calls fail.
//!
//! Nothing of the program is replaced: the tracer writes the result of a call into the registers.
//! Other programs that it starts are left alone, or killed.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, user_regs_struct as Registers};
use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::calls::{CALLS, Call, by_number};

/// Argument with which this program becomes a traced one.
pub const TRACED: &str = "traced";
/// The first call of the program itself: it raises the limit of its open files.
const FIRST: (i64, u64) = (libc::SYS_prlimit64, libc::RLIMIT_NOFILE as u64);
/// Time after which a program counts as hung.
const LONGEST: Duration = Duration::from_secs(60);

/// A fault at a system call.
#[derive(Debug, Clone, Copy)]
pub enum Harm {
    /// The call is not made, and returns this error.
    Error(Errno),
    /// The call moves half of the bytes.
    Short,
    /// The clock of the machine jumps by this number of seconds.
    ClockSet(i64),
    /// The program is killed before the call.
    Killed,
    /// The program is interrupted before the call, as by Ctrl-C.
    Interrupted,
    /// The call was made by another program, which is killed before the call.
    OtherKilled,
}

#[derive(Debug)]
pub struct Fault {
    pub call: &'static Call,
    /// Number of earlier calls with this name.
    pub after: u64,
    pub harm: Harm,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { call, after, harm } = self;
        match harm {
            Harm::Error(error) => write!(f, "{} {} gives {error:?}", call.name, after + 1),
            Harm::Short => write!(f, "{} {} is short", call.name, after + 1),
            Harm::ClockSet(by) => write!(f, "clock set by {by} s at reading {}", after + 1),
            Harm::Killed => write!(f, "killed at {} {}", call.name, after + 1),
            Harm::Interrupted => write!(f, "interrupted at {} {}", call.name, after + 1),
            Harm::OtherKilled => write!(f, "another killed at {} {}", call.name, after + 1),
        }
    }
}

/// Chooses the calls at which the program stops for the tracer. They are as few as possible, since
/// a stop takes as long as hundreds of calls.
#[derive(Debug, Clone, Copy)]
pub enum Tracer<'a> {
    /// Counts all [`CALLS`].
    Counts,
    /// Makes these faults happen.
    Faults(&'a [Fault]),
}

impl Tracer<'_> {
    fn faults(&self) -> &[Fault] {
        match self {
            Self::Counts => &[],
            Self::Faults(faults) => faults,
        }
    }

    /// Returns the words that make this program a traced one, before the program and its arguments.
    pub fn words(&self) -> [String; 2] {
        let own = self.faults().iter().map(|fault| fault.call.number);
        let stopping: Vec<i64> = match self {
            Self::Counts => CALLS.iter().map(|call| call.number).collect(),
            Self::Faults([]) => Vec::new(),
            Self::Faults(_) => own.chain([FIRST.0]).collect(),
        };
        let stopping: Vec<String> = stopping.iter().map(i64::to_string).collect();
        [TRACED.to_owned(), stopping.join(",")]
    }

    fn reads_clocks(&self) -> bool {
        let is_clock = |fault: &Fault| fault.call.number == libc::SYS_clock_gettime;
        matches!(self, Self::Counts) || self.faults().iter().any(is_clock)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signaled(Signal),
    /// The program was killed after [`LONGEST`].
    Hung,
}

/// Number of calls with each name, by the program and by other programs that it started.
#[derive(Debug, Default, Clone)]
pub struct Counts {
    pub own: BTreeMap<i64, u64>,
    pub others: BTreeMap<i64, u64>,
}

/// Runs in a process of its own: waits for the tracer, and becomes the program with these
/// arguments. The calls with the numbers in `stopping` stop for the tracer.
pub fn become_traced(stopping: &str, program: &str, arguments: &[String]) -> ! {
    ptrace::traceme().expect("leave to be traced");
    raise(Signal::SIGSTOP).expect("a stop");
    if !stopping.is_empty() {
        let numbers = stopping.split(',').map(|number| number.parse().expect("a number"));
        let rules = numbers.map(|number| (number, Vec::new())).collect();
        let (usual, listed) = (SeccompAction::Allow, SeccompAction::Trace(0));
        let target = std::env::consts::ARCH.try_into().expect("a processor that seccomp knows");
        let filter = SeccompFilter::new(rules, usual, listed, target).expect("a filter");
        let filter: BpfProgram = filter.try_into().expect("a program");
        apply_filter(&filter).expect("leave to filter");
    }
    let error = std::os::unix::process::CommandExt::exec(Command::new(program).args(arguments));
    panic!("{program}: {error}");
}

/// Runs a command that begins with this program and [`Tracer::words`] until all its processes have
/// ended.
///
/// # Errors
/// If tracing is not allowed.
pub fn run(
    command: &mut Command,
    program: &Path,
    tracer: Tracer<'_>,
) -> nix::Result<(Ended, Counts, usize)> {
    // All traced processes are waited for below, so that nothing else may wait.
    let main = Pid::from_raw(command.spawn().expect("this program starts").id().cast_signed());
    let mut tracing = Tracing {
        main,
        program,
        tracer,
        is_own: HashMap::new(),
        begun: false,
        counts: Counts::default(),
        changed: HashMap::new(),
        reading: HashMap::new(),
        clock_set: 0,
        done: 0,
    };
    let first = waitpid(main, Some(WaitPidFlag::__WALL))?;
    if !matches!(first, WaitStatus::Stopped(_, Signal::SIGSTOP)) {
        return Err(Errno::EPERM);
    }
    let options = Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(main, options)?;
    ptrace::cont(main, None)?;
    let living = Arc::new(Mutex::new(vec![main]));
    let watch = Watch::begin(Arc::clone(&living));
    let mut ended = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Ok(WaitStatus::Exited(pid, status)) => {
                tracing.gone(pid, &living);
                ended = if pid == main { Some(Ended::Exited(status)) } else { ended };
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) => {
                tracing.gone(pid, &living);
                ended = if pid == main { Some(Ended::Signaled(signal)) } else { ended };
            }
            Ok(status) => tracing.stopped(status, &living),
            Err(Errno::EINTR) => {}
            Err(_) => break,
        }
    }
    if let Some(living) = watch.end() {
        eprint!("hung:\n{living}");
        ended = Some(Ended::Hung);
    }
    let ended = ended.unwrap_or(Ended::Hung);
    Ok((ended, tracing.counts, tracing.done))
}

/// Kills all traced processes when they take too long.
struct Watch {
    done: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<Option<String>>,
}

impl Watch {
    fn begin(living: Arc<Mutex<Vec<Pid>>>) -> Self {
        let (done, wait) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut hung = None;
            // Processes may start others while they are killed.
            let mut patience = LONGEST;
            while wait.recv_timeout(patience).is_err() {
                let living = living.lock().expect("no panic");
                hung.get_or_insert_with(|| living.iter().map(|&pid| state(pid)).collect());
                patience = Duration::from_millis(100);
                for &pid in living.iter() {
                    let _ = kill(pid, Signal::SIGKILL);
                }
            }
            hung
        });
        Self { done, thread }
    }

    /// Stops watching. Returns a line for each killed process, if there is one.
    fn end(self) -> Option<String> {
        let _ = self.done.send(());
        self.thread.join().expect("no panic")
    }
}

fn memory(pid: Pid) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))
}

/// Hides the vDSO, in which a new program reads clocks without a system call. The stack holds the
/// number of arguments, the arguments, the environment and a vector of pairs (`AT_*`).
fn without_vdso(pid: Pid) -> io::Result<()> {
    const WORD: usize = size_of::<u64>();
    let top = ptrace::getregs(pid)?.rsp;
    let memory = memory(pid)?;
    let mut bytes = vec![0; 1 << 16];
    let read = memory.read_at(&mut bytes, top)?;
    let words: Vec<u64> = bytes[..read]
        .chunks_exact(WORD)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
        .collect();
    let ends = words.iter().enumerate().skip(1).filter(|(_, word)| **word == 0);
    let Some((begin, _)) = ends.take(2).last() else { return Ok(()) };
    let entry = (begin + 1..words.len()).step_by(2).find(|&at| words[at] == libc::AT_SYSINFO_EHDR);
    let Some(at) = entry else { return Ok(()) };
    memory.write_all_at(&libc::AT_IGNORE.to_le_bytes(), top + (at * WORD) as u64)
}

/// Adds seconds to a time that the program has read.
fn shift(pid: Pid, place: u64, by: i64) -> io::Result<()> {
    let memory = memory(pid)?;
    let mut seconds = [0; 8];
    memory.read_exact_at(&mut seconds, place)?;
    let seconds = i64::from_le_bytes(seconds).saturating_add(by);
    memory.write_all_at(&seconds.to_le_bytes(), place)
}

fn is_pipe(pid: Pid, file: u64) -> bool {
    fs::read_link(format!("/proc/{pid}/fd/{file}")).is_ok_and(|link| {
        ["pipe:", "socket:"].iter().any(|kind| link.to_string_lossy().starts_with(kind))
    })
}

/// Describes the state of a thread on one line.
fn state(pid: Pid) -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let status = read("status");
    let line = |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    let (name, state) = (line("Name:"), line("State:"));
    format!("{pid} {name} {state} {} {}\n", read("wchan"), read("syscall").trim())
        .replace('\t', " ")
}

struct Tracing<'a> {
    main: Pid,
    program: &'a Path,
    tracer: Tracer<'a>,
    /// Whether each known thread belongs to the program. A thread is looked up again after an exec.
    is_own: HashMap<Pid, bool>,
    /// Whether the program has made its first own call. Failures before it would hit the loader and
    /// the C library, which cannot report them.
    begun: bool,
    counts: Counts,
    /// Original arguments of calls whose arguments were replaced. No call changes them.
    changed: HashMap<Pid, Registers>,
    /// Threads that are reading the clock, with the address of the result.
    reading: HashMap<Pid, u64>,
    /// Seconds by which the clock was set.
    clock_set: i64,
    /// Number of faults that happened.
    done: usize,
}

impl Tracing<'_> {
    fn stopped(&mut self, status: WaitStatus, living: &Mutex<Vec<Pid>>) {
        let event = |number: i32, event: Event| number == event as i32;
        let (pid, signal) = match status {
            WaitStatus::PtraceEvent(pid, _, number) => {
                if event(number, Event::PTRACE_EVENT_SECCOMP) {
                    self.calls(pid);
                } else if event(number, Event::PTRACE_EVENT_EXEC) {
                    self.is_own.remove(&pid);
                    if self.tracer.reads_clocks() {
                        // Otherwise a clock would be read without a call.
                        let _ = without_vdso(pid);
                    }
                }
                (pid, None)
            }
            WaitStatus::PtraceSyscall(pid) => {
                self.change_back(pid);
                if let Some(place) = self.reading.remove(&pid) {
                    let _ = shift(pid, place, self.clock_set);
                }
                (pid, None)
            }
            WaitStatus::Stopped(pid, signal) => {
                let is_new = !living.lock().expect("no panic").contains(&pid);
                if is_new {
                    living.lock().expect("no panic").push(pid);
                }
                // A new thread begins with a stop signal that no process sent.
                (pid, Some(signal).filter(|&signal| !(is_new && signal == Signal::SIGSTOP)))
            }
            other => (other.pid().expect("a stop has a process"), None),
        };
        // A thread that was killed meanwhile cannot continue.
        let _ = if self.changed.contains_key(&pid) || self.reading.contains_key(&pid) {
            ptrace::syscall(pid, signal)
        } else {
            ptrace::cont(pid, signal)
        };
    }

    /// Makes a call run with other arguments.
    fn change(&mut self, pid: Pid, own: Registers, others: Registers) {
        if ptrace::setregs(pid, others).is_ok() {
            self.changed.insert(pid, own);
        }
    }

    /// Restores the arguments after a call with other arguments.
    fn change_back(&mut self, pid: Pid) {
        if let Some(own) = self.changed.remove(&pid)
            && let Ok(now) = ptrace::getregs(pid)
        {
            let _ = ptrace::setregs(pid, Registers { rdi: own.rdi, rdx: own.rdx, ..now });
        }
    }

    fn gone(&mut self, pid: Pid, living: &Mutex<Vec<Pid>>) {
        self.is_own.remove(&pid);
        self.changed.remove(&pid);
        self.reading.remove(&pid);
        living.lock().expect("no panic").retain(|&other| other != pid);
    }

    fn owns(&mut self, pid: Pid) -> bool {
        let program = self.program;
        *self.is_own.entry(pid).or_insert_with(|| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path == program)
        })
    }

    /// Handles a thread that is about to make a call.
    fn calls(&mut self, pid: Pid) {
        let Ok(registers) = ptrace::getregs(pid) else { return };
        let number = registers.orig_rax.cast_signed();
        let Some(call) = by_number(number) else { return };
        let own = self.owns(pid);
        let is_first = own && number == FIRST.0 && registers.rsi == FIRST.1;
        self.begun |= is_first;
        if !self.begun {
            return;
        }
        if number == libc::SYS_clock_gettime {
            if registers.rdi != libc::CLOCK_REALTIME as u64 {
                return;
            }
            if own {
                self.reading.insert(pid, registers.rsi);
            }
        }
        let counts = if own { &mut self.counts.own } else { &mut self.counts.others };
        let count = counts.entry(number).or_default();
        let before = *count;
        *count += 1;
        let harm = self.tracer.faults().iter().find(|fault| {
            fault.call.number == number
                && fault.after == before
                && own != matches!(fault.harm, Harm::OtherKilled)
        });
        let Some(Fault { harm, .. }) = harm else { return };
        self.done += 1;
        match *harm {
            // A failed brk returns the present end, as a query does.
            Harm::Error(_) if number == libc::SYS_brk => {
                self.change(pid, registers, Registers { rdi: 0, ..registers });
            }
            // Reading a limit and making a pipe non-blocking never fail.
            Harm::Error(_) if number == libc::SYS_prlimit64 && registers.rdx == 0 => {}
            Harm::Error(_) if number == libc::SYS_ioctl && registers.rsi == libc::FIONBIO => {}
            // A pipe has no medium that could fail or fill up.
            Harm::Error(error)
                if error != Errno::EINTR && call.may_be_short && {
                    is_pipe(pid, registers.rdi)
                } => {}
            Harm::Error(error) => {
                let failed = Registers {
                    orig_rax: u64::MAX,
                    rax: (-i64::from(error as i32)).cast_unsigned(),
                    ..registers
                };
                let _ = ptrace::setregs(pid, failed);
            }
            Harm::ClockSet(by) => self.clock_set += by,
            Harm::Short if call.may_be_short && registers.rdx > 1 => {
                self.change(pid, registers, Registers { rdx: registers.rdx / 2, ..registers });
            }
            Harm::Short => {}
            Harm::Killed => {
                let _ = kill(self.main, Signal::SIGKILL);
            }
            Harm::Interrupted => {
                let _ = kill(self.main, Signal::SIGINT);
            }
            Harm::OtherKilled => {
                let _ = kill(pid, Signal::SIGKILL);
            }
        }
    }
}
