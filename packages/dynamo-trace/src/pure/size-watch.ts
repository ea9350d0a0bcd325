/**
 * @file `SizeWatch`: notices whether a function looks at the sizes or strides of its tensors.
 *
 * Sizes are plain numbers, so what a program does with one cannot be followed. But a program that never
 * looks at one does the same for all sizes. While it is watched, `sizes` and `strides` of its tensors are
 * arrays that note the reading of an element; the rank (`length`) may be read.
 */
import type { Tensor } from '@tessera/tensor';

type Numbers = readonly number[];

const WATCHED = ['sizes', 'strides'] as const;

/** See the file header. */
export class SizeWatch {
  /** Whether an element was read. */
  noticed = false;
  /** Code of the tracer runs, which may look. */
  private paused = 0;
  private readonly tensors = new Set<Tensor>();

  /** Whether code of the tracer runs. */
  get isPaused(): boolean {
    return this.paused > 0;
  }

  /** Watches a tensor until `stop`. */
  watch(tensor: Tensor): void {
    if (this.tensors.has(tensor)) return;
    this.tensors.add(tensor);
    for (const key of WATCHED) this.replace(tensor, key);
  }

  private replace(tensor: Tensor, key: (typeof WATCHED)[number]): void {
    let value: Numbers = tensor[key];
    let seen = this.observed(value);
    Object.defineProperty(tensor, key, {
      configurable: true,
      enumerable: true,
      get: () => (this.paused > 0 ? value : seen),
      set: (next: Numbers) => {
        value = next;
        seen = this.observed(next);
      },
    });
  }

  private observed(numbers: Numbers): Numbers {
    return new Proxy(numbers, {
      get: (target, key, receiver): unknown => {
        if (key !== 'length') this.noticed = true;
        return Reflect.get(target, key, receiver);
      },
    });
  }

  /** Runs code of the tracer. */
  pause<R>(fn: () => R): R {
    this.paused++;
    try {
      return fn();
    } finally {
      this.paused--;
    }
  }

  /** Runs code of the program inside code of the tracer. */
  resume<R>(fn: () => R): R {
    const { paused } = this;
    this.paused = 0;
    try {
      return fn();
    } finally {
      this.paused = paused;
    }
  }

  /** Makes the tensors plain again. */
  stop(): void {
    this.paused = 1;
    for (const tensor of this.tensors)
      for (const key of WATCHED) {
        const value = tensor[key];
        Object.defineProperty(tensor, key, {
          configurable: true,
          enumerable: true,
          writable: true,
          value,
        });
      }
    this.tensors.clear();
  }
}
