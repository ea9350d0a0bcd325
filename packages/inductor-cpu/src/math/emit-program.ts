/**
 * @file Scalar programs of inductor-core's table as vector code: in place, or as a WebAssembly function
 * `(v128…) -> v128` that is called where most elements need something else.
 *
 * A product that is added or subtracted becomes a fused instruction where the engine has it. Bits of a float are
 * the register itself, bools are masks.
 */
import {
  CONSTANTS,
  EXPONENTIALS,
  type FunctionTarget,
  HYPERBOLIC,
  LOGARITHMS,
  functionProgram,
  type ScalarExpr,
  type ScalarStatement,
} from '@tessera/inductor-core';
import { call, op } from '../emit/code.js';
import type { BinaryVectorOp, UnaryVectorOp } from '../emit/instructions.js';
import type { Code, DefinedFunction } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { VectorBuilder, type Reg, type Regs } from '../body/vector-builder.js';

/** WebAssembly's vectors are as IEEE 754 has it. */
const WASM: FunctionTarget = {
  ieee: true,
  functions: { ...CONSTANTS, ...EXPONENTIALS, ...HYPERBOLIC, ...LOGARITHMS },
};

type Typed<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

const ARITHMETIC = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div' } as const;
const LOGIC = { '&': 'and', '|': 'or', '^': 'xor' } as const;
const COMPARISONS = {
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
} as const;
const UNARY = {
  abs: 'abs',
  ceil: 'ceil',
  floor: 'floor',
  round: 'nearest',
  sqrt: 'sqrt',
  trunc: 'trunc',
} as const;

function has<T extends object>(table: T, key: PropertyKey): key is keyof T {
  return key in table;
}

/** What the vector instructions cannot do: the program is for scalars. */
function unsupported(what: string): TypeError {
  return new TypeError(`Vector code cannot have ${what}.`);
}

class ProgramEmitter {
  readonly #names = new Map<string, Regs>();

  constructor(private readonly vb: VectorBuilder) {}

