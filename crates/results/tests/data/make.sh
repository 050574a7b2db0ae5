#!/bin/sh
# Makes the fio samples beside this script. fio 3.33 made the committed ones. The numbers differ each
# time, and tests that quote numbers of a sample then have to be adapted; most compare a sample with
# itself.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
dd if=/dev/zero of=file bs=1M count=8 status=none
job="fio --name=job --filename=file --size=8m --bs=4k --direct=1 --clocksource=clock_gettime --randseed=1"

# This sample has one job with every histogram, as a trial of the lab has.
$job --rw=randread --ioengine=libaio --iodepth=8 --io_size=4m --lat_percentiles=1 \
     --output-format=json+ --output="$here/randread.json"
# Two jobs read and write, and fio reports them as one.
$job --rw=randrw --ioengine=libaio --iodepth=4 --io_size=2m --numjobs=2 --group_reporting \
     --output-format=json+ --output="$here/randrw-grouped.json"
# Two jobs read with a synchronous engine, and fio reports each by itself.
$job --rw=randread --ioengine=psync --io_size=1m --numjobs=2 --output-format=json+ --output="$here/two-jobs.json"
# This sample has no histogram, only fio's own percentiles.
$job --rw=read --ioengine=psync --io_size=1m --output-format=json --output="$here/plain.json"
# The write fails at once. fio's complaint is before the JSON, because both go to one file.
fio --name=full --filename=/dev/full --rw=write --bs=4k --size=64k --output-format=json+ > "$here/failed.json" 2>&1 || true
# fio stops before its first request, exits with 1, and yet says `"error" : 0`.
fio --name=nothing --filename=missing --rw=randread --bs=4k --size=1m --allow_file_create=0 \
    --output-format=json+ > "$here/nothing.json" 2>&1 || true
