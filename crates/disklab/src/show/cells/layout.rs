//! Lays a group's numbers out: in one table if the screen is wide enough, or else in several tables
//! with the same rows.

use std::io::Write;

use disklab_report::merge::{CellGroup, CellNumbers, DiskNumbers, FioNumbers};
use disklab_results::Spread;
use disklab_units::prose::digits;
use itertools::Itertools;

use crate::exit::Failure;
use crate::screen::{Paint, Screen};
use crate::table::{Align, TextTable};
use crate::words;

const INDENT: &str = "  ";
const MIB: f64 = 1024.0 * 1024.0;
/// Nanoseconds in each unit of time.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A row's label, and the remarks below it.
#[derive(Debug)]
pub struct Row {
    pub label: String,
    pub below: Vec<(String, Paint)>,
}

/// Number of a spread that a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Median,
    /// A range, printed as `min..max`.
    Range,
    Min,
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    FioNumbers(Part),
    Reads,
    Busy,
}

/// Operations that a block of columns counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Read,
    Write,
}

/// Tables below one another, each with some of the blocks, and the way to show a range.
#[derive(Debug)]
pub struct Layout<'a> {
    group: &'a CellGroup<'a>,
    tables: Vec<Vec<Block>>,
    lines: &'static [Line],
}

/// A column's texts, by line and row.
struct Column {
    head: String,
    side: Align,
    texts: Vec<Vec<String>>,
}

const RANGES: &[Line] = &[Line::Median, Line::Range];
const EXTREMES: &[Line] = &[Line::Median, Line::Min, Line::Max];

impl<'a> Layout<'a> {
    /// Returns the best layout that fits, or the narrowest if none fits.
    pub fn fitting(group: &'a CellGroup<'a>, rows: &[Row], screen: &Screen) -> Self {
        let mixed =
            group.cells.iter().filter_map(|cell| cell.measured.as_ref()).any(CellNumbers::mixed);
        let parts = if mixed { vec![Part::Read, Part::Write] } else { vec![Part::All] };
        let numbers: Vec<Block> = parts.into_iter().map(Block::FioNumbers).collect();
        let split = [numbers, vec![Block::Reads, Block::Busy]];
        let wide = split.concat();
        let narrow = wide.iter().map(|block| vec![*block]).collect();
        let layouts = [
            (vec![wide.clone()], RANGES),
            (split.to_vec(), RANGES),
            (vec![wide], EXTREMES),
            (split.to_vec(), EXTREMES),
        ];
        let room = screen.width.saturating_sub(INDENT.len());
        let fits = |layout: &Self| {
            layout.tables.iter().all(|blocks| layout.table(blocks, rows, false).0.width() <= room)
        };
        let narrowest = Self { group, tables: narrow, lines: EXTREMES };
        let mut layouts = layouts.into_iter().map(|(tables, lines)| Self { group, tables, lines });
        layouts.find(fits).unwrap_or(narrowest)
    }

    pub fn print(&self, rows: &[Row], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
        for (index, blocks) in self.tables.iter().enumerate() {
            let (table, heights) = self.table(blocks, rows, screen.color);
            if table.width() > screen.width.saturating_sub(INDENT.len()) {
                // Even the narrowest layout is too wide. It is split into several tables, with all
                // remarks below them.
                table.print(screen, INDENT, out)?;
                rows.iter().filter(|_| index == 0).try_for_each(|row| below(row, screen, out))?;
                continue;
            }
            let mut lines = table.lines().into_iter();
            let head: usize = lines.len() - heights.iter().sum::<usize>();
            lines.by_ref().take(head).try_for_each(|line| writeln!(out, "{INDENT}{line}"))?;
            for (row, height) in rows.iter().zip(heights) {
                lines.by_ref().take(height).try_for_each(|line| writeln!(out, "{INDENT}{line}"))?;
                if index == 0 {
                    below(row, screen, out)?;
                }
            }
        }
        Ok(())
    }

