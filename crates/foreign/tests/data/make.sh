#!/bin/sh
# Writes the output of fio into a folder for each version: `make.sh FIO...` with programs of several
# versions. The committed files are of 3.25, 3.33, 3.39 and 3.41, as Debian has them. The numbers
# differ each time; the tests compare the formats of one run with each other.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
dd if=/dev/zero of=file bs=1M count=8 status=none
short="--filename=file --size=8m --bs=4k --direct=1 --randseed=1"

# Runs fio once with several output formats, and writes each to a file of its own.
run() { # NAME ARGUMENTS...
    name=$1
    shift
    "$fio" --name="$name" "$@" > all 2>&1 || true
    grep -E '^[345];fio-' all > "$out/$name.terse" || rm "$out/$name.terse"
    sed -n '/^{/,/^}/p' all > "$out/$name.json"
    sed -e '/^{/,/^}/d' -e '/^[345];fio-/d' all > "$out/$name.txt"
}

three() { # NAME ARGUMENTS...
    run "$@" --output-format=normal,terse,json
}

for fio in "$@"; do
    version=$("$fio" --version)
    out=$here/${version#fio-}
    mkdir -p "$out"
    async="$short --ioengine=libaio"
    three randread $async --rw=randread --iodepth=8 --io_size=8m
    three two $async --rw=randwrite --iodepth=4 --io_size=2m --name=second --stonewall $async --rw=read --bs=64k --iodepth=2
    three mixed $async --rw=randrw --iodepth=8 --numjobs=2 --io_size=4m --group_reporting
    three unified $async --rw=randrw --iodepth=8 --io_size=4m --unified_rw_reporting=1
    run plus $async --rw=randrw --iodepth=8 --io_size=1m --output-format=normal,json+
    run terse5 $async --rw=randrw --iodepth=8 --io_size=4m --output-format=normal,terse,json --terse-version=5
    case $version in
        fio-3.33 | fio-3.41)
            three grouped $short --rw=randread --ioengine=psync --numjobs=4 --io_size=1m --group_reporting
            three apart $short --rw=randread --ioengine=psync --numjobs=2 --io_size=1m
            three lat $async --rw=randread --iodepth=4 --io_size=4m --lat_percentiles=1 --clat_percentiles=0
            three synced --filename=file --size=8m --bs=16k --rw=write --ioengine=psync --io_size=1m --fsync=4
            three both $async --rw=randrw --iodepth=8 --io_size=4m --unified_rw_reporting=both
            # The logs of `each` have every request of one process. The logs of `mean` have a mean
            # every 100 ms, for each of two processes.
            "$fio" --name=each $async --rw=randrw --iodepth=4 --io_size=1m --write_lat_log=each --write_bw_log=each \
                --write_iops_log=each --output-format=json --output="$out/each.json"
            "$fio" --name=mean $async --rw=randread --iodepth=4 --numjobs=2 --time_based --ramp_time=300ms --runtime=1 \
                --log_avg_msec=100 --log_offset=1 --write_lat_log=mean --write_bw_log=mean --write_iops_log=mean \
                --output-format=json --output="$out/mean.json"
            rm -f "$out"/*.log
            mv ./*.log "$out"
            ;;
    esac
    [ "$version" = fio-3.41 ] || continue
    run terse4 $async --rw=randrw --iodepth=8 --io_size=4m --output-format=normal,terse,json --terse-version=4
    three limited $async --rw=randread --iodepth=8 --time_based --runtime=1 --rate_iops=200
    three timed $async --rw=randread --iodepth=16 --time_based --runtime=1
    three sizes $async --rw=randread --iodepth=4 --io_size=4m --bsrange=4k-64k
    three described $async --rw=randread --iodepth=4 --io_size=1m --description='a; b' --continue_on_error=all
    # fio's complaints and its report go to one file, with the complaints first.
    "$fio" --name=full --filename=/dev/full --rw=write --bs=4k --size=64k > "$out/full.txt" 2>&1 || true
    "$fio" --name=full --filename=/dev/full --rw=write --bs=4k --size=64k --output-format=json > "$out/full.json" 2>&1 || true
    "$fio" --name=missing --filename=missing --rw=randread --size=1m --allow_file_create=0 > "$out/missing.txt" 2>&1 || true
    "$fio" --name=missing --filename=missing --rw=randread --size=1m --allow_file_create=0 --output-format=json \
        > "$out/missing.json" 2>&1 || true
done
