/**
 * @file Plots as SVG, drawn without a browser. Colours are the text's or a page's variables.
 *
 * What draws them is loaded when it is wanted: the bundle for machines without npm does not have it.
 */
/** A bar, with the range that it was measured in. */
export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly low?: number;
  readonly high?: number;
  /** What is written behind it. */
  readonly label: string;
  /** Whether it is the one that others are compared with. */
  readonly own: boolean;
}

/** Bars wider than so many times the smallest are cut; their labels say what they are. */
const LONGEST = 30;

/** Width of a letter of the labels, in pixels. */
const LETTER = 6;

/** Draws bars below each other as an SVG element. */
export type BarPlot = (title: string, axis: string, bars: readonly Bar[]) => string;

/** Loads what draws. */
export async function loadBarPlot(): Promise<BarPlot> {
  const [plots, { parseHTML }] = await Promise.all([
    import('@observablehq/plot'),
    import('linkedom'),
  ]);
  return (title, axis, bars) => drawBars({ ...plots, parseHTML }, title, axis, bars);
}

type Library = typeof import('@observablehq/plot') & Pick<typeof import('linkedom'), 'parseHTML'>;

function drawBars(
  { parseHTML, plot, barX, ruleX, ruleY, text }: Library,
  title: string,
  axis: string,
  bars: readonly Bar[],
): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const most = LONGEST * Math.min(...bars.map(({ value }) => value));
  const drawn = bars.map((bar) => ({ ...bar, drawn: Math.min(bar.value, most) }));
  const ranges = drawn.filter(
    ({ low, high }) => low !== undefined && high !== undefined && high <= most,
  );
  const svg = plot({
    document,
    ariaLabel: title,
    width: 680,
    height: 40 + 24 * bars.length,
    marginLeft: 20 + LETTER * Math.max(...bars.map(({ name }) => name.length)),
    marginRight: 110,
    x: {
      label: axis,
      grid: true,
      domain: [
        0,
        Math.max(
          ...drawn.map((bar) =>
            bar.high !== undefined && bar.high <= most ? bar.high : bar.drawn,
          ),
        ),
      ],
    },
    y: { label: null, domain: bars.map(({ name }) => name) },
    marks: [
      barX(drawn, {
        x: 'drawn',
        y: 'name',
        fill: (bar: Bar) => (bar.own ? 'var(--own)' : 'var(--peer)'),
      }),
      ruleY(ranges, { y: 'name', x1: 'low', x2: 'high', strokeWidth: 1.5 }),
      text(drawn, {
        x: (bar: Bar & { drawn: number }) =>
          Math.max(bar.drawn, bar.high !== undefined && bar.high <= most ? bar.high : 0),
        y: 'name',
        text: 'label',
        textAnchor: 'start',
        dx: 5,
      }),
      ruleX([0]),
    ],
  });
  // It is one picture: its parts have no names of their own.
  for (const part of Array.from(svg.querySelectorAll('[aria-label]')))
    part.removeAttribute('aria-label');
  svg.setAttribute('role', 'img');
  return svg.outerHTML;
}
