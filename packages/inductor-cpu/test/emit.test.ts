/** @file The emitter against the engine's validator and wabt's independent text parser. */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { assembleModule } from '../src/emit/assemble-module.js';
import {
  call,
  f32,
  f32x4,
  f64,
  f64x2,
  global,
  i32,
  i32x4,
  i64,
  i64x2,
  lane,
  laneMemory,
  memory,
  op,
  select,
  shuffle32,
} from '../src/emit/code.js';
import {
  type Instructions,
  LANE,
  LANE_MEMORY,
  MEMORY as ACCESSES,
  PLAIN,
} from '../src/emit/instructions.js';
import type { Code, ImportedFunction, ResultType } from '../src/emit/types.js';
import { WasmFunction } from '../src/emit/wasm-function.js';
import { expectTextEqualsBinary } from './wabt-check.js';

const MEMORY = { minPages: 1, maxPages: 16, shared: true };
/** One function per instruction of a table, its operands being parameters. */
function oneFunctionEach(
  table: Instructions,
  make: (name: string, operands: Code[]) => Code,
): WasmFunction<ResultType>[] {
  return [...table].map(([name, { params, result }]) => {
    const types = Object.fromEntries(params.map((type, i) => [`p${i}`, type]));
    const f = new WasmFunction(name, types, result);
    const code = make(name, [...f.params]);
    if (code.type === 'void') f.do(code);
    else f.return(code);
    return f;
  });
}

/* eslint-disable typescript/no-unsafe-argument */
type Loose = (...args: unknown[]) => Code;
const TABLES: [string, WasmFunction<ResultType>[]][] = [
  ['plain', oneFunctionEach(PLAIN, (name, args) => (op as Loose)(name, ...args))],
  ['memory', oneFunctionEach(ACCESSES, (name, args) => (memory as Loose)(name, 40, ...args))],
  [
    'lane memory',
    oneFunctionEach(LANE_MEMORY, (name, args) => (laneMemory as Loose)(name, 300, 1, ...args)),
  ],
  ['lane', oneFunctionEach(LANE, (name, args) => (lane as Loose)(name, 1, ...args))],
];

describe('instruction table', () => {
  for (const [title, functions] of TABLES) {
    it(`encodes every ${title} instruction as wabt does`, () => {
      expect(functions.length).toBeGreaterThan(3);
      expectTextEqualsBinary({ memory: MEMORY, functions });
    });

    it(`passes the engine's validation for every ${title} instruction that it knows`, () => {
      const rejected = functions
        .filter((fn) => !WebAssembly.validate(assembleModule({ memory: MEMORY, functions: [fn] })))
        .map((fn) => fn.name);
      expect(rejected.filter((name) => !name.includes('relaxed'))).toEqual([]);
    });
  }
});

