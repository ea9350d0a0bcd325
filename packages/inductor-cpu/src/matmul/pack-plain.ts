/**
 * @file Packing an operand that is a plain strided load into panels.
 *
 * A panel holds `width` lines (rows of A or columns of B) with k moving slowest: element (line, k) is at
 * `k · width + line`. The tile loop then reads memory strictly forward. Three ways to fill one, by which
 * stride is one:
 *
 * - lines adjacent: copy vectors, k outermost so that the source is read in order, as many k at a time
 *   as fill a cache line of the panel;
 * - k adjacent: load a square of vectors, transpose it in registers;
 * - neither: load lane by lane.
 *
 * Panels start `pitch` bytes apart, a cache line more than their size: with a power of two, all panels
 * would compete for the same sets of the cache while they are filled.
 */
import { i32, laneMemory, memory, op, shuffle } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { ElementType } from './element-type.js';
import { advance, countDown } from './index-code.js';

/** How a plain operand lies in memory and how its panels should. Strides in elements, pitch in bytes. */
export interface PackSpec {
  readonly type: ElementType;
  readonly operand: 'a' | 'b';
  readonly lineStride: number;
  readonly stepStride: number;
  /** Lines of the source per panel. */
  readonly lines: number;
  /** Lines stored per panel: `lines`, or more to fill the last vector (repeating the last line). */
  readonly width: number;
  readonly pitch: number;
}

/** The function `(dst, src, panels, steps)`: fills `panels` consecutive panels with `steps` values of k. */
export function packPlain(spec: PackSpec): WasmFunction {
  const { type, operand, lines, width } = spec;
  const f = new WasmFunction(`pack_${operand}${lines}_${type.dtype}`, {
    dst: 'i32',
    src: 'i32',
    panels: 'i32',
    steps: 'i32',
  });
  const wholeVectors = width % type.lanes === 0;
  if (spec.lineStride === 1 && wholeVectors) copyLines(f, spec);
  else if (spec.stepStride === 1 && wholeVectors) transposeLines(f, spec);
  else gatherLines(f, spec);
  return f;
}

function copyLines(f: WasmFunction, spec: PackSpec): void {
  const { type, lines, width, pitch } = spec;
  const rowBytes = spec.stepStride * type.bytes;
  const panelBytes = width * type.bytes;
  const [dst, src, steps] = ['dst', 'src', 'steps'].map((name) => f.param(name));
  const from = f.local('i32', 'from');
  const to = f.local('i32', 'to');
  const left = f.local('i32', 'left');
  const atOnce = Math.max(1, 64 / panelBytes);
  for (const count of atOnce === 1 ? [1] : [atOnce, 1]) {
    countDown(f, steps, count, () => {
      f.set(from, src);
      f.set(to, dst);
      f.set(left, f.param('panels'));
      countDown(f, left, 1, () => {
        for (let k = 0; k < count; k++) {
          for (let byte = 0; byte < panelBytes; byte += 16) {
            f.do(
              memory('v128.store', k * panelBytes + byte, to, loadAt(from, k * rowBytes + byte)),
            );
          }
        }
        advance(f, from, lines * type.bytes);
        advance(f, to, pitch);
      });
      advance(f, src, count * rowBytes);
      advance(f, dst, count * panelBytes);
    });
  }
}

/** A vector at `pointer + offset`; immediates cannot be negative. */
function loadAt(pointer: Local<'i32'>, offset: number): Code<'v128'> {
  return offset >= 0
    ? memory('v128.load', offset, pointer)
    : memory('v128.load', 0, op('i32.add', pointer, i32(offset)));
}

