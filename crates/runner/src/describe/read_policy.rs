//! The read policy that a trial gets: the names of policies on the kernel that runs them.
//!
//! disklab's policies stand in sysfs under names that begin with [`PREFIX`], beside the kernel's
//! own. On the lab's own kernels a plain name, such as `queue`, means disklab's policy. On a kernel
//! of the user's own it means the policy of that kernel, and a kernel without one runs no such
//! trial.

use disklab_config::Trial;
use disklab_config::policy::{EXPERIMENTAL, OPTION, PREFIX};
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
    policy_needs(trial, OPTION)
}

fn policy_needs(trial: &Trial, option: &str) -> bool {
    trial.policy.is_some() && trial.needs.iter().any(|need| need == option)
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
    if policy_needs(trial, EXPERIMENTAL) && !kernel.has_option(EXPERIMENTAL) {
        return Some(format!(
            "Linux {} of kernel {} has no `{policy}`: btrfs has it with CONFIG_{EXPERIMENTAL}, \
             which this kernel lacks",
            kernel.version, trial.kernel
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

#[cfg(test)]
mod tests {
    use disklab_config::Lab;
    use disklab_protocol::digest::sha256_hex;

    use super::*;

    /// Makes a kernel of a package, as Linux 6.12 is built.
    fn kernel(config: &str) -> (tempfile::TempDir, Kernel) {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let digest = sha256_hex(config.as_bytes());
        write("config", config);
        write("linux", config);
        write(
            "kernel.toml",
            &format!(
                "format = 1\nversion = \"6.12.117\"\nseries = \"6.12\"\nkey = \"{digest}\"\n\
                 recipe = \"\"\ncompiler = \"none\"\nlinux_sha256 = \"{digest}\"\n\
                 config_sha256 = \"{digest}\"\nobjects = 0\nbuild_seconds = 0.0\nbuilt = 0\n\
                 btrfs = \"policies\"\n\n[source]\nkind = \"package\"\npackage = \"linux\"\n\
                 version = \"6.12.117-1\"\nsuite = \"any\"\nsha256 = \"{digest}\"\n"
            ),
        );
        let kernel = Kernel::open(folder.path()).unwrap();
        (folder, kernel)
    }

    /// Returns the policies of the trials that a kernel cannot run, and one of the reasons.
    fn left_out(config: &str) -> (Vec<String>, String) {
        let (_folder, kernel) = kernel(config);
        let lab = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"));
        let lab = Lab::load(lab).unwrap();
        let trials = lab.suite("read-policy").unwrap().trials(&lab).unwrap();
        let mut found = Vec::new();
        let mut reason = String::new();
        for trial in trials {
            let trial = named_on(&trial, &kernel);
            if let Some(why) = obstacle(&trial, &kernel) {
                found.push(trial.policy.unwrap().policy);
                reason = why;
            }
        }
        found.sort();
        found.dedup();
        (found, reason)
    }

    #[test]
    fn policies_that_the_kernel_was_built_without_are_left_out() {
        let (found, reason) = left_out("CONFIG_BTRFS_READ_POLICIES=y\n");
        assert_eq!(found, ["round-robin"]);
        assert!(reason.starts_with("Linux 6.12.117 of kernel ") && reason.contains("has no `"));
        assert!(reason.contains("CONFIG_BTRFS_EXPERIMENTAL"), "{reason}");
        let both = "CONFIG_BTRFS_READ_POLICIES=y\nCONFIG_BTRFS_EXPERIMENTAL=y\n";
        assert_eq!(left_out(both), (Vec::new(), String::new()));
    }
}
