/** The API's timeline as lanes of spans. */

import type { Band, Lane, Timeline } from "../api/types";
import { part } from "../lib/parts";
import type { Density, Hit, SpanLane } from "../spans/layout";

export type Colouring = "part" | "status" | "host";

/** What a span of a lane stands for. */
export type Meaning =
  | { kind: "sql" | "job" | "stage"; band: "sql" | "jobs" | "stages"; index: number }
  | { kind: "merged"; band: "sql" | "jobs" | "stages"; index: number }
  | { kind: "task"; lane: number; index: number }
  | { kind: "density"; lane: number; index: number };

export interface Adapted {
  /** What the lanes were made of. */
  timeline: Timeline;
  lanes: SpanLane[];
  palette: string[];
  meaning: (hit: Hit) => Meaning | undefined;
  /** Whole spans in the order of time, for the keyboard. */
  stops: Hit[];
}

/** Colours beyond the parts; hosts take turns. */
const HOSTS = ["--c-cpu", "--c-sched", "--c-fetch", "--c-gc", "--good", "--c-driver", "--c-deser", "--c-exec", "--c-write", "--c-other"];
const FIXED = { ok: "--c-idle4", wait: "--c-idle", failed: "--bad", running: "--c-sched", merged: "--c-idle2", success: "--good", critical: "--c-driver2", warning: "--c-exec" };

class Palette {
  readonly colours: string[] = [];
  readonly #index = new Map<string, number>();
  of(name: string): number {
    let index = this.#index.get(name);
    if (index === undefined) {
      index = this.colours.push(name) - 1;
      this.#index.set(name, index);
    }
    return index;
  }
}

interface Piece {
  from: number;
  to: number;
  row: number;
  colour: number;
  /** Position of what it stands for. */
  of: number;
  isMerged?: boolean;
}

function columns(pieces: Piece[]) {
  pieces.sort((a, b) => a.from - b.from || a.row - b.row);
  return {
    from: Float64Array.from(pieces, (one) => one.from),
    to: Float64Array.from(pieces, (one) => one.to),
    row: Uint16Array.from(pieces, (one) => one.row),
    colour: Uint16Array.from(pieces, (one) => one.colour),
  };
}

/** The parts of a task in the order in which they mostly follow each other. */
const FLOW = ["deserialize", "fetch_wait", "gc", "cpu", "other", "shuffle_write", "result_handling"];
/** Narrower tasks have one colour, that of their largest part. */
const SEGMENTS_PX = 14;

const STATUS_COLOURS: Record<string, string> = { success: FIXED.success, failed: FIXED.failed, killed: "--c-sched", running: FIXED.running, resubmitted: "--c-gc" };

/** What findings say of spans: the worst severity, by `sql 4` and `stage 3.0`. */
export type Severities = Map<string, string>;

/** Height that task lanes fill together, if their number lets them. */
const LANES_PX = 400;

export function adapt(source: Timeline, colouring: Colouring, msPerPx: number, severities: Severities = new Map()): Adapted {
  // A driver that ran no task is no lane.
  const timeline = { ...source, lanes: source.lanes.filter((lane) => lane.executor_id !== "driver" || source.lanes.length === 1 || lane.tasks.from_ms.length + lane.density.from_ms.length > 0) };
  const palette = new Palette();
  const lanes: SpanLane[] = [];
  const meanings: (Meaning[] | undefined)[] = [];
  const stops: { hit: Hit; from: number }[] = [];

  const bands = [
    { band: "sql", kind: "sql", label: "SQL", word: "SQL" },
    { band: "jobs", kind: "job", label: "Jobs", word: "job" },
    { band: "stages", kind: "stage", label: "Stages", word: "stage" },
  ] as const;
  for (const { band, kind, label } of bands) {
    const of = timeline[band];
    if (of.rows === 0) continue;
    const pieces = bandPieces(of, kind, palette, severities);
    const meaning = pieces.sort((a, b) => a.from - b.from || a.row - b.row).map((piece): Meaning =>
      piece.isMerged ? { kind: "merged", band, index: piece.of } : { kind, band, index: piece.of });
    const lane = lanes.length;
    pieces.forEach((piece, index) => {
      // A stage's waiting comes before its running: it has one stop.
      if (!piece.isMerged && meaning.findIndex((one) => one.kind === kind && one.index === piece.of) === index) stops.push({ hit: { lane, kind: "span", index }, from: piece.from });
    });
    const rowHeight = of.rows <= 8 ? 18 : of.rows <= 20 ? 11 : 5;
    lanes.push({
      key: band, label, hint: `${of.total}`, rows: of.rows, rowHeight, gap: 10, ...columns(pieces),
      text: (n) => {
        const one = meaning[n];
        return one ? spanText(timeline, one) : "";
      },
    });
    meanings.push(meaning);
  }

  const hosts = [...new Set(timeline.lanes.map((lane) => lane.host ?? ""))];
  const allRows = timeline.lanes.reduce((sum, lane) => sum + Math.max(lane.rows, 1), 0);
  timeline.lanes.forEach((lane, index) => {
    const host = palette.of(HOSTS[hosts.indexOf(lane.host ?? "") % HOSTS.length] ?? "--c-cpu");
    const pieces = taskPieces(timeline, lane, colouring, palette, host, msPerPx);
    const meaning = pieces.sort((a, b) => a.from - b.from || a.row - b.row).map((piece): Meaning => ({ kind: "task", lane: index, index: piece.of }));
    const rows = Math.max(lane.rows, 1);
    lanes.push({
      key: lane.name, label: laneLabel(lane), hint: laneHint(lane), rows, rowHeight: Math.min(Math.max(LANES_PX / allRows, 40 / rows, 2.5), 20), gap: 6,
      ...columns(pieces), density: density(timeline, lane, rows, colouring, palette, host),
    });
    meanings.push(meaning);
  });
  const firstLane = lanes.length - timeline.lanes.length;
  return {
    timeline,
    lanes,
    palette: palette.colours,
    meaning: (hit) => (hit.kind === "density" ? { kind: "density", lane: hit.lane - firstLane, index: hit.index } : meanings[hit.lane]?.[hit.index]),
    stops: stops.sort((a, b) => a.from - b.from).map((stop) => stop.hit),
  };
}

