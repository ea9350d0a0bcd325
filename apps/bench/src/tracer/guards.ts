/**
 * @file `pnpm bench guards`: what checking the guards of a cached call costs.
 */
import { compile, compiledFunctionOf } from '@tessera/compile';
import { Linear, ReLU, Sequential } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { type Cost, bestMicroseconds } from './measure.js';

/** µs for the guards of one call with these arguments. */
function costOf<A extends readonly unknown[]>(fn: (...args: A) => Tensor, args: A): number {
  const compiled = compile<(...args: A) => Tensor>(fn, { backend: 'eager', pure: true });
  compiled(...args);
  const { guards } = compiledFunctionOf(compiled).captures[0]!;
  if (!guards.check(args)) throw new Error('the guards of a repeated call failed');
  return bestMicroseconds(() => void guards.check(args));
}

/** Two tensors; a model of a hundred modules. */
export function guardCosts(): Cost[] {
  const x = ones([4, 8]);
  const layers = Array.from({ length: 50 }, () => [new Linear(8, 8), new ReLU()]).flat();
  const model = new Sequential(...layers);
  return [
    {
      name: 'guards_two_tensors',
      microseconds: costOf((a: Tensor, b: Tensor) => a.add(b), [x, ones([4, 8])]),
      goal: 0.5,
      unit: 'call',
    },
    {
      name: 'guards_100_modules',
      microseconds: costOf((m: Sequential, a: Tensor) => m.call(a) as Tensor, [model, x]),
      goal: 10,
      unit: 'call',
    },
  ];
}