describe('WasmFunction', () => {
  it('runs structured control flow, calls, imports and globals, and prints what it encodes', () => {
    const log: ImportedFunction & { result: 'f64' } = {
      kind: 'import',
      module: 'math',
      name: 'log',
      params: ['f64'],
      result: 'f64',
    };
    const counter = global('counter', i32(5));
    const square = new WasmFunction('square', { x: 'f64' }, 'f64');
    square.return(op('f64.mul', square.param<'f64'>('x'), square.param<'f64'>('x')));

    const f = new WasmFunction('work', { n: 'i32' }, 'f64');
    const sum = f.local('f64', 'sum');
    f.for('i', i32(0), f.param('n'), 1, (i) => {
      f.if(
        op('i32.and', i, i32(1)),
        () => f.set(sum, op('f64.add', sum, call(square, op('f64.convert_i32_u', i)))),
        () => f.set(sum, op('f64.add', sum, call(log, f64(Math.E)))),
      );
    });
    f.block((done) => {
      f.loop((again) => {
        f.brIf(done, op('i32.ge_s', counter, i32(9)));
        f.setGlobal(counter, op('i32.add', counter, i32(1)));
        f.br(again);
      });
    });
    f.do(memory('i64.store', 8, i32(0), i64(-2n)));
    f.return(op('f64.add', sum, op('f64.convert_i32_s', select(counter, i32(-1), i32(1)))));

    const spec = { memory: MEMORY, functions: [f], globals: [counter] };
    expectTextEqualsBinary(spec);
    const shared = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(assembleModule(spec)), {
      env: { memory: shared },
      math: { log: Math.log },
    });
    const { work } = instance.exports as unknown as { work(n: number): number };
    // 1² + 3² + 5² + three logs of e + the counter, which stops at 9.
    expect(work(6)).toBe(35 + 3 + 9);
    expect(new BigInt64Array(shared.buffer)[1]).toBe(-2n);
  });

  it('puts statements sent into a section where the section was reserved', () => {
    const f = new WasmFunction('hoist', {}, 'i32');
    const hoisted = f.section();
    const x = f.local('i32', 'x');
    const sum = f.local('i32', 'sum');
    f.for('i', i32(0), 4, 1, () => f.set(sum, op('i32.add', sum, x)));
    f.into(hoisted, () => f.set(x, i32(7)));
    f.return(sum);
    const { hoist } = new WebAssembly.Instance(
      new WebAssembly.Module(assembleModule({ memory: MEMORY, functions: [f] })),
      {
        env: { memory: new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true }) },
      },
    ).exports as unknown as { hoist(): number };
    expect(hoist()).toBe(28);
  });

  it('encodes constants of every type exactly', () => {
    const f = new WasmFunction('constants', {});
    const address = 0;
    for (const [i, code] of [
      f32x4(1, -0, NaN, Infinity),
      f32x4(1e-45),
      f64x2(Math.PI, -Infinity),
      i32x4(-1, 2 ** 31 - 1, -(2 ** 31), 7),
      i64x2(-1n, 2n ** 62n),
    ].entries()) {
      f.do(memory('v128.store', 16 * i, i32(address), code));
    }
    f.do(memory('f32.store', 80, i32(address), f32(0.1)));
    f.do(memory('i32.store', 84, i32(address), i32(0xdeadbeef)));
    f.do(memory('i64.store', 88, i32(address), i64(2n ** 63n - 1n)));
    f.do(
      memory('v128.store', 96, i32(address), shuffle32([3, 2, 1, 4], i32x4(0, 1, 2, 3), i32x4(9))),
    );
    const spec = { memory: MEMORY, functions: [f] };
    expectTextEqualsBinary(spec);
    const shared = new WebAssembly.Memory({ initial: 1, maximum: 16, shared: true });
    const { constants } = new WebAssembly.Instance(new WebAssembly.Module(assembleModule(spec)), {
      env: { memory: shared },
    }).exports as unknown as { constants(): void };
    constants();
    const floats = new Float32Array(shared.buffer);
    const ints = new Int32Array(shared.buffer);
    expect([...floats.subarray(0, 4)]).toEqual([1, -0, NaN, Infinity]);
    expect(floats[4]).toBe(Math.fround(1e-45));
    expect([...new Float64Array(shared.buffer).subarray(4, 6)]).toEqual([Math.PI, -Infinity]);
    expect([...ints.subarray(12, 16)]).toEqual([-1, 2 ** 31 - 1, -(2 ** 31), 7]);
    expect([...new BigInt64Array(shared.buffer).subarray(8, 10)]).toEqual([-1n, 2n ** 62n]);
    expect(floats[20]).toBe(Math.fround(0.1));
    expect(ints[21]).toBe(0xdeadbeef | 0);
    expect(new BigInt64Array(shared.buffer)[11]).toBe(2n ** 63n - 1n);
    expect([...ints.subarray(24, 28)]).toEqual([3, 2, 1, 9]);
  });

  it('refuses a tree that is used twice, wrong operands and unknown instructions', () => {
    const f = new WasmFunction('bad', {});
    const tree = op('i32.add', i32(1), i32(2));
    f.do(tree);
    const codeOf = (make: () => unknown): unknown => {
      try {
        make();
        return 'no error';
      } catch (error) {
        return isTesseraError(error) ? error.code : error;
      }
    };
    expect(codeOf(() => f.do(tree))).toBe('codegen-invalid');
    expect(codeOf(() => (op as Loose)('i32.add', i32(1), f32(1)))).toBe('codegen-invalid');
    expect(codeOf(() => (op as Loose)('i32.sum', i32(1)))).toBe('codegen-invalid');
    expect(codeOf(() => memory('i32.load', -4, i32(0)))).toBe('codegen-invalid');
  });
});
