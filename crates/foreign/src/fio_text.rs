//! Parses fio's normal output, which it prints for people; of fio 3.0 to 3.41.
//!
//! Rates in this output are rounded to four digits, and latencies to a unit. If requests, request
//! size and running time give a rate that fio would print the same, the exact rate is taken.
//! Otherwise the printed one is taken, so that the checks find the contradiction. Options that the
//! output lacks (`direct`, `rate`, `thinktime`) are unknown. If a job is reported several times
//! (`status-interval`), the last report counts. Output of fio 2, and fio's output about other
//! machines' jobs, is not read.

mod line;
mod number;
mod report;
mod row;

use crate::format::Unreadable;
use crate::row::ResultRow;

/// Returns whether some lines of a file are fio's report of a job.
pub fn is_text(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let of_a_job = |line: &str| {
        (line.contains(line::HEADER) && line.contains("): err=")) || line::declared(line).is_some()
    };
    text.lines().any(of_a_job)
}

/// Parses the output into a row for all jobs of one name and group, because they ran together.
pub fn parse(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let runs = report::runs(bytes)?;
    let rows: Vec<ResultRow> = runs.iter().flat_map(row::rows).collect();
    if rows.is_empty() {
        /// Largest number of characters of fio's messages that are repeated.
        const SAID: usize = 2000;
        let text = String::from_utf8_lossy(bytes);
        let said: String = text.trim().chars().take(SAID).collect();
        let message = format!("it has no results of a job, only: {said}");
        return Err(Unreadable::whole(message));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use disklab_units::Nanos;

    use super::*;
    use disklab_results::integrity::check;

    const ONE: &str = "\
a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
ioengine=libaio, iodepth=8
fio-3.36
Starting 1 process

a: (groupid=0, jobs=1): err= 0: pid=7: Sun Nov 22 07:53:35 2026
  read: IOPS=2000, BW=8000KiB/s (8192kB/s)(8000KiB/1000msec)
    slat (usec): min=2, max=438, avg=23.22, stdev=44.87
    clat (usec): min=40, max=8979, avg=3900.00, stdev=2442.00
     lat (usec): min=58, max=8982, avg=3923.22, stdev=2436.54
    clat percentiles (usec):
     |  1.00th=[   53], 50.00th=[ 3359], 99.00th=[ 8848], 99.90th=[ 8979]
  lat (usec)   : 50=0.39%, 100=7.81%, 250=12.11%, 500=27.73%, 750=4.30%
  IO depths    : 1=0.4%, 2=0.8%, 4=1.6%, 8=97.3%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total=2000,0,0,0 short=0,0,0,0 dropped=0,0,0,0
";

    #[test]
    fn a_job_is_read_in_full() {
        let rows = parse(ONE.as_bytes()).unwrap();
        let [row] = rows.as_slice() else { panic!("one row") };
        let sample = row.sample.as_ref().unwrap();
        assert_eq!(
            (sample.requests, sample.bw_bytes, sample.lat_mean_ns),
            (2000, 8_192_000, 3_923_220.0)
        );
        assert_eq!(sample.p99_ns, Some(Nanos(8_848_000)));
        assert_eq!(
            (row.claim.in_flight, row.claim.limited, row.claim.block),
            (Some(8), false, Some(4096))
        );
        assert_eq!((check(&row.claim), row.place.as_str()), (vec![], "line 5 (a)"));
        let shallow = ONE.replace("8=97.3%", "8=7.3%").replace("IOPS=2000", "IOPS=1000");
        assert!(parse(shallow.as_bytes()).unwrap()[0].claim.limited, "not all were in flight");
        let wrong = ONE.replace("IOPS=2000", "IOPS=9000");
        assert!(
            !check(&parse(wrong.as_bytes()).unwrap()[0].claim).is_empty(),
            "what is printed counts"
        );
    }

    #[test]
    fn a_later_report_of_the_same_process_counts_and_another_run_is_another_row() {
        let interim = ONE.split_once("\n\n").unwrap().1;
        let later = format!("{ONE}\n{}", interim.replace("total=2000", "total=2001"));
        let rows = parse(later.as_bytes()).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].sample.as_ref().unwrap().requests, 2001);
        assert_eq!(parse(format!("{ONE}\n{ONE}").as_bytes()).unwrap().len(), 2);
    }

    #[test]
    fn what_is_cut_short_says_where() {
        let cut = |from: &str| parse(ONE.split_once(from).unwrap().0.as_bytes()).unwrap_err();
        assert_eq!(cut(" (8192kB").line, Some(6));
        assert_eq!(cut("     issued").line, Some(5));
        assert!(cut("Starting").message.starts_with("it has no results of a job"));
    }
}
