/** A log whose names are markup and scripts, made of a real one: what a page must show as text. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What would set `window.emberscopeWasFooled` if it were ever taken for markup. */
export const MARKUP = `"><img src=x onerror="window.emberscopeWasFooled=1"><script>window.emberscopeWasFooled=1</script>`;

/** Fields whose texts a log's writer chooses. */
const CHOSEN = new Set([
  "App Name", "User", "Stage Name", "Details", "description", "details", "Name", "Scope", "Callsite", "nodeName", "simpleString", "physicalPlanDescription", "name",
  "Host", "spark.app.name", "spark.job.description", "spark.jobGroup.id", "callSite.short", "callSite.long", "spark.job.tags",
]);

function spoilt(value: unknown, key: string): unknown {
  // Metrics of Spark's own are recognised by their names.
  if (key === "Accumulables") return value;
  if (typeof value === "string") return CHOSEN.has(key) ? `${value}${MARKUP}` : value;
  if (Array.isArray(value)) return value.map((one) => spoilt(one, key));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, spoilt(one, name)]));
  return value;
}

export function writeHostileLog(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const lines = readFileSync(join(from, name), "utf8").split("\n").filter(Boolean).map((text) => JSON.stringify(spoilt(JSON.parse(text), "")));
    writeFileSync(join(to, "app-hostile"), `${lines.join("\n")}\n`);
  }
}
