/**
 * @file `pnpm bench replay`: what matching costs, per operator and per module.
 *
 * The backend returns what it computed once, so that only the tracer is measured; the difference between
 * a long and a short function leaves out what every call costs.
 */
import { type Backend, compile } from '@tessera/compile';
import { Linear, ReLU, Sequential } from '@tessera/nn';
import { type Tensor, ones } from '@tessera/tensor';
import { type Cost, bestMicroseconds } from './measure.js';

const constant: Backend = (module, examples) => {
  const outs = module.forward(...examples) as Tensor[];
  return () => outs;
};

const SHORT = 20;
const LONG = 120;

/** µs per unit: of functions with a few and with many units. */
function slope(make: (units: number) => (x: Tensor) => Tensor): number {
  const x = ones([2, 4]);
  const [short, long] = [SHORT, LONG].map((units) => {
    const compiled = compile(make(units), { backend: constant });
    return bestMicroseconds(() => void compiled(x));
  });
  return (long! - short!) / (LONG - SHORT);
}

/** A chain of operators; a chain of built-in modules. */
export function replayCosts(): Cost[] {
  return [
    {
      name: 'replay_matched_op',
      microseconds: slope((units) => (x) => {
        let y = x;
        for (let i = 0; i < units; i++) y = y.add(x);
        return y;
      }),
      goal: 0.25,
      unit: 'op',
    },
    {
      name: 'replay_module',
      microseconds: slope((units) => {
        const layers = Array.from({ length: units }, (_, i) =>
          i % 2 === 0 ? new Linear(4, 4) : new ReLU(),
        );
        return (x) => layers.reduce<Tensor>((y, layer) => layer.call(y), x);
      }),
      goal: 2,
      unit: 'module',
    },
    {
      name: 'replay_sequential_of_100_modules',
      microseconds: (() => {
        const model = new Sequential(
          ...Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? new Linear(4, 4) : new ReLU())),
        );
        const compiled = compile((x: Tensor) => model.call(x) as Tensor, { backend: constant });
        const x = ones([2, 4]);
        return bestMicroseconds(() => void compiled(x));
      })(),
      goal: 20,
      unit: 'call',
    },
  ];
}