/** Runs `body` once per panel with the addresses of its source and destination. */
function forEachPanel(
  f: WasmFunction,
  spec: PackSpec,
  body: (from: Local<'i32'>, to: Local<'i32'>, steps: Local<'i32'>) => void,
): void {
  const [dst, src, panels] = ['dst', 'src', 'panels'].map((name) => f.param(name));
  const from = f.local('i32', 'from');
  const to = f.local('i32', 'to');
  const steps = f.local('i32', 'left');
  countDown(f, panels, 1, () => {
    f.set(from, src);
    f.set(to, dst);
    f.set(steps, f.param('steps'));
    body(from, to, steps);
    advance(f, src, spec.lines * spec.lineStride * spec.type.bytes);
    advance(f, dst, spec.pitch);
  });
}

/** Byte offset of a stored line from the panel's first line; stored lines beyond the source repeat the last. */
function lineOffset(spec: PackSpec, line: number): number {
  return Math.min(line, spec.lines - 1) * spec.lineStride * spec.type.bytes;
}

function transposeLines(f: WasmFunction, spec: PackSpec): void {
  const { type, width } = spec;
  const { lanes, bytes } = type;
  const loaded = Array.from({ length: lanes }, (_, i) => f.local('v128', `line_${i}`));
  forEachPanel(f, spec, (from, to, steps) => {
    countDown(f, steps, lanes, () => {
      for (let line = 0; line < width; line += lanes) {
        loaded.forEach((local, i) => f.set(local, loadAt(from, lineOffset(spec, line + i))));
        transpose(f, lanes, loaded).forEach((column, k) => {
          f.do(memory('v128.store', (k * width + line) * bytes, to, column));
        });
      }
      advance(f, from, 16);
      advance(f, to, lanes * width * bytes);
    });
    countDown(f, steps, 1, () => copyStep(f, spec, from, to));
  });
}

function gatherLines(f: WasmFunction, spec: PackSpec): void {
  forEachPanel(f, spec, (from, to, steps) =>
    countDown(f, steps, 1, () => copyStep(f, spec, from, to)),
  );
}

/** Copies one k of every line, element by element, and advances both pointers. */
function copyStep(f: WasmFunction, spec: PackSpec, from: Local<'i32'>, to: Local<'i32'>): void {
  const { type, width } = spec;
  for (let line = 0; line < width; line++) {
    const offset = lineOffset(spec, line);
    const address = offset >= 0 ? from : op('i32.add', from, i32(offset));
    const element = memory(type.splatLoad, Math.max(offset, 0), address);
    f.do(laneMemory(type.storeLane, line * type.bytes, 0, to, element));
  }
  advance(f, from, spec.stepStride * type.bytes);
  advance(f, to, width * type.bytes);
}

/** The columns of the square that `rows` hold, as trees over shuffles (4×4 words or 2×2 double words). */
export function transpose(
  f: WasmFunction,
  lanes: 4 | 2,
  rows: readonly Local<'v128'>[],
): Code<'v128'>[] {
  if (lanes === 2) {
    const [r0, r1] = rows;
    return [words(r0, r1, 0, 1, 4, 5), words(r0, r1, 2, 3, 6, 7)];
  }
  const [r0, r1, r2, r3] = rows;
  const low01 = f.let('low', words(r0, r1, 0, 4, 1, 5));
  const low23 = f.let('low', words(r2, r3, 0, 4, 1, 5));
  const high01 = f.let('high', words(r0, r1, 2, 6, 3, 7));
  const high23 = f.let('high', words(r2, r3, 2, 6, 3, 7));
  return [
    words(low01, low23, 0, 1, 4, 5),
    words(low01, low23, 2, 3, 6, 7),
    words(high01, high23, 0, 1, 4, 5),
    words(high01, high23, 2, 3, 6, 7),
  ];
}

/** A vector of four 32-bit words picked from `a` (0–3) and `b` (4–7). */
function words(a: Local<'v128'>, b: Local<'v128'>, ...picks: readonly number[]): Code<'v128'> {
  return shuffle(
    picks.flatMap((word) => [0, 1, 2, 3].map((byte) => word * 4 + byte)),
    a,
    b,
  );
}
