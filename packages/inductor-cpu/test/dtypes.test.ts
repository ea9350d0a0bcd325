/** @file Element types: conversions, half precision, integers, f64 functions and random numbers. */
import { TesseraError } from '@tessera/shared';
import { type DType } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
  philoxNormal,
  philoxUniform,
} from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { erf } from './erf.js';
import { pointwise } from './support-kernels.js';

const bits = new DataView(new ArrayBuffer(4));
function fromBits(pattern: number): number {
  bits.setUint32(0, pattern);
  return bits.getFloat32(0);
}

function expectEqual(
  got: readonly number[],
  wanted: readonly number[],
  label: (i: number) => string,
  relative = 0,
): void {
  got.forEach((x, i) => {
    if (Math.abs(x / wanted[i]! - 1) <= relative) return;
    if (!Object.is(x, wanted[i]) && !(Number.isNaN(x) && Number.isNaN(wanted[i])))
      expect.fail(`${label(i)}: ${x}, expected ${wanted[i]}`);
  });
}

describe('half precision', () => {
  for (const [dtype, decode, encode] of [
    ['float16', halfToNumber, numberToHalf],
    ['bfloat16', bfloatToNumber, numberToBfloat],
  ] as const) {
    it(`loads every ${dtype} exactly`, () => {
      const all = Array.from({ length: 65536 }, (_, pattern) => decode(pattern));
      const { run } = pointwise(65536, [dtype], 'float32', (_ir, [x]) => x!);
      expectEqual(run(all), all, (i) => `pattern ${i}`);
    });

    it(`rounds f32 to ${dtype} to nearest even, denormals, infinities and NaN included`, () => {
      const samples: number[] = [];
      for (let pattern = 0; pattern < 2 ** 32; pattern += 65537 - 7)
        samples.push(fromBits(pattern));
      // Halfway cases around every exponent of float16.
      for (let e = -26; e < 17; e++)
        for (const m of [1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 + 2 ** -9, 2 - 2 ** -12])
          samples.push(m * 2 ** e, -m * 2 ** e);
      // Every number of the type, the middle between it and the next, and what is nearest to that from both sides.
      for (let pattern = 0; pattern < 65536; pattern++) {
        const [own, next] = [
          decode(pattern),
          decode((pattern & 0x7fff) === 0x7fff ? 0 : pattern + 1),
        ];
        // After the largest number comes what would follow it, were there an infinite number of exponents.
        const middle = Number.isFinite(next) ? (own + next) / 2 : own * (1 + 2 ** -12);
        const [bits] = new Int32Array(Float32Array.of(middle).buffer);
        samples.push(own, middle, fromBits(bits! - 1), fromBits(bits! + 1));
      }
      for (const nan of [0x7f800001, 0x7fffffff, 0xff800001, 0xffffffff])
        samples.push(fromBits(nan));
      while (samples.length % 8 !== 0) samples.push(0);
      const { run } = pointwise(samples.length, ['float32'], dtype, (ir, [x]) =>
        ir.cast(x!, dtype),
      );
      expectEqual(
        run(samples),
        samples.map((x) => decode(encode(x))),
        (i) => `${samples[i]}`,
      );
    });
  }
});

