/** The parts of wall time and core-time: their order, words and colours, everywhere the same. */

export interface PartLook {
  key: string;
  label: string;
  /** Custom property that holds its colour. */
  colour: string;
}

export const PARTS: PartLook[] = [
  { key: "cpu", label: "computing", colour: "--c-cpu" },
  { key: "other", label: "waiting or outside the JVM", colour: "--c-other" },
  { key: "python", label: "waiting for Python", colour: "--c-python" },
  { key: "input_wait", label: "waiting for input", colour: "--c-input" },
  { key: "commit", label: "committing files and state", colour: "--c-commit" },
  { key: "no_data", label: "waiting, no data moved", colour: "--c-nodata" },
  { key: "fetch_wait", label: "waiting for shuffle data", colour: "--c-fetch" },
  { key: "shuffle_write", label: "writing shuffle data", colour: "--c-write" },
  { key: "gc", label: "garbage collection", colour: "--c-gc" },
  { key: "deserialize", label: "starting tasks", colour: "--c-deser" },
  { key: "result_handling", label: "handling results", colour: "--c-result" },
  { key: "scheduling", label: "scheduling", colour: "--c-sched" },
  { key: "waiting_for_executors", label: "waiting for executors", colour: "--c-exec" },
  { key: "lost_work", label: "work that was lost", colour: "--c-lost" },
  { key: "unfinished", label: "tasks without an end", colour: "--c-idle4" },
  { key: "driver_startup", label: "driver, before the first job", colour: "--c-driver" },
  { key: "driver_planning", label: "driver, within a query", colour: "--c-driver2" },
  { key: "driver_between", label: "driver, between jobs", colour: "--c-driver3" },
  { key: "driver_shutdown", label: "driver, after the last job", colour: "--c-driver4" },
  { key: "idle_starting", label: "idle, before the first task", colour: "--c-idle" },
  { key: "idle_no_stage", label: "idle, no stage ran", colour: "--c-idle2" },
  { key: "idle_too_few_tasks", label: "idle, too few tasks", colour: "--c-idle3" },
  { key: "idle_tail", label: "idle, last tasks of a stage", colour: "--c-idle4" },
  { key: "idle_pending", label: "idle, tasks not yet launched", colour: "--c-idle5" },
  { key: "other_work", label: "work of others", colour: "--c-idle3" },
];

const BY_KEY = new Map(PARTS.map((part) => [part.key, part]));

/** How a part looks; one that is not known here has its key for a name. */
export function part(key: string): PartLook {
  return BY_KEY.get(key) ?? { key, label: key.replaceAll("_", " "), colour: "--c-other" };
}

const OPERATORS: Record<string, string> = { other: "projections, filters and other", no_operator: "stages outside the plan" };

/** A class of operators as people read it: as the reports of `diagnose` word it. */
export function operatorClass(key: string): string {
  return OPERATORS[key] ?? key.replaceAll("_", " ");
}

interface Piece {
  key: string;
  ms: number;
}

/** Parts in their fixed order, so that bars can be compared. */
export function inOrder<P extends Piece>(parts: P[]): P[] {
  const rank = new Map(PARTS.map((one, n) => [one.key, n]));
  return parts.filter((one) => one.ms > 0).sort((a, b) => (rank.get(a.key) ?? 99) - (rank.get(b.key) ?? 99));
}

/** The largest parts, down to half a per cent, and what all others make together. */
export function mainParts<P extends Piece>(parts: P[], total: number, most: number): { told: P[]; rest: number } {
  const bySize = parts.filter((one) => one.ms > 0).sort((a, b) => b.ms - a.ms);
  const small = bySize.findIndex((one, n) => n >= most || one.ms < total * 0.005);
  // One part alone needs as much room by its name as under another.
  const kept = small < 0 || small === bySize.length - 1 ? bySize.length : small;
  return { told: bySize.slice(0, kept), rest: bySize.slice(kept).reduce((sum, one) => sum + one.ms, 0) };
}