    /// Builds a table, and returns it with the number of lines of each row.
    fn table(&self, blocks: &[Block], rows: &[Row], color: bool) -> (TextTable, Vec<usize>) {
        let measured: Vec<_> = self.group.cells.iter().map(|cell| cell.measured.as_ref()).collect();
        let columns: Vec<Column> =
            blocks.iter().flat_map(|&block| columns(block, &measured, self.lines)).collect();
        // Heads have two lines; a short head is in the lower one.
        let label = format!("\n{}", self.group.axes.join(", "));
        let heads: Vec<_> = std::iter::once((label.as_str(), Align::Left))
            .chain(columns.iter().map(|column| (column.head.as_str(), column.side)))
            .collect();
        let mut table = TextTable::new(&heads, color);
        let mut heights = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let texts =
                |line: usize| columns.iter().map(move |column| column.texts[line][at].clone());
            table.row(std::iter::once(row.label.clone()).chain(texts(0)));
            let mut height = 1;
            for (line, kind) in self.lines.iter().enumerate().skip(1) {
                if texts(line).all(|text| text.trim().is_empty()) {
                    continue;
                }
                let label = match kind {
                    Line::Min => "  min",
                    Line::Max => "  max",
                    Line::Median | Line::Range => "",
                };
                table.faint_row(std::iter::once(label.to_owned()).chain(texts(line)));
                height += 1;
            }
            heights.push(height);
        }
        (table, heights)
    }
}

/// Prints the outcomes of trials without a result below their row, as wide as the screen.
fn below(row: &Row, screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    for (text, paint) in &row.below {
        let indent = INDENT.repeat(2);
        let width = screen.width.saturating_sub(indent.len());
        for line in words::filled(text.split_whitespace(), width, "", INDENT) {
            writeln!(out, "{indent}{}", screen.paint(&line, *paint))?;
        }
    }
    Ok(())
}

fn columns(block: Block, measured: &[Option<&CellNumbers>], lines: &[Line]) -> Vec<Column> {
    match block {
        Block::FioNumbers(part) => numbers(part, measured, lines),
        Block::Reads => vec![disks("reads, %", measured, lines, |disk| disk.read_share)],
        Block::Busy => vec![disks("busy, %", measured, lines, |disk| Some(disk.utilisation))],
    }
}

fn numbers(part: Part, measured: &[Option<&CellNumbers>], lines: &[Line]) -> Vec<Column> {
    let (unit, ns) = unit(measured);
    let column = |head: &str, scale: f64, value: &dyn Fn(&FioNumbers) -> Option<Spread>| {
        let spread = |measured: Option<&CellNumbers>| {
            measured.and_then(|measured| part.numbers(measured)).and_then(value)
        };
        let text = |line: Line| {
            measured
                .iter()
                .map(|&measured| in_line(spread(measured), scale, line, digits))
                .collect()
        };
        Column {
            head: head.to_owned(),
            side: Align::Right,
            texts: lines.iter().map(|&line| text(line)).collect(),
        }
    };
    let (upper, word) = (part.word(), if part == Part::All { "" } else { " " });
    let time = |name: &str| format!("{upper}{word}{name}\n{unit}");
    vec![
        column(&format!("{upper}\nIOPS"), 1.0, &|numbers| Some(numbers.iops)),
        column(&format!("{upper}\nMiB/s"), MIB, &|numbers| Some(numbers.bw_bytes)),
        column(&time("mean"), ns, &|numbers| Some(numbers.lat_mean_ns)),
        column(&time("p50"), ns, &|numbers| numbers.p50_ns),
        column(&time("p99"), ns, &|numbers| numbers.p99_ns),
        column(&time("p99.9"), ns, &|numbers| numbers.p99_9_ns),
    ]
}

