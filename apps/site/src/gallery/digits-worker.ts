/** @file The worker of the page of digits. */
import { loadDigits } from '../demo/digit-data.js';
import { DigitReader } from './digits-model.js';
import { serve } from './remote.js';

let reader: DigitReader;

serve({
  async learn(tell, data: string, epochs: number) {
    const { train, test } = await loadDigits(data);
    reader = new DigitReader(train, test);
    reader.learn(epochs, tell);
  },
  read: (_, pixels: number[]) => reader.read(pixels),
  correct: (_, pixels: number[], label: number) => [
    reader.correct(pixels, label),
    reader.accuracy(),
  ],
});
