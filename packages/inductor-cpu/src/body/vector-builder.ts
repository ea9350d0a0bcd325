/**
 * @file `VectorBuilder`: arithmetic on several vector registers at once, statement by statement.
 *
 * A kernel's loop body works on U vectors per iteration. Emitting every operation for all of them
 * before the next operation interleaves U independent dependency chains, which is what hides the
 * latency of polynomial evaluation (unrolling the loop alone gains nothing: measured). So all code
 * generation of values works on `Regs`: one local per vector, or a single one where all lanes of all
 * vectors are equal.
 *
 * Constants come from module globals and are read once at function entry: engines rematerialise
 * inline `v128.const` in loops, which costs up to 1.9× on recent V8.
 */
import { f32x4, f64x2, global, i32, i32x4, i64x2, op, shuffle, shuffle32 } from '../emit/code.js';
import type { BinaryVectorOp, UnaryVectorOp } from '../emit/instructions.js';
import type { Code, Global, Local, ResultType } from '../emit/types.js';
import type { Section, WasmFunction } from '../emit/wasm-function.js';

/** A vector register. */
export type Reg = Local<'v128'>;

/** One register per vector, or a single one for a value that is equal in all lanes. */
export type Regs = readonly Reg[];

/** One module variable per distinct constant, shared by all kernels; named by its bytes. */
const constantPool = new Map<string, Global<'v128'>>();
/** Those of one float, which functions are mostly made of. */
const pooledFloats = new Map<number, Global<'v128'>>();

function pooled(code: Code<'v128'>): Global<'v128'> {
  const bytes = code.node.kind === 'v128' ? code.node.bytes : new Uint8Array(16);
  const words = [...new Uint32Array(bytes.slice().buffer)].map((word) => word.toString(16));
  const name = words.every((word) => word === words[0]) ? `k.${words[0]}` : `k.${words.join('.')}`;
  let found = constantPool.get(name);
  if (found === undefined) {
    found = global(name, code);
    constantPool.set(name, found);
  }
  return found;
}

/** Shifts of lanes. */
export type ShiftOp =
  | 'i16x8.shr_u'
  | 'i32x4.shl'
  | 'i32x4.shr_s'
  | 'i32x4.shr_u'
  | 'i64x2.shl'
  | 'i64x2.shr_s'
  | 'i64x2.shr_u';

/** Engine features that generated code may use. */
export interface CodeOptions {
  /** Relaxed SIMD: fused multiply-add. Detected with `WebAssembly.validate`. */
  readonly relaxedSimd: boolean;
  /** Whether the processor has an instruction for `i32x4.dot_i16x8_s`: see `hasPairProducts`. */
  readonly pairProducts?: boolean;
  /** Bits of a row's values in products with packed weights; 32 if left out. */
  readonly rowBits?: 16 | 32;
}

/** See the file header. */
export class VectorBuilder {
  /** Name hint of the locals made next; the IR operation being emitted, so that text is readable. */
  hint = 't';
  readonly #constants = new Map<Global<'v128'>, Regs>();
  readonly #floats = new Map<number, Regs>();
  readonly #integers = new Map<number, Regs>();

  constructor(
    readonly f: WasmFunction<ResultType>,
    /** A place at function entry. */
    readonly entry: Section,
    readonly options: CodeOptions,
  ) {}

  /** A constant, as a register set at function entry. */
  constant(code: Code<'v128'>): Regs {
    return this.read(pooled(code));
  }

  private read(shared: Global<'v128'>): Regs {
    let regs = this.#constants.get(shared);
    if (regs === undefined) {
      regs = [this.f.into(this.entry, () => this.f.let(shared.name, shared))];
      this.#constants.set(shared, regs);
    }
    return regs;
  }

  f32(value: number): Regs {
    // A Map does not tell -0 from 0.
    if (Object.is(value, -0)) return this.constant(f32x4(-0));
    return remembered(this.#floats, value, () =>
      this.read(remembered(pooledFloats, value, () => pooled(f32x4(value)))),
    );
  }

