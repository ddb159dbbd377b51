/** What the server tells by itself of the run that is open: how far reading its log has come, and that it grew. */

import { fileAddress } from "./client";
import type { RunInfo } from "./types";

class Live {
  /** Share of the log that was read; undefined when none is being read. */
  read = $state<number | undefined>();
  /** Changes when answers may be out of date. */
  revision = $state(0);
}

export const live = new Live();

/** Listens to what happens to a run until the returned function is called. */
export function follow(run: string): () => void {
  const events = new EventSource(fileAddress(`/runs/${run}/events`));
  let seen: number | undefined;
  const on = <T>(name: string, tell: (data: T) => void) =>
    events.addEventListener(name, (event) => tell(JSON.parse((event as MessageEvent<string>).data) as T));
  on<{ bytes_read: number; bytes_total: number }>("progress", ({ bytes_read, bytes_total }) => {
    live.read = bytes_total > 0 ? bytes_read / bytes_total : undefined;
  });
  on<RunInfo>("state", ({ modified_ms, is_read, status }) => {
    if (seen !== undefined && modified_ms !== seen) live.revision += 1;
    seen = modified_ms;
    if (!is_read) return;
    live.read = undefined;
    // What has ended will not change: the server need not keep a line open for it.
    if (status !== "incomplete") events.close();
  });
  const close = () => {
    live.read = undefined;
    events.close();
  };
  on("failed", close);
  on("gone", close);
  return close;
}
