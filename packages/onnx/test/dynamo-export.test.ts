/**
 * @file Files as the newer exporter of PyTorch writes them: operator set 20, functions of the model with attributes
 * that refer to those of the call, weights in an external file, and symbolic sizes.
 */
import { compile } from '@tessera/compile';
import { create, toBinary } from '@bufbuild/protobuf';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { functional as F } from '@tessera/nn';
import { beforeEach, describe, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import {
  AttributeProtoSchema,
  AttributeProto_AttributeType as Kind,
  FunctionProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
  TensorProtoSchema,
  TensorProto_DataLocation as Location,
  type AttributeProto,
  type TensorProto,
} from '../src/generated/onnx_pb.js';
import { graph, value } from './support/build-model.js';

const PACKAGE = 'pkg.onnxscript.torch_lib';
const FILE = 'model.onnx.data';

const opset = (domain: string, version: bigint) =>
  create(OperatorSetIdProtoSchema, { domain, version });

const node = (op: string, inputs: string[], outputs: string[], attribute: AttributeProto[] = []) =>
  create(NodeProtoSchema, { opType: op, name: op, input: inputs, output: outputs, attribute });

const reference = (called: string, of: string, type: Kind): AttributeProto =>
  create(AttributeProtoSchema, { name: called, refAttrName: of, type });

/** linear → gelu → layer norm, each a function; the weights lie in one external file. */
function exported(): { bytes: Uint8Array; data: Uint8Array; weights: Record<string, Tensor> } {
  const weights = {
    'fc.weight': randn([6, 4]),
    'fc.bias': randn([6]),
    'norm.weight': randn([6]),
    'norm.bias': randn([6]),
  };
  const data = new Uint8Array(4096);
  let offset = 0;
  const external = Object.entries(weights).map(([name, weight]): TensorProto => {
    const raw = new Uint8Array(
      Float32Array.from(weight.reshape([-1]).toArray() as number[]).buffer,
    );
    data.set(raw, offset);
    const entry = (key: string, text: string) =>
      create(StringStringEntryProtoSchema, { key, value: text });
    const tensor = create(TensorProtoSchema, {
      name,
      dims: weight.sizes.map(BigInt),
      dataType: 1,
      dataLocation: Location.EXTERNAL,
      externalData: [
        entry('location', FILE),
        entry('offset', String(offset)),
        entry('length', String(raw.length)),
      ],
    });
    // Aligned, as exporters do it.
    offset += 1024;
    return tensor;
  });
  const functions = [
    create(FunctionProtoSchema, {
      name: 'linear',
      domain: PACKAGE,
      input: ['x', 'weight', 'bias'],
      output: ['y'],
      opsetImport: [opset('', 20n)],
      node: [
        node(
          'Transpose',
          ['weight'],
          ['turned'],
          [create(AttributeProtoSchema, { name: 'perm', type: Kind.INTS, ints: [1n, 0n] })],
        ),
        node('MatMul', ['x', 'turned'], ['product']),
        node('Add', ['product', 'bias'], ['y']),
      ],
    }),
    create(FunctionProtoSchema, {
      name: 'gelu',
      domain: PACKAGE,
      input: ['x'],
      output: ['y'],
      attribute: ['approximate'],
      opsetImport: [opset('', 20n)],
      node: [node('Gelu', ['x'], ['y'], [reference('approximate', 'approximate', Kind.STRING)])],
    }),
    create(FunctionProtoSchema, {
      name: 'layer_norm',
      domain: PACKAGE,
      input: ['x', 'weight', 'bias'],
      output: ['y'],
      // One with a default.
      attributeProto: [create(AttributeProtoSchema, { name: 'eps', type: Kind.FLOAT, f: 1e-5 })],
      opsetImport: [opset('', 20n)],
      node: [
        node(
          'LayerNormalization',
          ['x', 'weight', 'bias'],
          ['y'],
          [reference('epsilon', 'eps', Kind.FLOAT)],
        ),
      ],
    }),
  ];
  const called = (op: string, inputs: string[], out: string, attributes = {}) => ({
    op,
    in: inputs,
    out: [out],
    domain: PACKAGE,
    attributes,
  });
  const proto = create(ModelProtoSchema, {
    irVersion: 10n,
    producerName: 'pytorch',
    opsetImport: [opset('', 20n), opset(PACKAGE, 1n)],
    functions,
    graph: graph({
      inputs: [value('x', ['s0', 's1', 4])],
      outputs: [value('y', ['s0', 's1', 6])],
      nodes: [
        called('linear', ['x', 'fc.weight', 'fc.bias'], 'h'),
        called('gelu', ['h'], 'g', { approximate: 'tanh' }),
        called('layer_norm', ['g', 'norm.weight', 'norm.bias'], 'y', { eps: 0.25 }),
      ],
    }),
  });
  proto.graph!.initializer = external;
  return { bytes: toBinary(ModelProtoSchema, proto), data, weights };
}

function expected(weights: Record<string, Tensor>, x: Tensor): Tensor {
  const h = F.linear(x, weights['fc.weight']!, weights['fc.bias']!);
  const options = { weight: weights['norm.weight']!, bias: weights['norm.bias']!, eps: 0.25 };
  return F.layerNorm(F.gelu(h, { approximate: 'tanh' }), [6], options);
}

const far = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;

describe('a file of the newer exporter', () => {
  beforeEach(() => void manualSeed(3));

  it.each([
    ['eagerly', (fn: (x: Tensor) => Tensor) => fn],
    ['compiled', (fn: (x: Tensor) => Tensor) => compile(fn, { fullgraph: true })],
  ])('computes what its functions say, at all sizes, %s', async (_how, wrap) => {
    const { bytes, data, weights } = exported();
    const model = await importOnnx(bytes, { externalData: { [FILE]: data } });
    const run = wrap((x) => model.call(x).y!);
    for (const sizes of [
      [2, 3, 4],
      [1, 7, 4],
      [5, 1, 4],
    ]) {
      const x = randn(sizes);
      expect(far(run(x), expected(weights, x))).toBeLessThan(1e-5);
    }
  });

  it('gives its weights the gradients of the same modules', async () => {
    const { bytes, data, weights } = exported();
    const model = await importOnnx(bytes, { externalData: { [FILE]: data } });
    const x = randn([2, 3, 4]);
    model.call(x).y!.square().sum().backward();
    for (const weight of Object.values(weights)) weight.requiresGrad_(true);
    expected(weights, x).square().sum().backward();
    const named = Object.fromEntries(model.namedParameters());
    expect(Object.keys(named).sort()).toEqual(Object.keys(weights).sort());
    for (const [name, weight] of Object.entries(weights))
      expect(far(named[name]!.grad!, weight.grad!)).toBeLessThan(1e-3);
  });
});
