/** Lays out plans apart from the page, which stays quick while a long one is placed. */

import { type Box, type Flow, place } from "./layout";

export interface Order {
  boxes: Box[];
  flows: Flow[];
  clusters: number[];
}

addEventListener("message", (event: MessageEvent<Order>) => {
  const { boxes, flows, clusters } = event.data;
  postMessage(place(boxes, flows, clusters));
});
