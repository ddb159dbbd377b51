/** Clauses of a SQL text as pieces of it that can be shown and chosen. */

import type { Fragment, Mapped, SqlMapping } from "../api/types";

/** A stretch of text, all of it in the same clauses. */
export interface Piece {
  text: string;
  /** Where it begins, in UTF-16 units. */
  start: number;
  /** The innermost clause that it is of. */
  clause?: Clause;
  /** Whether it is the first of its clause, by which keys get there. */
  isFirst: boolean;
}

/** A clause that operators stand for. */
export interface Clause {
  key: string;
  fragment: Fragment;
  start: number;
  end: number;
  operators: Mapped[];
}

export const keyOf = ({ kind, start, end }: Fragment): string => `${kind} ${start.line}:${start.column}-${end.line}:${end.column}`;

/** Words for kinds. */
export const KINDS: Record<string, string> = {
  table: "table", join: "join", filter: "filter", group_by: "GROUP BY", distinct_aggregate: "aggregate over DISTINCT values", aggregate: "aggregate", distinct: "SELECT DISTINCT",
  window: "window function", order_by: "ORDER BY", distribute_by: "DISTRIBUTE, CLUSTER or SORT BY", limit: "LIMIT", set_operation: "set operation", lateral_view: "LATERAL VIEW", write: "write", call: "call",
};

/** Clauses that operators among `shown` stand for, in the order of the text. */
export function clauses({ statement, operators }: SqlMapping, shown: Set<number>): Clause[] {
  if (!statement) return [];
  const offset = offsets(statement.text);
  const found = new Map<string, Clause>();
  for (const operator of operators) {
    const { fragment } = operator;
    if (!fragment || !shown.has(operator.node_id)) continue;
    const key = keyOf(fragment);
    const known = found.get(key);
    if (known) known.operators.push(operator);
    // Columns are those of first and last characters.
    else found.set(key, { key, fragment, start: offset(fragment.start.line, fragment.start.column), end: offset(fragment.end.line, fragment.end.column + 1), operators: [operator] });
  }
  return [...found.values()].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** From line and column, both from 1 and columns in characters, to a place in the text. */
function offsets(text: string): (line: number, column: number) => number {
  const lines = text.split("\n");
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  return (line, column) => {
    const words = lines[line - 1];
    if (words === undefined) return text.length;
    let units = 0;
    let left = column - 1;
    for (const character of words) {
      if (left-- <= 0) break;
      units += character.length;
    }
    return (starts[line - 1] ?? 0) + units;
  };
}

/** The whole text in pieces that end where a clause begins or ends. */
export function pieces(text: string, all: Clause[]): Piece[] {
  const cuts = [...new Set([0, text.length, ...all.flatMap(({ start, end }) => [start, end])])].filter((at) => at <= text.length).sort((a, b) => a - b);
  const met = new Set<string>();
  return cuts.slice(0, -1).map((start, n) => {
    const end = cuts[n + 1] ?? text.length;
    const around = all.filter((one) => one.start <= start && one.end >= end);
    const clause = around.reduce<Clause | undefined>((inner, one) => (inner === undefined || one.end - one.start < inner.end - inner.start ? one : inner), undefined);
    const isFirst = clause !== undefined && !met.has(clause.key);
    if (clause) met.add(clause.key);
    return { text: text.slice(start, end), start, clause, isFirst };
  });
}

/** Which operator a clause leads to: of those that take most time the first, or, if one is chosen already, the next. */
export function next(clause: Clause, selected: number | undefined, share: (id: number) => number): number | undefined {
  const ordered = [...clause.operators].sort((a, b) => share(b.node_id) - share(a.node_id) || a.node_id - b.node_id).map((one) => one.node_id);
  return ordered[(ordered.indexOf(selected ?? -1) + 1) % ordered.length];
}
