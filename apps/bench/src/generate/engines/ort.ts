/**
 * @file Engines `ort-web` and `ort-node`: ONNX Runtime as WebAssembly and as native code, on a model that is written
 * for them.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import type { InferenceSession } from 'onnxruntime-web';
import { packageVersion } from '../../engines/package-version.js';
import { ByteFile } from '../files/byte-file.js';
import { type OnnxDecoder, decoderOnnx } from '../files/decoder-onnx.js';
import type { LanguageEngine, LanguageTask } from '../language-engine.js';
import { type MakeTensor, OnnxGenerator } from './onnx-generator.js';

const WEIGHTS = 'weights.bin';
const OPTIONS: InferenceSession.SessionOptions = {
  graphOptimizationLevel: 'all',
  executionMode: 'sequential',
  logSeverityLevel: 3,
};

interface Written extends OnnxDecoder {
  readonly model: string;
  readonly weights: string;
}

/** Both engines load the same files, which the first of them writes. */
const written = new Map<string, Promise<Written>>();

function files(task: LanguageTask): Promise<Written> {
  let found = written.get(task.folder);
  if (found === undefined) written.set(task.folder, (found = write(task)));
  return found;
}

async function write({ weights, format, folder }: LanguageTask): Promise<Written> {
  const file = new ByteFile(join(folder, WEIGHTS));
  const decoder = decoderOnnx(weights, format, file, WEIGHTS);
  file.close();
  const model = join(folder, 'model.onnx');
  await writeFile(model, decoder.bytes);
  return { ...decoder, model, weights: file.path };
}

/** A file of any size. */
function readWhole(path: string): Uint8Array {
  const file = openSync(path, 'r');
  const bytes = new Uint8Array(fstatSync(file).size);
  for (let at = 0; at < bytes.length;)
    at += readSync(file, bytes, at, Math.min(2 ** 28, bytes.length - at), at);
  closeSync(file);
  return bytes;
}

/** @see https://onnxruntime.ai/docs/tutorials/web */
export const ortWebLanguage: LanguageEngine = {
  name: 'ort-web',
  async load(task) {
    const decoder = await files(task);
    const ort = await import('onnxruntime-web');
    ort.env.wasm.numThreads = task.threads;
    const session = await ort.InferenceSession.create(decoder.bytes, {
      ...OPTIONS,
      executionProviders: ['wasm'],
      externalData: [{ path: WEIGHTS, data: readWhole(decoder.weights) }],
    });
    const about = `onnxruntime-web ${packageVersion('onnxruntime-web')}`;
    const make = ort.Tensor as unknown as MakeTensor;
    return new OnnxGenerator(about, session, make, task.weights.config, decoder);
  },
};

/** @see https://onnxruntime.ai/docs/get-started/with-javascript/node.html */
export const ortNodeLanguage: LanguageEngine = {
  name: 'ort-node',
  async load(task) {
    const decoder = await files(task);
    const ort = await import('onnxruntime-node');
    const session = await ort.InferenceSession.create(decoder.model, {
      ...OPTIONS,
      executionProviders: ['cpu'],
      intraOpNumThreads: task.threads,
      interOpNumThreads: 1,
    });
    const about = `onnxruntime-node ${packageVersion('onnxruntime-node')}`;
    const make = ort.Tensor as unknown as MakeTensor;
    return new OnnxGenerator(about, session, make, task.weights.config, decoder);
  },
};
