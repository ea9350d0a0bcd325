/**
 * @file The script of the page of points.
 */
import 'uplot/dist/uPlot.min.css';
import { LossCurve } from '../demo/demo-view.js';
import { enable, onPress, part } from '../gallery/page-parts.js';
import { Remote } from '../gallery/remote.js';

const [STEPS, POINTS, SIDE] = [1500, 600, 320];

const state = part('state');
const canvas = part<HTMLCanvasElement>('points');
const curve = new LossCurve(part('chart'));
let remote: Remote | null = null;
let steps = 0;
canvas.width = canvas.height = SIDE;

function draw(points: readonly number[]): void {
  const context = canvas.getContext('2d')!;
  context.clearRect(0, 0, SIDE, SIDE);
  context.fillStyle = getComputedStyle(canvas).color;
  const place = (value: number): number => ((value + 2) / 4) * SIDE;
  for (let i = 0; i < points.length; i += 2)
    context.fillRect(place(points[i]!) - 1, place(points[i + 1]!) - 1, 2, 2);
}

onPress('learn', async () => {
  remote ??= new Remote(
    new Worker(new URL('../gallery/points-worker.ts', import.meta.url), { type: 'module' }),
  );
  state.textContent = 'Loading the compiler…';
  const shape = part<HTMLSelectElement>('shape').value;
  const before = steps;
  await remote.call('learn', [shape, STEPS], (step: number, loss: number) => {
    curve.add((steps = before + step + 1), loss);
    state.textContent = `Step ${step + 1} of ${STEPS}: loss ${loss.toFixed(3)}`;
  });
  state.textContent = 'Learned. Make points of it.';
  setTimeout(() => enable('#make'));
});

onPress('make', async () => {
  const moments: number[][] = [];
  const far = await remote!.call<number>('make', [POINTS], (points: number[]) => {
    moments.push(points);
  });
  for (const points of moments) {
    draw(points);
    await new Promise(requestAnimationFrame);
  }
  state.textContent = `${POINTS} points out of noise, ${far.toFixed(3)} from the shape on average.`;
});
