/** Arithmetic of spans on lanes: scales, marks of time, rows, and what is under a point. */

import type { Span } from "../lib/span";

/** Rectangles of one lane over time; columns of the same length, by start. */
export interface SpanLane {
  key: string;
  label: string;
  /** Told under the label where there is room. */
  hint?: string;
  /** Rows that lie over each other. */
  rows: number;
  rowHeight: number;
  /** Room under the lane. */
  gap?: number;
  from: ArrayLike<number>;
  to: ArrayLike<number>;
  row: ArrayLike<number>;
  /** Index in the palette. */
  colour: ArrayLike<number>;
  /** Words in a span that is wide enough. */
  text?: (n: number) => string;
  /** Many short spans as shares of the lane over pieces of time. */
  density?: Density;
}

/** Pieces of time, each with shares of the lane's height by colour; what is missing to 1 is empty. */
export interface Density {
  from: ArrayLike<number>;
  to: ArrayLike<number>;
  layers: { colour: number; share: ArrayLike<number> }[];
}

/** What is under a point. */
export interface Hit {
  lane: number;
  kind: "span" | "density";
  index: number;
}

/** Room for the names of lanes left of a picture of a width: pictures of one time below each other share it. */
export function gutterOf(width: number): number {
  return width < 560 ? 64 : 112;
}

/** Time to pixels within a width. */
export class Scale {
  readonly perMs: number;
  constructor(
    readonly from: number,
    readonly to: number,
    readonly left: number,
    readonly width: number,
  ) {
    this.perMs = width / Math.max(to - from, 1e-9);
  }
  x(ms: number): number {
    return this.left + (ms - this.from) * this.perMs;
  }
  ms(x: number): number {
    return this.from + (x - this.left) / this.perMs;
  }
}

/** Steps between marks of time, milliseconds. */
export const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3,
  7200e3, 14400e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3,
];

/** Marks of time: at most one in `room` pixels. */
export function marks(scale: Scale, room: number): number[] {
  const step = STEPS.find((step) => step * scale.perMs >= room) ?? STEPS[STEPS.length - 1] ?? 1;
  const out: number[] = [];
  for (let ms = Math.ceil(scale.from / step) * step; ms <= scale.to; ms += step) out.push(ms);
  return out;
}

/** `10 min`, `1:30`, `2 h`, `350 ms`: a mark as short as its step lets it be. */
export function markText(ms: number, step: number): string {
  const sign = ms < 0 ? "−" : "";
  const value = Math.abs(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  if (value === 0) return "0";
  if (step < 1000 && value < 10_000) return `${sign}${value} ms`;
  if (step < 1000) return `${sign}${(value / 1000).toFixed(step < 10 ? 3 : step < 100 ? 2 : 1)} s`;
  const seconds = Math.round(value / 1000);
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (h > 0) return step < 60_000 ? `${sign}${h}:${two(m)}:${two(s)}` : m === 0 ? `${sign}${h} h` : `${sign}${h} h ${two(m)}`;
  if (m > 0) return s === 0 ? `${sign}${m} min` : `${sign}${m}:${two(s)}`;
  return `${sign}${s} s`;
}

/** Puts spans that overlap into rows, each into the first row that is free; rows beyond `most` are shared. */
export function packed(spans: { from: number; to: number }[], most = 64): { row: number[]; rows: number } {
  const ends: number[] = [];
  const row = spans.map((span) => {
    let free = ends.findIndex((end) => end <= span.from);
    if (free < 0) free = ends.length < most ? ends.length : most - 1;
    ends[free] = Math.max(ends[free] ?? 0, span.to);
    return free;
  });
  return { row, rows: Math.max(ends.length, 1) };
}

/** Tops of lanes, one under the other; the last value is the height of all. */
export function tops(lanes: SpanLane[]): number[] {
  const out = [0];
  for (const lane of lanes) out.push((out[out.length - 1] ?? 0) + lane.rows * lane.rowHeight + (lane.gap ?? 6));
  return out;
}

/** Index of the last element that is at most `value`; -1 if there is none. */
export function lastAtMost(sorted: ArrayLike<number>, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if ((sorted[mid] ?? Infinity) <= value) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}

/** What is at a height (from the top of the lanes) and a time; `slackMs` widens spans that are hard to meet. */
export function hit(lanes: SpanLane[], laneTops: number[], y: number, ms: number, slackMs: number): Hit | undefined {
  const at = lastAtMost(laneTops, y);
  const lane = lanes[at];
  if (!lane) return undefined;
  const row = Math.floor((y - (laneTops[at] ?? 0)) / lane.rowHeight);
  if (row < 0 || row >= lane.rows) return undefined;
  let best = -1;
  let bestGap = slackMs;
  // Spans are by start, so that none after this one can be met; those before it may be of any length.
  for (let n = lastAtMost(lane.from, ms + slackMs); n >= 0; n -= 1) {
    if (lane.row[n] !== row) continue;
    const [from, to] = [lane.from[n] ?? 0, lane.to[n] ?? 0];
    const gap = ms < from ? from - ms : ms > to ? ms - to : 0;
    if (gap < bestGap || (gap === 0 && bestGap === 0 && best < 0)) {
      best = n;
      bestGap = gap;
    }
    if (gap === 0) break;
    // Within a row spans follow each other: the first before the point is the last that can be near.
    if (to < ms - slackMs) break;
  }
  if (best >= 0) return { lane: at, kind: "span", index: best };
  const density = lane.density;
  if (!density) return undefined;
  const bucket = lastAtMost(density.from, ms);
  return bucket >= 0 && (density.to[bucket] ?? 0) > ms ? { lane: at, kind: "density", index: bucket } : undefined;
}

/** A window of time moved and zoomed, kept within the whole. `factor` below 1 zooms in; `at` stays in its place. */
export function zoomed(window: Span, whole: Span, factor: number, at: number): Span {
  const least = Math.min(10, whole.to - whole.from);
  const length = Math.min(Math.max((window.to - window.from) * factor, least), whole.to - whole.from);
  const place = (at - window.from) / Math.max(window.to - window.from, 1e-9);
  return within({ from: at - place * length, to: at + (1 - place) * length }, whole);
}

/** A window shifted into the whole; its length stays. */
export function within(window: Span, whole: Span): Span {
  const length = Math.min(window.to - window.from, whole.to - whole.from);
  const from = Math.min(Math.max(window.from, whole.from), whole.to - length);
  return { from, to: from + length };
}
