/** Where the nodes of a flame graph lie, as shares of its width: arithmetic apart from the painting. */

import type { FlameGraph } from "../api/types";

export type Graph = FlameGraph["graph"];

export interface FlameLayout {
  size: number;
  parent: number[];
  frame: number[];
  total: number[];
  own: number[];
  /** Weights in what is compared with; undefined where nothing is. */
  before: number[] | undefined;
  /** Sums that shares are of; at least 1. */
  sum: number;
  sumBefore: number;
  depth: Uint16Array;
  left: Float64Array;
  width: Float64Array;
  /** Position behind the last node below. */
  end: Uint32Array;
  first: Int32Array;
  previous: Int32Array;
  next: Int32Array;
}

/** Nodes stand before what is below them, so one pass places all. */
export function layout(graph: Graph): FlameLayout {
  const { parent, frame, total, own } = graph.nodes;
  const before = graph.nodes.baseline_total ?? undefined;
  const size = parent.length;
  const sum = Math.max(graph.sum, 1);
  const sumBefore = Math.max(graph.baseline_sum ?? 0, 1);
  const [depth, end] = [new Uint16Array(size), new Uint32Array(size)];
  const [left, width, used] = [new Float64Array(size), new Float64Array(size), new Float64Array(size)];
  const links = () => new Int32Array(size).fill(-1);
  const [first, previous, next, last] = [links(), links(), links(), links()];
  for (let n = 0; n < size; n += 1) {
    // Of two graphs each counts for half, whatever their sums.
    width[n] = before ? ((total[n] ?? 0) / sum + (before[n] ?? 0) / sumBefore) / 2 : (total[n] ?? 0) / sum;
    if (n === 0) continue;
    const p = parent[n] ?? 0;
    depth[n] = (depth[p] ?? 0) + 1;
    left[n] = (left[p] ?? 0) + (used[p] ?? 0);
    used[p] = (used[p] ?? 0) + (width[n] ?? 0);
    const sibling = last[p] ?? -1;
    if (sibling >= 0) {
      previous[n] = sibling;
      next[sibling] = n;
    } else first[p] = n;
    last[p] = n;
  }
  for (let n = size - 1; n >= 0; n -= 1) {
    end[n] = Math.max(end[n] ?? 0, n + 1);
    const p = parent[n] ?? 0;
    if (n > 0) end[p] = Math.max(end[p] ?? 0, end[n] ?? 0);
  }
  return { size, parent, frame, total, own, before, sum, sumBefore, depth, left, width, end, first, previous, next };
}

/** Whether a node is the zoomed one or below it. */
export const isInside = (of: FlameLayout, zoom: number, node: number): boolean => node >= zoom && node < (of.end[zoom] ?? 0);

/** Where a node is, in pixels of a picture so wide; those above the zoomed node fill the width. */
export function box(of: FlameLayout, zoom: number, pixels: number, node: number): { x: number; w: number } {
  if ((of.depth[node] ?? 0) < (of.depth[zoom] ?? 0)) return { x: 0, w: pixels };
  const scale = pixels / (of.width[zoom] || 1);
  return { x: ((of.left[node] ?? 0) - (of.left[zoom] ?? 0)) * scale, w: (of.width[node] ?? 0) * scale };
}

/** Pixels below which a node is not drawn. */
export const LEAST = 0.4;

/** Calls `each` for all nodes that are wide enough to be seen: those above the zoomed one, then those below. */
export function visible(of: FlameLayout, zoom: number, pixels: number, each: (node: number) => void): void {
  for (let at = zoom; at !== 0; at = of.parent[at] ?? 0) each(of.parent[at] ?? 0);
  const scale = pixels / (of.width[zoom] || 1);
  const end = of.end[zoom] ?? 0;
  for (let n = zoom; n < end; ) {
    if ((of.width[n] ?? 0) * scale < LEAST) n = Math.max(of.end[n] ?? 0, n + 1);
    else {
      each(n);
      n += 1;
    }
  }
}

/** What a text finds: a regular expression in any case, or where that is none, the text itself. */
export function pattern(text: string): RegExp | undefined {
  if (text === "") return undefined;
  try {
    return new RegExp(text, "i");
  } catch {
    return new RegExp(quoted(text), "i");
  }
}

export const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Weight of stacks that hold a frame that matches; within a match no other counts again. */
export function weightOf(of: FlameLayout, hits: boolean[]): number {
  let weight = 0;
  for (let n = 1; n < of.size; ) {
    if (hits[of.frame[n] ?? 0]) {
      weight += of.total[n] ?? 0;
      n = of.end[n] ?? n + 1;
    } else n += 1;
  }
  return weight;
}

/** Change of a node's share of its graph, from -1 to 1. */
export const change = (of: FlameLayout, node: number): number => (of.total[node] ?? 0) / of.sum - (of.before?.[node] ?? 0) / of.sumBefore;