  f64(value: number): Regs {
    return this.constant(f64x2(value));
  }

  i32(...values: readonly number[]): Regs {
    const [value] = values;
    return values.length > 1
      ? this.constant(i32x4(...values))
      : remembered(this.#integers, value, () => this.constant(i32x4(value)));
  }

  i64(...values: readonly bigint[]): Regs {
    return this.constant(i64x2(...values));
  }

  /** A new register. */
  let(code: Code<'v128'>): Reg {
    return this.f.let(this.hint, code);
  }

  /** `make(i)` for each of the longest operand's registers; equal operand registers give one result. */
  map(operands: readonly Regs[], make: (...regs: Reg[]) => Code<'v128'>): Regs {
    const count = Math.max(...operands.map((regs) => regs.length));
    const made: Reg[] = [];
    const rows: Reg[][] = [];
    for (let i = 0; i < count; i++) {
      const row = operands.map((regs) => regs[i % regs.length]);
      const same = rows.findIndex((other) => other.every((reg, k) => reg === row[k]));
      made.push(same >= 0 ? made[same] : this.let(make(...row)));
      rows.push(row);
    }
    return made;
  }

  un(name: UnaryVectorOp, a: Regs): Regs {
    return this.map([a], (x) => op(name, x));
  }

  bin(name: BinaryVectorOp, a: Regs, b: Regs): Regs {
    return this.map([a, b], (x, y) => op(name, x, y));
  }

  /** Shift by a constant. */
  shift(name: ShiftOp, a: Regs, count: number): Regs {
    return this.map([a], (x) => op(name, x, i32(count)));
  }

  add(a: Regs, b: Regs): Regs {
    return this.bin('f32x4.add', a, b);
  }

  sub(a: Regs, b: Regs): Regs {
    return this.bin('f32x4.sub', a, b);
  }

  mul(a: Regs, b: Regs): Regs {
    return this.bin('f32x4.mul', a, b);
  }

  /** a · b + c; one rounding or two, as the engine does. */
  madd(a: Regs, b: Regs, c: Regs): Regs {
    if (this.options.relaxedSimd)
      return this.map([a, b, c], (x, y, z) => op('f32x4.relaxed_madd', x, y, z));
    return this.add(this.mul(a, b), c);
  }

  /** c - a · b; one rounding or two. */
  nmadd(a: Regs, b: Regs, c: Regs): Regs {
    if (this.options.relaxedSimd)
      return this.map([a, b, c], (x, y, z) => op('f32x4.relaxed_nmadd', x, y, z));
    return this.sub(c, this.mul(a, b));
  }

  /** a where the mask's bits are 1, else b. */
  select(mask: Regs, a: Regs, b: Regs): Regs {
    return this.map([a, b, mask], (x, y, m) => op('v128.bitselect', x, y, m));
  }

  /** Lane k of the result is 32-bit lane `lanes[k]` of a ++ b. */
  shuffle(lanes: readonly [number, number, number, number], a: Regs, b: Regs = a): Regs {
    return this.map([a, b], (x, y) => shuffle32(lanes, x, y));
  }

  /** Bytes of a in the given order, other bytes unspecified. */
  bytes(order: readonly number[], a: Regs): Regs {
    const full = Array.from({ length: 16 }, (_, i) => order[i % order.length]);
    return this.map([a], (x) => shuffle(full, x, x));
  }

  /** Σ c[i] xⁱ by Horner's scheme: fewest operations and registers; interleaving hides its latency. */
  poly(x: Regs, coefficients: readonly number[]): Regs {
    let sum = this.f32(coefficients[coefficients.length - 1]);
    for (let i = coefficients.length - 2; i >= 0; i--)
      sum = this.madd(sum, x, this.f32(coefficients[i]));
    return sum;
  }
}

function remembered<T>(table: Map<number, T>, value: number, make: () => T): T {
  let found = table.get(value);
  if (found === undefined) {
    found = make();
    table.set(value, found);
  }
  return found;
}
