/** The reference's own Markdown as HTML. Raw HTML in it is dropped, but for anchors. */

import { Marked } from "marked";

const ANCHOR = /^<a id="([\w-]+)">(<\/a>)?$/;

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => {
      const anchor = ANCHOR.exec(text.trim());
      return anchor ? `<a id="${anchor[1]}"></a>` : "";
    },
  },
});

export function rendered(markdown: string): string {
  return marked.parse(markdown, { async: false }).replaceAll("<th></th>", "<td></td>").replaceAll("<pre>", '<pre tabindex="0">').replaceAll("<table>", '<table tabindex="0">');
}
