//! How a load came to be steady before it was measured, or did not.

use disklab_units::Nanos;
use disklab_units::prose::digits;
use serde_json::Value;

/// `None` where there was no warm-up.
pub fn told(steps: &[Value]) -> Option<String> {
    let step = steps.iter().find(|step| step["step"] == "warmed")?;
    let time = |key: &str| Nanos(step[key].as_u64().unwrap_or_default());
    let how =
        if step["steady"] == true { "until it was steady" } else { "and was not steady then" };
    let rates = step["rates"].as_array().into_iter().flatten().filter_map(Value::as_f64);
    let rates: Vec<String> = rates.map(digits).collect();
    Some(format!(
        "it ran for {}, {how}; requests a second, each over {}: {}",
        time("took_ns"),
        time("every_ns"),
        rates.join(", ")
    ))
}
