//! Builds a kernel from a source, and puts it into the cache.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use disklab_units::Bytes;

use crate::cache::Cache;
use crate::claim::{self, Claim, Scratch};
use crate::compile::Compilation;
use crate::error::{Error, Result};
use crate::file;
use crate::given::given;
use crate::kernel::{self, CONFIG, Kernel, PROGRAM, RECORD};
use crate::key::{self, BuildKey};
use crate::process::Runner;
use crate::provenance::Provenance;
use crate::recipe::{Btrfs, Recipe};
use crate::share::Share;
use crate::source::{self, KernelSource, Material, Series, split_policies};
use crate::step::{BuildStep, Report};

/// Objects of 7.3 with this configuration. Later builds use the count of the previous one.
const USUAL_OBJECTS: u32 = 1030;

/// Room for the objects of a build, besides its source.
const OBJECTS: Bytes = Bytes::mib(300);

/// Builds kernels. Two builds in one cache wait for each other if they make the same kernel.
#[derive(Debug, Clone, Copy)]
pub struct Build<'a> {
    pub cache: &'a Cache,
    pub share: &'a Share,
    /// Compilers at once.
    pub jobs: usize,
    /// Flag that ends the build, set by a signal handler for example: its children are killed and
    /// [`Error::Interrupted`] is returned.
    pub stop: &'a AtomicBool,
}

/// The result of a build.
#[derive(Debug)]
pub struct Built {
    pub kernel: Kernel,
    /// Whether it was built now. Otherwise it was in the cache already.
    pub fresh: bool,
}

/// A source, and the btrfs for its kernel.
type WantedSource = (KernelSource, Btrfs);

/// A built kernel, or the source from which it would be built.
#[derive(Debug)]
pub enum KernelLookup {
    /// The kernel is in the cache.
    Built(Box<Kernel>),
    /// `from` is the source, `key` is the key of the kernel, and `took` is the time of the last
    /// build.
    ToBuild { from: Provenance, key: String, took: Option<Duration> },
}

