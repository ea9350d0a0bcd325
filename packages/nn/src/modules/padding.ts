/**
 * @file Padding as modules: a border of zeros, a constant, the mirrored inside, the edge, or the other end.
 */
import { TesseraError } from '@tessera/shared';
import { type PadMode, type Tensor, pad } from '@tessera/tensor';
import { pythonLiteral } from '../module/module-repr.js';
import { checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { checkTensors } from '@tessera/tensor/internal';

/** One number for all sides, or (before, after) per dimension, the last dimension first. */
export type Padding = number | readonly number[];

/** What they have in common. */
abstract class PaddingModule extends Module {
  /** @internal Dimensions that are padded. */
  static readonly rank: number;

  readonly padding: readonly number[];

  constructor(padding: Padding) {
    super();
    checkSizes(new.target, { padding }, arguments);
    this.padding =
      typeof padding === 'number' ? Array<number>(2 * new.target.rank).fill(padding) : [...padding];
  }

  /** @throws invalid-argument, shape-mismatch */
  override forward(input: Tensor): Tensor {
    return pad(input, this.padding, this.filling);
  }

  /** What the border holds. */
  protected abstract get filling(): { readonly mode: PadMode; readonly value?: number };

  override extraRepr(): string {
    return pythonLiteral(this.padding);
  }
}

/** A border of one number. */
abstract class ConstantPad extends PaddingModule {
  constructor(
    padding: Padding,
    readonly value: number,
  ) {
    super(padding);
    checkSizes(new.target, { padding, value }, arguments);
  }

  protected override get filling(): { readonly mode: PadMode; readonly value: number } {
    return { mode: 'constant', value: this.value };
  }

  override extraRepr(): string {
    return `padding=${pythonLiteral(this.padding)}, value=${pythonLiteral(this.value)}`;
  }
}

/** A border of zeros. */
abstract class ZeroPad extends PaddingModule {
  protected override get filling(): { readonly mode: PadMode } {
    return { mode: 'constant' };
  }
}

/** A border that mirrors the inside. */
abstract class ReflectionPad extends PaddingModule {
  protected override get filling(): { readonly mode: PadMode } {
    return { mode: 'reflect' };
  }
}

/** A border that repeats the edge. */
abstract class ReplicationPad extends PaddingModule {
  protected override get filling(): { readonly mode: PadMode } {
    return { mode: 'replicate' };
  }
}

/** A border that continues from the other end. */
abstract class CircularPad extends PaddingModule {
  override forward(input: Tensor): Tensor {
    const rank = this.padding.length / 2;
    checkTensors(this.constructor.name, { input });
    if (input.ndim !== rank + 1 && input.ndim !== rank + 2)
      throw new TesseraError(
        'shape-mismatch',
        `${this.constructor.name}: expected ${rank + 1}D or ${rank + 2}D input (got ${input.ndim}D input)`,
        { hints: ['The input is [N, C, …spatial] or [C, …spatial].'] },
      );
    return super.forward(input);
  }

  protected override get filling(): { readonly mode: PadMode } {
    return { mode: 'circular' };
  }
}

/** Pads the last dimension with zeros. @see torch.nn.ZeroPad1d */
export class ZeroPad1d extends ZeroPad {
  /** @internal */
  static override readonly rank = 1;
}

/** Pads the last two dimensions with zeros. @see torch.nn.ZeroPad2d */
export class ZeroPad2d extends ZeroPad {
  /** @internal */
  static override readonly rank = 2;
}

/** Pads the last three dimensions with zeros. @see torch.nn.ZeroPad3d */
export class ZeroPad3d extends ZeroPad {
  /** @internal */
  static override readonly rank = 3;
}

/** Pads the last dimension with the mirrored inside. @see torch.nn.ReflectionPad1d */
export class ReflectionPad1d extends ReflectionPad {
  /** @internal */
  static override readonly rank = 1;
}

/** Pads the last two dimensions with the mirrored inside. @see torch.nn.ReflectionPad2d */
export class ReflectionPad2d extends ReflectionPad {
  /** @internal */
  static override readonly rank = 2;
}

/** Pads the last three dimensions with the mirrored inside. @see torch.nn.ReflectionPad3d */
export class ReflectionPad3d extends ReflectionPad {
  /** @internal */
  static override readonly rank = 3;
}

/** Pads the last dimension with the edge. @see torch.nn.ReplicationPad1d */
export class ReplicationPad1d extends ReplicationPad {
  /** @internal */
  static override readonly rank = 1;
}

/** Pads the last two dimensions with the edge. @see torch.nn.ReplicationPad2d */
export class ReplicationPad2d extends ReplicationPad {
  /** @internal */
  static override readonly rank = 2;
}

/** Pads the last three dimensions with the edge. @see torch.nn.ReplicationPad3d */
export class ReplicationPad3d extends ReplicationPad {
  /** @internal */
  static override readonly rank = 3;
}

/** Pads the last dimension with the other end. @see torch.nn.CircularPad1d */
export class CircularPad1d extends CircularPad {
  /** @internal */
  static override readonly rank = 1;
}

/** Pads the last two dimensions with the other end. @see torch.nn.CircularPad2d */
export class CircularPad2d extends CircularPad {
  /** @internal */
  static override readonly rank = 2;
}

/** Pads the last three dimensions with the other end. @see torch.nn.CircularPad3d */
export class CircularPad3d extends CircularPad {
  /** @internal */
  static override readonly rank = 3;
}

/** Pads the last dimension with a number. @see torch.nn.ConstantPad1d */
export class ConstantPad1d extends ConstantPad {
  /** @internal */
  static override readonly rank = 1;
}

/** Pads the last two dimensions with a number. @see torch.nn.ConstantPad2d */
export class ConstantPad2d extends ConstantPad {
  /** @internal */
  static override readonly rank = 2;
}

/** Pads the last three dimensions with a number. @see torch.nn.ConstantPad3d */
export class ConstantPad3d extends ConstantPad {
  /** @internal */
  static override readonly rank = 3;
}
