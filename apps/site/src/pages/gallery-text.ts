/**
 * @file The script of the page of texts.
 */
import 'uplot/dist/uPlot.min.css';
import { LossCurve } from '../demo/demo-view.js';
import { asset, onPress, part } from '../gallery/page-parts.js';
import { Remote } from '../gallery/remote.js';

/** Steps of one lesson, and characters of one answer. */
const [STEPS, COUNT] = [300, 300];

const state = part('state');
const text = part<HTMLTextAreaElement>('text');
const curve = new LossCurve(part('chart'));
let remote: Remote | null = null;
let steps = 0;

const model = (): Remote =>
  (remote ??= new Remote(
    new Worker(new URL('../gallery/text-worker.ts', import.meta.url), { type: 'module' }),
  ));

void fetch(asset('gallery-text.txt'))
  .then((response) => response.text())
  .then((shipped) => {
    if (text.value === '') text.value = shipped;
  });

onPress('learn', async () => {
  state.textContent = 'Loading the compiler…';
  const before = steps;
  await model().call('learn', [text.value, STEPS], (step: number, loss: number) => {
    curve.add((steps = before + step + 1), loss);
    state.textContent = `Step ${steps}: loss ${loss.toFixed(2)}`;
  });
  state.textContent = `${steps} steps learned. Let it write, or give it another text.`;
});

onPress('write', async () => {
  const start = part<HTMLInputElement>('start').value;
  const written = part('written');
  written.textContent = start;
  state.textContent = 'Writing…';
  await model().call('write', [start, COUNT], (character: string) => {
    written.textContent += character;
  });
  state.textContent = `${COUNT} characters written after ${steps} steps.`;
});
