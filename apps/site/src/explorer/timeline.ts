/**
 * @file A run over time: what ran, nested by what it ran in.
 */
import { h, svg } from './elements.js';
import type { EventView } from '@tessera/compile/exploration';

const ROW = 18;
const WIDTH = 900;
const COLOURS: Readonly<Record<string, string>> = {
  compile: '#d98b3a',
  forward: '#4c7fd9',
  backward: '#8a6fd1',
  kernel: '#2a9d8f',
};

/** How deep each event lies in others; events come in the order of their beginning. */
function depths(events: readonly EventView[]): number[] {
  const open: number[] = [];
  return events.map(({ start, duration }) => {
    while (open.length > 0 && open.at(-1)! <= start) open.pop();
    open.push(start + duration);
    return open.length - 1;
  });
}

/** The picture, and its events as a table for those who cannot see it. */
export function timeline(events: readonly EventView[]): HTMLElement {
  if (events.length === 0) return h('p', { class: 'muted' }, 'Nothing ran.');
  const end = Math.max(...events.map(({ start, duration }) => start + duration), 1);
  const rows = depths(events);
  const boxes = events.map(({ name, category, start, duration }, i) =>
    svg(
      'g',
      {},
      svg('title', {}, `${name} (${category}): ${(duration / 1000).toFixed(3)} ms`),
      svg('rect', {
        x: (start / end) * WIDTH,
        y: rows[i]! * ROW,
        width: Math.max(1, (duration / end) * WIDTH),
        height: ROW - 2,
        fill: COLOURS[category] ?? '#888888',
      }),
    ),
  );
  const picture = svg(
    'svg',
    {
      class: 'timeline',
      viewBox: `0 0 ${WIDTH} ${(Math.max(...rows) + 1) * ROW}`,
      width: '100%',
      role: 'img',
      'aria-label': `${events.length} events in ${(end / 1000).toFixed(1)} ms`,
    },
    ...boxes,
  );
  const longest = [...events].sort((a, b) => b.duration - a.duration).slice(0, 20);
  const table = h(
    'table',
    {},
    h('caption', {}, 'The longest'),
    ...longest.map(({ name, category, duration }) =>
      h(
        'tr',
        {},
        h('td', {}, name),
        h('td', {}, category),
        h('td', { class: 'number' }, `${(duration / 1000).toFixed(3)} ms`),
      ),
    ),
  );
  const figure = h(
    'figure',
    {},
    h(
      'figcaption',
      { class: 'muted' },
      `${(end / 1000).toFixed(1)} ms from left to right: compiling, operators, backward, kernels.`,
    ),
  );
  figure.append(picture, table);
  return figure;
}
