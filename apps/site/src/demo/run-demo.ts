/**
 * @file Runs the demo in a worker and shows it. Loaded when the button is pressed; the worker is started before anything
 * else is loaded, since it has the most to do.
 */
import 'uplot/dist/uPlot.min.css';
import { LossCurve, showDigits, showFigures } from './demo-view.js';
import type { DemoMessage, DemoRequest } from './messages.js';

/** Passes over the digits. */
const EPOCHS = 20;

/** The elements of the page that the demo fills. */
export interface DemoElements {
  readonly state: HTMLElement;
  readonly figures: HTMLElement;
  readonly chart: HTMLElement;
  readonly digits: HTMLElement;
}

/** Trains until the end. `clicked` is the time of the click, on the clock of `performance.now()`. */
export function runDemo(elements: DemoElements, data: string, clicked: number): Promise<void> {
  const worker = new Worker(new URL('./train-worker.ts', import.meta.url), { type: 'module' });
  worker.postMessage({ data, epochs: EPOCHS } satisfies DemoRequest);
  const { state, chart } = elements;
  for (const element of [elements.figures, chart, elements.digits]) element.hidden = false;
  elements.digits.replaceChildren();
  chart.replaceChildren();
  const curve = new LossCurve(chart);
  const figures: Record<string, string> = {};
  const times: number[] = [];
  state.textContent = 'Loading the compiler…';

  const show = (message: DemoMessage): void => {
    switch (message.kind) {
      case 'loaded':
        state.textContent = `Compiling a step of ${message.parameters.toLocaleString('en')} parameters…`;
        break;
      case 'step':
        if (message.step === 0) {
          const since = performance.now() - clicked;
          figures['first step done'] = `${Math.round(since)} ms after the click`;
          document.documentElement.dataset.firstStepMs = String(Math.round(since));
          state.textContent = 'Training…';
        } else times.push(message.ms);
        figures.step = String(message.step + 1);
        figures.loss = message.loss.toFixed(4);
        if (times.length > 0)
          figures['median step'] =
            `${[...times].sort((a, b) => a - b)[times.length >> 1]!.toFixed(2)} ms`;
        curve.add(message.step, message.loss);
        break;
      case 'tested':
        figures['unseen digits read'] = `${(message.accuracy * 100).toFixed(1)} %`;
        showDigits(elements.digits, message.digits);
        break;
      case 'done':
        state.textContent = `Done: ${message.graphs} graph, ${message.kernels} kernels.`;
        break;
      case 'failed':
        state.textContent = message.text;
        break;
    }
    showFigures(elements.figures, figures);
  };
  return new Promise((resolve) => {
    const finish = (text?: string): void => {
      if (text !== undefined) state.textContent = text;
      worker.terminate();
      resolve();
    };
    worker.addEventListener('error', (event) => finish(`It did not start: ${event.message}`));
    worker.addEventListener('message', ({ data: message }: MessageEvent<DemoMessage>) => {
      show(message);
      if (message.kind === 'done' || message.kind === 'failed') finish();
    });
  });
}
