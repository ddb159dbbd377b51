/** Names for the shapes of the API; they are generated from its OpenAPI document. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type RunsPage = Schemas["RunsPage"];
export type RunInfo = Schemas["RunInfo"];
export type RunStatus = Schemas["RunStatus"];
export type Diagnosis = Schemas["Diagnosis"];
export type Finding = Schemas["Finding"];
export type Savings = Schemas["Savings"];
export type Severity = Schemas["Severity"];
export type Sum = Schemas["Sum"];
export type Summary = Schemas["Summary"];
export type TaskWindow = Schemas["TaskWindow"];
export type Attribution = Schemas["Attribution"];
