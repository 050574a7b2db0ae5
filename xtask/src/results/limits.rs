//! The end of a page: conditions that its numbers depend on, and questions that they do not answer.

use std::collections::BTreeSet;
use std::fmt::Write;

use disklab_config::Lab;
use disklab_record::Record;
use disklab_units::prose::{count, listed};
use itertools::Itertools;

use super::arrays;
use super::kind::{Kind, READS};
use super::merged::Merged;
use super::words::escaped;

pub fn section(kind: &Kind, lab: &Lab, records: &[Record], merged: &Merged) -> String {
    let seeds: BTreeSet<u32> = merged.all().map(|trial| trial.seed).collect();
    let kernels = records.iter().flat_map(|record| &record.manifest().kernels);
    let versions: Vec<String> =
        kernels.map(|kernel| format!("Linux {}", escaped(&kernel.version))).unique().collect();
    let mut text = format!(
        "- **Processor.** By default, code takes no virtual time: a policy that computes long \
         costs as little as one that does not, and checksums cost nothing. So rates of fast SSDs \
         are upper bounds. The guest has one processor \
         ([VALIDITY.md](../VALIDITY.md#the-processor)).\n\
         - **Disks.** All disks are models. Their numbers come from data sheets, fits to measured \
         drives, and estimates (`lab/devices`). Trust the order of the policies more than the \
         number of requests. [disk-models.md](disk-models.md) has the models' errors.\n\
         - **Seeds.** A cell has at most {}. So few seeds do not measure small differences. *Best* \
         and `>` on this page follow the rules that stand beside them, and have no error rate. \
         `disklab compare` gives verdicts.\n\
         - **Kernel.** The records are of {} only. `latency`, `latency-rr` and `queue` follow \
         their author's description, because their code was not available \
         ([VALIDITY.md](../VALIDITY.md#the-read-policies)).\n\
         - **Filesystem.** It is fresh and holds the test file only, which was written in \
         sequence. All seeds have the same layout.\n",
        count(seeds.len(), "seed"),
        listed(&versions)
    );
    if kind.name == READS.name {
        text.push_str(
            "- **Conditions.** The published script drops all caches before each load, and reads \
             for 120 s. [read-policy-script.md](read-policy-script.md) has records with these \
             conditions; some verdicts differ there.\n",
        );
    }
    if merged.backgrounds.iter().any(|background| background == "defrag") {
        text.push_str(
            "- **Background.** `defrag` is not the defragmentation of the published script: it has \
             files of its own, and the script defragments the test file. On SSDs, trials of a \
             fraction of a second mostly lack its effect on metadata \
             ([VALIDITY.md](../VALIDITY.md#what-is-on-the-disks)).\n",
        );
    }
    if merged.arrays.iter().any(|array| arrays::cached(lab, array)) {
        text.push_str(
            "- **Cache.** When a trial begins, bcache holds the last part of the test file. A pool \
             that was used for months holds the data that was read most \
             ([VALIDITY.md](../VALIDITY.md#caches)).\n",
        );
    }
    let _ = write!(
        text,
        "- **Build.** If memory is full and programs compete for a hard disk, another build of \
         disklab has the effect of another seed ([VALIDITY.md](../VALIDITY.md#the-same-again)). A \
         record names disklab's version and no commit. `git log docs/results/{}.md` lists the \
         commits that changed this page.",
        kind.name
    );
    if kind.name == READS.name {
        text.push_str(
            " [disk-models.md](disk-models.md#what-the-rule-changed-in-the-results) names the one \
             in which the pages with hard disks were made again.",
        );
    }
    text.push('\n');
    text
}