impl Part {
    const fn word(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    const fn numbers(self, measured: &CellNumbers) -> Option<&FioNumbers> {
        match self {
            Self::All => Some(&measured.all),
            Self::Read => measured.read.as_ref(),
            Self::Write => measured.write.as_ref(),
        }
    }
}

/// Returns the unit in which the group's shortest time has a whole digit. One unit makes all times
/// easy to compare.
fn unit(measured: &[Option<&CellNumbers>]) -> (&'static str, f64) {
    let times = measured
        .iter()
        .flatten()
        .flat_map(|measured| [Some(measured.all.lat_mean_ns), measured.all.p50_ns])
        .flatten();
    let shortest =
        times.map(|spread| spread.median).filter(|&time| time > 0.0).fold(f64::INFINITY, f64::min);
    if shortest.is_infinite() {
        return TIMES[2];
    }
    TIMES.into_iter().rev().find(|&(_, ns)| shortest >= ns).unwrap_or(TIMES[0])
}

/// Builds one column with a number for each disk, each below the disk's name.
fn disks(
    head: &str,
    measured: &[Option<&CellNumbers>],
    lines: &[Line],
    value: fn(&DiskNumbers) -> Option<Spread>,
) -> Column {
    let longest = measured.iter().flatten().max_by_key(|measured| measured.disks.len());
    let names: Vec<&str> = longest
        .iter()
        .flat_map(|measured| &measured.disks)
        .map(|disk| disk.name.as_str())
        .collect();
    // Texts by line, row and disk.
    let texts: Vec<Vec<Vec<String>>> = lines
        .iter()
        .map(|&line| {
            let row = |measured: Option<&CellNumbers>| -> Vec<String> {
                let disks = measured.iter().flat_map(|measured| &measured.disks);
                disks.map(|disk| percent(value(disk), line)).collect()
            };
            measured.iter().copied().map(row).collect()
        })
        .collect();
    let width = |disk: usize| {
        let texts = texts.iter().flatten().filter_map(|row| row.get(disk)).map(String::len);
        texts.chain([names[disk].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let joined = |parts: &[&str]| {
        parts.iter().zip(&widths).map(|(part, &width)| format!("{part:>width$}")).join(" ")
    };
    let row = |row: &Vec<String>| joined(&row.iter().map(String::as_str).collect::<Vec<_>>());
    Column {
        head: format!("{head}\n{}", joined(&names)),
        side: Align::Left,
        texts: texts.iter().map(|rows| rows.iter().map(row).collect()).collect(),
    }
}

/// Formats a share in per cent. A range of one per cent gets no line.
fn percent(spread: Option<Spread>, line: Line) -> String {
    let whole = |part: f64| (part * 100.0).round();
    let wide = spread.is_some_and(|spread| whole(spread.max) - whole(spread.min) > 1.0);
    if line == Line::Median || wide {
        in_line(spread, 0.01, line, |percent| format!("{percent:.0}"))
    } else {
        String::new()
    }
}

/// Formats a number in units of `scale`. A range whose ends look the same is left out.
fn in_line(spread: Option<Spread>, scale: f64, line: Line, print: fn(f64) -> String) -> String {
    let Some(Spread { min, median, max }) = spread else {
        return if line == Line::Median { "-".to_owned() } else { String::new() };
    };
    let [min, median, max] = [min, median, max].map(|value| print(value / scale));
    match line {
        Line::Median => median,
        _ if min == max => String::new(),
        Line::Range => format!("{min}..{max}"),
        Line::Min => min,
        Line::Max => max,
    }
}

#[cfg(test)]
mod tests {
    use disklab_record::outcome::Cell;

    use super::*;
    use crate::screen::When;
    use disklab_report::merge::CellRow;

    fn spread(median: f64) -> Spread {
        Spread { min: median * 0.9, median, max: median * 1.1 }
    }

    fn numbers_of(iops: f64, time: f64) -> FioNumbers {
        FioNumbers {
            iops: spread(iops),
            bw_bytes: spread(278.0 * MIB),
            lat_mean_ns: spread(time),
            p50_ns: Some(spread(time)),
            p99_ns: Some(spread(time * 10.0)),
            p99_9_ns: None,
        }
    }

    fn cell(disks: u8, time: f64) -> CellRow<'static> {
        let disk = |index: u8| DiskNumbers {
            name: format!("vd{}", char::from(b'a' + index)),
            device: None,
            read_share: Some(spread(0.5)),
            utilisation: spread(0.9),
        };
        let measured = CellNumbers {
            seeds: 3,
            all: numbers_of(71_234.0, time),
            read: None,
            write: None,
            disks: (0..disks).map(disk).collect(),
            read_shares: Vec::new(),
        };
        CellRow {
            values: vec!["round-robin:4096".to_owned()],
            measured: Some(measured),
            measures: Vec::new(),
            trials: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    fn group(disks: u8, time: f64) -> CellGroup<'static> {
        CellGroup {
            head: Cell::default(),
            axes: vec!["policy".to_owned()],
            cells: vec![cell(disks, time)],
        }
    }

    fn printed(group: &CellGroup, width: usize, below: &str) -> String {
        let mut screen = Screen::new(false, When::Never);
        screen.width = width;
        let below = vec![(below.to_owned(), Paint::Bad)];
        let rows = [Row { label: "round-robin:4096 [1]".to_owned(), below }];
        let mut out = Vec::new();
        Layout::fitting(group, &rows, &screen).print(&rows, &screen, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_width_shows_every_number_once() {
        let reason = "seed 1 failed: for a reason of many words that does not fit into one line of \
            a narrow screen";
        for disks in [1, 2, 4, 8] {
            for width in 80..200 {
                let text = printed(&group(disks, 8.4e6), width, reason);
                assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
                let numbers = ["71234", "84.0", "64111", "78357", "seed 1"];
                for (number, times) in
                    numbers.map(|number| (number, 1)).into_iter().chain([("8.40", 2)])
                {
                    assert_eq!(text.matches(number).count(), times, "{number} at {width}:\n{text}");
                }
                let halves = text.split_whitespace().filter(|word| *word == "50").count();
                assert_eq!(halves, usize::from(disks), "{width}:\n{text}");
            }
        }
    }

    #[test]
    fn a_wide_screen_has_one_table_and_a_narrow_one_several() {
        let heads = |width| printed(&group(8, 8.4e6), width, "").matches("policy").count();
        assert_eq!([240, 180, 130, 80].map(heads), [1, 2, 1, 3]);
        let ranges = |width| printed(&group(8, 8.4e6), width, "").contains("64111..78357");
        assert_eq!([240, 180, 130, 80].map(ranges), [true, true, false, false]);
    }

    #[test]
    fn times_are_in_the_unit_that_fits_the_shortest() {
        for (time, unit) in [(90.0, "ns"), (92_000.0, "us"), (8.4e6, "ms"), (2e9, "s")] {
            let text = printed(&group(2, time), 150, "");
            let head = text.lines().nth(1).unwrap();
            assert_eq!(head.split_whitespace().filter(|word| *word == unit).count(), 4, "{text}");
        }
    }

    #[test]
    fn reads_and_writes_stand_apart_where_there_are_both() {
        for width in [80, 120, 200] {
            let mut group = group(2, 8.4e6);
            let measured = group.cells[0].measured.as_mut().unwrap();
            measured.read = Some(numbers_of(40_123.0, 8.1e6));
            measured.write = Some(numbers_of(31_111.0, 8.9e6));
            let text = printed(&group, width, "");
            for number in ["40123", "31111", "81.0", "89.0"] {
                assert_eq!(text.matches(number).count(), 1, "{number} at {width}:\n{text}");
            }
            assert!(!text.contains("71234"), "{text}");
            assert!(text.contains("read p99") && text.contains("write p99"), "{text}");
        }
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let mut group = group(2, 8.4e6);
        group.cells[0].measured = None;
        let text = printed(&group, 120, "");
        let row: Vec<_> = text.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(row, ["round-robin:4096", "[1]", "-", "-", "-", "-", "-", "-"], "{text}");
    }
}
