import { describe, expect, it } from "vitest";
import type { Fragment, Mapped, SqlMapping } from "../api/types";
import { clauses, next, pieces } from "./clauses";

const fragment = (kind: Fragment["kind"], line: number, from: number, to: number): Fragment => ({ kind, start: { line, column: from }, end: { line, column: to }, text: "", columns: [], tables: [] });
const operator = (node_id: number, of: Fragment | null): Mapped => ({ node_id, operator: "X", keys: [], fragment: of, confidence: "high", reason: "", stages: [], stages_confidence: null, tasks: null, rows: null });
const mapping = (text: string, operators: Mapped[]): SqlMapping => ({ sql_id: 0, version: 0, statement: { text, origin: "log", fragments: [], notes: [] }, operators, hot_keys: [] });

describe("clauses of a text", () => {
  const join = fragment("join", 2, 6, 14);
  const table = fragment("table", 2, 6, 8);
  const all = clauses(mapping("FROM 🜂t\nJOIN dim ON a=b", [operator(1, join), operator(2, table), operator(3, join), operator(4, null), operator(9, table)]), new Set([1, 2, 3, 4]));

  it("are those of operators that are shown, the outer one first", () => {
    expect(all.map((one) => [one.fragment.kind, one.operators.map((each) => each.node_id)])).toEqual([["join", [1, 3]], ["table", [2]]]);
  });
  it("cut the text into pieces that make it up again", () => {
    const text = "FROM 🜂t\nJOIN dim ON a=b";
    const cut = pieces(text, all);
    expect(cut.map((one) => one.text).join("")).toBe(text);
    expect(cut.map((one) => [one.text, one.clause?.fragment.kind, one.isFirst])).toEqual([["FROM 🜂t\nJOIN ", undefined, false], ["dim", "table", true], [" ON a=", "join", true], ["b", undefined, false]]);
  });
  it("count columns in characters", () => {
    const [one] = clauses(mapping("🜂🜂 t", [operator(1, fragment("table", 1, 4, 4))]), new Set([1]));
    expect("🜂🜂 t".slice(one?.start, one?.end)).toBe("t");
  });
  it("lead to their operators in turn, the longest first", () => {
    const [outer] = all;
    if (!outer) throw new Error("no clause");
    const share = (id: number) => (id === 3 ? 0.9 : 0.1);
    expect([next(outer, undefined, share), next(outer, 3, share), next(outer, 1, share)]).toEqual([3, 1, 3]);
  });
  it("may lie beyond the text", () => {
    const [one] = clauses(mapping("SELECT 1", [operator(1, fragment("table", 9, 1, 2))]), new Set([1]));
    expect(pieces("SELECT 1", one ? [one] : []).map((each) => each.text).join("")).toBe("SELECT 1");
  });
});
