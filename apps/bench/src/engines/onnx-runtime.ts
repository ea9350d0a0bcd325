/**
 * @file What the two ONNX Runtime engines share: sessions made from graphs that the workload builds.
 */
import type { InferenceSession, Tensor } from 'onnxruntime-web';
import type { LoadedEngine, Prepared, Unsupported } from '../harness/engine.js';
import { pickRanges } from '../harness/ranges.js';
import type { Case } from '../harness/workload.js';

/** The part of both packages that is used. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array, options: InferenceSession.SessionOptions): Promise<InferenceSession>;
  };
  readonly Tensor: new (
    type: 'float32' | 'int64',
    data: Float32Array | BigInt64Array,
    dims: readonly number[],
  ) => Tensor;
}

function prepare(
  ort: OnnxRuntime,
  instance: Case,
  model: Uint8Array,
  options: InferenceSession.SessionOptions,
): Prepared {
  const feeds: Record<string, Tensor> = {};
  let session: InferenceSession | null = null;
  let last: Tensor | null = null;
  const run = async (): Promise<void> => {
    const { y } = await session!.run(feeds);
    last = y as Tensor;
  };
  return {
    async first() {
      session = await ort.InferenceSession.create(model, options);
      // A graph that holds weights as constants has no inputs for them, and the web package refuses others.
      instance.inputs.forEach(({ dtype, data, shape }, i) => {
        const name = `x${i}`;
        if (session!.inputNames.includes(name))
          feeds[name] = new ort.Tensor(
            dtype,
            dtype === 'int64' ? BigInt64Array.from(data, BigInt) : (data as Float32Array),
            shape,
          );
      });
      await run();
    },
    run,
    async result(ranges) {
      const whole = last!.data as Float32Array;
      return ranges === null ? whole.slice() : pickRanges(whole, ranges);
    },
    async dispose() {
      await session?.release();
    },
  };
}

/** A loaded engine over one of the packages. */
export function onnxEngine(
  ort: OnnxRuntime,
  about: Pick<LoadedEngine, 'versions' | 'threads'>,
  options: InferenceSession.SessionOptions,
): LoadedEngine {
  return {
    ...about,
    async prepare(_workload, instance): Promise<Prepared | Unsupported> {
      const { onnx } = instance.programs;
      if (onnx === undefined) return { unsupported: 'not written for it' };
      return prepare(ort, instance, onnx().toBytes(), {
        graphOptimizationLevel: 'all',
        executionMode: 'sequential',
        logSeverityLevel: 3,
        ...options,
      });
    },
  };
}
