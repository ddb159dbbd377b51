/** Addresses of the views of a run; the span of time that was chosen goes with one. */

import { address, kept } from "./route.svelte";

export type Query = Record<string, string | undefined>;

export const toRun = (run: string, view?: string, query: Query = {}): string =>
  address(view ? ["run", run, view] : ["run", run], { ...kept(), ...query });
export const toStage = (run: string, stage: number, attempt: number | null | undefined, query: Query = {}): string =>
  address(["run", run, "stages", `${stage}.${attempt ?? 0}`], { ...kept(), ...query });
/** The flame graph of exactly the tasks of a stage attempt, at any time. */
export const toFlameOf = (run: string, stage: number, attempt: number | null | undefined): string =>
  address(["run", run, "flame"], { ref: kept().ref, stage: `${stage}.${attempt ?? 0}` });
export const toJob = (run: string, job: number): string => address(["run", run, "jobs", job], kept());
export const toSql = (run: string, execution: number, query: Query = {}): string =>
  address(["run", run, "sql", execution], { ...kept(), ...query });
