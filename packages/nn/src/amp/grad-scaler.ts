/**
 * @file `GradScaler`: keeps small float16 gradients from vanishing.
 *
 * The loss is multiplied by a scale before `backward()` and the gradients are divided by it before the
 * optimizer's step; a step whose gradients overflowed is left out and the scale made smaller. Whether to
 * step is decided on the host, from one value read back per step. Modelled on `torch.amp.GradScaler`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type DeviceType,
  type Tensor,
  any,
  isfinite,
  logicalNot,
  logicalOr,
  mul,
  noGrad,
} from '@tessera/tensor';
import { deviceRuntime, gradientOf, mul_ } from '@tessera/tensor/internal';
import type { Optimizer } from '../optim/optimizer.js';

/** Options of `GradScaler`. */
export interface GradScalerOptions {
  /**
   * The device that the model is on. On one that is read with `await`, such as `wgpu`, `step` says at once that
   * `stepAsync` is meant. The scale itself is a number, and serves losses on any device. Default `cpu`.
   */
  readonly device?: DeviceType;
  /** Default 65536. */
  readonly initScale?: number;
  /** Factor of the scale after `growthInterval` good steps. Default 2. */
  readonly growthFactor?: number;
  /** Factor of the scale after an overflow. Default 0.5. */
  readonly backoffFactor?: number;
  /** Good steps in a row before the scale grows. Default 2000. */
  readonly growthInterval?: number;
  /** False makes every method do nothing but call the optimizer. Default true. */
  readonly enabled?: boolean;
}

const GRAD_SCALER: OptionNames<GradScalerOptions> = {
  device: true,
  initScale: true,
  growthFactor: true,
  backoffFactor: true,
  growthInterval: true,
  enabled: true,
};

/** What `stateDict()` returns, in PyTorch's names. */
export interface GradScalerStateDict {
  readonly scale: number;
  readonly growth_factor: number;
  readonly backoff_factor: number;
  readonly growth_interval: number;
  readonly _growth_tracker: number;
}

/** See the file header. */
export class GradScaler {
  private scaleValue: number;
  private growthFactor: number;
  private backoffFactor: number;
  private growthInterval: number;
  private readonly enabled: boolean;
  private growthTracker = 0;
  /** Optimizers whose gradients were divided since the last `update()`: whether any is not finite. */
  private readonly unscaled = new Map<Optimizer, Tensor | null>();
  private overflowed = false;
  private readonly stepped = new Set<Optimizer>();
  private readonly device: DeviceType;

  /** @throws invalid-argument, device-unavailable */
  constructor(options: GradScalerOptions = {}) {
    checkOptionNames('GradScaler', options, GRAD_SCALER);
    this.device = options.device ?? 'cpu';
    if (this.device !== 'cpu') deviceRuntime(this.device);
    this.enabled = options.enabled ?? true;
    this.scaleValue = options.initScale ?? 65536;
    this.growthFactor = options.growthFactor ?? 2;
    this.backoffFactor = options.backoffFactor ?? 0.5;
    this.growthInterval = options.growthInterval ?? 2000;
    if (!(this.growthFactor > 1)) refuse('growthFactor must be greater than 1');
    if (!(this.backoffFactor < 1)) refuse('backoffFactor must be less than 1');
  }

  /** The current scale; 1 if the scaler is disabled. */
  getScale(): number {
    return this.enabled ? this.scaleValue : 1;
  }

  /** The loss (or several) times the scale. */
  scale(loss: Tensor): Tensor;
  scale(losses: readonly Tensor[]): Tensor[];
  scale(losses: Tensor | readonly Tensor[]): Tensor | Tensor[] {
    const one = (loss: Tensor): Tensor => (this.enabled ? mul(loss, this.scaleValue) : loss);
    return Array.isArray(losses) ? losses.map(one) : one(losses);
  }

  /**
   * Divides the gradients of an optimizer by the scale, to clip them before `step`.
   *
   * @throws invalid-argument if they were divided already since the last `update()`
   */
  unscale_(optimizer: Optimizer): void {
    if (!this.enabled) return;
    if (this.stepped.has(optimizer)) refuse('unscale_() is being called after step()');
    if (this.unscaled.has(optimizer))
      refuse('unscale_() has already been called on this optimizer since the last update()');
    const inverse = 1 / this.scaleValue;
    const bad = noGrad(() => {
      let found: Tensor | null = null;
      for (const { params } of optimizer.paramGroups) {
        for (const param of params) {
          const grad = gradientOf(param);
          if (grad === null) continue;
          if (grad.dtype === 'float16') refuse('Attempting to unscale FP16 gradients');
          mul_(grad, inverse);
          const here = any(logicalNot(isfinite(grad)));
          found = found === null ? here : logicalOr(found, here);
        }
      }
      return found;
    });
    this.unscaled.set(optimizer, bad);
  }

