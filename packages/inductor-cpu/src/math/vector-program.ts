/**
 * @file Scalar programs of inductor-core's table as vector code: in place, or as a WebAssembly function
 * `(v128…) -> v128` that is called; element by element what vectors cannot do.
 *
 * Four elements take one register of 32-bit lanes or two of 64-bit lanes. A product that is added or subtracted
 * becomes a fused instruction where the engine has it for f32. Bits of a float are the register itself, bools are
 * masks as wide as what was compared.
 */
import { functionProgram, type ScalarExpr, type ScalarStatement } from '@tessera/inductor-core';
import { convert } from '../body/convert.js';
import { narrowRegs, wideMask } from '../body/value.js';
import { VectorBuilder, type Regs } from '../body/vector-builder.js';
import { call, op } from '../emit/code.js';
import type { BinaryVectorOp } from '../emit/instructions.js';
import type { Code, DefinedFunction } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { eachElement } from './each-element.js';
import { fitsVectors } from './fits-vectors.js';
import { hostFunction, isHostFunction } from './host-functions.js';
import { WASM, scalarFunction, type Typed } from './scalar-program.js';
import {
  arithmeticOf,
  comparisonOf,
  extremeOf,
  isLogic,
  isShift,
  isWide,
  logicOf,
  maskOf,
  negationOf,
  shiftOf,
  toFloatFrom,
  unaryOf,
} from './vector-instructions.js';

/** Registers of a value, and whether their lanes have 64 bits. */
interface Lanes {
  readonly regs: Regs;
  readonly wide: boolean;
}

class ProgramEmitter {
  readonly #names = new Map<string, Lanes>();
  /** Of four elements; a single register of 64-bit lanes is half of one. */
  #groups = 0.5;

  constructor(
    private readonly vb: VectorBuilder,
    /** Every argument has one register of equal lanes, and so has every value. */
    private readonly uniform: boolean,
  ) {}

  run(name: string, args: readonly Regs[]): Regs {
    const { params, body } = functionProgram(name, WASM);
    params.forEach(({ name: param, type }, i) => {
      const lanes = { regs: args[i]!, wide: isWide(type) };
      this.#names.set(param, lanes);
      if (!this.uniform)
        this.#groups = Math.max(this.#groups, lanes.regs.length / (lanes.wide ? 2 : 1));
    });
    for (const statement of body.slice(0, -1)) this.#statement(statement);
    return this.#regs((body.at(-1) as Extract<ScalarStatement, { kind: 'return' }>).value);
  }

