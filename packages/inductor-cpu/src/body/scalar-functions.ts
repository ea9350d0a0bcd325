/**
 * @file WebAssembly functions for operations that have no vector instructions, called lane by lane:
 * integer division, powers and shifts, the exact floating remainder, and imports of JavaScript's `Math`.
 *
 * Integer division by zero gives 0 and the most negative number divided by -1 wraps: kernels must not
 * trap, because a vector's unused lanes hold anything. `Math` functions are imported under the module
 * name `math`; engines turn them into direct calls of their own implementation.
 */
import { call, f64, i64, op, select } from '../emit/code.js';
import type { Code, DefinedFunction, ImportedFunction, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';

/** Integer operations done by scalar functions. */
export type IntegerFunction =
  'floordiv' | 'truncdiv' | 'remainder' | 'fmod' | 'pow' | 'gcd' | 'shl' | 'shr';

type Int64Function = DefinedFunction & { readonly result: 'i64' };
type Float64Function = DefinedFunction & { readonly result: 'f64' };

const integerFunctions = new Map<IntegerFunction, Int64Function>();

/** `(a: i64, b: i64) -> i64`; 32-bit lanes are extended and the result wrapped. */
export function integerFunction(name: IntegerFunction): Int64Function {
  let found = integerFunctions.get(name);
  if (found === undefined) {
    const f = new WasmFunction(`int.${name}`, { a: 'i64', b: 'i64' }, 'i64');
    (BUILDERS[name] ?? buildDivision)(f, name);
    found = f;
    integerFunctions.set(name, found);
  }
  return found;
}

type BuildInteger = (f: WasmFunction<'i64'>, name: IntegerFunction) => void;

/** How functions other than divisions are built. */
const BUILDERS: Readonly<Partial<Record<IntegerFunction, BuildInteger>>> = {
  pow: buildPower,
  gcd: buildGcd,
  shl: buildShift,
  shr: buildShift,
};

/** Euclid's algorithm on magnitudes. */
function buildGcd(f: WasmFunction<'i64'>): void {
  const a = f.param<'i64'>('a');
  const b = f.param<'i64'>('b');
  const magnitude = (x: Code<'i64'>): Code<'i64'> =>
    select(op('i64.sub', i64(0), x), x, op('i64.lt_s', x, i64(0)));
  const x = f.let('x', magnitude(a));
  const y = f.let('y', magnitude(b));
  const rest = f.local('i64', 'rest');
  f.while(
    () => op('i64.ne', y, i64(0)),
    () => {
      f.set(rest, op('i64.rem_u', x, y));
      f.set(x, y);
      f.set(y, rest);
    },
  );
  f.return(x);
}

function buildDivision(f: WasmFunction<'i64'>, name: IntegerFunction): void {
  const a = f.param<'i64'>('a');
  const b = f.param<'i64'>('b');
  const isQuotient = name === 'floordiv' || name === 'truncdiv';
  f.if(op('i64.eqz', b), () => f.return(i64(0)));
  f.if(op('i64.eq', b, i64(-1)), () => f.return(isQuotient ? op('i64.sub', i64(0), a) : i64(0)));
  const remainder = f.let('r', op('i64.rem_s', a, b));
  // Floor division rounds down, and its remainder has the divisor's sign: both differ where r and b disagree.
  const disagree = (): Code<'i32'> =>
    op(
      'i32.and',
      op('i64.ne', remainder, i64(0)),
      op('i64.lt_s', op('i64.xor', remainder, b), i64(0)),
    );
  if (name === 'fmod') f.return(remainder);
  else if (name === 'truncdiv') f.return(op('i64.div_s', a, b));
  else if (name === 'remainder')
    f.return(select(op('i64.add', remainder, b), remainder, disagree()));
  else f.return(op('i64.sub', op('i64.div_s', a, b), op('i64.extend_i32_u', disagree())));
}

function buildShift(f: WasmFunction<'i64'>, name: IntegerFunction): void {
  const a = f.param<'i64'>('a');
  const b = f.param<'i64'>('b');
  const tooFar = op('i64.gt_u', b, i64(63));
  if (name === 'shl') f.return(select(i64(0), op('i64.shl', a, b), tooFar));
  else f.return(op('i64.shr_s', a, select(i64(63), b, tooFar)));
}

/** Square and multiply; a negative exponent truncates 1/bⁿ, which is 0 unless |b| = 1. */
function buildPower(f: WasmFunction<'i64'>): void {
  const a = f.param<'i64'>('a');
  const b = f.param<'i64'>('b');
  const odd = (): Code<'i32'> => op('i32.wrap_i64', op('i64.and', b, i64(1)));
  const result = f.let('result', i64(1));
  f.if(op('i64.lt_s', b, i64(0)), () => {
    f.if(op('i64.eq', a, i64(1)), () => f.return(i64(1)));
    f.if(op('i64.eq', a, i64(-1)), () => f.return(select(i64(-1), i64(1), odd())));
    f.return(i64(0));
  });
  f.while(
    () => op('i64.ne', b, i64(0)),
    () => {
      f.if(odd(), () => f.set(result, op('i64.mul', result, a)));
      f.set(a, op('i64.mul', a, a));
      f.set(b, op('i64.shr_u', b, i64(1)));
    },
  );
  f.return(result);
}

let floatRemainder: Float64Function | undefined;

/** `(a: f64, b: f64) -> f64`: exact remainder of truncated division, C's `fmod`. */
export function fmodFunction(): Float64Function {
  floatRemainder ??= buildFmod();
  return floatRemainder;
}

/** Subtracts b·2ᵏ for falling k: every step is exact, and the quotients of real programs are small. */
function buildFmod(): Float64Function {
  const f = new WasmFunction('float.fmod', { a: 'f64', b: 'f64' }, 'f64');
  const a = f.param<'f64'>('a');
  const b = f.param<'f64'>('b');
  const x = f.let('x', op('f64.abs', a));
  const y = f.let('y', op('f64.abs', b));
  const bad = op(
    'i32.or',
    op('i32.eqz', op('f64.lt', x, f64(Infinity))),
    op('i32.eqz', op('f64.gt', y, f64(0))),
  );
  f.if(bad, () => f.return(f64(NaN)));
  f.if(op('f64.lt', x, y), () => f.return(a));
  const power = f.let('power', y);
  f.while(
    () => op('f64.le', power, op('f64.mul', x, f64(0.5))),
    () => f.set(power, op('f64.add', power, power)),
  );
  f.while(
    () => op('f64.ge', power, y),
    () => {
      f.if(op('f64.ge', x, power), () => f.set(x, op('f64.sub', x, power)));
      f.set(power, op('f64.mul', power, f64(0.5)));
    },
  );
  f.return(op('f64.copysign', x, a));
  return f;
}

const imports = new Map<string, ImportedFunction & { readonly result: 'f64' }>();

/** JavaScript's `Math[name]`. */
export function mathImport(
  name: string,
  arity: 1 | 2,
): ImportedFunction & { readonly result: 'f64' } {
  let found = imports.get(name);
  if (found === undefined) {
    found = {
      kind: 'import',
      module: 'math',
      name,
      params: Array.from({ length: arity }, () => 'f64' as const),
      result: 'f64',
    };
    imports.set(name, found);
  }
  return found;
}

let powFunction: Float64Function | undefined;

/** `(a: f64, b: f64) -> f64`: IEEE `pow`, which unlike JavaScript's gives 1 for 1 ** NaN and (±1) ** ±∞. */
export function floatPower(): Float64Function {
  if (powFunction === undefined) {
    const f = new WasmFunction('float.pow', { a: 'f64', b: 'f64' }, 'f64');
    const a = f.param<'f64'>('a');
    const b = f.param<'f64'>('b');
    f.if(op('f64.eq', a, f64(1)), () => f.return(f64(1)));
    f.if(
      op('i32.and', op('f64.eq', a, f64(-1)), op('f64.eq', op('f64.abs', b), f64(Infinity))),
      () => f.return(f64(1)),
    );
    f.return(call(mathImport('pow', 2), a, b));
    powFunction = f;
  }
  return powFunction;
}

let errorFunction: Float64Function | undefined;

/** `(x: f64) -> f64`: the error function, by the rational approximations of fdlibm's `s_erf.c`. */
export function erfFunction(): Float64Function {
  if (errorFunction === undefined) {
    const f = new WasmFunction('float.erf', { x: 'f64' }, 'f64');
    const x = f.param<'f64'>('x');
    const a = f.let('a', op('f64.abs', x));
    const poly = (z: Local<'f64'>, coefficients: readonly number[]): Code<'f64'> =>
      coefficients.reduceRight<Code<'f64'> | undefined>(
        (sum, c) => (sum === undefined ? f64(c) : op('f64.add', op('f64.mul', sum, z), f64(c))),
        undefined,
      ) as Code<'f64'>;
    const ratio = (
      z: Local<'f64'>,
      [p, q]: readonly [readonly number[], readonly number[]],
    ): Code<'f64'> => op('f64.div', poly(z, p), poly(z, [1, ...q]));
    f.if(op('f64.lt', a, f64(0.84375)), () => {
      const z = f.let('z', op('f64.mul', x, x));
      f.return(op('f64.add', x, op('f64.mul', x, ratio(z, ERF_SMALL))));
    });
    f.if(op('f64.lt', a, f64(1.25)), () => {
      const s = f.let('s', op('f64.sub', a, f64(1)));
      f.return(
        op('f64.copysign', op('f64.add', f64(8.45062911510467529297e-1), ratio(s, ERF_MIDDLE)), x),
      );
    });
    f.if(op('f64.ge', a, f64(6)), () => f.return(op('f64.copysign', f64(1), x)));
    f.if(op('f64.ne', a, a), () => f.return(x));
    const s = f.let('s', op('f64.div', f64(1), op('f64.mul', a, a)));
    const r = f.local('f64', 'r');
    f.if(
      op('f64.lt', a, f64(1 / 0.35)),
      () => f.set(r, ratio(s, ERF_LARGE)),
      () => f.set(r, ratio(s, ERF_LARGEST)),
    );
    const exponent = op('f64.sub', op('f64.sub', r, f64(0.5625)), op('f64.mul', a, a));
    f.return(
      op(
        'f64.copysign',
        op('f64.sub', f64(1), op('f64.div', call(mathImport('exp', 1), exponent), a)),
        x,
      ),
    );
    errorFunction = f;
  }
  return errorFunction;
}

type Rational = readonly [numerator: readonly number[], denominatorAfterOne: readonly number[]];

// prettier-ignore
const ERF_SMALL: Rational = [
  [1.28379167095512558561e-1, -3.25042107247001499370e-1, -2.84817495755985104766e-2, -5.77027029648944159157e-3, -2.37630166566501626084e-5],
  [3.97917223959155352819e-1, 6.50222499887672944485e-2, 5.08130628187576562776e-3, 1.32494738004321644526e-4, -3.96022827877536812320e-6],
];
// prettier-ignore
const ERF_MIDDLE: Rational = [
  [-2.36211856075265944077e-3, 4.14856118683748331666e-1, -3.72207876035701323847e-1, 3.18346619901161753674e-1, -1.10894694282396677476e-1, 3.54783043256182359371e-2, -2.16637559486879084300e-3],
  [1.06420880400844228286e-1, 5.40397917702171048937e-1, 7.18286544141962662868e-2, 1.26171219808761642112e-1, 1.36370839120290507362e-2, 1.19844998467991074170e-2],
];
// prettier-ignore
const ERF_LARGE: Rational = [
  [-9.86494403484714822705e-3, -6.93858572707181764372e-1, -1.05586262253232909814e1, -6.23753324503260060396e1, -1.62396669462573470355e2, -1.84605092906711035994e2, -8.12874355063065934246e1, -9.81432934416914548592],
  [1.96512716674392571292e1, 1.37657754143519042600e2, 4.34565877475229228821e2, 6.45387271733267880336e2, 4.29008140027567833386e2, 1.08635005541779435134e2, 6.57024977031928170135, -6.04244152148580987438e-2],
];
// prettier-ignore
const ERF_LARGEST: Rational = [
  [-9.86494292470009928597e-3, -7.99283237680523006574e-1, -1.77579549177547519889e1, -1.60636384855821916062e2, -6.37566443368389627722e2, -1.02509513161107724954e3, -4.83519191608651397019e2],
  [3.03380607434824582924e1, 3.25792512996573918826e2, 1.53672958608443695994e3, 3.19985821950859553908e3, 2.55305040643316442583e3, 4.74528541206955367215e2, -2.24409524465858183362e1],
];
