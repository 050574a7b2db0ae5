//! The layout of the kernel's trace. It differs between kernels, which describe it in files beside
//! the events (`events/header_page`, `events/*/format`).

use serde::{Deserialize, Serialize};

/// The traced events, by the kernel's names.
pub const EVENTS: [(&str, EventKind); 3] = [
    ("block_rq_issue", EventKind::Issue),
    ("block_rq_complete", EventKind::Complete),
    ("block_rq_requeue", EventKind::Requeue),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A request is handed to the disk's driver.
    Issue,
    /// All of a request, or a part of it, has ended.
    Complete,
    /// The driver gives a request back, which will be issued again.
    Requeue,
}

/// A field of a page or of an event; the offset is in bytes from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceLayout {
    /// Bytes of a page of the buffer.
    pub page: usize,
    /// Fields of a page: the time from which its first event counts, the bytes in use, and the
    /// beginning of the events.
    pub timestamp: Field,
    pub commit: Field,
    pub data: usize,
    pub events: Vec<EventLayout>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventLayout {
    pub kind: EventKind,
    /// The number at the beginning of these events.
    pub id: u16,
    pub dev: Field,
    pub sector: Field,
    pub sectors: Field,
    /// The request's operation, as letters.
    pub rwbs: Field,
}

impl TraceLayout {
    /// Parses the text of `header_page`, for pages of `page` bytes; events are added later.
    pub fn of_page(text: &str, page: usize) -> Result<Self, String> {
        let field =
            |name| field(text, name).ok_or_else(|| format!("header_page names no field {name}"));
        let (timestamp, commit, data) =
            (field("timestamp")?, field("commit")?, field("data")?.offset);
        let fits =
            |field: Field| field.offset.checked_add(field.size).is_some_and(|end| end <= data);
        if timestamp.size != 8
            || ![4, 8].contains(&commit.size)
            || !fits(timestamp)
            || !fits(commit)
        {
            return Err("header_page describes no page of events that is known here".to_owned());
        }
        if data >= page {
            return Err(format!(
                "a page of {page} bytes would have no room behind its head of {data}"
            ));
        }
        Ok(Self { page, timestamp, commit, data, events: Vec::new() })
    }

    /// Checks the text of `header_event`. Only one form of it is known, and any other is refused.
    pub fn check_event_header(text: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split_ascii_whitespace().filter(|word| *word != ":").collect();
        let known = [
            &["type_len", "5", "bits"][..],
            &["time_delta", "27", "bits"],
            &["array", "32", "bits"],
            &["padding", "type", "==", "29"],
            &["time_extend", "type", "==", "30"],
            &["time_stamp", "type", "==", "31"],
            &["data", "max", "type_len", "==", "28"],
        ];
        let is_there = |line: &&[&str]| words.windows(line.len()).any(|window| window == *line);
        match known.iter().find(|line| !is_there(line)) {
            Some(line) => Err(format!("header_event does not say `{}`", line.join(" "))),
            None => Ok(()),
        }
    }
}

impl EventLayout {
    /// Parses the text of an event's `format`.
    pub fn parse(kind: EventKind, text: &str) -> Result<Self, String> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let id = id.ok_or("it has no `ID:` below 65536")?;
        let sized = |name: &str, size: usize| match field(text, name) {
            Some(field) if field.size == size => Ok(field),
            Some(field) => Err(format!("its {name} has {} bytes, not {size}", field.size)),
            None => Err(format!("it has no field {name}")),
        };
        let rwbs = field(text, "rwbs")
            .filter(|field| (1..=64).contains(&field.size))
            .ok_or("it has no field rwbs")?;
        let event = Self {
            kind,
            id,
            dev: sized("dev", 4)?,
            sector: sized("sector", 8)?,
            sectors: sized("nr_sector", 4)?,
            rwbs,
        };
        // The number of the event comes first in each event.
        match field(text, "common_type") {
            Some(Field { offset: 0, size: 2 }) => Ok(event),
            _ => Err("it does not begin with its number".to_owned()),
        }
    }
}

/// Parses a field such as `field:u64 timestamp; offset:0; size:8; signed:0;`, with any blanks. For
/// a field of a page, the offset is in the page.
fn field(text: &str, name: &str) -> Option<Field> {
    text.lines().find_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?.split_ascii_whitespace().last()?;
        let declared = declared.split_once('[').map_or(declared, |(name, _)| name);
        if declared != name {
            return None;
        }
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.trim().parse().ok();
        let (offset, size) = (number("offset:")?, number("size:")?);
        (offset < 1 << 16 && size < 1 << 24).then_some(Field { offset, size })
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 \
        bits\n\ttime_delta  :   27 bits\n\
        \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\
        \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
    /// The format file of Linux 6.18.
    const COMPLETE: &str = "name: block_rq_complete\nID: 2107\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d\", REC->dev\n";

    /// Returns a layout with events numbered 1, 2 and 3, all of one form.
    pub(crate) fn layout() -> TraceLayout {
        let mut layout = TraceLayout::of_page(HEADER_PAGE, 4096).unwrap();
        let event = |(id, (_, kind)): (u16, &(&str, EventKind))| {
            let event = EventLayout::parse(*kind, COMPLETE).unwrap();
            EventLayout { id, ..event }
        };
        layout.events = (1..).zip(&EVENTS).map(event).collect();
        layout
    }

    #[test]
    fn what_a_kernel_says_is_understood() {
        let layout = TraceLayout::of_page(HEADER_PAGE, 4096).unwrap();
        assert_eq!(
            (layout.timestamp, layout.commit),
            (Field { offset: 0, size: 8 }, Field { offset: 8, size: 8 })
        );
        assert_eq!(layout.data, 16);
        TraceLayout::check_event_header(HEADER_EVENT).unwrap();
        let event = EventLayout::parse(EventKind::Complete, COMPLETE).unwrap();
        assert_eq!(
            (event.id, event.dev.offset, event.sector.offset, event.sectors.offset),
            (2107, 8, 16, 24)
        );
        assert_eq!(event.rwbs, Field { offset: 34, size: 10 });
    }

    #[test]
    fn what_is_not_as_it_is_known_is_refused() {
        let page = |from, to| TraceLayout::of_page(&HEADER_PAGE.replace(from, to), 4096);
        assert!(page("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:3").is_err());
        assert!(page("data;\toffset:16", "data;\toffset:12").is_err(), "over the commit");
        assert!(page("data;\toffset:16", "data;\toffset:4096").is_err());
        assert!(page("timestamp", "time").is_err());
        assert!(TraceLayout::check_event_header(&HEADER_EVENT.replace("== 29", "== 28")).is_err());
        let event = |from, to| EventLayout::parse(EventKind::Complete, &COMPLETE.replace(from, to));
        assert_eq!(event("nr_sector;", "sectors;").unwrap_err(), "it has no field nr_sector");
        assert_eq!(
            event("dev;\toffset:8;\tsize:4", "dev;\toffset:8;\tsize:8").unwrap_err(),
            "its dev has 8 bytes, not 4"
        );
        assert!(event("ID: 2107", "ID: 65536").is_err());
        assert!(event("common_type;\toffset:0", "common_type;\toffset:2").is_err());
        assert!(event("rwbs[10];\toffset:34;\tsize:10", "rwbs[10];\toffset:34;\tsize:0").is_err());
    }
}
