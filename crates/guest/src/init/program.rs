//! Starts programs.

use super::perform::{Perform, Session};
use super::steps::{Failure, Steps, on};
use crate::site::Site;
use disklab_protocol::places::TRIAL;
use disklab_protocol::shell;
use disklab_protocol::step::{ProgramEnd, Step};
use disklab_protocol::{action, names};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Path of a file that does not exist.
const NO_CONFIGURATION: &str = "/.disklab-no-configuration";
/// Largest number of bytes of a program's output that go into the record.
const MOST_WORDS: u64 = 4000;

impl Perform for action::Program {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![shell::command(&self.command)]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        run(&self.command, &self.step, &mut session.steps)
    }
}

/// File of a program's output.
pub struct Words {
    path: PathBuf,
    file: File,
}

impl Words {
    pub fn create(step: &str) -> Result<Self, Failure> {
        let path = Path::new("/tmp").join(step);
        let file = File::create(&path).map_err(on(&path))?;
        Ok(Self { path, file })
    }

    /// Returns files for a program's output and its errors.
    pub fn output(&self) -> io::Result<[File; 2]> {
        Ok([self.file.try_clone()?, self.file.try_clone()?])
    }

    /// Returns the last `most` bytes of the output.
    pub fn end(&self, most: u64) -> Result<String, Failure> {
        self.part(most, |file| {
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(most))).map(drop)
        })
    }

    /// Returns the beginning of the output.
    pub fn read(&self) -> Result<String, Failure> {
        self.part(MOST_WORDS, |_| Ok(()))
    }

    /// Returns up to `most` bytes of the output, from where `seek` leaves its file.
    fn part(
        &self,
        most: u64,
        seek: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<String, Failure> {
        let mut said = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            seek(&mut file)?;
            file.take(most).read_to_end(&mut said)
        });
        read.map_err(on(&self.path))?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    /// Returns the whole output.
    pub fn read_all(&self) -> Result<String, Failure> {
        let said = std::fs::read(&self.path).map_err(on(&self.path))?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// Prepares a program, in surroundings that are the same wherever the guest runs.
pub fn prepare(command: &[String], step: &str, words: &Words) -> Result<Command, Failure> {
    let [program, arguments @ ..] = command else {
        return Err(format!("{step}: an empty command"));
    };
    let [output, errors] = words.output().map_err(on(&words.path))?;
    let mut prepared = Command::new(program);
    prepared
        .args(arguments)
        .env_clear()
        .env("PATH", disklab_block_devices::PATH)
        .env("HOME", "/tmp")
        .env("LC_ALL", "C")
        // Otherwise the host's /etc/localtime would show in fio's report.
        .env("TZ", "UTC")
        // Otherwise the host's /etc/mke2fs.conf would decide which filesystem mkfs.ext4 makes.
        // Without the file, it takes its built-in defaults.
        .env("MKE2FS_CONFIG", NO_CONFIGURATION)
        // Otherwise /etc/gitconfig would have an effect. It is not hidden, since a recorded start
        // may be git's.
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(TRIAL)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors);
    Ok(prepared)
}

/// A running program, whose end is a step of the record.
pub struct Program<'a> {
    command: &'a [String],
    step: &'a str,
    words: Words,
    child: Child,
}

impl<'a> Program<'a> {
    pub fn start(command: &'a [String], step: &'a str) -> Result<Self, Failure> {
        let words = Words::create(step)?;
        let child =
            prepare(command, step, &words)?.spawn().map_err(|e| not_started(command, step, &e))?;
        Ok(Self { command, step, words, child })
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Ends it, unless it has ended by itself.
    pub fn end(mut self, steps: &mut Steps) -> Result<(), Failure> {
        let _ = self.child.kill();
        self.ended(steps).map(drop)
    }

    /// Waits for its end, which must be a success.
    pub fn finish(mut self, steps: &mut Steps) -> Result<(), Failure> {
        let (status, said) = self.ended(steps)?;
        if status.success() { Ok(()) } else { Err(failed(self.command, self.step, status, &said)) }
    }

    /// Waits for its end. Its output goes into the record, cut to [`MOST_WORDS`].
    fn ended(&mut self, steps: &mut Steps) -> Result<(ExitStatus, String), Failure> {
        let step = self.step;
        let status = self.child.wait().map_err(|e| format!("{step}: waiting for its end: {e}"))?;
        let said = self.words.read()?;
        let command = self.command.to_vec();
        let end = ProgramEnd { command, status: status.to_string(), said: said.clone() };
        steps.say(&Step::Program { step: step.to_owned(), end });
        Ok((status, said))
    }
}

/// Runs a program to its end.
pub fn run(command: &[String], step: &str, steps: &mut Steps) -> Result<(), Failure> {
    Program::start(command, step)?.finish(steps)
}

pub fn not_started(command: &[String], step: &str, error: &io::Error) -> Failure {
    let program = command.first().map_or("", String::as_str);
    // Where the host starts no process for a guest, User Mode Linux reports a lack of memory.
    let remedy = match Errno::from_io_error(error) {
        Some(Errno::NOMEM) => {
            "; give the guest more `memory`, or raise the host's limit of processes (`ulimit -u`)"
        }
        _ => "",
    };
    format!("{step}: {program} cannot be run: {error}{remedy}")
}

pub fn failed(command: &[String], step: &str, status: ExitStatus, said: &str) -> Failure {
    let program = command.first().map_or("", String::as_str);
    let last = said.lines().last().unwrap_or("it printed nothing");
    format!("{step}: {program} failed ({status}): {last}; its output is in {}", names::STEPS)
}
