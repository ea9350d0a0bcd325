/**
 * @file Exported graphs: standalone, guarded, serialisable.
 */
import { type JsonExport, exportFromJson, exportToJson } from '@tessera/graph';
import { type Tensor, add, matmul, mul, ones, tensor, track } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { exportGraph } from '../src/index.js';

const x = tensor([[1, 2]]);

describe('exportGraph', () => {
  const model = track({
    weight: tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    ),
    scale: 2,
  });
  let calls = 0;
  const fn = (input: Tensor, cfg: { shift: number; bias: Tensor }): Record<string, Tensor> => {
    calls++;
    const y = matmul(input, model.weight);
    return { out: add(mul(y, model.scale), cfg.bias).add(cfg.shift), same: input };
  };
  const options = { shift: 1, bias: tensor([10, 20]) };

  it('runs without the JavaScript of the function', () => {
    calls = 0;
    const exported = exportGraph(fn, [x, options]);
    expect(calls).toBe(1);
    const other = tensor([[3, 1]]);
    const result = exported.call(other, { shift: 1, bias: tensor([0, 0]) }) as {
      out: Tensor;
      same: Tensor;
    };
    expect(result.out.toArray()).toEqual([[13, 21]]);
    expect(result.same).toBe(other);
    expect(calls).toBe(1);
    expect(exported.graphModule.attributes.size).toBe(1);
    exported.graphModule.lint();
  });

  it('says which guard fails', () => {
    const exported = exportGraph(fn, [x, options]);
    expect(exported.guards).toContain("L['cfg'].shift == 1");
    const code = expect.objectContaining({ code: 'export-guard' });
    const failing = (call: () => unknown): unknown => {
      try {
        return call();
      } catch (error) {
        return error;
      }
    };
    expect(failing(() => exported.call(ones([3, 2]), options))).toEqual(code);
    expect(() => exported.call(ones([3, 2]), options)).toThrow(
      "tensor 'L['input']' size mismatch at index 0. expected 1, actual 3",
    );
    expect(() => exported.call(x, { ...options, shift: 2 })).toThrow("L['cfg'].shift == 1");
    expect(() => exported.call(x, { ...options, bias: 3 })).toThrow(
      "type(L['cfg'].bias) is Tensor",
    );
  });

  it('goes through JSON', () => {
    const exported = exportGraph(fn, [x, options]);
    const text = JSON.stringify(exportToJson(exported));
    const loaded = exportFromJson(JSON.parse(text) as JsonExport);
    const [want, got] = [exported, loaded].map((e) => (e.call(x, options) as { out: Tensor }).out);
    expect(got!.toArray()).toEqual(want!.toArray());
    got!.sum().backward();
    expect(() => loaded.call(ones([3, 2]), options)).toThrow('size mismatch');
    expect(() =>
      exportFromJson({ ...(JSON.parse(text) as JsonExport), version: 2 as never }),
    ).toThrow('Version 2');
  });

  it('leaves gradients as they were', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    const step = (t: Tensor): Tensor => {
      w.mul(t).sum().backward();
      return w.grad!.mul(2);
    };
    const exported = exportGraph(step, [tensor([3, 4])]);
    expect(w.grad).toBeNull();
    expect((exported.call(tensor([5, 6])) as Tensor).toArray()).toEqual([10, 12]);
  });

  it('refuses graph breaks', () => {
    expect(() => exportGraph((t: Tensor) => mul(t, t.sum().item()), [x])).toThrow('(GB0001)');
  });
});
