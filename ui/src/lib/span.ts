/** A span of a run's time, milliseconds from its start; it is kept in the address as `from` and `to`. */
export interface Span {
  from: number;
  to: number;
}

/** The span in an address, if there is a proper one. */
export function span(query: Record<string, string | undefined>): Span | undefined {
  const [from, to] = [Number(query.from ?? NaN), Number(query.to ?? NaN)];
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { from, to } : undefined;
}

/** Whether something from `start` to `end` (null: unknown, `null` end: still there) lies in the span at any time. */
export function touches(chosen: Span | undefined, start: number | null | undefined, end: number | null | undefined): boolean {
  if (!chosen) return true;
  if (start === null || start === undefined) return false;
  return start < chosen.to && (end ?? Infinity) > chosen.from;
}
