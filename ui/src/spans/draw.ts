/** Painting spans on a canvas. Nothing here asks or decides: it paints what it is given. */

import type { Span } from "../lib/span";
import { type Hit, lastAtMost, markText, marks, Scale, type SpanLane } from "./layout";

export interface Look {
  ink: string;
  mute: string;
  faint: string;
  line: string;
  panel: string;
  raise: string;
  bg: string;
  ember: string;
  palette: string[];
  font: string;
}

export interface Picture {
  width: number;
  height: number;
  ratio: number;
  /** Room for the names of lanes. */
  gutter: number;
  window: Span;
  lanes: SpanLane[];
  tops: number[];
  /** Height of what is scrolled away above. */
  scrolled: number;
  hovered?: Hit;
  /** Where the keyboard's cursor is. */
  cursor?: Hit;
  /** Time that is being chosen. */
  brush?: Span;
  /** Moments with a word: executors that went, and the like. */
  flags: { ms: number; colour: string }[];
}

export const AXIS = 22;
/** Narrower spans have no words. */
const WORDS = 34;
const widths = new Map<string, number>();

function widthOf(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** As much of a text as fits. */
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(context, text);
  if (width <= room) return text;
  const letters = Math.floor((text.length * room) / width) - 1;
  return letters < 3 ? "" : `${text.slice(0, letters)}…`;
}

export function draw(context: CanvasRenderingContext2D, picture: Picture, look: Look): void {
  const { width, height, ratio, gutter, window } = picture;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `11px ${look.font}`;
  context.textBaseline = "middle";
  const scale = new Scale(window.from, window.to, gutter, width - gutter);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height - AXIS);
  context.clip();
  grid(context, picture, scale, look, true);
  const first = Math.max(lastAtMost(picture.tops, picture.scrolled), 0);
  for (let n = first; n < picture.lanes.length; n += 1) {
    const lane = picture.lanes[n];
    const top = (picture.tops[n] ?? 0) - picture.scrolled + AXIS;
    if (!lane || top > height) break;
    drawLane(context, lane, top, scale, picture, look);
  }
  flags(context, picture, scale);
  outline(context, picture, scale, picture.hovered, look.ink);
  outline(context, picture, scale, picture.cursor, look.ember);
  context.restore();
  grid(context, picture, scale, look, false);
  if (picture.brush) brush(context, picture, scale, look);
}

function grid(context: CanvasRenderingContext2D, picture: Picture, scale: Scale, look: Look, isLines: boolean): void {
  const at = marks(scale, 92);
  const step = (at[1] ?? 1000) - (at[0] ?? 0);
  context.fillStyle = isLines ? look.line : look.mute;
  context.textAlign = "left";
  for (const ms of at) {
    const x = Math.round(scale.x(ms));
    if (isLines) context.fillRect(x, AXIS, 1, picture.height - AXIS);
    else {
      const text = markText(ms, step);
      if (x + 3 + widthOf(context, text) <= picture.width) context.fillText(text, x + 3, AXIS / 2);
    }
  }
}

function drawLane(context: CanvasRenderingContext2D, lane: SpanLane, top: number, scale: Scale, picture: Picture, look: Look): void {
  const height = lane.rows * lane.rowHeight;
  context.fillStyle = look.raise;
  context.globalAlpha = 0.55;
  context.fillRect(picture.gutter, top, picture.width - picture.gutter, height);
  context.globalAlpha = 1;
  if (lane.density) density(context, lane, top, height, scale, look);
  rectangles(context, lane, top, scale, picture, look);
  if (lane.text) words(context, lane, top, scale, picture, look);
  context.fillStyle = look.bg;
  context.fillRect(0, top - 1, picture.gutter - 1, height + (lane.gap ?? 6));
  context.textAlign = "left";
  context.fillStyle = look.mute;
  const middle = Math.min(top + height / 2, top + 40);
  const hasHint = lane.hint !== undefined && height >= 24;
  context.fillText(fitted(context, lane.label, picture.gutter - 10), 2, hasHint ? middle - 6 : middle);
  if (hasHint && lane.hint) {
    context.fillStyle = look.faint;
    context.fillText(fitted(context, lane.hint, picture.gutter - 10), 2, middle + 7);
  }
}

/** Rectangles colour by colour; those under a pixel that would paint over each other are painted once. */
function rectangles(context: CanvasRenderingContext2D, lane: SpanLane, top: number, scale: Scale, picture: Picture, look: Look): void {
  const right = picture.width;
  const inner = lane.rowHeight > 4 ? lane.rowHeight - 1 : lane.rowHeight - 0.4;
  const byColour = new Map<number, number[]>();
  const lastX = new Map<number, number>();
  for (let n = 0; n < lane.from.length; n += 1) {
    const from = lane.from[n] ?? 0;
    if (from > scale.to) break;
    const to = lane.to[n] ?? 0;
    if (to < scale.from) continue;
    const x = Math.max(scale.x(from), picture.gutter);
    const end = Math.min(scale.x(to), right);
    const row = lane.row[n] ?? 0;
    const colour = lane.colour[n] ?? 0;
    const key = row * 64 + colour;
    if (end < (lastX.get(key) ?? -1)) continue;
    const width = Math.max(end - x - (end - x > 3 ? 0.6 : 0), 0.8);
    lastX.set(key, x + width);
    const list = byColour.get(colour);
    if (list) list.push(x, top + row * lane.rowHeight, width);
    else byColour.set(colour, [x, top + row * lane.rowHeight, width]);
  }
  for (const [colour, list] of byColour) {
    context.fillStyle = look.palette[colour] ?? look.mute;
    for (let n = 0; n < list.length; n += 3) context.fillRect(list[n] ?? 0, list[n + 1] ?? 0, list[n + 2] ?? 0, inner);
  }
}

