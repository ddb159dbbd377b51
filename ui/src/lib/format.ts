/** Numbers as a person would say them, in the same words as every other door of the program. */

const two = (value: number): string => String(value).padStart(2, "0");

/** `2 h 03 min`, `1 min 07 s`, `30.3 s`, `450 ms`. */
export function duration(milliseconds: number): string {
  const sign = milliseconds < 0 ? "-" : "";
  const ms = Math.abs(Math.round(milliseconds));
  const seconds = Math.floor((ms + 500) / 1000);
  if (ms < 1000) return `${sign}${ms} ms`;
  if (ms < 59_950) return `${sign}${Math.floor((ms + 50) / 1000)}.${Math.floor((ms + 50) / 100) % 10} s`;
  if (seconds < 3600) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (seconds < 86_400) return `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
  return `${sign}${Math.floor(seconds / 86_400)} d ${two(Math.floor(seconds / 3600) % 24)} h`;
}

/** `512 B`, `3.4 MiB`, `1.2 GiB`. */
export function size(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = Math.max(bytes, 0);
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

/** `43 %`; something above zero is never `0 %`, and less than all never `100 %`. */
export function share(part: number): string {
  if (part > 0 && part < 0.005) return "<1 %";
  if (part >= 0.995 && part < 1) return ">99 %";
  return `${(part * 100).toFixed(0)} %`;
}

const NUMBERS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `1,234,567`. */
export function grouped(value: number): string {
  return NUMBERS.format(value);
}

/** `1 task`, `12 tasks`. */
export function count(value: number, noun: string, plural = `${noun}s`): string {
  return value === 1 ? `1 ${noun}` : `${grouped(value)} ${plural}`;
}

/** `4.2 core-seconds`, `12 core-minutes`, `3.4 core-hours`. */
export function coreTime(coreMs: number): string {
  const ms = Math.max(coreMs, 0);
  const number = (value: number): string => (value < 9.95 ? value.toFixed(1) : value.toFixed(0));
  if (ms < 120_000) return `${number(ms / 1e3)} core-seconds`;
  if (ms < 7_200_000) return `${number(ms / 60e3)} core-minutes`;
  return `${number(ms / 3600e3)} core-hours`;
}

/** `1.2k`, `3.4M`: for axes, where there is little room. */
export function short(value: number): string {
  const units: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, unit] of units) {
    if (Math.abs(value) >= size) return `${trimmed(value / size)}${unit}`;
  }
  return trimmed(value);
}

function trimmed(value: number): string {
  const digits = Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : 1;
  return value.toFixed(digits).replace(/\.0$/, "");
}

/** `2026-11-28 02:00`, UTC. */
export function instant(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 16).replace("T", " ");
}

/** A value by the unit that its name ends in. */
export function byUnit(name: string, value: number): string {
  if (name.endsWith("_core_ms")) return coreTime(value);
  if (name.endsWith("_ms")) return duration(value);
  if (name.endsWith("_ns")) return duration(value / 1e6);
  if (name.endsWith("_bytes")) return size(value);
  if (name.endsWith("_share") || name.endsWith("_ratio")) return value.toFixed(2);
  return grouped(value);
}

/** A name in JSON as words, without its unit: `executor run time`. */
export function inWords(name: string): string {
  const words = name.replace(/_(ms|ns|bytes)$/, "").replaceAll("_", " ").replace(/([a-z])([A-Z])/g, (_, end: string, begin: string) => `${end} ${begin.toLowerCase()}`);
  return words.replace(/^(gc|cpu|sql|jvm)\b/, (word) => word.toUpperCase());
}

type Measured = number | null | undefined;

/** The sum of what was measured; nothing where nothing was. */
export function sumOf(...values: Measured[]): number | undefined {
  const measured = values.filter((value): value is number => value !== null && value !== undefined);
  return measured.length === 0 ? undefined : measured.reduce((sum, value) => sum + value, 0);
}

/** One of another; nothing where one was not measured or the other is nothing. */
export function ratioOf(part: Measured, whole: Measured): number | undefined {
  return part === null || part === undefined || !whole ? undefined : part / whole;
}
