import { type JsonExport, exportFromJson, exportToJson } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, cat, cpuHeap, fromTypedArray, ones, tensor, where } from '@tessera/tensor';
import { layerNorm } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { exportGraph } from '../src/index.js';

type Loose = Record<string, unknown>;

const through = (fn: (x: Tensor) => unknown, x: Tensor): ((x: Tensor) => unknown) =>
  exportFromJson(JSON.parse(JSON.stringify(exportToJson(exportGraph(fn, [x])))) as JsonExport).call;

const shift = tensor([[0.5, -1]], { requiresGrad: true });
const text = JSON.stringify(
  exportToJson(
    exportGraph(
      (x: Tensor, o: { k: number }) => ({ a: x.mul(o.k).add(shift), b: [x.sum(), 7] }),
      [ones([2, 2]), { k: 3 }],
    ),
  ),
);

/** The message of the error that a change gives. */
function refusal(change: (json: JsonExport & Loose) => void): string {
  const json = JSON.parse(text) as JsonExport & Loose;
  change(json);
  try {
    exportFromJson(json);
  } catch (error) {
    return isTesseraError(error, 'export-invalid') ? error.message : String(error);
  }
  return 'accepted';
}

const set = (at: unknown, key: string | number, value: unknown): void => {
  (at as Record<string | number, unknown>)[key] = value;
};