function density(context: CanvasRenderingContext2D, lane: SpanLane, top: number, height: number, scale: Scale, look: Look): void {
  const { density } = lane;
  if (!density) return;
  const floor = new Float32Array(density.from.length);
  for (const layer of density.layers) {
    context.fillStyle = look.palette[layer.colour] ?? look.mute;
    for (let n = Math.max(lastAtMost(density.from, scale.from), 0); n < density.from.length; n += 1) {
      const share = layer.share[n] ?? 0;
      if (share <= 0) continue;
      const from = density.from[n] ?? 0;
      if (from > scale.to) break;
      const x = Math.max(scale.x(from), scale.left);
      const end = scale.x(density.to[n] ?? 0);
      if (end < scale.left) continue;
      const below = floor[n] ?? 0;
      context.fillRect(x, top + height * (1 - below - share), Math.max(end - x + 0.3, 0.6), height * share);
      floor[n] = below + share;
    }
  }
}

function words(context: CanvasRenderingContext2D, lane: SpanLane, top: number, scale: Scale, picture: Picture, look: Look): void {
  if (!lane.text || lane.rowHeight < 11) return;
  context.textAlign = "left";
  for (let n = 0; n < lane.from.length; n += 1) {
    const from = lane.from[n] ?? 0;
    if (from > scale.to) break;
    const x = Math.max(scale.x(from), picture.gutter);
    const room = Math.min(scale.x(lane.to[n] ?? 0), picture.width) - x - 8;
    if (room < WORDS - 8) continue;
    const text = fitted(context, lane.text(n), room);
    if (!text) continue;
    context.fillStyle = inkOn(look.palette[lane.colour[n] ?? 0] ?? look.raise);
    context.fillText(text, x + 4, top + (lane.row[n] ?? 0) * lane.rowHeight + lane.rowHeight / 2);
  }
}

const inks = new Map<string, string>();

/** Black or white, whichever reads better on a colour. */
export function inkOn(colour: string): string {
  let ink = inks.get(colour);
  if (ink === undefined) {
    const hex = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(colour)?.[1] ?? "888888";
    const full = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
    const [r = 0, g = 0, b = 0] = [0, 2, 4].map((at) => {
      const value = Number.parseInt(full.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    // Where contrast with white and with black are equal.
    ink = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#101418" : "#ffffff";
    inks.set(colour, ink);
  }
  return ink;
}

function flags(context: CanvasRenderingContext2D, picture: Picture, scale: Scale): void {
  for (const flag of picture.flags) {
    const x = scale.x(flag.ms);
    if (x < picture.gutter || x > picture.width) continue;
    context.fillStyle = flag.colour;
    context.globalAlpha = 0.4;
    context.fillRect(x - 0.5, AXIS, 1, picture.height);
    context.globalAlpha = 1;
    context.beginPath();
    context.moveTo(x - 4, AXIS);
    context.lineTo(x + 4, AXIS);
    context.lineTo(x, AXIS + 6);
    context.fill();
  }
}

function outline(context: CanvasRenderingContext2D, picture: Picture, scale: Scale, at: Hit | undefined, colour: string): void {
  const lane = at && picture.lanes[at.lane];
  if (!at || !lane) return;
  const top = (picture.tops[at.lane] ?? 0) - picture.scrolled + AXIS;
  const isSpan = at.kind === "span";
  const from = isSpan ? lane.from[at.index] : lane.density?.from[at.index];
  const to = isSpan ? lane.to[at.index] : lane.density?.to[at.index];
  const x = Math.max(scale.x(from ?? 0), picture.gutter);
  const end = Math.min(scale.x(to ?? 0), picture.width);
  const y = isSpan ? top + (lane.row[at.index] ?? 0) * lane.rowHeight : top;
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.strokeRect(x - 1, y - 1, Math.max(end - x, 1) + 2, (isSpan ? lane.rowHeight : lane.rows * lane.rowHeight) + 1);
}

function brush(context: CanvasRenderingContext2D, picture: Picture, scale: Scale, look: Look): void {
  if (!picture.brush) return;
  const x = Math.max(scale.x(picture.brush.from), picture.gutter);
  const end = Math.min(scale.x(picture.brush.to), picture.width);
  context.fillStyle = look.ember;
  context.globalAlpha = 0.16;
  context.fillRect(x, 0, end - x, picture.height);
  context.globalAlpha = 1;
  context.fillRect(x, 0, 1, picture.height);
  context.fillRect(end - 1, 0, 1, picture.height);
}
