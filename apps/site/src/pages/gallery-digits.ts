/**
 * @file The script of the page of digits.
 */
import { DrawingPad } from '../gallery/drawing-pad.js';
import { alone, asset, enable, onPress, part } from '../gallery/page-parts.js';
import { Remote } from '../gallery/remote.js';

const state = part('state');
const pad = new DrawingPad(part<HTMLCanvasElement>('pad'), () => void alone(read));
let remote: Remote | null = null;

function show(likely: readonly number[]): void {
  document.querySelectorAll<HTMLMeterElement>('#likely meter').forEach((meter, digit) => {
    meter.value = likely[digit]!;
  });
  const best = likely.indexOf(Math.max(...likely));
  state.textContent = `It reads a ${best} (${Math.round(likely[best]! * 100)} %).`;
}

async function read(): Promise<void> {
  if (remote === null || pad.isEmpty) return;
  show(await remote.call<number[]>('read', [pad.image]));
}

onPress('learn', async () => {
  const worker = new Worker(new URL('../gallery/digits-worker.ts', import.meta.url), {
    type: 'module',
  });
  remote = new Remote(worker);
  state.textContent = 'Loading the compiler…';
  let read = 0;
  await remote.call('learn', [asset('digits.bin'), 15], (step: number, accuracy: number) => {
    read = accuracy;
    state.textContent = `Step ${step}: reads ${(accuracy * 100).toFixed(1)} % of the unseen digits.`;
  });
  state.textContent = `Reads ${(read * 100).toFixed(1)} % of the unseen digits. Draw one.`;
  setTimeout(() => enable('#answers button'));
});

onPress('clear', async () => pad.clear());

document.querySelectorAll<HTMLButtonElement>('#answers button').forEach((button, digit) =>
  button.addEventListener(
    'click',
    () =>
      void alone(async () => {
        if (remote === null || pad.isEmpty) return;
        const [likely, accuracy] = await remote.call<[number[], number]>('correct', [
          pad.image,
          digit,
        ]);
        show(likely);
        state.textContent += ` Of the unseen digits, ${(accuracy * 100).toFixed(1)} %.`;
      }),
  ),
);
