//! Summarizes the work of one trial's disks in a few numbers.

use disklab_config::Lab;
use disklab_results::Sample;
use disklab_results::sample::DeviceSample;

/// Returns the requests of a disk, including those of the background and the filesystem.
fn requests(device: &DeviceSample) -> f64 {
    (device.reads + device.writes) as f64
}

/// Returns the mean of a number over some disks, weighted by their requests, or `None` if a disk
/// with requests lacks it.
fn weighted(
    sample: &Sample,
    wanted: impl Fn(&DeviceSample) -> bool,
    value: impl Fn(&DeviceSample) -> Option<f64>,
) -> Option<f64> {
    let mut sums = (0.0, 0.0);
    for device in sample.devices.iter().filter(|device| requests(device) > 0.0 && wanted(device)) {
        sums.0 += requests(device) * value(device)?;
        sums.1 += requests(device);
    }
    (sums.1 > 0.0).then(|| sums.0 / sums.1)
}

/// Returns the mean number of disks at work at a time.
pub fn at_work(sample: &Sample) -> f64 {
    sample.devices.iter().map(|device| device.utilisation).sum()
}

/// Returns fio's requests in each second in which a disk is at work.
pub fn rate_at_work(sample: &Sample) -> f64 {
    sample.iops / at_work(sample)
}

pub fn utilisations(sample: &Sample) -> impl Iterator<Item = f64> {
    sample.devices.iter().map(|device| device.utilisation)
}

pub fn depths(sample: &Sample) -> Option<Vec<f64>> {
    sample.devices.iter().map(|device| device.depth_mean).collect()
}

/// Returns the mean number of requests at a disk while it is at work.
pub fn depth_at_work(sample: &Sample) -> Option<f64> {
    Some(depths(sample)?.iter().sum::<f64>() / at_work(sample))
}

/// Returns the bytes between the end of a request and the begin of the next at the same disk.
pub fn distance(sample: &Sample) -> Option<f64> {
    weighted(sample, |_| true, |device| device.distance_mean_bytes)
}

/// Returns the same distance for rotating disks, or `None` if none of them had a request.
pub fn distance_turned(sample: &Sample, lab: &Lab) -> Option<f64> {
    weighted(sample, |device| turns(device, lab), |device| device.distance_mean_bytes)
}

fn turns(device: &DeviceSample, lab: &Lab) -> bool {
    let known = device.device.as_ref().and_then(|name| lab.devices.get(name));
    known.is_some_and(|known| known.model.rotational())
}

/// Returns the share of the reads that the cache serves, in an array that has one: it is the disk
/// after the array's own.
pub fn cache_share(sample: &Sample) -> Option<f64> {
    sample.devices.last()?.read_share
}

/// Returns the share of requests that began at the end of the previous one.
pub fn sequential(sample: &Sample) -> Option<f64> {
    weighted(sample, |_| true, |device| device.not_sequential).map(|apart| 1.0 - apart)
}

/// Returns the time from the moment when a drive takes a request out of its queue to its end.
pub fn service_ms(sample: &Sample) -> Option<f64> {
    weighted(sample, |_| true, |device| Some(device.service_mean_ns?.0 as f64 / 1e6))
}

/// Returns the disk with most reads, and its share.
pub fn most_read(sample: &Sample) -> Option<(&str, f64)> {
    let shares =
        sample.devices.iter().map(|device| Some((device.name.as_str(), device.read_share?)));
    let shares: Vec<_> = shares.collect::<Option<_>>()?;
    shares.into_iter().reduce(|most, next| if next.1 > most.1 { next } else { most })
}

/// Returns the mean time of the reads of `shares`, if each disk had its speed in `speeds`.
pub fn service_of_shares(shares: &Sample, speeds: &Sample) -> Option<f64> {
    let disks = shares.devices.iter().zip(&speeds.devices);
    disks.map(|(share, speed)| Some(share.read_share? * speed.service_mean_ns?.0 as f64)).sum()
}

/// Returns the bytes per second that the disks read and fio did not: the background's, and
/// metadata.
pub fn beside(sample: &Sample) -> Option<f64> {
    let read = sample.read.as_ref()?;
    let seconds = sample.requests as f64 / sample.iops;
    let disks = sample.devices.iter().map(|device| device.read_bytes as f64).sum::<f64>() / seconds;
    (disks > 0.0).then_some((disks - read.bw_bytes as f64).max(0.0))
}

/// Returns the shortest queue of the disks that get at least a tenth of all reads.
pub fn shortest_queue(sample: &Sample) -> Option<f64> {
    let used =
        sample.devices.iter().filter(|device| device.read_share.is_some_and(|share| share >= 0.1));
    used.filter_map(|device| device.depth_mean).reduce(f64::min)
}
