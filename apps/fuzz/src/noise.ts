/**
 * @file Rounding noise: a program run eagerly with every float that an operator makes off by little.
 *
 * How far results of several such runs lie apart says how far a compiled run may be off. Compiled code rounds at
 * other places: it keeps what it computes in passing in float32 where eager rounds to a smaller type, forward and
 * backward, and PyTorch promises neither. So the noise is below autograd, where the operators of derivatives and of
 * optimizers pass too.
 */
import {
  type DispatchMode,
  type OpOverload,
  type Tensor,
  isFloatingPoint,
  isTensor,
} from '@tessera/tensor';
import { dispatchBelowAutograd, modes, readNumbers, writeNumbers } from '@tessera/tensor/internal';
import { EPSILON } from './compare.js';
import type { Dice } from './dice.js';

function tensorsIn(value: unknown): Tensor[] {
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  return isTensor(value) ? [value as Tensor] : [];
}

function epsilonOf(t: Tensor): number {
  return isFloatingPoint(t.dtype) ? (EPSILON[t.dtype] ?? 0) : 0;
}

class Noise implements DispatchMode {
  readonly name = 'noise';

  constructor(private readonly dice: Dice) {}

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const result = dispatchBelowAutograd(op, this.rounded(args));
    // Whoever reads a view reads what was disturbed when it was made.
    if (!op.isView) for (const t of tensorsIn(result)) this.disturb(t, epsilonOf(t));
    return result;
  }

  /** Moves values by two to four times `epsilon`: always enough to reach another number of a dtype with it. */
  private disturb(t: Tensor, epsilon: number): void {
    // Values elsewhere cannot be read while an operator runs.
    if (epsilon === 0 || t.strides.includes(0) || t.device !== 'cpu') return;
    const values = readNumbers(t);
    for (let i = 0; i < values.length; i++) {
      if (!Number.isFinite(values[i])) continue;
      const size = (1 + this.dice.next()) * epsilon * (Math.abs(values[i]!) + 2 ** -6);
      values[i]! += this.dice.chance(0.5) ? 2 * size : -2 * size;
    }
    writeNumbers(t, values);
  }

  /** Beside a tensor of lower precision a number in a tensor is rounded first. */
  private rounded(args: readonly unknown[]): readonly unknown[] {
    const coarsest = Math.max(...tensorsIn(args).map((t) => (t.ndim > 0 ? epsilonOf(t) : 0)), 0);
    return args.map((arg) => {
      if (!isTensor(arg) || arg.ndim > 0 || !isFloatingPoint(arg.dtype)) return arg;
      const number = arg as Tensor;
      if (epsilonOf(number) >= coarsest) return arg;
      const own = number.clone();
      this.disturb(own, coarsest);
      return own;
    });
  }
}

/** Runs `fn` with noise, to its end. */
export async function withNoise<T>(dice: Dice, fn: () => Promise<T>): Promise<T> {
  const { stack } = modes;
  modes.stack = [...stack, new Noise(dice)];
  try {
    return await fn();
  } finally {
    modes.stack = stack;
  }
}
