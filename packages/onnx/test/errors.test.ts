/**
 * @file What is wrong with a file is said before it runs, in words, and never as a TypeError.
 */
import { isTesseraError } from '@tessera/shared';
import { tensor, zeros } from '@tessera/tensor';
import { create, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { importOnnx, registerOnnxOperator } from '../src/index.js';
import {
  ModelProtoSchema,
  TensorProtoSchema,
  OperatorSetIdProtoSchema,
  StringStringEntryProtoSchema,
} from '../src/generated/onnx_pb.js';
import { stateNames } from '../src/initializers.js';
import { floats, graph, ints, model, value } from './support/build-model.js';
import { convolutional, transformer } from './support/models.js';

const io = { inputs: [value('x', [2])], outputs: [value('y', [2])] };

it('lists every operator that is missing, also those inside of control flow', async () => {
  const branch = graph({
    nodes: [{ op: 'Inner', in: ['x'], out: ['z'], domain: 'com.example' }],
    inputs: [],
    outputs: [value('z', [2])],
  });
  const bytes = model({
    ...io,
    nodes: [
      { op: 'Outer', in: ['x'], out: ['c'], domain: 'com.example' },
      { op: 'If', in: ['c'], out: ['y'], attributes: { then_branch: branch, else_branch: branch } },
    ],
  });
  const error: unknown = await importOnnx(bytes).catch((thrown: unknown) => thrown);
  expect(isTesseraError(error, 'onnx-unsupported')).toBe(true);
  expect((error as Error).message).toMatch(
    /com\.example\.Outer .*node 'Outer:c'[^]*com\.example\.Inner .*node 'Inner:z'[^]*registerOnnxOperator/,
  );
});

it('runs operators that are registered from outside', async () => {
  registerOnnxOperator('com.example', 'Twice', (call) => call.tensor(0).mul(call.int('by', 2)));
  const twice = await importOnnx(
    model({ ...io, nodes: [{ op: 'Twice', in: ['x'], out: ['y'], domain: 'com.example' }] }),
  );
  expect(twice.call(tensor([1, 2])).y!.toArray()).toEqual([2, 4]);
});

it('does not take outputs and inputs that are left out for each other', async () => {
  const bytes = model({
    inputs: [value('x', [1, 1, 1, 2])],
    outputs: [value('y', [1, 1, 1, 4])],
    nodes: [
      { op: 'Resize', in: ['x', '', 'double'], out: ['wide'], attributes: { mode: 'nearest' } },
      { op: 'Dropout', in: ['wide'], out: ['y', ''] },
    ],
    initializers: [floats('double', [4], [1, 1, 1, 2])],
  });
  const { y } = (await importOnnx(bytes)).call(tensor([[[[1, 2]]]]));
  expect(y!.tolist()).toEqual([[[[1, 1, 2, 2]]]]);
});

it('runs files whose nodes are in no order, as onnxruntime does', async () => {
  const branch = graph({
    nodes: [{ op: 'Neg', in: ['late'], out: ['z'] }],
    inputs: [],
    outputs: [value('z', [2])],
  });
  const shuffled = await importOnnx(
    model({
      ...io,
      nodes: [
        {
          op: 'If',
          in: ['yes'],
          out: ['y'],
          attributes: { then_branch: branch, else_branch: branch },
        },
        { op: 'Add', in: ['twice', 'x'], out: ['late'] },
        { op: 'Cast', in: ['whole'], out: ['yes'], attributes: { to: 9 } },
        { op: 'Add', in: ['x', 'x'], out: ['twice'] },
      ],
      initializers: [ints('whole', [], [1])],
    }),
  );
  expect(shuffled.call(tensor([1, 2])).y!.toArray()).toEqual([-3, -6]);
});

const broken = {
  'no protobuf': new Uint8Array([1, 2, 3]),
  'an unknown input': model({ ...io, nodes: [{ op: 'Relu', in: ['nothing'], out: ['y'] }] }),
  'a name that is given twice': model({
    ...io,
    nodes: [
      { op: 'Relu', in: ['x'], out: ['y'] },
      { op: 'Relu', in: ['x'], out: ['y'] },
    ],
  }),
  'a circle': model({
    ...io,
    nodes: [
      { op: 'Add', in: ['x', 'y'], out: ['z'] },
      { op: 'Relu', in: ['z'], out: ['y'] },
    ],
  }),
  'an output that nothing gives': model({ ...io, nodes: [] }),
  'a tensor of another length': model({
    ...io,
    initializers: [floats('w', [3], [1, 2])],
    nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }],
  }),
};

