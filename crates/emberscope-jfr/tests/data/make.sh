#!/bin/sh
# Makes the recordings of this directory: make.sh JAVA_HOME NAME, with NAME such as jdk17. Counts of events
# go beside each recording, as the JDK's own reader prints them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/Burn.java" "$here/all.jfc" "$work"
# In the directory itself, so that no path of this machine gets into the recording.
cd "$work"
"$1/bin/javac" -d . Burn.java
"$1/bin/java" -Xmx64m -XX:TieredStopAtLevel=1 -cp . \
  "-XX:StartFlightRecording:filename=recording.jfr,settings=all.jfc,dumponexit=true" Burn 1500
cp recording.jfr "$here/$2.jfr"
"$1/bin/jfr" summary recording.jfr | awk 'NF == 3 && $1 ~ /[.]/ && $2 > 0 { print $1, $2 }' | sort > "$here/$2.counts"
