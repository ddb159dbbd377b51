/** An answer of the server as state: what is shown while it is awaited, when it came, when it did not. */

import { askAndKeep, known, Refusal } from "./client";
import { live } from "./live.svelte";

export class Remote<T> {
  data = $state.raw<T | undefined>(undefined);
  error = $state.raw<Refusal | undefined>(undefined);
  isLoading = $state(false);
  /** Address of `data`. */
  of = $state.raw<string | undefined>(undefined);
  #path: () => string | undefined;
  #keepsOld: boolean;
  #abort: AbortController | undefined;

  /**
   * Asks whenever `path` changes; must be made while a component is set up.
   * `keepsOld`: what was there is shown until the new answer is here.
   */
  constructor(path: () => string | undefined, keepsOld = false) {
    this.#path = path;
    this.#keepsOld = keepsOld;
    $effect(() => {
      void live.revision;
      this.#load(path());
      return () => this.#abort?.abort();
    });
  }

  /** Asks again. */
  again(): void {
    this.#load(this.#path());
  }

  #load(path: string | undefined): void {
    this.#abort?.abort();
    this.error = undefined;
    if (path === undefined) {
      this.data = undefined;
      this.isLoading = false;
      return;
    }
    const before = known<T>(path);
    if (before !== undefined) {
      this.data = before;
      this.of = path;
    } else if (!this.#keepsOld && this.of !== path) {
      this.data = undefined;
    }
    const abort = new AbortController();
    this.#abort = abort;
    this.isLoading = true;
    askAndKeep<T>(path, abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        this.data = data;
        this.of = path;
        this.isLoading = false;
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        this.error = error instanceof Refusal ? error : new Refusal(0, "unknown", String(error), "Reload the page.");
        this.isLoading = false;
      },
    );
  }
}