it.each(Object.entries(broken))('refuses %s', async (_, bytes) => {
  await expect(importOnnx(bytes)).rejects.toMatchObject({ code: 'onnx-invalid' });
});

function withExternal(location: string, offset: string, length: string): Uint8Array {
  const entry = (key: string, text: string) =>
    create(StringStringEntryProtoSchema, { key, value: text });
  const w = create(TensorProtoSchema, {
    name: 'w',
    dims: [2n],
    dataType: 1,
    dataLocation: 1,
    externalData: [entry('location', location), entry('offset', offset), entry('length', length)],
  });
  const whole = graph({
    ...io,
    initializers: [w],
    nodes: [{ op: 'Add', in: ['x', 'w'], out: ['y'] }],
  });
  const opsetImport = [create(OperatorSetIdProtoSchema, { domain: '', version: 17n })];
  return toBinary(ModelProtoSchema, create(ModelProtoSchema, { graph: whole, opsetImport }));
}

it('reads external files, and none outside of the folder or beyond their end', async () => {
  const externalData = { 'w.bin': new Uint8Array(Float32Array.of(9, 1, 2).buffer) };
  const read = (location: string, offset: string, length: string) =>
    importOnnx(withExternal(location, offset, length), { externalData });
  const fine = await read('w.bin', '4', '8');
  expect(fine.call(tensor([1, 1])).y!.toArray()).toEqual([2, 3]);
  for (const [location, offset, length] of [
    ['../w.bin', '0', '8'],
    ['/w.bin', '0', '8'],
    ['w.bin', '8', '8'],
    ['w.bin', '-4', '8'],
    ['w.bin', '0', '12'],
    ['other.bin', '0', '8'],
  ] as const)
    await expect(read(location, offset, length)).rejects.toMatchObject({ code: 'onnx-invalid' });
});

it('escapes names that cannot be fields', () => {
  const names = ['a.b', 'a', '_hidden', 'call', 'x..y', '$', '/conv/weight'];
  expect([...stateNames(names).values()]).toEqual([
    '$a.b',
    'a',
    '$_hidden',
    '$call',
    'x.$.y',
    '$$',
    '/conv/weight',
  ]);
});

it('damaged bytes give an error of ours or a model, nothing else', async () => {
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (const original of [convolutional(), transformer()]) {
    for (let round = 0; round < 400; round++) {
      const bytes = Uint8Array.from(original);
      for (let i = 0; i <= round % 4; i++) bytes[next(bytes.length)] = next(256);
      const end = round % 5 === 0 ? next(bytes.length) : bytes.length;
      try {
        const read = await importOnnx(bytes.subarray(0, end));
        read.call(tensor([[1]]).reshape(round % 2 === 0 ? [1, 1] : [1, 1, 1, 1]));
      } catch (error) {
        expect(isTesseraError(error), String((error as Error).stack)).toBe(true);
      }
    }
  }
});

it.each([
  ['DepthToSpace', { blocksize: 0 }],
  ['DepthToSpace', { blocksize: 3 }],
  ['SpaceToDepth', { blocksize: -1 }],
])('%s says that blocks do not fit', async (op, attributes) => {
  const bytes = model({
    inputs: [value('x', [1, 4, 2, 2])],
    outputs: [value('y', [])],
    nodes: [{ op, in: ['x'], out: ['y'], attributes }],
  });
  const imported = await importOnnx(bytes);
  expect(() => imported.call(zeros([1, 4, 3, 3]))).toThrow(
    /blocks of .* do not fit a value of shape \[1, 4, 3, 3\]/,
  );
});
