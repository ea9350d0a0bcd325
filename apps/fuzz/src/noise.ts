/**
 * @file Rounding noise: a program run eagerly with every float that an operator makes off by little.
 *
 * How far results of several such runs lie apart says how far a compiled run may be off. Compiled code rounds at
 * other places: it keeps what it computes in passing in float32 where eager rounds to a smaller type, forward and
 * backward, and PyTorch promises neither. So the noise is below autograd, where the operators of derivatives and of
 * optimizers pass too.
 *
 * What an operator computes in passing is rounded as well. Its result is therefore off as far as operands that are off
 * by little move it, each element by itself: the gradient of a normalization sums to zero, whatever comes in, but only
 * where nothing in it is rounded.
 */
import {
  type DispatchMode,
  type OpOverload,
  type Tensor,
  isFloatingPoint,
  isTensor,
  maximum,
  noGrad,
  tensor,
} from '@tessera/tensor';
import {
  dispatchBelowAutograd,
  modes,
  readNumbers,
  withoutModes,
  writeNumbers,
} from '@tessera/tensor/internal';
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
    const own = this.rounded(args);
    const moved = this.moved(op, own);
    const result = dispatchBelowAutograd(op, own);
    // Whoever reads a view reads what was disturbed when it was made.
    if (op.isView) return result;
    for (const [i, t] of tensorsIn(result).entries()) this.disturb(t, epsilonOf(t), moved[i]);
    return result;
  }

  /** What an operator makes of operands that are off by little; nothing of one that writes, or would draw again. */
  private moved(op: OpOverload, args: readonly unknown[]): Tensor[] {
    if (op.isView || op.isMutable || op.isCustom || op.hasTag('random')) return [];
    return tensorsIn(dispatchBelowAutograd(op, this.off(args)));
  }

  private off(args: readonly unknown[]): unknown[] {
    return args.map((arg) => {
      if (Array.isArray(arg)) return this.off(arg);
      if (!isTensor(arg) || epsilonOf(arg as Tensor) === 0) return arg;
      const own = (arg as Tensor).clone();
      this.disturb(own, epsilonOf(own));
      return own;
    });
  }

  /**
   * Moves values by two to four times `epsilon`, always enough to reach another number of a dtype with it, or as far as
   * those of `moved` lie apart.
   */
  private disturb(t: Tensor, epsilon: number, moved?: Tensor): void {
    if (epsilon === 0 || t.numel === 0 || t.strides.includes(0)) return;
    if (t.device !== 'cpu') return this.disturbThere(t, epsilon, moved);
    const values = readNumbers(t);
    const others = moved === undefined || moved.numel !== t.numel ? null : readNumbers(moved);
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      if (!Number.isFinite(value)) continue;
      const rounding = 2 * (1 + this.dice.next()) * epsilon * (Math.abs(value) + 2 ** -6);
      const apart = Math.abs((others?.[i] ?? value) - value);
      const size = Number.isFinite(apart) ? Math.max(rounding, apart) : rounding;
      values[i] = value + (this.dice.chance(0.5) ? size : -size);
    }
    writeNumbers(t, values);
  }

  /** The same by the device: values elsewhere cannot be read while an operator runs. */
  private disturbThere(t: Tensor, epsilon: number, moved?: Tensor): void {
    const drawn = (draw: () => number): Tensor =>
      tensor(Float32Array.from({ length: t.numel }, draw))
        .view(t.shape)
        .to(t.device);
    const { storage } = t;
    const { version } = storage;
    withoutModes(() =>
      noGrad(() => {
        const wide = t.to('float32');
        const rounding = wide
          .abs()
          .add(2 ** -6)
          .mul(drawn(() => 2 * (1 + this.dice.next()) * epsilon));
        const apart =
          moved?.numel === t.numel ? moved.to('float32').view(t.shape).sub(wide).abs() : null;
        const size =
          apart === null
            ? rounding
            : maximum(rounding, apart.nanToNum({ nan: 0, posinf: 0, neginf: 0 }));
        const sign = drawn(() => (this.dice.chance(0.5) ? 1 : -1));
        t.copy_(wide.add(size.nanToNum({ nan: 0, posinf: 0, neginf: 0 }).mul(sign)));
      }),
    );
    storage.version = version;
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
