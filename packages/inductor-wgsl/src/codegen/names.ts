/**
 * @file Identifiers of generated WGSL: the kernel's own names where WGSL allows them, numbered ones for
 * temporaries, never one twice.
 */

/**
 * Names of kernels that stay as they are: those of the compiler, and of tensors that people write. No other name without
 * a digit stays: WGSL has 200 words of its own, and generated code as many, all without one but for `TAKEN`.
 */
const PLAIN = /\d|^rng_|_offset$|^(\w|out|bias|weight|mean|rstd)$/;
const TAKEN = /^([fiu]\d\d|vec\d\w?|exp2)$/;
/** Types that temporaries might be numbered like. */
const TYPE = /^([fiu]32|f16)$/;

/** Hands out identifiers; see the file header. */
export class NameScope {
  private readonly used = new Set<string>();
  private readonly counters = new Map<string, number>();

  /** An identifier for a name of the kernel, as close to it as possible. */
  claim(wanted: string): string {
    let name = wanted.startsWith('__') || wanted === '_' ? `v${wanted}` : wanted;
    if (!PLAIN.test(name) || TAKEN.test(name)) name += '_';
    while (this.used.has(name)) name += '_';
    this.used.add(name);
    return name;
  }

  /** A new temporary: `t0`, `t1`, … */
  fresh(prefix: string): string {
    for (;;) {
      const count = this.counters.get(prefix) ?? 0;
      this.counters.set(prefix, count + 1);
      const name = `${prefix}${count}`;
      if (!this.used.has(name) && !TYPE.test(name)) {
        this.used.add(name);
        return name;
      }
    }
  }
}