describe('conversions', () => {
  const INTS: DType[] = ['int64', 'int32', 'int16', 'int8', 'uint8', 'bool'];
  const RANGE: Record<string, readonly [number, number]> = {
    int64: [-(2 ** 53) + 1, 2 ** 53 - 1],
    int32: [-(2 ** 31), 2 ** 31 - 1],
    int16: [-32768, 32767],
    int8: [-128, 127],
    uint8: [0, 255],
    bool: [0, 1],
  };
  const wrap = (x: number, to: DType): number => {
    if (to === 'bool') return x === 0 ? 0 : 1;
    const width = { int64: 64, int32: 32, int16: 16, int8: 8, uint8: 8 }[to as 'int64'];
    return Number(to === 'uint8' ? BigInt.asUintN(8, BigInt(x)) : BigInt.asIntN(width, BigInt(x)));
  };
  for (const from of INTS) {
    for (const to of INTS) {
      if (from === to) continue;
      it(`wraps ${from} to ${to}`, () => {
        const [low, high] = RANGE[from] as readonly [number, number];
        const data = [
          low,
          high,
          0,
          1,
          -1,
          127,
          128,
          255,
          256,
          32767,
          32768,
          -129,
          65535,
          65536,
          2 ** 31,
          2 ** 32 + 5,
          -(2 ** 33) - 3,
        ].map((x) => Math.min(high, Math.max(low, x)));
        const { run } = pointwise(data.length, [from], to, (ir, [x]) => ir.cast(x!, to));
        expectEqual(
          run(data),
          data.map((x) => wrap(x, to)),
          (i) => `${data[i]}`,
        );
      });
    }
  }
  it('truncates floats to integers; NaN becomes the least one', () => {
    const data = [0, -0, 1.9, -1.9, 1e9, -1e9, 2147483520, NaN, 0.5, -0.5, 255.99];
    for (const from of ['float32', 'float64'] as const) {
      for (const to of ['int64', 'int32'] as const) {
        const { run } = pointwise(data.length, [from], to, (ir, [x]) => ir.cast(x!, to));
        const wanted = data.map((x) =>
          Number.isNaN(x)
            ? -(2 ** (to === 'int64' ? 63 : 31))
            : Math.trunc(from === 'float32' ? Math.fround(x) : x) + 0,
        );
        expectEqual(run(data), wanted, (i) => `${from} ${data[i]} to ${to}`);
      }
    }
  });
  it('rounds int64 to float32 once', () => {
    const data = [2 ** 24 + 1, 2 ** 53 - 1, -(2 ** 40) - 1, 9007199791611905 - 2 ** 29];
    const { run } = pointwise(data.length, ['int64'], 'float32', (ir, [x]) =>
      ir.cast(x!, 'float32'),
    );
    expectEqual(run(data), data.map(Math.fround), (i) => `${data[i]}`);
  });
});

describe('integers', () => {
  const A = [7, -7, 7, -7, 0, 5, -(2 ** 31), 2 ** 31 - 1, 100, -100, 6, -6];
  const B = [3, 3, -3, -3, 5, 0, -1, 7, -8, 8, 2, 4];
  const REFERENCE = {
    floordiv: (a: number, b: number) => (b === 0 ? 0 : Math.floor(a / b)),
    truncdiv: (a: number, b: number) => (b === 0 ? 0 : Math.trunc(a / b)),
    remainder: (a: number, b: number) => (b === 0 ? 0 : a - Math.floor(a / b) * b),
    fmod: (a: number, b: number) => (b === 0 ? 0 : a % b),
  };
  for (const [op, reference] of Object.entries(REFERENCE)) {
    for (const dtype of ['int32', 'int64'] as const) {
      it(`${op} of ${dtype}, by zero and by -1 included`, () => {
        const { run } = pointwise(A.length, [dtype, dtype], dtype, (ir, [a, b]) =>
          ir.op(op as 'floordiv', [a!, b!]),
        );
        const wanted = A.map((a, i) => reference(a, B[i] as number) + 0).map((x) =>
          dtype === 'int32' ? x | 0 : x,
        );
        expectEqual(run(A, B), wanted, (i) => `${A[i]} ${op} ${B[i]}`);
      });
    }
    for (const by of [8, 6, -4]) {
      it(`${op} by the constant ${by}`, () => {
        const { run } = pointwise(A.length, ['int64'], 'int64', (ir, [a]) =>
          ir.op(op as 'floordiv', [a!, ir.const('int64', by)]),
        );
        expectEqual(
          run(A),
          A.map((a) => reference(a, by) + 0),
          (i) => `${A[i]} ${op} ${by}`,
        );
      });
    }
  }
  it('raises integers to powers, negative ones included', () => {
    const base = [2, -2, 1, -1, -1, 3, 0, 5, 7, 10];
    const power = [10, 5, -3, -3, -4, -1, 0, 1, 2, 15];
    const { run } = pointwise(base.length, ['int64', 'int64'], 'int64', (ir, [a, b]) =>
      ir.op('pow', [a!, b!]),
    );
    expectEqual(
      run(base, power),
      [1024, -32, 1, -1, 1, 0, 1, 5, 49, 1e15],
      (i) => `${base[i]} ** ${power[i]}`,
    );
  });
  it('multiplies int64 beyond 32 bits', () => {
    const a = [3000000000, -123456789, 2 ** 26, 94906265];
    const { run } = pointwise(4, ['int64'], 'int64', (ir, [x]) =>
      ir.op('mul', [x!, ir.const('int64', 94906265)]),
    );
    expectEqual(
      run(a),
      a.map((x) => Number(BigInt.asIntN(64, BigInt(x) * 94906265n))),
      (i) => `${a[i]}`,
    );
  });
});

