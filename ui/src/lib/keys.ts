/** Keys that work everywhere: `g` and a letter goes to a view. */

export interface Jump {
  key: string;
  view: string;
  label: string;
}

/** The views of a run in the order of the navigation. */
export const JUMPS: Jump[] = [
  { key: "v", view: "", label: "Verdict" },
  { key: "t", view: "timeline", label: "Timeline" },
  { key: "q", view: "sql", label: "SQL" },
  { key: "s", view: "stages", label: "Stages" },
  { key: "j", view: "jobs", label: "Jobs" },
  { key: "e", view: "executors", label: "Executors" },
  { key: "f", view: "flame", label: "Flame" },
  { key: "m", view: "storage", label: "Storage" },
  { key: "c", view: "console", label: "Console" },
  { key: "o", view: "configuration", label: "Configuration" },
];

/** Whether keys belong to what has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
