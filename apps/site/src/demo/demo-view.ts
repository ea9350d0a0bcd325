/**
 * @file What the start page shows while the demo trains: figures, a loss curve, and digits with what the model reads.
 */
import uPlot from 'uplot';
import type { SeenDigit } from './messages.js';

/** Side of a digit, in pixels. */
const SIDE = 8;

/** The loss by step, drawn as it comes. */
export class LossCurve {
  private readonly steps: number[] = [];
  private readonly losses: number[] = [];
  private readonly plot: uPlot;
  private waiting = false;

  constructor(private readonly place: HTMLElement) {
    this.plot = new uPlot(this.options(), [[], []], place);
    new ResizeObserver(() => this.plot.setSize({ width: place.clientWidth, height: 200 })).observe(
      place,
    );
  }

  /** Adds a point; what comes within a frame is drawn together. */
  add(step: number, loss: number): void {
    this.steps.push(step);
    this.losses.push(loss);
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.plot.setData([this.steps, this.losses]);
    });
  }

  private options(): uPlot.Options {
    const colour = (name: string) => (): string =>
      getComputedStyle(this.place).getPropertyValue(name);
    const ink = (): string => getComputedStyle(this.place).color;
    const axis = { stroke: ink, grid: { stroke: '#8884', width: 1 }, ticks: { stroke: '#8884' } };
    return {
      width: this.place.clientWidth,
      height: 200,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false }, y: { distr: 3 } },
      axes: [axis, { ...axis, size: 56 }],
      series: [{}, { stroke: colour('outline-color'), width: 1.5 }],
    };
  }
}

function draw(canvas: HTMLCanvasElement, pixels: Uint8Array): void {
  canvas.width = canvas.height = SIDE;
  const context = canvas.getContext('2d')!;
  const image = context.createImageData(SIDE, SIDE);
  pixels.forEach((value, i) => {
    const grey = 255 - Math.min(255, value * 16);
    image.data.set([grey, grey, grey, 255], i * 4);
  });
  context.putImageData(image, 0, 0);
}

/** Shows digits with what the model reads; what is wrong stands out. */
export function showDigits(list: HTMLElement, digits: readonly SeenDigit[]): void {
  list.replaceChildren(
    ...digits.map(({ pixels, label, predicted }) => {
      const item = document.createElement('li');
      const canvas = document.createElement('canvas');
      draw(canvas, pixels);
      const text = document.createElement('span');
      text.textContent = predicted === label ? String(predicted) : `${predicted} ✗`;
      if (predicted !== label) {
        text.className = 'wrong';
        text.title = `It is a ${label}.`;
      }
      item.append(canvas, text);
      return item;
    }),
  );
}

/** Shows figures by name. */
export function showFigures(list: HTMLElement, figures: Readonly<Record<string, string>>): void {
  list.replaceChildren(
    ...Object.entries(figures).map(([name, value]) => {
      const row = document.createElement('div');
      const term = document.createElement('dt');
      term.textContent = name;
      const text = document.createElement('dd');
      text.textContent = value;
      row.append(term, text);
      return row;
    }),
  );
}