describe('remainders of floats', () => {
  const a = [5.5, -5.5, 5.5, -5.5, 1e30, 1e-40, 0, -0, Infinity, NaN, 3, 3.4e38, 7, 0.3, 1, -1e-3];
  const b = [2, 2, -2, -2, 0.7, 3, 3, 3, 2, 1, 0, 1e-38, Infinity, 0.1, 1, 3];
  for (const dtype of ['float32', 'float64'] as const) {
    it(`fmod and remainder of ${dtype} are exact`, () => {
      const round = dtype === 'float32' ? Math.fround : Number;
      const [x, y] = [a.map(round), b.map(round)];
      const fmod = pointwise(a.length, [dtype, dtype], dtype, (ir, [p, q]) =>
        ir.op('fmod', [p!, q!]),
      );
      expectEqual(
        fmod.run(x, y).map((v) => v + 0),
        x.map((v, i) => (v % (y[i] as number)) + 0),
        (i) => `${a[i]} % ${b[i]}`,
      );
      const remainder = pointwise(a.length, [dtype, dtype], dtype, (ir, [p, q]) =>
        ir.op('remainder', [p!, q!]),
      );
      const wanted = x.map((v, i) => {
        const r = v % (y[i] as number);
        return round(r !== 0 && r < 0 !== (y[i] as number) < 0 ? r + (y[i] as number) : r) + 0;
      });
      expectEqual(
        remainder.run(x, y).map((v) => v + 0),
        wanted,
        (i) => `remainder(${a[i]}, ${b[i]})`,
      );
    });
  }
});

describe('functions of two arguments', () => {
  const specials = [
    0,
    -0,
    1,
    -1,
    2,
    -2,
    0.5,
    3,
    -3,
    1e-40,
    1e30,
    Infinity,
    -Infinity,
    NaN,
    2.5,
    -0.5,
  ];
  const x = specials.flatMap((a) => specials.map(() => a));
  const y = specials.flatMap(() => specials);
  const pow = (a: number, b: number): number =>
    a === 1 || b === 0 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b;
  const isNegative = (a: number): boolean => a < 0 || Object.is(a, -0);
  const copySign = (a: number, b: number): number => (isNegative(a) === isNegative(b) ? a : -a);
  for (const [name, reference] of [
    ['pow', pow],
    ['atan2', Math.atan2],
    ['copysign', copySign],
  ] as const) {
    for (const dtype of ['float32', 'float64'] as const) {
      it(`${name} of ${dtype} on all pairs of special values`, () => {
        const round = dtype === 'float32' ? Math.fround : Number;
        const { run } = pointwise(x.length, [dtype, dtype], dtype, (ir, [a, b]) =>
          ir.op(name, [a!, b!]),
        );
        expectEqual(
          run(x.map(round), y.map(round)),
          x.map((a, i) => round(reference(round(a), round(y[i] as number)))),
          (i) => `${name}(${x[i]}, ${y[i]})`,
          dtype === 'float64' ? 2 ** -51 : 0,
        );
      });
    }
  }
  it('pow of f32 is within 1 ulp on ordinary numbers', () => {
    const count = 100_000;
    const a = Array.from({ length: count }, (_, i) => Math.fround(2 ** ((i % 211) / 10 - 10)));
    const b = Array.from({ length: count }, (_, i) => Math.fround(((i * 7919) % 1000) / 125 - 4));
    const { run } = pointwise(count, ['float32', 'float32'], 'float32', (ir, [p, q]) =>
      ir.op('pow', [p!, q!]),
    );
    run(a, b).forEach((got, i) => {
      const exact = (a[i] as number) ** (b[i] as number);
      const ulp = 2 ** (Math.max(-126, Math.floor(Math.log2(exact))) - 23);
      if (Math.abs(got - exact) > ulp)
        expect.fail(`${a[i]} ** ${b[i]} is ${got}, expected ${exact}`);
    });
  });
});

