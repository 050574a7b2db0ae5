//! The disks of a machine, from `lsblk --json --bytes --output PATH,TYPE,SIZE,ROTA,MODEL`.

use disklab_units::Bytes;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDisk {
    pub path: String,
    pub bytes: Bytes,
    pub rotational: bool,
    pub model: Option<String>,
    /// Paths of the disk, of its partitions, and of every device on top of them.
    pub paths: Vec<String>,
}

#[derive(Deserialize)]
struct Listing {
    blockdevices: Vec<Node>,
}

/// A node of the listing. Older versions of lsblk write numbers and booleans as strings.
#[derive(Deserialize)]
struct Node {
    path: String,
    #[serde(rename = "type")]
    kind: String,
    size: Value,
    rota: Value,
    model: Option<String>,
    #[serde(default)]
    children: Vec<Node>,
}

impl Node {
    fn bytes(&self) -> u64 {
        self.size.as_u64().or_else(|| self.size.as_str()?.parse().ok()).unwrap_or(0)
    }

    fn collect(&self, paths: &mut Vec<String>) {
        paths.push(self.path.clone());
        self.children.iter().for_each(|child| child.collect(paths));
    }
}

/// Parses a listing into whole disks. RAM disks, optical drives and empty slots are left out.
pub fn read(listing: &str) -> Result<Vec<ListedDisk>, serde_json::Error> {
    let listing: Listing = serde_json::from_str(listing)?;
    let real = |node: &Node| {
        let memory = ["/dev/zram", "/dev/ram", "/dev/loop", "/dev/nbd"];
        node.kind == "disk"
            && node.bytes() > 0
            && !memory.iter().any(|start| node.path.starts_with(start))
    };
    let disk = |node: Node| {
        let mut paths = Vec::new();
        node.collect(&mut paths);
        let model = node.model.as_deref().map(|model| model.trim().to_owned());
        ListedDisk {
            bytes: Bytes(node.bytes()),
            rotational: node.rota == Value::Bool(true) || node.rota == "1",
            model: model.filter(|model| !model.is_empty()),
            path: node.path,
            paths,
        }
    };
    Ok(listing.blockdevices.into_iter().filter(real).map(disk).collect())
}
