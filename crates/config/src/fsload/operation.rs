//! The operations that are counted and timed.

use crate::read::choices;

choices! {
    /// An operation, under the name that results have for it.
    pub enum Operation: "operation of fsload" {
        Open = "open",
        Create = "create",
        ReadWhole = "read whole",
        ReadRandom = "read random",
        Append = "append",
        WriteWhole = "write whole",
        Fsync = "fsync",
        Close = "close",
        Delete = "delete",
        Stat = "stat",
        List = "list",
        Replace = "replace",
        MakeFolder = "make folder",
    }
}
