import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { OnnxGraph } from '../src/onnx/onnx-graph.js';
import { ProtobufWriter } from '../src/onnx/protobuf-writer.js';

describe('ProtobufWriter', () => {
  it('writes the examples of the format description', () => {
    expect([...new ProtobufWriter().int(1, 150).finish()]).toEqual([0x08, 0x96, 0x01]);
    expect([...new ProtobufWriter().string(2, 'testing').finish()]).toEqual([
      0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67,
    ]);
    const inner = new ProtobufWriter().int(1, 150);
    expect([...new ProtobufWriter().message(3, inner).finish()]).toEqual([
      0x1a, 0x03, 0x08, 0x96, 0x01,
    ]);
  });

  it('writes negative integers as ten bytes and floats as four', () => {
    expect([...new ProtobufWriter().int(1, -1).finish()]).toEqual([8, ...Array(9).fill(255), 1]);
    expect([...new ProtobufWriter().float(1, 1).finish()]).toEqual([0x0d, 0, 0, 0x80, 0x3f]);
  });
});

describe('OnnxGraph', () => {
  it('is a model that ONNX Runtime loads and runs', async () => {
    const graph = new OnnxGraph();
    const x = graph.input('x0', [2, 3]);
    const scaled = graph.node('Mul', [x, graph.constant(Float32Array.of(1, 2, 3), [3])]);
    const leaky = graph.node('LeakyRelu', [scaled], { alpha: { float: 0.5 } });
    graph.output(graph.node('Flatten', [leaky], { axis: 0 }, 'y'), [1, 6]);
    const session = await InferenceSession.create(graph.toBytes());
    expect(session.inputNames).toEqual(['x0']);
    expect(session.outputNames).toEqual(['y']);
    const input = new Tensor('float32', Float32Array.of(1, -1, 2, -2, 3, -3), [2, 3]);
    const { y } = await session.run({ x0: input });
    expect(y!.dims).toEqual([1, 6]);
    expect(Array.from(y!.data as Float32Array)).toEqual([1, -1, 6, -1, 6, -4.5]);
    await session.release();
  });
});
