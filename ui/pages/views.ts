/** Every view of a run, with addresses that lead to something. */

import { ask } from "./browser";

export interface View {
  name: string;
  hash: string;
}

interface Run {
  id: string;
  name: string | null;
}

export async function runs(): Promise<Run[]> {
  return (await ask<{ runs: Run[] }>("/runs?limit=100&sort=name")).runs;
}

export async function views(run: string): Promise<View[]> {
  const { stages } = await ask<{ stages: { id: number; attempt: number; tasks: { attempts: number } }[] }>(`/runs/${run}/stages`);
  const { executions } = await ask<{ executions: { id: number; plan_nodes: number }[] }>(`/runs/${run}/sql`);
  const stage = [...stages].sort((a, b) => b.tasks.attempts - a.tasks.attempts)[0];
  const sql = [...executions].sort((a, b) => b.plan_nodes - a.plan_nodes)[0];
  const all: View[] = [
    { name: "verdict", hash: `#/run/${run}` },
    { name: "timeline", hash: `#/run/${run}/timeline` },
    { name: "timeline as a table", hash: `#/run/${run}/timeline?as=table` },
    { name: "SQL", hash: `#/run/${run}/sql` },
    { name: "stages", hash: `#/run/${run}/stages` },
    { name: "jobs", hash: `#/run/${run}/jobs` },
    { name: "executors", hash: `#/run/${run}/executors` },
    { name: "flame", hash: `#/run/${run}/flame` },
    { name: "storage", hash: `#/run/${run}/storage` },
    { name: "configuration", hash: `#/run/${run}/configuration` },
    { name: "console", hash: `#/run/${run}/console` },
    { name: "reference beside", hash: `#/run/${run}/jobs?ref=SKEW` },
  ];
  const { jobs } = await ask<{ jobs: { id: number; stage_ids: number[] }[] }>(`/runs/${run}/jobs`);
  const job = [...jobs].sort((a, b) => b.stage_ids.length - a.stage_ids.length)[0];
  if (job) all.push({ name: "job", hash: `#/run/${run}/jobs/${job.id}` });
  if (stage) all.push({ name: "stage", hash: `#/run/${run}/stages/${stage.id}.${stage.attempt}` });
  if (sql) all.push({ name: "SQL execution", hash: `#/run/${run}/sql/${sql.id}` });
  return all;
}