  run(name: string, args: readonly Regs[]): Regs {
    const { params, body } = functionProgram(name, WASM);
    params.forEach((param, i) => this.#names.set(param.name, args[i] as Regs));
    const last = body.at(-1);
    if (last?.kind !== 'return') throw unsupported(`a program without result ('${name}')`);
    const registers = Math.max(1, ...args.map((arg) => arg.length));
    for (const statement of body.slice(0, -1)) this.#statement(statement, registers);
    return this.#value(last.value);
  }

  #statement(statement: ScalarStatement, registers: number): void {
    const { f, hint } = this.vb;
    switch (statement.kind) {
      case 'let':
        this.#names.set(statement.name, this.#value(statement.value));
        return;
      case 'var': {
        const regs = this.#value(statement.value);
        const own = Array.from({ length: registers }, (_, i) =>
          f.let(hint, regs[i % regs.length] as Reg),
        );
        this.#names.set(statement.name, own);
        return;
      }
      case 'set': {
        const regs = this.#value(statement.value);
        (this.#names.get(statement.name) as Regs).forEach((reg, i) =>
          f.set(reg, regs[i % regs.length] as Reg),
        );
        return;
      }
      case 'if':
        f.if(this.#any(statement.condition), () => {
          for (const inner of statement.then) this.#statement(inner, registers);
        });
        return;
      default:
        throw unsupported(`'${statement.kind}'`);
    }
  }

  /** Whether the condition of an `any` holds for some element. */
  #any(condition: ScalarExpr): Code<'i32'> {
    if (condition.kind !== 'builtin' || condition.name !== 'any')
      throw unsupported('branches by one value');
    const [of] = condition.args as [ScalarExpr];
    const join = (regs: Regs, name: 'v128.and' | 'v128.or'): Code<'v128'> =>
      regs.slice(1).reduce<Code<'v128'>>((a, b) => op(name, a, b), regs[0] as Reg);
    return of.kind === 'unary' && of.op === '!'
      ? op('i32.eqz', op('i32x4.all_true', join(this.#value(of.arg), 'v128.and')))
      : op('v128.any_true', join(this.#value(of), 'v128.or'));
  }

  #value(expr: ScalarExpr): Regs {
    const { vb } = this;
    switch (expr.kind) {
      case 'number':
        return expr.type === 'f32' ? vb.f32(expr.value) : vb.i32(expr.value | 0);
      case 'name':
        return this.#names.get(expr.name) as Regs;
      case 'bitcast':
        return this.#value(expr.arg);
      case 'call':
        return emitFunction(vb, expr.callee, ...expr.args.map((arg) => this.#value(arg)));
      case 'unary':
        return this.#unary(expr);
      case 'binary':
        return this.#binary(expr);
      case 'convert':
        return this.#convert(expr);
      case 'builtin':
        return this.#builtin(expr);
      default:
        throw unsupported(`'${expr.kind}'`);
    }
  }

  #unary({ op: name, type, arg }: Typed<'unary'>): Regs {
    const value = this.#value(arg);
    if (name !== '-') return this.vb.un('v128.not', value);
    return this.vb.un(type === 'f32' ? 'f32x4.neg' : 'i32x4.neg', value);
  }

  #binary(expr: Typed<'binary'>): Regs {
    const { vb } = this;
    const { op: name, left, right } = expr;
    const product = (of: ScalarExpr): of is Typed<'binary'> =>
      expr.type === 'f32' && of.kind === 'binary' && of.op === '*';
    if (name === '+' && product(left))
      return vb.madd(this.#value(left.left), this.#value(left.right), this.#value(right));
    if (name === '+' && product(right))
      return vb.madd(this.#value(right.left), this.#value(right.right), this.#value(left));
    if (name === '-' && product(right) && !product(left)) {
      const from = this.#value(left);
      return vb.nmadd(this.#value(right.left), this.#value(right.right), from);
    }
    const shape = left.type === 'f32' ? 'f32x4' : 'i32x4';
    if (name === '<<' || name === '>>') {
      if (right.kind !== 'number') throw unsupported('shifts by values');
      const direction = name === '<<' ? 'shl' : left.type === 'u32' ? 'shr_u' : 'shr_s';
      return vb.shift(`i32x4.${direction}`, this.#value(left), right.value);
    }
    const [a, b] = [this.#value(left), this.#value(right)];
    if (has(LOGIC, name)) return vb.bin(`v128.${LOGIC[name]}`, a, b);
    if (has(COMPARISONS, name)) {
      const order = shape === 'f32x4' || name === '==' || name === '!=' ? '' : signOf(left);
      return vb.bin(`${shape}.${COMPARISONS[name]}${order}` as BinaryVectorOp, a, b);
    }
    if (!has(ARITHMETIC, name) || (name === '/' && shape === 'i32x4'))
      throw unsupported(`'${name}' of integers`);
    return vb.bin(`${shape}.${ARITHMETIC[name]}` as BinaryVectorOp, a, b);
  }

  #convert({ type, arg }: Typed<'convert'>): Regs {
    const value = this.#value(arg);
    if (type === 'f32' && arg.type !== 'f32')
      return this.vb.un(`f32x4.convert_i32x4${signOf(arg)}` as UnaryVectorOp, value);
    return arg.type === 'f32' && type !== 'f32'
      ? this.vb.un('i32x4.trunc_sat_f32x4_s', value)
      : value;
  }

  #builtin({ name, args, type }: Typed<'builtin'>): Regs {
    const { vb } = this;
    if (name === 'select') {
      const [otherwise, then, condition] = args as [ScalarExpr, ScalarExpr, ScalarExpr];
      const mask = this.#value(condition);
      return vb.select(mask, this.#value(then), this.#value(otherwise));
    }
    if (has(UNARY, name)) {
      const shape = type === 'f32' ? 'f32x4' : 'i32x4';
      return vb.un(`${shape}.${UNARY[name]}` as UnaryVectorOp, this.#value(args[0] as ScalarExpr));
    }
    if ((name === 'min' || name === 'max') && type === 'f32') {
      // Of a value and a number, the pseudo-minimum keeps NaN, in one instruction instead of about six.
      const pseudo = args[1]?.kind === 'number' ? 'p' : '';
      const [a, b] = args.map((arg) => this.#value(arg)) as [Regs, Regs];
      return vb.bin(`f32x4.${pseudo}${name}`, a, b);
    }
    throw unsupported(`'${name}'`);
  }
}

function signOf(expr: ScalarExpr): '_s' | '_u' {
  return expr.type === 'u32' ? '_u' : '_s';
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
    f.return(new ProgramEmitter(vb).run(name, args)[0] as Reg);
    found = f;
    made.set(name, found);
  }
  return found;
}

/** The value of a function of the table, on all registers. @throws kernel-missing when there is no such function */
export function emitFunction(vb: VectorBuilder, name: string, ...args: readonly Regs[]): Regs {
  if (!functionProgram(name, WASM).rare) return new ProgramEmitter(vb).run(name, args);
  const callee = vectorFunction(name);
  return vb.map(args, (...regs) => call(callee, ...regs));
}
