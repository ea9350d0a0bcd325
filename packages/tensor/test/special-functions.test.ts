/**
 * @file Special functions in double precision against values computed with forty digits, and at their limits.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, polygamma, tensor } from '../src/index.js';
import { i0e, i1, i1e } from '../src/special.js';

// prettier-ignore
const VALUES: Readonly<Record<string, readonly (readonly [x: number, y: number])[]>> = {
  lgamma: [[-7.3, -7.7791016298268516713], [-2.5, -0.056243716497674050673], [-0.1, 2.3689613327287886039], [1e-05, 11.512919692895825626], [0.3, 1.0957979948180755606], [1.4616, -0.12148629003589732842], [2.5, 0.28468287047291915963], [11.9, 17.258477450595522012], [12.1, 17.747007270798739306], [170.25, 702.72066167768046498], [1000000.0, 12815504.56914761166]],
  digamma: [[-7.3, 4.3373073055100501422], [-2.5, 1.1031566406452431872], [-0.1, 9.2450730500529480423], [1e-05, -100000.57719921567289], [0.3, -3.5025242222001331249], [1.4616, -0.000031106251230341649658], [2.5, 0.70315664064524318723], [11.9, 2.4339335368825374859], [12.1, 2.4513143481743372299], [170.25, 5.1343282124330184577], [1000000.0, 13.815510057964190771]],
  erfinv: [[-0.999999, -3.4589107372754987775], [-0.7, -0.73286907795921678488], [1e-09, 8.8622692545275806908e-10], [0.25, 0.22531205501217810473], [0.5, 0.47693627620446987338], [0.9, 1.1630871536766741628], [0.99999999, 4.0522372432687633554]],
  i0: [[-3.5, 7.3782034322254796603], [0.001, 1.000000250000015625], [1.0, 1.2660658777520083356], [7.9, 389.40628328215799843], [24.9, 5235629675.8044221842], [25.1, 6369018573.8035025426], [100.0, 1.0737517071310738235e+42], [700.0, 1.5295933476718737363e+302]],
  i1: [[-3.5, -6.2058349222583654736], [0.001, 0.00050000006250000261458], [1.0, 0.56515910399248502721], [7.9, 363.85394408450839174], [24.9, 5129395695.9257420694], [25.1, 6240828249.8739802719], [100.0, 1.0683693903381624812e+42], [700.0, 1.5285003902339006881e+302]],
  i0e: [[-3.5, 0.22280243801077916331], [1.0, 0.4657596075936404365], [30.0, 0.073145946482237293929], [100000.0, 0.0012615678379767767669]],
  i1e: [[-3.5, -0.18739997660304998737], [1.0, 0.20791041534970844887], [30.0, 0.071916330598647554706], [100000.0, 0.0012615615301218171273]],
  asinh: [[-1e+200, -461.21016577936908208], [-1.5, -1.1947632172871093041], [1e-12, 9.9999999999999997989e-13], [0.5, 0.4812118250596034475], [10000000000.0, 23.71899811050040215]],
  atanh: [[-0.999, -3.8002011672501995875], [1e-12, 9.9999999999999997989e-13], [0.5, 0.5493061443340548457]],
  sinc: [[-2.5, 0.12732395447351626862], [1e-09, 0.99999999999999999836], [0.5, 0.63661977236758134308]],
};

// prettier-ignore
const POLYGAMMA: readonly (readonly [n: number, x: number, y: number])[] = [[1, -2.3, 14.725912160961291488], [1, 0.2, 26.267377205423776331], [1, 1.5, 0.93480220054467930942], [1, 30.0, 0.033895060357739944214], [2, -2.3, 68.713792529270302002], [2, 0.2, -251.47803611443589139], [2, 1.5, -0.8287966442343199956], [2, 30.0, -0.001148765203728599844], [5, -2.3, 165660.0536116527362], [5, 0.2, 1875041.389678417148], [5, 1.5, 11.113548602435496242], [5, 30.0, 1.0726994936161623892e-6]];

type Name = 'lgamma' | 'digamma' | 'erfinv' | 'i0' | 'signbit';

const double = (...data: number[]): Tensor => tensor(data, { dtype: 'float64' });
const FUNCTIONS: Readonly<Record<string, (x: Tensor) => Tensor>> = { i1, i0e, i1e };

/** A method or function by name, on values. */
function apply(name: string, ...data: number[]): unknown {
  const x = double(...data);
  return (FUNCTIONS[name]?.(x) ?? x[name as Name]()).toArray();
}

/** Error relative to the value, absolute below 1: near zeros of a function that is what rounding leaves. */
function error(actual: number, expected: number): number {
  return Math.abs(actual - expected) / Math.max(Math.abs(expected), 1);
}

describe('special functions', () => {
  it.each(Object.entries(VALUES))('%s is accurate to 1e-13', (name, points) => {
    const got = apply(name, ...points.map(([x]) => x)) as number[];
    points.forEach(([x, y], i) => expect(error(got[i]!, y), `${name}(${x})`).toBeLessThan(1e-13));
  });

  it.each(POLYGAMMA)('polygamma(%d, %d) is accurate to 1e-12', (n, x, y) => {
    expect(error(polygamma(n, double(x)).item(), y)).toBeLessThan(1e-12);
  });

  it('have the limits of PyTorch', () => {
    expect(apply('lgamma', 0, -3, Infinity, -Infinity, NaN, 1, 2)).toEqual([
      Infinity,
      Infinity,
      Infinity,
      Infinity,
      NaN,
      0,
      0,
    ]);
    expect(apply('digamma', 0, -0, -3, Infinity, -Infinity)).toEqual([
      -Infinity,
      Infinity,
      NaN,
      Infinity,
      NaN,
    ]);
    expect(apply('erfinv', 1, -1, 1.5, 0)).toEqual([Infinity, -Infinity, NaN, 0]);
    expect(apply('i0', Infinity, -Infinity, 0, NaN, 1000)).toEqual([NaN, NaN, 1, NaN, Infinity]);
    expect(apply('i1', -1000, 0, Infinity)).toEqual([-Infinity, 0, NaN]);
    expect(apply('signbit', -0, 0, -1, 1, -Infinity)).toEqual([true, false, true, false, true]);
  });
});

it('rounding keeps the sign of what becomes zero', () => {
  const x = double(-0.25, -0.5, -0, 0.5, -0.75, -1.5);
  expect(x.round().toArray()).toEqual([-0, -0, -0, 0, -1, -2]);
});
