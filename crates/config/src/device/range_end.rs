//! The values of the suite axis over estimates (`--sensitivity`).

use super::Device;

/// The value of the axis that leaves every number at the device's own value.
pub const AS_IS: &str = "as-is";

/// An end of an estimate's range, as a value of the suite axis over estimates:
/// `queue_patience-low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeEnd<'a> {
    pub key: &'a str,
    /// Whether this is the upper end of the range; otherwise it is the lower.
    pub is_high: bool,
}

impl<'a> RangeEnd<'a> {
    /// Parses a value of the axis. Returns None for [`AS_IS`].
    pub fn parse(value: &'a str) -> Result<Option<Self>, String> {
        if value == AS_IS {
            return Ok(None);
        }
        let end = value.rsplit_once('-').and_then(|(key, end)| match end {
            "low" => Some(Self { key, is_high: false }),
            "high" => Some(Self { key, is_high: true }),
            _ => None,
        });
        end.map(Some).ok_or_else(|| {
            let value = value.escape_debug();
            format!("`{value}` is not an end of a range: write {AS_IS}, KEY-low or KEY-high")
        })
    }

    /// Returns the values of the axis for the estimates of some devices: [`AS_IS`] and both ends of
    /// each.
    pub fn axis_values<'d>(devices: impl IntoIterator<Item = &'d Device>) -> Vec<String> {
        let mut values = vec![AS_IS.to_owned()];
        for estimate in devices.into_iter().flat_map(|device| &device.estimated) {
            for end in ["low", "high"] {
                let value = format!("{}-{end}", estimate.key);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        values
    }

    /// Returns the value of a device at this end. Returns None if the number is not an estimate of
    /// the device.
    pub fn value_of<'d>(&self, device: &'d Device) -> Option<&'d str> {
        let estimate = device.estimated.iter().find(|estimate| estimate.key == self.key)?;
        Some(if self.is_high { &estimate.high } else { &estimate.low })
    }
}
