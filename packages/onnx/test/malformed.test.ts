/**
 * @file Files that are valid protobuf and wrong ONNX: refused with the name of the node, and nothing huge is made first.
 */
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { isTesseraError } from '@tessera/shared';
import { tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import {
  FunctionProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
  TensorProtoSchema,
} from '../src/generated/onnx_pb.js';
import { importOnnx } from '../src/index.js';
import { type NodeSpec, floats, graph, ints, model, value } from './support/build-model.js';

const io = { inputs: [value('x', [2, 4])], outputs: [value('y', [])] };
const x = tensor([
  [1, 2, 3, 4],
  [5, 6, 7, 8],
]);

const relu = (from: string, to: string): NodeSpec => ({ op: 'Relu', in: [from], out: [to] });

it.each(
  Object.entries({
    'of an initializer': {
      nodes: [relu('x', 'w'), relu('w', 'y')],
      initializers: [floats('w', [4], [1, 2, 3, 4])],
    },
    'of an input': { nodes: [relu('x', 'x'), relu('x', 'y')] },
    'of another input': { nodes: [relu('x', 'y')], inputs: [value('x', [4]), value('x', [4])] },
  }),
)('refuses a name that is that %s', async (_, parts) => {
  await expect(importOnnx(model({ ...io, ...parts }))).rejects.toMatchObject({
    code: 'onnx-invalid',
  });
});

const split = (sizes: readonly number[], outputs: readonly string[]) => ({
  node: { op: 'Split', in: ['x', 's'], out: outputs, attributes: { axis: 1 } },
  initializers: [ints('s', [sizes.length], sizes)],
});
const resize = (
  inputs: readonly string[],
  numbers: readonly number[],
  isSizes: boolean,
  attributes = {},
) => ({
  node: { op: 'Resize', in: inputs, out: ['y'], attributes },
  initializers: [(isSizes ? ints : floats)('s', [numbers.length], numbers)],
});
const calls: Record<
  string,
  { node: NodeSpec; initializers?: ReturnType<typeof ints>[]; says?: RegExp }
> = {
  'parts that leave a rest': split([1, 1], ['y', 'z']),
  'a negative part': split([-1, 5], ['y', 'z']),
  'more outputs than parts': { ...split([2, 2], ['a', 'b', 'y']), says: /output 'y'/ },
  'no parts': {
    node: { op: 'Split', in: ['x'], out: ['y'], attributes: { axis: 1, num_outputs: 0 } },
  },
  'an output that an operator does not have': {
    node: { op: 'Relu', in: ['x'], out: ['z', 'y'] },
    says: /output 'y'/,
  },
  'a join of nothing': { node: { op: 'Concat', in: [], out: ['y'], attributes: { axis: 0 } } },
  'sizes beyond all memory': resize(['x', '', '', 's'], [2 ** 30, 2 ** 30], true),
  'a map beyond all memory': resize(['x', '', '', 's'], [2 ** 20, 2 ** 40], true, {
    mode: 'linear',
  }),
  'negative sizes': resize(['x', '', '', 's'], [-1, 4], true),
  'negative scales': resize(['x', '', 's'], [-1, 1], false),
  'too few scales': resize(['x', '', 's'], [2], false),
  'an unknown mode': resize(['x', '', 's'], [1, 2], false, { mode: 'best' }),
  'more classes than there is memory for': {
    node: { op: 'OneHot', in: ['c', 'd', 'v'], out: ['y'] },
    initializers: [ints('c', [1], [0]), ints('d', [], [2 ** 50]), floats('v', [2], [0, 1])],
  },
  'mel weights beyond all memory': {
    node: { op: 'MelWeightMatrix', in: ['n', 'n', 'n', 'f', 'g'], out: ['y'] },
    initializers: [ints('n', [], [2 ** 30]), floats('f', [], [10]), floats('g', [], [100])],
  },
  'a shape beyond all memory': {
    node: { op: 'ConstantOfShape', in: ['s'], out: ['y'] },
    initializers: [ints('s', [2], [2 ** 20, 2 ** 20])],
  },
  'indices of more axes than there are': {
    node: { op: 'GatherND', in: ['x', 's'], out: ['y'] },
    initializers: [ints('s', [1, 4], [0, 0, 0, 0])],
  },
  'blocks of what is no image': {
    node: { op: 'DepthToSpace', in: ['x'], out: ['y'], attributes: { blocksize: 2 } },
  },
};

it.each(Object.entries(calls))(
  'refuses %s at its node',
  async (_, { node, initializers = [], says }) => {
    const imported = await importOnnx(model({ ...io, nodes: [node], initializers }));
    let error: unknown;
    try {
      imported.call(x);
    } catch (thrown) {
      error = thrown;
    }
    expect(isTesseraError(error), String(error)).toBe(true);
    expect((error as Error).message).toMatch(says ?? new RegExp(`node '[\\w:]+' \\(${node.op}\\)`));
    expect((error as Error).message).not.toMatch(/Cannot read|undefined/);
  },
);

const opset = (domain: string) => create(OperatorSetIdProtoSchema, { domain, version: 18n });
const call = (opType: string, input: string[], output: string[]) =>
  create(NodeProtoSchema, { opType, input, output, domain: opType.startsWith('F') ? 'local' : '' });

function withFunctions(
  functions: Readonly<Record<string, ReturnType<typeof call>[]>>,
  nodes: ReturnType<typeof call>[],
): Uint8Array {
  const proto = fromBinary(ModelProtoSchema, model({ ...io, nodes: [relu('x', 'y')] }));
  proto.graph!.node = nodes;
  proto.opsetImport.push(opset('local'));
  proto.functions = Object.entries(functions).map(([name, node]) =>
    create(FunctionProtoSchema, {
      name,
      domain: 'local',
      input: ['a'],
      output: ['b'],
      node,
      opsetImport: [opset(''), opset('local')],
    }),
  );
  return toBinary(ModelProtoSchema, proto);
}

it('refuses functions that grow into more nodes than a program can have', async () => {
  const functions: Record<string, ReturnType<typeof call>[]> = { F0: [call('Relu', ['a'], ['b'])] };
  for (let i = 1; i <= 40; i++)
    functions[`F${i}`] = [call(`F${i - 1}`, ['a'], ['c']), call(`F${i - 1}`, ['c'], ['b'])];
  await expect(importOnnx(withFunctions(functions, [call('F40', ['x'], ['y'])]))).rejects.toThrow(
    /function 'F\d+'/,
  );
  const small = Object.fromEntries(Object.entries(functions).slice(0, 4));
  const fine = await importOnnx(withFunctions(small, [call('F3', ['x'], ['y'])]));
  expect(fine.call(x).y!.toArray()).toEqual(x.toArray());
});

it.each([
  ['inputs', call('F0', ['x', 'x'], ['y'])],
  ['outputs', call('F0', ['x'], ['y', 'z'])],
])('refuses more %s than a function has', async (what, node) => {
  const imported = await importOnnx(withFunctions({ F0: [call('Relu', ['a'], ['b'])] }, [node]));
  expect(() => imported.call(x)).toThrow(new RegExp(`\\(F0\\): .* 2 ${what}`));
});

it('reads external tensors of functions', async () => {
  const entry = (key: string, text: string) =>
    create(StringStringEntryProtoSchema, { key, value: text });
  const t = create(TensorProtoSchema, {
    dims: [4n],
    dataType: 1,
    dataLocation: 1,
    externalData: [entry('location', 'w.bin'), entry('length', '16')],
  });
  const constant = call('Constant', [], ['c']);
  const made = fromBinary(
    ModelProtoSchema,
    model({ ...io, nodes: [{ op: 'Constant', in: [], out: ['y'], attributes: { value: t } }] }),
  );
  constant.attribute = made.graph!.node[0]!.attribute;
  const bytes = withFunctions({ F0: [constant, call('Add', ['a', 'c'], ['b'])] }, [
    call('F0', ['x'], ['y']),
  ]);
  const externalData = { 'w.bin': new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer) };
  const imported = await importOnnx(bytes, { externalData });
  expect(imported.call(x).y!.toArray()).toEqual([
    [2, 4, 6, 8],
    [6, 8, 10, 12],
  ]);
});

it('a branch that gives fewer outputs than its node is refused', async () => {
  const branch = graph({ nodes: [relu('x', 'z')], inputs: [], outputs: [value('z', [2])] });
  const imported = await importOnnx(
    model({
      ...io,
      nodes: [
        {
          op: 'If',
          in: ['t'],
          out: ['q', 'y'],
          attributes: { then_branch: branch, else_branch: branch },
        },
      ],
      initializers: [ints('t', [], [1])],
    }),
  );
  expect(() => imported.call(x)).toThrow(/'y'/);
});