describe('functions of f64', () => {
  const samples = Array.from({ length: 4001 }, (_, i) => (i - 2000) / 250);
  const REFERENCE = {
    exp: Math.exp,
    expm1: Math.expm1,
    log: Math.log,
    log1p: Math.log1p,
    log2: Math.log2,
    sin: Math.sin,
    cos: Math.cos,
    tan: Math.tan,
    asin: Math.asin,
    acos: Math.acos,
    atan: Math.atan,
    sinh: Math.sinh,
    cosh: Math.cosh,
    tanh: Math.tanh,
    exp2: (v: number) => 2 ** v,
    sigmoid: (v: number) => 1 / (1 + Math.exp(-v)),
    erf,
    rsqrt: (v: number) => 1 / Math.sqrt(v),
  };
  for (const [name, reference] of Object.entries(REFERENCE)) {
    it(`${name} agrees with f64 to 3e-15`, () => {
      const { run } = pointwise(samples.length, ['float64'], 'float64', (ir, [v]) =>
        ir.op(name as 'exp', [v!]),
      );
      run(samples).forEach((got, i) => {
        const wanted = reference(samples[i] as number);
        const same =
          Object.is(got, wanted) ||
          (Number.isNaN(got) && Number.isNaN(wanted)) ||
          Math.abs(got - wanted) <= 3e-15 * Math.abs(wanted);
        if (!same) expect.fail(`${name}(${samples[i]}) is ${got}, expected ${wanted}`);
      });
    });
  }
});

describe('random numbers', () => {
  const count = 1003;
  it('repeats the uniform stream of eager bit for bit', () => {
    const { run } = pointwise(count, ['float32'], 'float32', (ir, [x]) =>
      ir.op('add', [
        x!,
        ir.random(
          'float32',
          'uniform',
          ir.const('int64', 4242424242),
          ir.const('int64', 7),
          ir.add(ir.scale(ir.sym('i'), 3), ir.int(5)),
        ),
      ]),
    );
    expectEqual(
      run(Array.from({ length: count }, () => 0)),
      Array.from({ length: count }, (_, i) => Math.fround(philoxUniform(4242424242, 7, 3 * i + 5))),
      (i) => `element ${i}`,
    );
  });
  it('repeats the normal stream of eager to 4e-6', () => {
    const { run } = pointwise(count, ['float32'], 'float32', (ir, [x]) =>
      ir.op('add', [
        x!,
        ir.random('float32', 'normal', ir.const('int64', 99), ir.const('int64', 0), ir.sym('i')),
      ]),
    );
    run(Array.from({ length: count }, () => 0)).forEach((got, i) =>
      expect(Math.abs(got - philoxNormal(99, 0, i))).toBeLessThan(4e-6),
    );
  });
});

describe('operations without a form', () => {
  it('are an error that names operation and dtype', () => {
    let error: unknown;
    try {
      pointwise(4, ['int32'], 'int32', (_ir, [x]) => ({
        kind: 'op',
        dtype: 'int32',
        op: 'erf',
        args: [x!],
      }));
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(TesseraError);
    expect((error as TesseraError).code).toBe('kernel-missing');
    expect((error as TesseraError).message).toContain("no 'erf' for int32");
  });
});
