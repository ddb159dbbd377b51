"""Asks Spark itself for the settings of `src/config/table.rs`: default, first version, unit of a bare number.

    python tests/config_referee.py OUT.json     (once for each Spark: with its own pyspark)

Writes what `tests/config_answers/<version>.json` holds, which `tests/it/config_keys.rs` compares with the
table. A setting that Spark does not register (it reads it by its name, or lacks it) gets no answer.
"""

import json
import pathlib
import re
import sys

from pyspark.sql import SparkSession

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src" / "config" / "table.rs"
# Objects whose initialisers register settings.
REGISTRIES = [
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Kryo$",
    "org.apache.spark.internal.config.Network$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.internal.config.Status$",
    "org.apache.spark.internal.config.UI$",
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.sql.internal.StaticSQLConf$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.deploy.k8s.Config$",
]
TIME_UNITS = {1: "h", 60: "min", 3600: "s", 3600_000: "ms"}
SIZE_UNITS = {1: "g", 1 << 10: "m", 1 << 20: "k", 1 << 30: "b"}


def registered(jvm):
    """All settings that Spark knows, by name."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in REGISTRIES:
        try:
            jvm.java.lang.Class.forName(name, True, loader)
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
    holder = jvm.java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$", True, loader)
    field = holder.getDeclaredField("knownConfigs")
    field.setAccessible(True)
    return field.get(holder.getField("MODULE$").get(None))


def converted(entry, text):
    """The number that Spark makes of a text, where it makes one."""
    try:
        value = entry.valueConverter().apply(text)
        value = value if isinstance(value, int) else value.get()
    except Exception:
        return None
    return value if isinstance(value, int) else None


def unit(entry):
    """What a bare number counts; None for what has no unit."""
    hours, gibibytes = converted(entry, "1h"), converted(entry, "1g")
    if hours is not None:
        return TIME_UNITS.get(hours)
    return SIZE_UNITS.get(gibibytes) if gibibytes is not None else None


def main(out):
    names = sorted(set(re.findall(r'"(spark\.[^"]+)"', TABLE.read_text())))
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    known = registered(session.sparkContext._jvm)
    answers = {}
    for name in names:
        entry = known.get(name)
        if entry is not None:
            default = entry.defaultValueString()
            answers[name] = [None if default == "<undefined>" else default, entry.version(), unit(entry)]
    lines = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items()]
    body = ",\n".join(lines)
    pathlib.Path(out).write_text(f'{{"version": "{session.version}", "settings": {{\n{body}\n}}}}\n')
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
