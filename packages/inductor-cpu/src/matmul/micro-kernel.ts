/**
 * @file The innermost loop of a matrix product: a tile of accumulators in registers.
 *
 * `C[rows × vectors·lanes] (+)= Σ_k A[rows, k] · B[k, vectors]`, one step of k at a time: load a row of B
 * vectors, broadcast one element of A per row, multiply and add. Strides are compile-time constants,
 * so every access is one pointer plus an immediate offset.
 *
 * The K loop is unrolled four times with an exit after each step. The exits also keep the code fast on
 * V8 before Turboshaft (Node 20), which moves all loads of a basic block to its start: in one straight
 * block of two steps 12 loaded vectors and 8 accumulators exceed the 15 registers, and speed drops from
 * 43 to 29 GFLOP/s; with an exit between the steps each block has 6. Measured on Zen 4, f32 4×8:
 * 40.8 not unrolled, 43.6 so; with relaxed FMA 54 either way (58.5 is the ceiling of 128-bit vectors).
 * Modelled on BLIS (Van Zee and van de Geijn, 2015).
 */
import { i32, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { multiplyAdd, type ElementType } from './element-type.js';

/** A tile's shape and the byte strides of A and C. */
export interface TileSpec {
  readonly type: ElementType;
  readonly relaxed: boolean;
  readonly rows: number;
  /** Vectors per row. */
  readonly vectors: number;
  /** Bytes from one row of A to the next, and from one k to the next. */
  readonly aRow: number;
  readonly aStep: number;
  /** Bytes from one row of C to the next. */
  readonly cRow: number;
}

/** The same with how B lies. */
export interface MicroKernelSpec extends TileSpec {
  /** Bytes from one k of B to the next; vectors within a k are contiguous. */
  readonly bStep: number;
}

/** Code around a tile of accumulators in registers, in a function of `a`, `b`, `c` and `accumulate`. */
export interface RegisterTile {
  /** Takes what C holds, if told so. */
  load(): void;
  /** Adds the products of step `step` of A with the vectors of B at an offset. */
  step(step: number, bOffset: number): void;
  /** Writes C. */
  store(): void;
}

/** See `RegisterTile`. */
export function registerTile(f: WasmFunction, spec: TileSpec): RegisterTile {
  const { type, relaxed, rows, vectors } = spec;
  const [a, b, c] = ['a', 'b', 'c'].map((param) => f.param(param));
  const splat = f.local('v128', 'a_splat');
  const row = Array.from({ length: vectors }, (_, v) => f.local('v128', `b_${v}`));
  const acc = Array.from({ length: rows * vectors }, (_, i) => f.local('v128', `acc_${i}`));
  const forEachAcc = (body: (local: Local<'v128'>, offset: number) => void): void =>
    acc.forEach((local, i) =>
      body(local, Math.floor(i / vectors) * spec.cRow + (i % vectors) * 16),
    );
  return {
    load: () =>
      f.if(f.param('accumulate'), () =>
        forEachAcc((local, offset) => f.set(local, memory('v128.load', offset, c))),
      ),
    step(step, bOffset) {
      row.forEach((local, v) => f.set(local, memory('v128.load', bOffset + v * 16, b)));
      for (let r = 0; r < rows; r++) {
        f.set(splat, memory(type.splatLoad, step * spec.aStep + r * spec.aRow, a));
        row.forEach((local, v) => {
          const sum = acc[r * vectors + v];
          f.set(sum, multiplyAdd(type, relaxed, sum, splat, local));
        });
      }
    },
    store: () => forEachAcc((local, offset) => f.do(memory('v128.store', offset, c, local))),
  };
}

const UNROLL = 4;

/**
 * The function `(a, b, c, steps, accumulate)`: byte addresses, number of k steps (≥ 1), and whether C
 * is added to (1) or overwritten (0).
 */
export function microKernel(spec: MicroKernelSpec): WasmFunction {
  const { type, rows, vectors } = spec;
  const name = `tile_${rows}x${vectors * type.lanes}_${type.dtype}`;
  const f = new WasmFunction(name, {
    a: 'i32',
    b: 'i32',
    c: 'i32',
    steps: 'i32',
    accumulate: 'i32',
  });
  const [a, b, steps] = ['a', 'b', 'steps'].map((param) => f.param(param));
  const tile = registerTile(f, spec);
  tile.load();
  f.block((done) => {
    f.loop((again) => {
      for (let step = 0; step < UNROLL; step++) {
        tile.step(step, step * spec.bStep);
        if (step < UNROLL - 1) f.brIf(done, op('i32.eq', steps, i32(step + 1)));
      }
      f.set(a, op('i32.add', a, i32(UNROLL * spec.aStep)));
      f.set(b, op('i32.add', b, i32(UNROLL * spec.bStep)));
      f.brIf(again, f.tee(steps, op('i32.sub', steps, i32(UNROLL))));
    });
  });
  tile.store();
  return f;
}
