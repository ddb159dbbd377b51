/** Findings in words: place, saving, evidence. */

import type { Finding, Savings } from "../api/types";
import { byUnit, coreTime, duration, grouped, inWords, share } from "./format";

/** Where a finding holds, from the narrowest place to the widest; empty for the whole run. */
export function place({ scope }: Finding): string[] {
  const places: string[] = [];
  const has = (value: unknown): boolean => value !== null && value !== undefined;
  if (has(scope.stage_id)) places.push(has(scope.stage_attempt) ? `stage ${scope.stage_id}.${scope.stage_attempt}` : `stage ${scope.stage_id}`);
  if (has(scope.node_id)) places.push(`plan node ${scope.node_id}`);
  if (has(scope.sql_id)) places.push(`SQL ${scope.sql_id}`);
  if (has(scope.job_id)) places.push(`job ${scope.job_id}`);
  if (has(scope.executor_id)) places.push(`executor ${scope.executor_id}`);
  return places;
}

/** `−21 min to −24 min`; undefined where no wall time is saved or nothing can be said. */
export function wallSaving({ wall_ms: range }: Savings): string | undefined {
  if (!range || range.high <= 0) return undefined;
  const [low, high] = [duration(range.low), duration(range.high)];
  if (range.low <= 0) return `up to −${high}`;
  return low === high ? `−${low}` : `−${low} to −${high}`;
}

/** What is saved where nothing else of its place is changed, if that is more than what the finding claims; `4.2 s to
 * 6.4 s alone`. */
export function alone({ alone_ms: range }: Finding): string | undefined {
  if (!range || range.high <= 0) return undefined;
  const [low, high] = [duration(range.low), duration(range.high)];
  if (range.low <= 0) return `up to ${high} alone`;
  // As near as that they are one number.
  if (low === high || (range.high - range.low) * 20 < range.high) return `${high} alone`;
  return `${low} to ${high} alone`;
}

export function coreSaving({ core_ms: ms }: Savings): string | undefined {
  // Less would be told as nothing.
  return ms && ms >= 50 ? coreTime(ms) : undefined;
}

const METHODS: Record<string, string> = { replay: "replayed", measured: "measured", modelled: "estimated" };

/** How sure a finding is, and how its saving was found. */
export function sureness(finding: Finding): string {
  const method = wallSaving(finding.savings) ? METHODS[finding.savings.method] : undefined;
  return [`confidence ${finding.confidence}`, method && `saving ${method}`].filter(Boolean).join(" · ");
}

const LISTED = 6;

/** A piece of evidence as people read it; its name ends in its unit. */
export function evidence(name: string, value: unknown): string {
  if (value === null || value === undefined) return "not measured";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (name.endsWith("_ratio")) return `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} times`;
    if (name.endsWith("_share")) return share(value);
    return /_(ms|ns|bytes)$/.test(name) ? byUnit(name, value) : Number.isInteger(value) ? grouped(value) : value.toFixed(2);
  }
  if (Array.isArray(value)) {
    const told = value.slice(0, LISTED).map((one) => evidence(name, one));
    if (value.length > LISTED) told.push(`and ${value.length - LISTED} more`);
    return told.join(", ") || "none";
  }
  if (typeof value === "object") {
    return Object.entries(value).map(([key, one]) => `${inWords(key)} ${evidence(key, one)}`).join(" · ");
  }
  return String(value);
}

export function evidenceRows(finding: Finding): { label: string; text: string }[] {
  return Object.entries(finding.evidence ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ({ label: inWords(name).replace(/ (share|ratio)$/, " $1"), text: evidence(name, value) }));
}

const KINDS: Record<string, string> = { code: "code", data: "data", resource: "cluster" };

/** Where a change is made, if it is no setting. */
export const changeKind = (kind: string): string | undefined => KINDS[kind];

/** The settings that a finding proposes, as arguments of `spark-submit`, quoted for a shell. */
export function submitArguments(finding: Finding): string {
  return finding.recommendation.changes
    // `(remove)` and the like say what to do; they are no values.
    .filter((change) => change.kind === "conf" && change.proposed && !change.proposed.startsWith("("))
    .map((change) => `${change.key}=${change.proposed}`)
    .map((pair) => (/^[\w.\-=:/,+@%]*$/.test(pair) ? `--conf ${pair}` : `--conf '${pair.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** The diagnosis as text to paste into a message. */
export function asText(name: string, headline: string, findings: Finding[]): string {
  const lines = [`${name}: ${headline}`];
  for (const finding of findings) {
    lines.push("", `- ${finding.title}${wallSaving(finding.savings) ? ` (${wallSaving(finding.savings)})` : ""}`, `  ${finding.recommendation.text}`);
    const conf = submitArguments(finding);
    if (conf) lines.push(`  ${conf}`);
  }
  return lines.join("\n");
}
