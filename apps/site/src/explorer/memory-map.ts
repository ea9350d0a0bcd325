/**
 * @file Memory of a plan over time: a row for each launch, and a box for each buffer of the arena from the launch that
 * fills it to the last that reads it.
 */
import { h, svg } from './elements.js';
import type { CompiledView } from '@tessera/compile/exploration';

const ROW = 22;
const WIDTH = 640;
const COLOURS = ['#4c7fd9', '#2a9d8f', '#d98b3a', '#8a6fd1', '#c4626a', '#6b8e3a'];

/** The picture, or a word where no memory is needed beside inputs and outputs. */
export function memoryMap({ buffers, arenaBytes, launches, graph }: CompiledView): HTMLElement {
  if (buffers.length === 0 || arenaBytes === 0)
    return h('p', { class: 'muted' }, 'No memory besides inputs and outputs.');
  const height = launches.length * ROW;
  const scale = WIDTH / arenaBytes;
  const boxes = buffers.map(({ name, offset, bytes, from, to }, i) =>
    svg(
      'g',
      {},
      svg('title', {}, `${name}: ${bytes} bytes at ${offset}, launches ${from} to ${to}`),
      svg('rect', {
        x: offset * scale,
        y: from * ROW,
        width: Math.max(2, bytes * scale),
        height: (to - from + 1) * ROW,
        fill: COLOURS[i % COLOURS.length]!,
      }),
    ),
  );
  const picture = svg(
    'svg',
    {
      class: 'memory-map',
      viewBox: `0 0 ${WIDTH} ${height}`,
      width: '100%',
      role: 'img',
      'aria-label': `Memory of ${graph.title}: ${buffers.length} buffers in ${arenaBytes} bytes over ${launches.length} launches`,
    },
    ...boxes,
  );
  const figure = h(
    'figure',
    {},
    h(
      'figcaption',
      { class: 'muted' },
      `${arenaBytes} bytes from left to right, ${launches.length} launches from top to bottom.`,
    ),
  );
  figure.append(picture);
  return figure;
}
