/** Names for the shapes of the API; they are generated from its OpenAPI document. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Attribution = Schemas["Attribution"];
export type CachedRddRow = Schemas["CachedRddRow"];
export type ConfigurationView = Schemas["ConfigurationView"];
export type Diagnosis = Schemas["Diagnosis"];
export type ExecutorRow = Schemas["ExecutorRow"];
export type ExecutorsPage = Schemas["ExecutorsPage"];
export type Finding = Schemas["Finding"];
export type FindingRef = Schemas["FindingRef"];
export type HeldRow = Schemas["HeldRow"];
export type JobRow = Schemas["JobRow"];
export type JobsPage = Schemas["JobsPage"];
export type ReferenceIndex = Schemas["ReferenceIndex"];
export type ReferencePage = Schemas["ReferencePage"];
export type RunInfo = Schemas["RunInfo"];
export type RunsPage = Schemas["RunsPage"];
export type RunStatus = Schemas["RunStatus"];
export type Savings = Schemas["Savings"];
export type SettingRow = Schemas["SettingRow"];
export type Severity = Schemas["Severity"];
export type StageRow = Schemas["StageRow"];
export type StagesPage = Schemas["StagesPage"];
export type StorageView = Schemas["StorageView"];
export type Sum = Schemas["Sum"];
export type Summary = Schemas["Summary"];
export type TaskWindow = Schemas["TaskWindow"];
