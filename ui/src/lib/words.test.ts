import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { Finding } from "../api/types";
import { tsv } from "./copy";
import { alone, evidence, submitArguments, wallSaving } from "./findings";
import { coreTime, count, duration, grouped, ratioOf, share, short, size, sumOf } from "./format";
import { inOrder, mainParts, operatorClass, PARTS } from "./parts";
import { span, touches } from "./span";
import { type Column, sorted } from "./table";

// The cases of the program's own tests, so that every door says the same.
describe("numbers", () => {
  it("are as the program says them", () => {
    const cases: [number, string][] = [[0, "0 ms"], [999, "999 ms"], [12_345, "12.3 s"], [59_949, "59.9 s"], [59_950, "1 min 00 s"], [245_000, "4 min 05 s"], [7_380_000, "2 h 03 min"], [-1500, "-1.5 s"], [90_000_000, "1 d 01 h"]];
    for (const [ms, text] of cases) expect(duration(ms)).toBe(text);
    expect([size(512), size(3_565_158), size(200 * 2 ** 30)]).toEqual(["512 B", "3.4 MiB", "200 GiB"]);
    expect([share(0.001), share(0.43), share(0.999), share(1), share(0)]).toEqual(["<1 %", "43 %", ">99 %", "100 %", "0 %"]);
    expect([count(1, "task"), count(1234, "task"), count(2, "query", "queries")]).toEqual(["1 task", "1,234 tasks", "2 queries"]);
    expect([coreTime(4200), coreTime(720_000), coreTime(12_240_000)]).toEqual(["4.2 core-seconds", "12 core-minutes", "3.4 core-hours"]);
    expect([short(999), short(1234), short(5.2e9), short(0.5)]).toEqual(["999", "1.2k", "5.2G", "0.5"]);
    expect(grouped(-1_234_567)).toBe("-1,234,567");
  });
  it("that were not measured stay so", () => {
    expect([sumOf(null, undefined), sumOf(1, null), sumOf(1, 2)]).toEqual([undefined, 1, 3]);
    expect([ratioOf(null, 2), ratioOf(1, 0), ratioOf(1, 2)]).toEqual([undefined, undefined, 0.5]);
  });
});

describe("what a part saves alone", () => {
  it("is as the program says it", () => {
    const of = (low: number, high: number) => alone({ alone_ms: { low, high } } as Finding);
    expect([of(6400, 9800), of(0, 9800), of(9700, 9800), of(0, 0)]).toEqual(["6.4 s to 9.8 s alone", "up to 9.8 s alone", "9.8 s alone", undefined]);
    expect([alone({} as Finding), alone({ alone_ms: null } as Finding)]).toEqual([undefined, undefined]);
  });
});

describe("parts of time", () => {
  it("are named as the program names them", () => {
    const source = readFileSync(resolve(import.meta.dirname, "../../../crates/emberscope-analysis/src/attribution/mod.rs"), "utf8");
    const named = [...source.matchAll(/^ {4}\w+, "(\w+)", "([^"]+)", "/gm)].map(([, key, label]) => ({ key, label }));
    expect(named.length).toBeGreaterThan(15);
    expect(PARTS.map(({ key, label }) => ({ key, label }))).toEqual(named);
  });
  it("of operators are named as the program names them", () => {
    const source = readFileSync(resolve(import.meta.dirname, "../../../crates/emberscope-analysis/src/phrases.rs"), "utf8");
    const named = [...source.matchAll(/^ {8}"(\w+)" => "([^"]+)".to_owned\(\),/gm)].map(([, key, label]) => [key, label]);
    expect(named.length).toBe(2);
    for (const [key = "", label] of named) expect(operatorClass(key)).toBe(label);
    expect(operatorClass("scan")).toBe("scan");
  });
  it("have one order, and the small ones are told together", () => {
    const parts = [{ key: "gc", ms: 3 }, { key: "cpu", ms: 900 }, { key: "idle_tail", ms: 96 }, { key: "other", ms: 1 }, { key: "fetch_wait", ms: 0 }];
    expect(inOrder(parts).map((part) => part.key)).toEqual(["cpu", "other", "gc", "idle_tail"]);
    expect(mainParts(parts, 1000, 9)).toEqual({ told: [parts[1], parts[2]], rest: 4 });
    expect(mainParts([{ key: "cpu", ms: 999 }, { key: "gc", ms: 1 }], 1000, 9).rest).toBe(0);
  });
});

describe("findings", () => {
  it("have savings with a sign", () => {
    const saving = (low: number, high: number) => wallSaving({ wall_ms: { low, high }, core_ms: null, method: "replay" });
    expect([saving(1_260_000, 1_440_000), saving(0, 3000), saving(3000, 3000), saving(0, 0)]).toEqual(["−21 min 00 s to −24 min 00 s", "up to −3.0 s", "−3.0 s", undefined]);
  });
  it("have evidence with its unit", () => {
    expect([evidence("longest_ms", 61_000), evidence("read_bytes", 2048), evidence("gc_share", 0.25), evidence("records_ratio", 3.44), evidence("tasks", 12_345), evidence("is_local", true), evidence("files", null)])
      .toEqual(["1 min 01 s", "2.0 KiB", "25 %", "3.4 times", "12,345", "yes", "not measured"]);
    expect(evidence("keys", ["a", "b"])).toBe("a, b");
    expect(evidence("stages", [1, 2, 3, 4, 5, 6, 7, 8])).toBe("1, 2, 3, 4, 5, 6, and 2 more");
  });
  it("quote settings for a shell", () => {
    const finding = { recommendation: { text: "", changes: [
      { kind: "conf", key: "spark.x", current: null, proposed: "2g" },
      { kind: "conf", key: "spark.y", current: "1", proposed: "(remove)" },
      { kind: "conf", key: "spark.z", current: null, proposed: "it's $x" },
      { kind: "code", key: "join", current: null, proposed: "salt" },
    ] } } as unknown as Finding;
    expect(submitArguments(finding)).toBe(String.raw`--conf spark.x=2g --conf 'spark.z=it'\''s $x'`);
  });
});

describe("tables", () => {
  const column: Column<{ v: number | string | null }> = { key: "v", label: "v", value: (row) => row.v };
  it("sort numbers as numbers, and what is missing last either way", () => {
    const rows = [{ v: 10 }, { v: null }, { v: 9 }];
    expect(sorted(rows, column, false).map((row) => row.v)).toEqual([9, 10, null]);
    expect(sorted(rows, column, true).map((row) => row.v)).toEqual([10, 9, null]);
    expect(sorted([{ v: "exec 10" }, { v: "exec 9" }], column, false).map((row) => row.v)).toEqual(["exec 9", "exec 10"]);
  });
  it("are copied cell by cell, whatever the cells hold", () => {
    expect(tsv(["a", "b"], [["x\ty\nz", null], [1, undefined]])).toBe("a\tb\nx y z\t\n1\t");
  });
});

describe("spans of time", () => {
  it("are read from addresses, if they are any", () => {
    expect(span({ from: "1", to: "5" })).toEqual({ from: 1, to: 5 });
    for (const query of [{}, { from: "5", to: "1" }, { from: "x", to: "1" }, { from: "1" }]) expect(span(query)).toBeUndefined();
  });
  it("are touched by what overlaps them", () => {
    const chosen = { from: 10, to: 20 };
    expect([touches(chosen, 0, 10), touches(chosen, 0, 11), touches(chosen, 19, null), touches(chosen, 20, 30), touches(undefined, null, null), touches(chosen, null, 15)]).toEqual([false, true, true, false, true, false]);
  });
});