impl Build<'_> {
    /// Returns the kernel that a suite's kernel axis names: one that [`find`](crate::find) finds,
    /// or a tree, a revision or a tarball, which is built if it is not in the cache.
    pub fn named(&self, value: &str, report: Report) -> Result<Built> {
        match self.found_or_source(value)? {
            Ok(kernel) => Ok(Built { kernel, fresh: false }),
            Err((source, btrfs)) => self.from(&source, btrfs, report),
        }
    }

    /// Looks the kernel up without building it.
    pub fn look(&self, value: &str, report: Report) -> Result<KernelLookup> {
        let (source, btrfs) = match self.found_or_source(value)? {
            Ok(kernel) => return Ok(KernelLookup::Built(Box::new(kernel))),
            Err(source) => source,
        };
        let material = Material::obtain(&source, self.cache, self.runner(), report)?;
        let recipe = Recipe::read(self.share, btrfs)?;
        let recipe = recipe.digest(&material.provenance);
        let key = BuildKey::new(&material.digest, &recipe, &key::compiler(self.runner())?);
        if let Some(folder) = self.place_of(&key)?
            && let Ok(kernel) = Kernel::open(&folder)
        {
            return Ok(KernelLookup::Built(Box::new(kernel.known_as(material.provenance))));
        }
        let kernels = kernel::list(self.cache, self.share)?.kernels;
        let took = kernels.first().map(|last| Duration::from_secs_f64(last.build_seconds.max(0.0)));
        let (from, key) = (material.provenance, key.full().to_owned());
        Ok(KernelLookup::ToBuild { from, key, took })
    }

    /// Returns the source that a kernel's name stands for, and the btrfs for its kernel, or None
    /// for a kernel that is built already or comes from a package.
    pub fn source_of(&self, value: &str) -> Result<Option<(KernelSource, Btrfs)>> {
        if !value.contains('/') {
            return Ok(None);
        }
        Ok(self.found_or_source(value)?.err())
    }

    fn found_or_source(&self, value: &str) -> Result<std::result::Result<Kernel, WantedSource>> {
        let given = given(value)?;
        let value = given.as_deref().unwrap_or(value);
        match kernel::find(self.cache, self.share, Btrfs::Policies, value) {
            Err(Error::NotAKernel { path }) => {
                let (source, btrfs) = split_policies(value);
                if !source::is_there(Path::new(source)) {
                    return Err(Error::NotAKernel { path });
                }
                Ok(Err((KernelSource::find(Path::new(source))?, btrfs)))
            }
            found => found.map(Ok),
        }
    }

    /// Builds the first of `series` whose package can be had; the caller puts the newest first.
    /// Skipped series are noted.
    pub fn newest(&self, series: &[Series], btrfs: Btrfs, report: Report) -> Result<Built> {
        let mut passed = Vec::new();
        for candidate in series {
            match Material::obtain(
                &KernelSource::from(candidate),
                self.cache,
                self.runner(),
                report,
            ) {
                Ok(material) => return self.make(&material, btrfs, report),
                Err(Error::NoPackage { tried }) => {
                    report(BuildStep::Note(format!(
                        "no source for {}: {}",
                        candidate.series,
                        tried.join("; ")
                    )));
                    passed.extend(tried);
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::NoPackage { tried: passed })
    }

    /// Builds a kernel from this source.
    pub fn from(&self, source: &KernelSource, btrfs: Btrfs, report: Report) -> Result<Built> {
        let material = Material::obtain(source, self.cache, self.runner(), report)?;
        self.make(&material, btrfs, report)
    }

    fn runner(&self) -> Runner<'_> {
        Runner { stop: self.stop }
    }

    fn make(&self, material: &Material, btrfs: Btrfs, report: Report) -> Result<Built> {
        let recipe = Recipe::read(self.share, btrfs)?;
        let compiler = key::compiler(self.runner())?;
        let digest = recipe.digest(&material.provenance);
        let key = BuildKey::new(&material.digest, &digest, &compiler);
        let folder = self.cache.kernels();
        let claim = Claim::take(&folder, key.short(), self.stop, report)?;
        if let Some(kernel) = self.present(&key, report)? {
            let kernel = kernel.known_as(material.provenance.clone());
            return Ok(Built { kernel, fresh: false });
        }
        self.check_room(material)?;
        let scratch = claim.scratch()?;
        let place = self.compiled(material, (&recipe, compiler, &key), btrfs, &scratch, report);
        let what = match place {
            // Removing a large tree takes time, and the user who stopped the build sees the reason.
            Err(Error::Interrupted) => "interrupted: removing what was unpacked",
            _ => "removing what was unpacked",
        };
        report(BuildStep::Preparing { what: what.to_owned() });
        drop(scratch);
        Ok(Built { kernel: Kernel::open(&place?)?, fresh: true })
    }

    /// Compiles a kernel in `scratch`, and returns its place in the cache.
    fn compiled(
        &self,
        material: &Material,
        (recipe, compiler, key): (&Recipe, String, &BuildKey),
        btrfs: Btrfs,
        scratch: &Scratch,
        report: Report,
    ) -> Result<PathBuf> {
        let folder = self.cache.kernels();
        let start = Instant::now();
        let tree = material.unpack(&scratch.path().join("source"), self.runner(), report)?;
        let version = material.version(&tree)?;
        let (files, patches) = recipe.size(&version);
        report(BuildStep::Inserting { files, patches });
        for insertion in &recipe.insertions {
            insertion.insert(&tree, &version, &scratch.path().join("patches"), self.runner())?;
        }
        let compilation = Compilation {
            tree: &tree,
            objects: &scratch.path().join("objects"),
            version: &version,
            log: &folder.join(format!("{version}-{}.log", key.short())),
            jobs: self.jobs.max(1),
            runner: self.runner(),
        };
        compilation.configure(&recipe.fragment(&version))?;
        let objects = compilation.compile(self.expected_objects()?, report)?;
        let seconds = start.elapsed().as_secs_f64();
        let result = scratch.path().join("result");
        gather(&compilation, &result)?;
        let source = material.provenance.clone();
        let mut kernel = Kernel::compiled(&result, &version, source, key.full())?;
        (kernel.recipe, kernel.compiler) = (recipe.digest(&material.provenance), compiler);
        kernel.btrfs = Some(btrfs);
        (kernel.objects, kernel.build_seconds) = (objects, (seconds * 10.0).round() / 10.0);
        let place = folder.join(format!("{version}-{}", key.short()));
        finish(&kernel, &compilation, &place)?;
        Ok(place)
    }

    /// Returns the kernel with this key, if it exists and is intact. A damaged one is set aside.
    fn present(&self, key: &BuildKey, report: Report) -> Result<Option<Kernel>> {
        let Some(folder) = self.place_of(key)? else { return Ok(None) };
        match Kernel::open(&folder) {
            Ok(kernel) => Ok(Some(kernel)),
            Err(damage @ Error::Damaged { .. }) => {
                let mut aside = folder.clone().into_os_string();
                aside.push(kernel::DAMAGED);
                let aside = PathBuf::from(aside);
                claim::remove_folder(&aside)?;
                file::rename(&folder, &aside)?;
                let note = format!("{damage}; it was set aside as {}", aside.display());
                report(BuildStep::Note(note));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Finds the folder of a kernel by its key. The folder's name contains the version, which is
    /// known only after unpacking.
    fn place_of(&self, key: &BuildKey) -> Result<Option<PathBuf>> {
        let end = format!("-{}", key.short());
        let folder = self.cache.kernels();
        let names = file::names(&folder)?;
        Ok(names
            .into_iter()
            .filter(|name| name.ends_with(&end))
            .map(|name| folder.join(name))
            .find(|at| at.is_dir()))
    }

    fn check_room(&self, material: &Material) -> Result<()> {
        let need = material.room()?.saturating_add(OBJECTS);
        let free = file::free_space(self.cache.root())?;
        let path = self.cache.root().to_path_buf();
        if free < need { Err(Error::NoSpace { path, need, free }) } else { Ok(()) }
    }

    fn expected_objects(&self) -> Result<u32> {
        let kernels = kernel::list(self.cache, self.share)?.kernels;
        Ok(kernels.first().map_or(USUAL_OBJECTS, |kernel| kernel.objects))
    }
}

/// Copies the program and its configuration to `result`, which is beside their final place.
fn gather(compilation: &Compilation, result: &Path) -> Result<()> {
    file::create_folder(result)?;
    for (from, to) in [("linux", PROGRAM), (".config", CONFIG)] {
        let to = result.join(to);
        file::copy(&compilation.objects.join(from), &to)?;
        file::sync(&to)?;
    }
    Ok(())
}

/// Writes the record, and moves the collected files to their place at once.
fn finish(kernel: &Kernel, compilation: &Compilation, place: &Path) -> Result<()> {
    let result = &kernel.folder;
    file::write_synced(&result.join(RECORD), kernel.to_toml().as_bytes())?;
    file::rename(compilation.log, &result.join("build.log"))?;
    file::sync(result)?;
    file::rename(result, place)?;
    file::sync(place.parent().unwrap_or(place))
}
