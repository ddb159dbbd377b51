/** Where the operators of a plan go. */

import { Graph, layout } from "@dagrejs/dagre";

export interface Box {
  id: number;
  width: number;
  height: number;
  cluster?: number | null;
}

export interface Flow {
  from: number;
  to: number;
}

export interface Placed {
  width: number;
  height: number;
  /** Middle of each box. */
  boxes: { id: number; x: number; y: number; width: number; height: number }[];
  edges: { from: number; to: number; points: { x: number; y: number }[] }[];
  clusters: { id: number; x: number; y: number; width: number; height: number }[];
}

/** Rows flow downward: what reads is at the top, the result at the bottom. */
export function place(boxes: Box[], flows: Flow[], clusters: number[]): Placed {
  const graph = new Graph({ compound: true });
  graph.setGraph({ rankdir: "TB", nodesep: 26, ranksep: 34, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  const used = new Set(boxes.map((box) => box.cluster).filter((cluster) => cluster !== null && cluster !== undefined));
  for (const id of clusters) if (used.has(id)) graph.setNode(`c${id}`, {});
  for (const { id, width, height, cluster } of boxes) {
    graph.setNode(String(id), { width, height });
    if (cluster !== null && cluster !== undefined && used.has(cluster) && clusters.includes(cluster)) graph.setParent(String(id), `c${cluster}`);
  }
  const known = new Set(boxes.map((box) => box.id));
  for (const { from, to } of flows) if (known.has(from) && known.has(to)) graph.setEdge(String(from), String(to));
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const at = (name: string) => graph.node(name) as { x: number; y: number; width: number; height: number };
  return {
    width: Number.isFinite(width) ? width : 0,
    height: Number.isFinite(height) ? height : 0,
    boxes: boxes.map(({ id }) => ({ id, ...pick(at(String(id))) })),
    edges: graph.edges().map((edge) => ({
      from: Number(edge.v),
      to: Number(edge.w),
      points: ((graph.edge(edge) as { points?: { x: number; y: number }[] }).points ?? []).map(({ x, y }) => ({ x, y })),
    })),
    clusters: clusters.filter((id) => used.has(id)).map((id) => ({ id, ...pick(at(`c${id}`)) })),
  };
}

const pick = ({ x, y, width, height }: { x: number; y: number; width: number; height: number }) => ({ x, y, width, height });

/** A line through points, rounded at each. */
export function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${first.x},${first.y}`;
  rest.forEach((point, n) => {
    const next = rest[n + 1];
    // Halfway to the next point the curve turns, so that it goes through no corner.
    if (next) path += ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`;
    else path += ` L${point.x},${point.y}`;
  });
  return path;
}