  #statement(statement: ScalarStatement): void {
    const { f, hint } = this.vb;
    switch (statement.kind) {
      case 'let':
        this.#names.set(statement.name, this.#value(statement.value));
        return;
      case 'var': {
        const { regs, wide } = this.#value(statement.value);
        const own = Array.from(
          { length: this.uniform ? 1 : this.#groups * (wide ? 2 : 1) },
          (_, i) => f.let(hint, regs[i % regs.length]),
        );
        this.#names.set(statement.name, { regs: own, wide });
        return;
      }
      case 'set': {
        const regs = this.#regs(statement.value);
        this.#names
          .get(statement.name)!
          .regs.forEach((reg, i) => f.set(reg, regs[i % regs.length]));
        return;
      }
      case 'if':
        f.if(this.#any(statement.condition as Typed<'builtin'>), () => {
          for (const inner of statement.then) this.#statement(inner);
        });
        return;
      default:
        throw new TypeError(`${statement.kind} is not for vectors`);
    }
  }

  /** Whether the condition of an `any` holds for some element. */
  #any({ args: [of] }: Typed<'builtin'>): Code<'i32'> {
    const join = (regs: Regs, name: 'v128.and' | 'v128.or'): Code<'v128'> =>
      regs.slice(1).reduce<Code<'v128'>>((a, b) => op(name, a, b), regs[0]);
    return of!.kind === 'unary' && of.op === '!'
      ? op('i32.eqz', op('i32x4.all_true', join(this.#regs(of.arg), 'v128.and')))
      : op('v128.any_true', join(this.#regs(of!), 'v128.or'));
  }

  #regs(expr: ScalarExpr): Regs {
    return this.#value(expr).regs;
  }

  #value(expr: ScalarExpr): Lanes {
    const { vb } = this;
    const wide = isWide(expr.type);
    switch (expr.kind) {
      case 'number':
        return { regs: this.#number(expr), wide };
      case 'name':
        return this.#names.get(expr.name)!;
      case 'bitcast':
        return this.#value(expr.arg);
      case 'call':
        return { regs: this.#call(expr), wide };
      case 'unary': {
        const value = this.#value(expr.arg);
        const name = expr.op === '-' ? negationOf(expr.type) : 'v128.not';
        return { regs: vb.un(name, value.regs), wide: value.wide };
      }
      case 'binary':
        return this.#binary(expr);
      case 'convert':
        return { regs: this.#convert(expr), wide };
      case 'builtin':
        return this.#builtin(expr);
      default:
        throw new TypeError(`${expr.kind} is not for vectors`);
    }
  }

  #call({ callee, args }: Typed<'call'>): Regs {
    return emitFunction(
      this.vb,
      callee,
      args.map((arg) => this.#regs(arg)),
      this.uniform,
    );
  }

  #number({ type, value, text }: Typed<'number'>): Regs {
    if (type === 'f64') return this.vb.f64(value);
    if (type === 'i64') return this.vb.i64(BigInt(text));
    return type === 'f32' ? this.vb.f32(value) : this.vb.i32(value | 0);
  }

  #binary(expr: Typed<'binary'>): Lanes {
    const { vb } = this;
    const { op: name, left, right } = expr;
    const wide = isWide(expr.type);
    const product = (of: ScalarExpr): of is Typed<'binary'> =>
      expr.type === 'f32' && of.kind === 'binary' && of.op === '*';
    if (name === '+' && product(left))
      return {
        regs: vb.madd(this.#regs(left.left), this.#regs(left.right), this.#regs(right)),
        wide,
      };
    if (name === '+' && product(right))
      return {
        regs: vb.madd(this.#regs(right.left), this.#regs(right.right), this.#regs(left)),
        wide,
      };
    if (name === '-' && product(right) && !product(left)) {
      const from = this.#regs(left);
      return { regs: vb.nmadd(this.#regs(right.left), this.#regs(right.right), from), wide };
    }
    if (isShift(name)) {
      const count = (right as Typed<'number'>).value;
      return { regs: vb.shift(shiftOf(name, left.type), this.#regs(left), count), wide };
    }
    if (isLogic(name)) return this.#logic(expr, logicOf(name));
    const [a, b] = [this.#value(left), this.#value(right)];
    const comparison = comparisonOf(name, left.type);
    return comparison === undefined
      ? { regs: vb.bin(arithmeticOf(name, left.type), a.regs, b.regs), wide }
      : { regs: vb.bin(comparison, a.regs, b.regs), wide: a.wide };
  }

  /** `&`, `|` and `^`; complementary parts of two values are one selection. */
  #logic({ op: name, left, right }: Typed<'binary'>, instruction: BinaryVectorOp): Lanes {
    const { vb } = this;
    const masks = [maskOf(left), maskOf(right)];
    if (name === '|' && masks[0] !== undefined && masks[0] === ~(masks[1] ?? masks[0])) {
      const [a, b] = [left, right] as [Typed<'binary'>, Typed<'binary'>];
      const wide = isWide(left.type);
      return { regs: vb.select(this.#regs(b.right), this.#regs(b.left), this.#regs(a.left)), wide };
    }
    const a = this.#value(left);
    if (name === '&' && right.kind === 'unary' && right.op === '!') {
      const b = this.#mask(right.arg, a.wide);
      return { regs: vb.bin('v128.andnot', a.regs, b), wide: a.wide };
    }
    const b = left.type === 'bool' ? this.#mask(right, a.wide) : this.#regs(right);
    return { regs: vb.bin(instruction, a.regs, b), wide: a.wide };
  }

  /** A bool in lanes of this width. */
  #mask(expr: ScalarExpr, wide: boolean): Regs {
    const { vb } = this;
    const mask = this.#value(expr);
    if (mask.wide === wide) return mask.regs;
    const value = { kind: 'bool' as const, regs: mask.regs, uniform: this.uniform };
    return wide ? wideMask(vb, value) : narrowRegs(vb, value);
  }

  #convert({ type, arg }: Typed<'convert'>): Regs {
    const regs = this.#regs(arg);
    if (type === 'f64' || arg.type === 'f64') {
      const uniform = this.uniform || (arg.type === 'f64' && regs.length === 1);
      const kind = arg.type as 'f32' | 'f64' | 'i32';
      return convert(this.vb, { kind, uniform, regs }, type as 'f32' | 'f64' | 'i32').regs;
    }
    if (type === 'f32' && arg.type !== 'f32') return this.vb.un(toFloatFrom(arg.type), regs);
    return arg.type === 'f32' && type !== 'f32'
      ? this.vb.un('i32x4.trunc_sat_f32x4_s', regs)
      : regs;
  }

  #builtin({ name, args, type }: Typed<'builtin'>): Lanes {
    const { vb } = this;
    const wide = isWide(type);
    if (name === 'select') return this.#select(args);
    const values = args.map((arg) => this.#regs(arg));
    const [a, b, c] = values;
    if (isHostFunction(name))
      return { regs: eachElement(vb, hostFunction(name), args, 'f64', values, this.uniform), wide };
    const unary = unaryOf(name, type);
    if (unary !== undefined) return { regs: vb.un(unary, a), wide };
    if (name === 'clamp') {
      const above = vb.bin(extremeOf('max', type, true), a, b);
      return { regs: vb.bin(extremeOf('min', type, true), above, c), wide };
    }
    const extreme = extremeOf(name as 'min' | 'max', type, args[1]!.kind === 'number');
    return { regs: vb.bin(extreme, a, b), wide };
  }

  /** A choice; where the other is zero, the mask itself cuts the value out. */
  #select([otherwise, then, condition]: readonly ScalarExpr[]): Lanes {
    const { vb } = this;
    const first = this.#value(then!);
    const wide = then!.type === 'bool' ? first.wide : isWide(then!.type);
    const mask = this.#mask(condition!, wide);
    if (otherwise!.kind === 'number' && Object.is(otherwise!.value, 0))
      return { regs: vb.bin('v128.and', mask, first.regs), wide };
    const other =
      otherwise!.type === 'bool' ? this.#mask(otherwise!, wide) : this.#regs(otherwise!);
    return { regs: vb.select(mask, first.regs, other), wide };
  }
}

type Vector = DefinedFunction & { readonly result: 'v128' };

const made = new Map<string, Vector>();

/** The program as a function of vectors. */
function vectorFunction(name: string): Vector {
  let found = made.get(name);
  if (found === undefined) {
    const { params } = functionProgram(name, WASM);
    const types = Object.fromEntries(params.map((param) => [param.name, 'v128' as const]));
    const f = new WasmFunction(`f32x4.${name}`, types, 'v128');
    const vb = new VectorBuilder(f, f.section(), { relaxedSimd: false });
    const args = params.map((param): Regs => [f.param<'v128'>(param.name)]);
    f.return(new ProgramEmitter(vb, false).run(name, args)[0]);
    found = f;
    made.set(name, found);
  }
  return found;
}

/**
 * The value of a function of the table: four elements take one register if their type has 32 bits, two if it has 64;
 * where all operands are `uniform`, any takes a single register of equal lanes.
 * @throws kernel-missing when there is no such function
 */
export function emitFunction(
  vb: VectorBuilder,
  name: string,
  args: readonly Regs[],
  uniform = false,
): Regs {
  const program = functionProgram(name, WASM);
  if (!fitsVectors(program))
    return eachElement(vb, scalarFunction(name), program.params, program.result, args, uniform);
  if (!program.called) return new ProgramEmitter(vb, uniform).run(name, args);
  const callee = vectorFunction(name);
  return vb.map(args, (...regs) => call(callee, ...regs));
}
