import { type Tensor, rand, manualSeed, fromTypedArray } from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';
import { getOp, readNumbers, emptyFromMeta } from '@tessera/tensor/internal';

function reference(name: string, args: unknown[]): Float64Array {
  const op = getOp(name as never) as any;
  const bound = op.bind(args);
  const out = emptyFromMeta(op.record.meta(bound));
  op.record.kernel(bound, [out]);
  return readNumbers(out);
}
function err(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let w = 0, m = 0;
  for (let i = 0; i < a.length; i++) { w = Math.max(w, Math.abs(a[i]! - b[i]!)); m = Math.max(m, Math.abs(b[i]!)); }
  expect(a.length).toBe(b.length);
  return w / m;
}
const SIZES = (process.env.SIZES ?? '').split(',').map(Number);
it('errors', { timeout: 600000 }, () => {
  const sizes = process.env.SIZES ? SIZES : [...Array.from({length:70},(_,i)=>i+1), 97, 127,131, 254, 1000, 1009, 1024, 3*256, 3*1024, 4096, 65536];
  for (const dtype of ['float32','float64'] as const) {
    let worst = [0,0,0,0];
    for (const n of sizes) {
      manualSeed(n);
      const x = rand([2, n], { dtype }).sub(0.5);
      const z = rand([2, n, 2], { dtype }).sub(0.5);
      const h = rand([2, (n>>1)+1, 2], { dtype }).sub(0.5);
      const wide = (t: Tensor) => t.double();
      const e = [
        err(readNumbers(fft.rfft(x)), reference('tessera::fft_r2c', [wide(x), [1], 0])),
        err(readNumbers(fft.fft(z)), reference('tessera::fft_c2c', [wide(z), [1], 0, true])),
        err(readNumbers(fft.ifft(z)), reference('tessera::fft_c2c', [wide(z), [1], 2, false])),
        err(readNumbers(fft.irfft(h, { n })), reference('tessera::fft_c2r', [wide(h), [1], 2, n])),
      ];
      if (e.some((v,i) => v > worst[i]!)) console.log(dtype, n, e.map(v=>v.toExponential(1)).join(' '));
      worst = worst.map((w,i)=>Math.max(w,e[i]!));
    }
  }
});
it('times', { timeout: 600000 }, () => {
  const x = rand([1024,1024]);
  const z = rand([1024,1024,2]);
  const h = fft.rfft(x);
  const run: [string, () => Tensor][] = [
    ['rfft', () => fft.rfft(x)], ['irfft', () => fft.irfft(h)], ['fft', () => fft.fft(z)],
  ];
  const rc = compile((x: Tensor) => fft.rfft(x)), ic = compile((x: Tensor) => fft.irfft(x)), fc = compile((x: Tensor)=>fft.fft(x));
  run.push(['rfft c', () => rc(x)], ['irfft c', () => ic(h)], ['fft c', () => fc(z)]);
  for (const [name, fn] of run) {
    const times: number[] = [];
    for (let i = 0; i < 15; i++) { const t = performance.now(); const r = fn(); readNumbers(r.flatten().narrow(0,0,1)); times.push(performance.now()-t); }
    console.log(name, 'first', times[0]!.toFixed(0), 'min', Math.min(...times).toFixed(2), 'median', times.sort((a,b)=>a-b)[7]!.toFixed(2));
  }
});
