import { type Tensor, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotModule, memoryEfficientFusion, runEagerly } from '../src/index.js';
import { op, recording } from './support/compare.js';

/** A module as `aotModule` sees it: a tied weight, a buffer that is updated, a field that is private to TypeScript, a mode. */
class Net {
  training = true;
  weight = ones([2, 2]).requiresGrad_();
  count = tensor([0]);
  inner = { training: true, weight: this.weight, _scale: ones([1]) };

  call(x: Tensor): Tensor {
    if (this.training) this.count.add_(1);
    return x.mm(this.weight).mm(this.inner.weight).mul(this.inner._scale).mul(this.count);
  }

  namedModules(): [string, object][] {
    return [
      ['', this],
      ['inner', this.inner],
    ];
  }
}

describe('aotModule', () => {
  it('takes parameters and buffers as inputs, tied ones once, and updates buffers', () => {
    const { compiler, modules } = recording();
    const [net, eager] = [new Net(), new Net()];
    const compiled = aotModule(net, { fwCompiler: compiler });
    for (let i = 0; i < 2; i++) {
      const [out, expected] = [compiled(ones([1, 2])), eager.call(ones([1, 2]))];
      expect(out.toArray()).toEqual(expected.toArray());
      op('sum', out, null).backward();
      op('sum', expected, null).backward();
    }
    expect(net.weight.grad!.toArray()).toEqual(eager.weight.grad!.toArray());
    expect(net.count.toArray()).toEqual([2]);
    expect(modules.length).toBe(2);
    expect(modules[0].graph.placeholders.map((node) => node.name)).toEqual([
      'self_weight',
      'self_count',
      'self_inner__scale',
      'args',
    ]);
    expect(net.inner.weight).toBe(net.weight);
  });

  it('sees replaced parameters and changed modes', () => {
    const net = new Net();
    const compiled = aotModule(net, { fwCompiler: runEagerly });
    compiled(ones([1, 2]));
    net.training = false;
    net.weight = ones([2, 2]).mul(2);
    expect(compiled(ones([1, 2])).toArray()).toEqual([[8, 8]]);
    expect(net.count.toArray()).toEqual([1]);
  });

  it('puts the tensors back when tracing fails', () => {
    const net = new Net();
    const { weight } = net;
    const compiled = aotModule(net, { fwCompiler: runEagerly });
    expect(() => compiled(ones([1, 3]))).toThrow(/shape/);
    expect(net.weight).toBe(weight);
  });
});

describe('memoryEfficientFusion', () => {
  it('takes functions and modules', () => {
    const { compiler, modules } = recording();
    const fused = memoryEfficientFusion((x: Tensor) => op('sin', op('sin', x)), {
      fwCompiler: compiler,
    });
    const input = ones([3]).requiresGrad_();
    op('sum', fused(input), null).backward();
    expect(modules[1].graph.placeholders.map((node) => node.name)).toEqual(['x', 'tangents_0']);
    expect(
      memoryEfficientFusion(new Net(), { fwCompiler: compiler })(ones([1, 2])).toArray(),
    ).toEqual([[4, 4]]);
  });
});