describe('an exported graph from a file', () => {
  it('keeps special numbers and whole numbers of 64 bits', () => {
    const special = tensor([0, -0, -Infinity, Infinity, NaN]);
    const fn = (x: Tensor): Tensor => x.mul(special);
    const x = ones([5]);
    expect(Array.from((through(fn, x)(x) as Tensor).toTypedArray() as Float32Array)).toEqual([
      0,
      -0,
      -Infinity,
      Infinity,
      NaN,
    ]);
    const values = [2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    const large = fromTypedArray(BigInt64Array.from(values), [3]);
    const zeros = tensor([0, 0, 0], { dtype: 'int64' });
    const exported = exportGraph((y: Tensor) => y.add(large), [zeros]);
    const again = exportFromJson(JSON.parse(JSON.stringify(exportToJson(exported))) as JsonExport);
    const [kept] = [...again.graphModule.attributes.values()] as [Tensor];
    const at = kept.dataPtr() / 8;
    expect(Array.from(cpuHeap().i64.subarray(at, at + 3))).toEqual(values);
    const [got, want] = [again, exported].map((e) => (e.call(zeros) as Tensor).toTypedArray());
    expect(got).toEqual(want);
  });

  it('keeps constants of arguments and results', () => {
    const fn = (x: Tensor, o: { k: number; s?: string }): unknown => [x.add(1), o.k, o.s];
    const args = [ones([2]), { k: NaN, s: undefined }] as unknown as [Tensor, { k: number }];
    const json = JSON.parse(JSON.stringify(exportToJson(exportGraph(fn, args)))) as JsonExport;
    const result = exportFromJson(json).call(...args) as unknown[];
    expect(result.slice(1)).toEqual([NaN, undefined]);
    expect(() => exportFromJson(json).call(args[0], { k: 1 })).toThrow("L['o'].k == NaN");
  });

  it('keeps the sizes of empty attributes', () => {
    const none = ones([0, 3]);
    const result = through((x) => none.add(x), ones([3]))(ones([3])) as Tensor;
    expect(result.shape).toEqual([0, 3]);
  });

  it('is refused where parts are missing, of another kind or do not fit', () => {
    expect(refusal(() => undefined)).toBe('accepted');
    for (const key of ['graph', 'inputs', 'constants', 'attributes', 'result'])
      for (const value of [undefined, null, 7, 'x'])
        expect(refusal((j) => set(j, key, value))).toMatch(/^This (is no|exported) .*\n→ Export/s);
    expect(refusal((j) => set(j.graph.nodes[0]!.meta.val, 'storage', 99))).toMatch(/no graph/);
    expect(refusal((j) => set(j.graph.nodes[0]!, 'name', 'a;alert(1)//'))).toMatch(/no name/);
    expect(refusal((j) => set(j.graph.nodes[0]!.meta, 'source', 'x\nalert(1)'))).toMatch(/no name/);
    expect(refusal((j) => set(j.inputs[0]!, 'sizes', [2, 3]))).toMatch(/not what the graph takes/);
    expect(refusal((j) => set(j.inputs[0]!, 'sizes', [-2, 2]))).toMatch(/negative size/);
    expect(refusal((j) => set(j.inputs[0]!, 'dtype', 'toString'))).toMatch(/none of the known/);
    const call = (j: JsonExport): unknown =>
      j.graph.nodes.find((n) => typeof n.target === 'object');
    expect(refusal((j) => set(call(j), 'target', { op: 'aten::__proto__' }))).toMatch(
      /aten::__pro/,
    );
    expect(refusal((j) => set(call(j), 'target', { host: 'constructor' }))).toMatch(/constructor/);
    expect(
      refusal((j) =>
        set(j.inputs[0]!.source, 'steps', [{ kind: 'index', index: '0];globalThis.PWNED=1;[0' }]),
      ),
    ).toMatch(/no integer/);
    expect(
      refusal((j) => set(j.inputs[0]!.source, 'steps', [{ kind: 'property', key: 'constructor' }])),
    ).toMatch(/objects inherit/);
    expect(
      refusal((j) => {
        const result = '{"__proto__":{"polluted":1},"a":{"$leaf":{"output":0}}}';
        set(j, 'result', JSON.parse(result));
      }),
    ).toMatch(/objects inherit/);
    expect(({} as Loose).polluted).toBeUndefined();
  });

  it('is refused where it is nested without end', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    expect(refusal((j) => set(j, 'result', circle))).toMatch(/nested more than 200 levels/);
    expect(refusal((j) => set(j.graph.nodes[1], 'args', circle))).toMatch(/nested more than/);
    let size: unknown = 's0';
    for (let i = 0; i < 10_000; i++) size = { op: 'product', args: [size, 2] };
    expect(refusal((j) => set(j.inputs[0], 'sizes', [size, 2]))).toMatch(/nested more than/);
  });

  it('is read, and called, or refused with the code, whatever is changed in it (seeded)', () => {
    let state = 20261122;
    const roll = (n: number): number => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % n;
    };
    const odd = [null, true, -1, 0.5, 2 ** 53, '', 'NaN', '__proto__', [], {}, [1], { node: 'x' }];
    const memory = ones([2, 4]);
    const weights = [memory.slice(1, 0, 2), memory.slice(1, 2, 4).t()] as [Tensor, Tensor];
    const fn = (x: Tensor, o: { k: number }): unknown => {
      const h = layerNorm(x.mm(weights[0]).add(weights[1]), [2]).relu();
      const [v, at] = h.topk(1) as [Tensor, Tensor];
      return {
        a: cat([h, v], 1).mul(o.k),
        at,
        b: [where(h.gt(0), h, 1.5).sum(), 7],
        s: h.shape[0],
      };
    };
    const options = { dynamicShapes: [[true]] } as const;
    const call = [ones([2, 2]), { k: 3 }] as const;
    const texts = [
      text,
      JSON.stringify(exportToJson(exportGraph(fn, [ones([2, 2]), { k: 3 }]))),
      JSON.stringify(
        exportToJson(
          exportGraph((x: Tensor) => x.reshape([-1]).mul(x.shape[0]!), [ones([3, 2])], options),
        ),
      ),
    ];
    let accepted = 0;
    for (let i = 0; i < 3000; i++) {
      const json = JSON.parse(texts[i % texts.length]!) as JsonExport;
      const places: [object, string][] = [];
      const stack: unknown[] = [json];
      while (stack.length > 0) {
        const at = stack.pop();
        if (typeof at !== 'object' || at === null) continue;
        for (const key of Object.keys(at)) {
          places.push([at, key]);
          stack.push((at as Loose)[key]);
        }
      }
      const [at, key] = places[roll(places.length)]!;
      const [from, other] = places[roll(places.length)]!;
      const kind = roll(4);
      if (kind === 0) delete (at as Loose)[key];
      else if (kind === 1) set(at, key, odd[roll(odd.length)]);
      else if (kind === 2) set(at, key, structuredClone((from as Loose)[other]));
      else set(at, key, { [['record', '__proto__', 'size'][roll(3)]!]: (at as Loose)[key] });
      let read: ReturnType<typeof exportFromJson>;
      try {
        read = exportFromJson(JSON.parse(JSON.stringify(json)) as JsonExport);
        accepted++;
      } catch (error) {
        if (!isTesseraError(error, 'export-invalid')) throw error;
        // The last resort would hide errors of the readers themselves.
        if (error.cause !== undefined && !isTesseraError(error.cause))
          throw new Error(`mutant ${i}: ${JSON.stringify(json)}`, { cause: error });
        continue;
      }
      try {
        read.call(...call);
      } catch (error) {
        if (!isTesseraError(error))
          throw new Error(`mutant ${i}: ${JSON.stringify(json)}`, { cause: error });
      }
    }
    expect(accepted).toBeGreaterThan(20);
    expect(accepted).toBeLessThan(2000);
  });
});