function laneLabel(lane: Lane): string {
  if (lane.executor_id) return lane.executor_id === "driver" ? "driver" : `exec ${lane.executor_id}`;
  return lane.stage_id !== null && lane.stage_id !== undefined ? `stage ${lane.stage_id}.${lane.stage_attempt}` : lane.name;
}

function laneHint(lane: Lane): string | undefined {
  if (lane.executor_id) return lane.host ?? undefined;
  return lane.cores ? `${lane.cores} cores` : undefined;
}

export function spanText(timeline: Timeline, one: Meaning): string {
  if (one.kind === "merged") return `${timeline[one.band].merged[one.index]?.spans ?? ""}`;
  if (one.kind === "task" || one.kind === "density") return "";
  const span = timeline[one.band].spans[one.index];
  if (!span) return "";
  const name = one.kind === "stage" ? `${span.id}.${span.attempt ?? 0}` : `${span.id}`;
  return `${name} ${span.label}`;
}

function bandPieces(band: Band, kind: string, palette: Palette, severities: Severities): Piece[] {
  const colour = (span: Band["spans"][number]): number => {
    const severity = severities.get(kind === "stage" ? `stage ${span.id}.${span.attempt ?? 0}` : `${kind} ${span.id}`);
    if (span.status === "failed") return palette.of(FIXED.failed);
    if (severity === "critical" || severity === "warning") return palette.of(severity === "critical" ? FIXED.critical : FIXED.warning);
    return palette.of(span.status === "running" || span.status === "active" ? FIXED.running : FIXED.ok);
  };
  const pieces: Piece[] = [];
  band.spans.forEach((span, of) => {
    const start = span.running_ms ?? span.from_ms;
    if (start > span.from_ms) pieces.push({ from: span.from_ms, to: start, row: span.row, colour: palette.of(FIXED.wait), of });
    pieces.push({ from: start, to: span.to_ms, row: span.row, colour: colour(span), of });
  });
  band.merged.forEach((merged, of) => {
    pieces.push({ from: merged.from_ms, to: merged.to_ms, row: merged.row, colour: palette.of(merged.failed > 0 ? FIXED.failed : FIXED.merged), of, isMerged: true });
  });
  return pieces;
}

function taskPieces(timeline: Timeline, lane: Lane, colouring: Colouring, palette: Palette, host: number, msPerPx: number): Piece[] {
  const { tasks } = lane;
  const keys = timeline.part_keys;
  const flow = FLOW.map((key) => keys.indexOf(key)).filter((index) => index >= 0);
  const pieces: Piece[] = [];
  tasks.from_ms.forEach((from, of) => {
    const to = tasks.to_ms[of] ?? from;
    const row = tasks.row[of] ?? 0;
    if (colouring !== "part") {
      const status = timeline.statuses[tasks.status[of] ?? 0] ?? "success";
      pieces.push({ from, to, row, of, colour: colouring === "host" ? host : palette.of(STATUS_COLOURS[status] ?? FIXED.ok) });
      return;
    }
    const parts = tasks.parts[of] ?? [];
    const total = parts.reduce((sum, ms) => sum + ms, 0);
    const isWhole = (to - from) / msPerPx < SEGMENTS_PX || total <= 0;
    if (isWhole) {
      const largest = parts.indexOf(Math.max(...parts));
      pieces.push({ from, to, row, of, colour: palette.of(total > 0 ? part(keys[largest] ?? "").colour : FIXED.ok) });
      return;
    }
    let at = from;
    for (const index of flow) {
      const ms = ((parts[index] ?? 0) / total) * (to - from);
      if (ms <= 0) continue;
      pieces.push({ from: at, to: at + ms, row, of, colour: palette.of(part(keys[index] ?? "").colour) });
      at += ms;
    }
  });
  return pieces;
}

function density(timeline: Timeline, lane: Lane, rows: number, colouring: Colouring, palette: Palette, host: number): Density | undefined {
  const { density } = lane;
  if (density.from_ms.length === 0) return undefined;
  const filled = density.busy.map((busy) => Math.min(busy / rows, 1));
  const base = { from: density.from_ms, to: density.from_ms.map((from) => from + density.piece_ms) };
  if (colouring === "host") return { ...base, layers: [{ colour: host, share: filled }] };
  if (colouring === "status") {
    const bad = density.attempts.map((attempts, n) => (attempts > 0 ? (density.unsuccessful[n] ?? 0) / attempts : 0));
    return { ...base, layers: [
      { colour: palette.of(FIXED.failed), share: filled.map((share, n) => share * (bad[n] ?? 0)) },
      { colour: palette.of(FIXED.success), share: filled.map((share, n) => share * (1 - (bad[n] ?? 0))) },
    ] };
  }
  const totals = density.parts.map((parts) => parts.reduce((sum, ms) => sum + ms, 0));
  const layers = FLOW.flatMap((key) => {
    const index = timeline.part_keys.indexOf(key);
    const share = filled.map((share, n) => ((totals[n] ?? 0) > 0 ? (share * (density.parts[n]?.[index] ?? 0)) / (totals[n] ?? 1) : 0));
    return share.some((one) => one > 0) ? [{ colour: palette.of(part(key).colour), share }] : [];
  });
  return { ...base, layers };
}
