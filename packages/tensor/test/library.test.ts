import { describe, expect, it } from 'vitest';
import { type Tensor, grad, library, tensor, zeros } from '../src/index.js';
import { allOps, fakeFromMeta, findOp, outputMetas } from '../src/internal.js';

const lib = library('libtest')
  .define('scale(Tensor self, float factor=2.0) -> Tensor')
  .impl('scale', 'cpu', (x: Tensor, factor: number) => x.mul(factor))
  .impl('scale', 'meta', (x: Tensor) => x.emptyLike())
  .autograd('scale', {
    vjp: ({ factor }, { grad: g }) => ({ self: () => g.mul(factor as number) }),
  });
const scale = lib.fn<(x: Tensor, factor?: number) => Tensor>('scale');

describe('library', () => {
  it('runs a custom op with its default arguments', () => {
    expect(scale(tensor([1, 2])).toArray()).toEqual([2, 4]);
    expect(scale(tensor([1, 2]), 10).toArray()).toEqual([10, 20]);
  });

  it('differentiates through the registered formula', () => {
    const x = tensor([1, 2], { requiresGrad: true });
    const y = scale(x, 3);
    expect(y.gradFn!.name).toBe('ScaleBackward0');
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([3, 3]);
  });

  it('gives FakeTensors the shape that the meta kernel says', () => {
    const fake = fakeFromMeta({ sizes: [4, 5], strides: [5, 1], dtype: 'float32', device: 'cpu' });
    const out = scale(fake);
    expect(out.isFake).toBe(true);
    expect(out.shape).toEqual([4, 5]);
    expect(outputMetas(lib.op('scale'), [zeros([3]), 2])[0]!.sizes).toEqual([3]);
  });

  it('accepts a whole record, composite ops and overloads', () => {
    library('libtest2')
      .define('libtest2::twice(Tensor self) -> Tensor', {
        decompose: ({ self }) => (self as Tensor).add(self as Tensor),
      })
      .define('pick.first(Tensor a, Tensor b) -> Tensor')
      .impl('pick.first', 'cpu', (a: Tensor) => a.clone());
    expect(
      library('libtest2')
        .fn<(x: Tensor) => Tensor>('twice')(tensor([1]))
        .toArray(),
    ).toEqual([2]);
    expect(library('libtest2').fn('pick.first')(tensor([7]), tensor([8]))).toHaveProperty(
      'shape',
      [1],
    );
    expect(findOp('libtest2::pick.first')!.displayName).toBe('libtest2.pick.first');
  });

  it('counts writes of a mutable op as versions, and returns nothing if the schema says so', () => {
    library('libtest3')
      .define('bump(Tensor(a!) self) -> ()')
      .impl('bump', 'cpu', (x: Tensor) => void x.add_(1));
    const x = zeros([2]);
    const before = x.storage.version;
    expect(library('libtest3').fn('bump')(x)).toBeUndefined();
    expect(x.toArray()).toEqual([1, 1]);
    expect(x.storage.version).toBeGreaterThan(before);
  });

  it('overrides a built-in kernel for a device until it is removed', () => {
    const aten = library('aten');
    const op = aten.op('logical_xor');
    aten.impl('logical_xor', 'cpu', (a: Tensor) => a.clone());
    expect(
      tensor([true, false])
        .logicalXor(tensor([true, true]))
        .toArray(),
    ).toEqual([true, false]);
    op.deviceKernels.delete('cpu');
    expect(
      tensor([true, false])
        .logicalXor(tensor([true, true]))
        .toArray(),
    ).toEqual([false, true]);
  });

  it('refuses a signature that cannot be read when it is defined, not when it is called', () => {
    const broken = library('libtest_broken');
    expect(() => broken.define('scale(Tensor self, factor) -> Tensor')).toThrow(/'factor'/);
  });

  it('every built-in signature can be read, and says what its name promises', () => {
    for (const op of allOps()) {
      const { args, returns, isMutable } = op.schema;
      expect(args.length + returns.length, op.qualifiedName).toBeGreaterThan(0);
      expect(
        args.some(({ alias }) => alias?.isWrite === true),
        op.qualifiedName,
      ).toBe(isMutable);
    }
  });

  it('names what is missing', () => {
    library('libtest4').define('nothing(Tensor self) -> Tensor');
    const nothing = library('libtest4').fn('nothing');
    expect(() => nothing(zeros([1]))).toThrow(/libtest4::nothing has no kernel on device 'cpu'/);
    const fake = fakeFromMeta({ sizes: [1], strides: [1], dtype: 'float32', device: 'cpu' });
    expect(() => nothing(fake)).toThrow(/Cannot access data pointer.*has no meta rule/);
    expect(() => nothing()).toThrow(/needs the argument 'self'/);
    expect(() => library('libtest4').impl('other', 'cpu', () => null)).toThrow(/op-unknown/);
    expect(() => library('libtest4').define('aten::x(Tensor a) -> Tensor')).toThrow(
      /belongs to namespace 'aten'/,
    );
    expect(() => library('libtest4').define('nothing(Tensor self) -> Tensor')).toThrow(
      /already registered/,
    );
    const later = (): unknown => library('libtest4').impl('nothing', 'cpu', undefined as never);
    expect(later).toThrow(/impl\(\) takes a function, not undefined/);
    const formula = (): unknown => library('libtest4').autograd('nothing', (() => ({})) as never);
    expect(formula).toThrow(/vjp\(\) takes a function, not undefined/);
    expect(() => library('no good')).toThrow(/invalid-argument/);
    expect(() => library('libtest4').define('bad(Tensr x) -> Tensor')).toThrow(/schema-parse/);
  });

  it('reports an op without a derivative when backward reaches it', () => {
    library('libtest5')
      .define('opaque(Tensor self) -> Tensor')
      .impl('opaque', 'cpu', (x: Tensor) => x.mul(2));
    const x = tensor([1], { requiresGrad: true });
    const y = library('libtest5').fn<(x: Tensor) => Tensor>('opaque')(x);
    expect(y.requiresGrad).toBe(true);
    expect(() => grad(y, x)).toThrow(/The derivative of libtest5::opaque is not defined/);
  });
});
