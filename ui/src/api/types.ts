/** Names for the shapes of the API; they are generated from its OpenAPI document. */

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Attribution = Schemas["Attribution"];
export type CachedRddRow = Schemas["CachedRddRow"];
export type ConfigurationView = Schemas["ConfigurationView"];
export type Diagnosis = Schemas["Diagnosis"];
export type DiffNode = Schemas["DiffNode"];
export type DistributionsView = Schemas["DistributionsView"];
export type ExecutorRow = Schemas["ExecutorRow"];
export type ExecutorsPage = Schemas["ExecutorsPage"];
export type FailuresView = Schemas["FailuresView"];
export type Finding = Schemas["Finding"];
export type FindingRef = Schemas["FindingRef"];
export type HeldRow = Schemas["HeldRow"];
export type JobRow = Schemas["JobRow"];
export type JobsPage = Schemas["JobsPage"];
export type MetricView = Schemas["MetricView"];
export type PlaceRow = Schemas["PlaceRow"];
export type PlacesView = Schemas["PlacesView"];
export type PlanDiff = Schemas["PlanDiff"];
export type PlanNodeView = Schemas["PlanNodeView"];
export type PlanText = Schemas["PlanText"];
export type PlanView = Schemas["PlanView"];
export type ReferenceIndex = Schemas["ReferenceIndex"];
export type ReferencePage = Schemas["ReferencePage"];
export type RunInfo = Schemas["RunInfo"];
export type RunStatus = Schemas["RunStatus"];
export type RunsPage = Schemas["RunsPage"];
export type Savings = Schemas["Savings"];
export type Scatter = Schemas["Scatter"];
export type SettingRow = Schemas["SettingRow"];
export type Severity = Schemas["Severity"];
export type Spread = Schemas["Spread"];
export type SqlPage = Schemas["SqlPage"];
export type SqlRow = Schemas["SqlRow"];
export type SqlView = Schemas["SqlView"];
export type StageRow = Schemas["StageRow"];
export type StageView = Schemas["StageView"];
export type StagesPage = Schemas["StagesPage"];
export type StorageView = Schemas["StorageView"];
export type Sum = Schemas["Sum"];
export type Summary = Schemas["Summary"];
export type TaskWindow = Schemas["TaskWindow"];
