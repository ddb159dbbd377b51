#!/usr/bin/env bash
# Builds the companion: jvm/build.sh [JARS [OUT]]. JARS is the directory of a Spark installation's jars; without it,
# $SPARK_HOME or the newest pyspark of the cache. The jar runs on Spark 3.4 to 4.3, whichever it was compiled against,
# and on Java 8 and later.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${EMBERSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/emberscope}
jars=${1:-${SPARK_HOME:+$SPARK_HOME/jars}}
[ -n "$jars" ] || jars=$(compgen -G "$cache/venv-[0-9]*/lib/python*/site-packages/pyspark/jars" | sort -V | tail -n 1) || true
[ -d "${jars:-}" ] || { echo "no jars of Spark: name their directory, or set SPARK_HOME" >&2; exit 2; }
out=${2:-$here/target/emberscope-spark.jar}

# Only what signatures mention: nothing of Scala's collections is used, which differ between 2.12 and 2.13.
path=
for name in spark-core_ spark-common-utils spark-tags_ scala-library- jackson-core-2 jackson-annotations-2 \
    jackson-databind-2 metrics-core- hadoop-client-api- hadoop-client-runtime- slf4j-api-; do
    for jar in "$jars/$name"*.jar; do
        if [ -e "$jar" ]; then path=$path:$jar; fi
    done
done
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
mkdir -p "$(dirname "$out")"
javac --release 8 -Xlint:all,-options,-classfile,-processing,-serial -Werror -encoding UTF-8 \
    -cp "${path#:}" -d "$classes" "$here"/src/io/emberscope/*.java
jar cf "$out" -C "$classes" .
echo "$out"
