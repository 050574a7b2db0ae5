//! The read policy that a trial gets: the names of policies on the kernel that runs them.
//!
//! disklab's policies stand in sysfs under names that begin with [`PREFIX`], beside the kernel's
//! own. On the lab's own kernels a plain name, such as `queue`, means disklab's policy. On a kernel
//! of the user's own it means the policy of that kernel, and a kernel without one runs no such
//! trial.

use disklab_config::Trial;
use disklab_config::policy::{OPTION, PREFIX};
use disklab_files::TRIAL;
use disklab_kernels::{Kernel, Provenance, WITH_POLICIES};
use disklab_protocol::names;
use disklab_protocol::step::Step;
use std::path::Path;

/// Returns the trial with the policy's name in sysfs.
pub fn named_on(trial: &Trial, kernel: &Kernel) -> Trial {
    let mut trial = trial.clone();
    if is_of_disklab(&trial)
        && kernel.plain_names_are_ours()
        && let Some(policy) = &mut trial.policy
        && !policy.policy.starts_with(PREFIX)
    {
        policy.policy.insert_str(0, PREFIX);
    }
    trial
}

/// Returns true if the lab describes the trial's policy as one of disklab's.
fn is_of_disklab(trial: &Trial) -> bool {
    trial.policy.is_some() && trial.needs.iter().any(|need| need == OPTION)
}

/// Returns the reason why the kernel cannot run a trial with this policy, as far as it is known
/// before the boot.
pub fn obstacle(trial: &Trial, kernel: &Kernel) -> Option<String> {
    let policy = &trial.policy.as_ref()?.policy;
    if kernel.btrfs.is_none() && kernel.has_option(OPTION) {
        return Some(format!(
            "{} was built by an older disklab, whose policies stand in the place of the kernel's \
             own: build it again",
            kernel.path.display()
        ));
    }
    (policy.starts_with(PREFIX) && is_of_disklab(trial) && !kernel.has_option(OPTION)).then(|| {
        format!(
            "`{policy}` is a read policy of disklab's, and kernel {} has its own btrfs only; {}",
            trial.kernel,
            how_to_add(trial, kernel)
        )
    })
}

/// Returns the reason why the guest did not get the policy, if its first process reported that.
pub fn lacking(trial: &Trial, kernel: &Kernel, folder: &Path) -> Option<String> {
    let steps = Step::read_all(
        &disklab_files::read(&folder.join(names::STEPS), &TRIAL).unwrap_or_default(),
    );
    let found = steps.iter().rev().find_map(|step| match step {
        Step::Lacking { path, value, has } => Some((path, value, has)),
        _ => None,
    })?;
    let (path, value, has) = found;
    let lacks = format!("Linux {} of kernel {} has no `{value}`", kernel.version, trial.kernel);
    if !path.ends_with("/read_policy") {
        return Some(format!("{lacks}: {path} has {has:?}"));
    }
    let all = has.split_whitespace().map(|name| name.trim_matches(['[', ']']));
    let own: Vec<&str> = all.filter(|name| !name.starts_with(PREFIX)).collect();
    let reason = format!("{lacks} of its own: its read policies are {}", own.join(", "));
    if let Some(policy) = trial.policy.as_ref().filter(|_| is_of_disklab(trial)) {
        let ours = format!("{PREFIX}{}", policy.policy.trim_start_matches(PREFIX));
        let how = if has.contains(PREFIX) {
            format!("--set policy={ours} takes it")
        } else {
            how_to_add(trial, kernel)
        };
        return Some(format!("{reason}; disklab's is `{ours}`: {how}"));
    }
    Some(reason)
}

fn how_to_add(trial: &Trial, kernel: &Kernel) -> String {
    let source = match &kernel.source {
        Provenance::Package { .. } => {
            return "`disklab kernel build` without --mainline-btrfs adds disklab's".to_owned();
        }
        // The kernel was named by the folder of its build.
        Provenance::Tree { path, .. } | Provenance::Tarball { path, .. }
            if Path::new(&trial.kernel).join("kernel.toml").is_file() =>
        {
            path
        }
        _ => &trial.kernel,
    };
    format!("--kernel {source}{WITH_POLICIES} adds disklab's beside its own")
}
