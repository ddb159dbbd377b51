/** Values with their units. */

import { duration, grouped, size } from "../lib/format";

/** A value as people read it; quantiles may lie between whole numbers. */
export function shown(unit: string, value: number): string {
  switch (unit) {
    case "milliseconds":
      return duration(value);
    case "nanoseconds":
      return duration(value / 1e6);
    case "bytes":
      return size(value);
    case "average":
      return value.toFixed(1);
    default:
      return grouped(value);
  }
}

/** Round marks between two values for an axis; powers of ten where it is logarithmic. */
export function axisMarks(low: number, high: number, unit: string, isLog: boolean, most: number): number[] {
  if (high <= low) return [low];
  if (isLog) {
    const [first, last] = [Math.floor(Math.log10(Math.max(low, 1))), Math.ceil(Math.log10(Math.max(high, 1)))];
    const step = Math.max(Math.ceil((last - first) / most), 1);
    const out: number[] = [];
    for (let power = first; power <= last; power += step) out.push(10 ** power);
    return out.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  }
  const rough = (high - low) / most;
  // Bytes are round in powers of two.
  const base = unit === "bytes" ? 2 ** Math.floor(Math.log2(rough)) : 10 ** Math.floor(Math.log10(rough));
  const step = (unit === "bytes" ? [1, 2] : [1, 2, 5, 10]).map((factor) => factor * base).find((one) => one >= rough) ?? rough;
  const out: number[] = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-6; value += step) out.push(value);
  return out;
}