  /**
   * Steps the optimizer unless a gradient overflowed; returns whether it did. Reads one value back, so
   * gradients must be on `cpu`; elsewhere use `stepAsync`.
   *
   * @throws data-async-only on another device; invalid-argument after a step since the last `update()`
   */
  step(optimizer: Optimizer): boolean {
    const device = this.device === 'cpu' ? deviceOfGradients(optimizer) : this.device;
    if (this.enabled && device !== 'cpu')
      throw new TesseraError(
        'data-async-only',
        `GradScaler: whether gradients on '${device}' are finite is read with await.`,
        { hints: ['Use await scaler.stepAsync(optimizer).'] },
      );
    const bad = this.prepare(optimizer);
    return this.finishStep(optimizer, bad !== null && Number(bad.item()) !== 0);
  }

  /** `step` on any device. */
  async stepAsync(optimizer: Optimizer): Promise<boolean> {
    const bad = this.prepare(optimizer);
    return this.finishStep(optimizer, bad !== null && Number(await bad.item()) !== 0);
  }

  /**
   * Adapts the scale: once per iteration, after all optimizers stepped, or had their gradients divided.
   *
   * @throws invalid-argument before that; data-async-only where no step has read yet whether gradients on another device are finite
   */
  update(newScale?: number): void {
    if (!this.enabled) return;
    if (newScale !== undefined) this.scaleValue = newScale;
    else if (this.unscaled.size === 0)
      refuse('update() was called before any step() or unscale_() of this iteration');
    else if (this.overflowed || this.unscaledOverflowed()) {
      this.scaleValue *= this.backoffFactor;
      this.growthTracker = 0;
    } else if (++this.growthTracker === this.growthInterval) {
      const grown = this.scaleValue * this.growthFactor;
      if (Number.isFinite(Math.fround(grown))) this.scaleValue = grown;
      this.growthTracker = 0;
    }
    this.unscaled.clear();
    this.overflowed = false;
    this.stepped.clear();
  }

  /** Whether a gradient overflowed of an optimizer that has not stepped. */
  private unscaledOverflowed(): boolean {
    return [...this.unscaled].some(
      ([optimizer, bad]) =>
        bad !== null && !this.stepped.has(optimizer) && Number(bad.item()) !== 0,
    );
  }

  /** What is needed to go on after a restart; empty if disabled. */
  stateDict(): GradScalerStateDict | Record<string, never> {
    if (!this.enabled) return {};
    return {
      scale: this.scaleValue,
      growth_factor: this.growthFactor,
      backoff_factor: this.backoffFactor,
      growth_interval: this.growthInterval,
      _growth_tracker: this.growthTracker,
    };
  }

  /** Takes over a state of `stateDict()`. @throws invalid-argument for an empty one */
  loadStateDict(state: GradScalerStateDict): void {
    if (!this.enabled) return;
    if (!('scale' in state))
      refuse('The source state dict is empty, possibly because it was saved from a disabled one');
    this.scaleValue = state.scale;
    this.growthFactor = state.growth_factor;
    this.backoffFactor = state.backoff_factor;
    this.growthInterval = state.growth_interval;
    this.growthTracker = state._growth_tracker;
  }

  private prepare(optimizer: Optimizer): Tensor | null {
    if (!this.enabled) return null;
    if (this.stepped.has(optimizer))
      refuse('step() has already been called since the last update()');
    if (!this.unscaled.has(optimizer)) this.unscale_(optimizer);
    return this.unscaled.get(optimizer)!;
  }

  private finishStep(optimizer: Optimizer, overflow: boolean): boolean {
    this.stepped.add(optimizer);
    if (overflow) this.overflowed = true;
    else optimizer.step();
    return !overflow;
  }
}

function refuse(what: string): never {
  throw new TesseraError('invalid-argument', `GradScaler: ${what}.`, {
    hints: ['Per iteration: scale(loss).backward(), unscale_ (to clip), step, update.'],
  });
}

/** Where the gradients of an optimizer are: those that the scaler was not told of, too. */
function deviceOfGradients({ paramGroups }: Optimizer): DeviceType {
  const grads = paramGroups.flatMap(({ params }) => params.map(gradientOf));
  return grads.find((grad) => grad !== null)?.device ?? 'cpu';
}
