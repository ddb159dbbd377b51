/** A run that still goes on: when its log has grown, everything that is shown of it is asked for again. */

import { ask } from "./client";
import type { RunInfo } from "./types";

const EVERY_MS = 5000;

class Revision {
  number = $state(0);
}

const revision = new Revision();

/** Changes when answers may be out of date; reading it in an effect runs that again. */
export const currentRevision = (): number => revision.number;

/** Looks after a run's log until the returned function is called. */
export function follow(run: string): () => void {
  let seen: number | undefined;
  const look = async (): Promise<void> => {
    if (document.hidden) return;
    try {
      const { modified_ms } = await ask<RunInfo>(`/runs/${run}`);
      if (seen !== undefined && modified_ms !== seen) revision.number += 1;
      seen = modified_ms;
    } catch {
      // The views say it when the server does not answer; the next look may find it again.
    }
  };
  void look();
  const timer = setInterval(() => void look(), EVERY_MS);
  return () => clearInterval(timer);
}
